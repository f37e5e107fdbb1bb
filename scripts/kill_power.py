"""Which mutants do the tests notice? One thing in one function of minirnn is changed at a time.

    python scripts/kill_power.py optim                        # 60 mutants of a room, its own default tests
    python scripts/kill_power.py optim --all --only cosine    # every mutant of what is named so
    python scripts/kill_power.py --sample 40 --least 0.45     # what CI runs: 40 of four rooms that the seed draws

The script changes operators, comparisons, conditions, constants and arguments. A test meets the mutants of the code
that it enters, which is recorded once per test file (`--cache`), in a copy of the tree. The checkout is never changed.
A survivor that computes the same is listed in `mutation/reasons.toml` with the reason; any other one shows a line that
no default test of the room looks at, and the exit status is 1. torch cannot be imported. Linux and macOS. Needs the
[test] extra.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
import tomllib
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mutation import probes, trees  # noqa: E402
from mutation.entries import affordable, entries  # noqa: E402
from mutation.mutants import Mutant  # noqa: E402
from mutation.record import record  # noqa: E402
from mutation.rooms import ROOMS, mutants  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "minirnn" / "kill_power"
DRAWN_ROOMS = 4


def reasons() -> dict[str, str]:
    """The keys of equivalent mutants, with the reasons."""
    found = tomllib.loads((Path(__file__).parent / "mutation/reasons.toml").read_text(encoding="utf-8"))
    return {f"{path} {change}": reason for path, changes in found.items() for change, reason in changes.items()}


class Laboratory:
    """Copies of a tree, in which tests are recorded and mutants are tried."""

    def __init__(self, root: Path, cache: Path, workers: int, folder: Path) -> None:
        self.root, self.cache, self.folder = root, cache, folder
        self.files = [path.relative_to(root).as_posix() for path in sorted((root / "tests").rglob("test_*.py"))]
        self.trees = [trees.copy_of(root, folder / f"trial{k}") for k in range(workers)]
        self.probed = [trees.copy_of(root, folder / f"record{k}") for k in range(workers)]
        for tree in self.probed:
            probes.prepare(tree)

    def measure(self, room: str, chosen: list[Mutant], budget: float) -> list[Mutant]:
        """Run the room's tests that enter each mutant, until one fails; prints and returns the survivors."""
        files = [file for file in self.files if file.startswith(ROOMS[room].tests)]
        record(self.root, self.cache, files, self.probed)
        found = entries(self.root, self.cache, files)
        tasks = []
        for m in sorted(chosen, key=lambda m: m.path):
            if tests := affordable(found.get(m.segment, ()), budget):
                tasks.append({"key": m.key, "path": m.path, "text": m.make(), "tests": tests})
        started, outs = {}, []
        for k, tree in enumerate(self.trees):
            if share := tasks[k :: len(self.trees)]:
                file = self.folder / f"tasks{k}.jsonl"
                file.write_text("".join(json.dumps(task) + "\n" for task in share), encoding="utf-8")
                outs.append(file.with_suffix(".out"))
                outs[-1].unlink(missing_ok=True)
                started[tree] = trees.start("trial", tree, str(file))
        trees.wait(started)
        lines = [line for out in outs if out.exists() for line in out.read_text(encoding="utf-8").splitlines()]
        killers = {result["key"]: result["killer"] for result in map(json.loads, lines)}
        survivors = [m for m in chosen if not killers.get(m.key)]
        print(f"{room}: {len(chosen)} mutants, the default tests kill {len(chosen) - len(survivors)}")
        for m in survivors:
            print(f"  {'SURVIVED' if m.key in killers else 'NOT ENTERED'}: {m}", flush=True)
        return survivors


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", choices=[[], *ROOMS], metavar="ROOM", help=f"of {', '.join(ROOMS)}")
    parser.add_argument("--only", default="", metavar="TEXT", help="files and functions whose names contain TEXT")
    parser.add_argument("--sample", type=int, metavar="N", help="mutants of each room (60); without ROOM: of four")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument(
        "--least", type=float, default=1.0, metavar="SHARE", help="exit status 1 if a smaller share is killed (1)"
    )
    parser.add_argument("--budget", type=float, default=60, metavar="S", help="seconds of tests for each mutant")
    parser.add_argument("--list", action="store_true", help="say what would be changed, and stop")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="another checkout")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"of what tests enter ({CACHE})")
    options = parser.parse_args(arguments)
    rooms = options.rooms or list(ROOMS)
    size = options.sample or 60
    if not options.rooms and options.sample is not None:
        rooms = random.Random(options.seed).sample(rooms, DRAWN_ROOMS)
        size = -(-options.sample // DRAWN_ROOMS)
    listed = reasons()
    start, survived, met = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory(prefix="kill_power-") as folder:
        laboratory = None
        for room in rooms:
            counting = [m for m in mutants(options.root, room, options.only) if not {m.key, m.reason} & listed.keys()]
            counting.sort(key=lambda m: m.rank(options.seed))
            chosen = list(islice((m for m in counting if m.make()), None if options.all else size))
            if options.list:
                print(*chosen, sep="\n")
                continue
            laboratory = laboratory or Laboratory(options.root, options.cache, options.workers, Path(folder))
            survived, met = survived + len(laboratory.measure(room, chosen, options.budget)), met + len(chosen)
    if not options.list:
        print(f"{time.monotonic() - start:.0f} s")
    return 1 if survived > (1 - options.least) * met else 0


if __name__ == "__main__":
    sys.exit(main())
