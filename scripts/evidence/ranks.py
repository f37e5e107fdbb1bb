"""A step of ``minirnn train`` on one rank and on two: the speed-up, and the share spent waiting for messages.

    python scripts/evidence/ranks.py [--hidden 256] [--length 64] [--batch 32] [--turns 9] [--steps 10] [--json FILE]

Three programs take turns: one rank that computes the batch whole, one rank that computes it in two shards, and two
ranks with a shard each. Every rank has its own core and one thread. Each turn is a new program, because a waiting rank
keeps its core busy. Its first steps do not count. The script prints medians over the turns, the speed-up (the median of
the ratios of neighboring turns) and the share of a step that the ranks wait for messages (the rank that waits longest).
Needs mpi4py, mpiexec and two otherwise idle cores. The load of the machine is also recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PROGRAMS = {"one rank": (1, 0), "one rank, two shards": (1, 2), "two ranks": (2, 2)}
"""Name -> ranks and shards."""
WARM_UP = 3
OPTIONS = ("cell", "hidden", "length", "batch")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def work(options: dict[str, Any], shards: int, steps: int) -> None:
    """A rank: do the steps, and print the time of one."""
    from minirnn.parallel import init
    from minirnn.train.work import begun

    world = init()
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[world.rank % len(cores)]})
    training = begun({**options, "shards": shards, "steps": 10**6}, world)
    training.share(world)
    for _ in range(WARM_UP):
        training.advance()
    world.barrier()
    begin, waited = time.perf_counter(), 0.0
    for _ in range(steps):
        training.advance()
        if training.shards is not None:
            events = training.shards.parallel.events
            waited += sum(event.end - event.begin for event in events if event.name == "wait")
    took = time.perf_counter() - begin
    longest = max(world.all_gather(waited))
    if world.rank == 0:
        print(json.dumps({"step": took / steps, "waiting": longest / took}))


def turn(ranks: int, shards: int, options: dict[str, Any], steps: int) -> dict[str, float]:
    """The results of a program with this number of ranks."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if mpiexec is None:
        raise SystemExit('scripts/evidence/ranks.py: mpiexec is not installed\n  pip install "minirnn[parallel]"')
    own = [sys.executable, __file__, "--work", json.dumps(options), "--shards", str(shards), "--steps", str(steps)]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True, "check": True}
    done = subprocess.run([mpiexec, "-n", str(ranks), *own], env=environment, **pipes)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(options: dict[str, Any], turns: int, steps: int) -> dict[str, Any]:
    """All entries of the table."""
    from minirnn.machine.computer import blas, processor

    load = os.getloadavg()[0]
    taken = [{name: turn(*program, options, steps) for name, program in PROGRAMS.items()} for _ in range(turns)]
    report: dict[str, Any] = {"options": options, "turns": turns, "steps": steps}
    report["machine"] = f"{processor()}, {len(os.sched_getaffinity(0))} cores, {blas()}"
    report["load"] = load
    for name in PROGRAMS:
        times = [1e3 * one[name]["step"] for one in taken]
        report[name] = {"median": statistics.median(times), "least": min(times), "most": max(times)}
    report["two ranks"]["waiting"] = statistics.median(one["two ranks"]["waiting"] for one in taken)
    report["speed-up"] = statistics.median(one["one rank"]["step"] / one["two ranks"]["step"] for one in taken)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--cell", default="lstm")
    add("--hidden", type=int, default=256)
    add("--length", type=int, default=64)
    add("--batch", type=int, default=32)
    add("--turns", type=int, default=9)
    add("--steps", type=int, default=10)
    add("--json", type=Path, metavar="FILE", help="write the figures there")
    add("--work", help=argparse.SUPPRESS)
    add("--shards", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(json.loads(args.work), args.shards, args.steps)
        return 0
    if len(os.sched_getaffinity(0)) < 2:
        raise SystemExit("scripts/evidence/ranks.py: this process may use one core\n  expected two, one for each rank")
    report = measure({name: getattr(args, name) for name in OPTIONS}, args.turns, args.steps)
    for name in PROGRAMS:
        print(f"{name:<22} {report[name]['median']:8.1f} ms a step")
    print(f"speed-up of two ranks   {report['speed-up']:7.2f}     expected 1.6 or more")
    print(f"waiting for the wire    {report['two ranks']['waiting']:7.1%}     expected 10 % or less")
    print(f"load of the machine before {report['load']:7.1f}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
