"""Which mutants do the tests notice? One thing in one function of minirnn is changed at a time.

    python scripts/kill_power.py optim                        # 60 mutants of a room, its own default tests
    python scripts/kill_power.py optim --all --only cosine    # every mutant of what is named so
    python scripts/kill_power.py --sample 40 --least 0.45     # what CI runs: 40 of four rooms that the seed draws

The script changes operators, comparisons, conditions, constants and arguments. Each mutant meets tests that enter its
line, in a copy of the tree. The checkout is never changed. A survivor that computes the same is listed in
`mutation/reasons.toml` with the reason; any other one shows a line that no default test of the room looks at, and the
exit status is 1. Linux and macOS. Needs the [test] extra.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mutation.laboratory import Laboratory, nearest  # noqa: E402
from mutation.mutants import Mutant  # noqa: E402
from mutation.rooms import ROOMS, mutants, tests_of  # noqa: E402

DRAWN_ROOMS = 4


def reasons() -> dict[str, str]:
    """The keys of equivalent mutants, with the reasons."""
    found = tomllib.loads((Path(__file__).parent / "mutation/reasons.toml").read_text(encoding="utf-8"))
    return {f"{path} {change}": reason for path, changes in found.items() for change, reason in changes.items()}


def survivors(laboratory: Laboratory, room: str, tests: list[str], chosen: list[Mutant]) -> list[Mutant]:
    """Let the mutants meet the tests, and print those that no test notices."""
    entered = laboratory.record(tests, {m.path for m in chosen})
    lines = Counter(name for names in entered.values() for name in names)
    met = {m.key: nearest(set().union(*(entered.get((m.path, n), ()) for n in m.lines)), lines) for m in chosen}
    with ThreadPoolExecutor(laboratory.workers) as pool:
        killed = list(pool.map(lambda m: bool(met[m.key]) and laboratory.is_killed(m, met[m.key]), chosen))
    print(f"{room}: {len(chosen)} mutants, the default tests kill {sum(killed)}")
    left = [m for m, noticed in zip(chosen, killed, strict=True) if not noticed]
    for m in left:
        print(f"  {'SURVIVED' if met[m.key] else 'NOT ENTERED'}: {m}", flush=True)
    return left


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
    parser.add_argument("--list", action="store_true", help="say what would be changed, and stop")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="another checkout")
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
            laboratory = laboratory or Laboratory(options.root, options.workers, Path(folder))
            survived += len(survivors(laboratory, room, tests_of(options.root, room), chosen))
            met += len(chosen)
    if not options.list:
        print(f"{time.monotonic() - start:.0f} s")
    return 1 if survived > (1 - options.least) * met else 0


if __name__ == "__main__":
    sys.exit(main())
