"""Does a run on several ranks survive kill -9? One rank is killed at a random moment, again and again.

    python scripts/evidence/kill_ranks.py                                  # 20 times, on 2, 3 and 4 ranks in turn
    python scripts/evidence/kill_ranks.py --times 3 --limit 120 --seed 1   # on a machine that is busy

Each time, all ranks must end within the limit, the checkpoint must be complete (or not exist yet), and the run, resumed
on another number of ranks, must give the same bits as an undisturbed run. The script prints when the rank was killed
and how long the others lived. The exit status is 1 if any check failed. Needs mpi4py, mpiexec and /proc.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
CHECKPOINT, METRICS = "checkpoint.safetensors", "metrics.jsonl"
MODEL = ["--shards", "12", "--hidden", "16", "--batch", "12", "--length", "16"]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def start(ranks: int, folder: Path, *more: str) -> subprocess.Popen[str]:
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if mpiexec is None:
        raise SystemExit('scripts/evidence/kill_ranks.py: mpiexec is not installed\n  pip install "minirnn[parallel]"')
    command = [mpiexec, "-n", str(ranks), sys.executable, "-m", "minirnn", "train", "--quiet", "--out", str(folder)]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen([*command, *more], env=environment, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


def ranks_of(pid: int) -> list[int]:
    """The processes of minirnn below mpiexec; fewer while they start."""
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        try:
            children = [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
            found += [c for c in children if b"minirnn" in Path(f"/proc/{c}/cmdline").read_bytes().split(b"\0")]
        except OSError:
            continue  # it has just ended
        waiting += children
    return sorted(set(found))


def finished(ranks: int, folder: Path, text: Path, steps: int) -> None:
    """Run a training run to its end."""
    more = ["--resume"] if (folder / CHECKPOINT).exists() else [*MODEL, "--text", str(text)]
    done = start(ranks, folder, *more, "--steps", str(steps))
    said, _ = done.communicate()
    if done.returncode:
        raise SystemExit(f"the run that goes on ended with status {done.returncode}\n{said}")


def killed(ranks: int, folder: Path, text: Path, steps: int, moment: float, draw: random.Random) -> float | None:
    """Kill a rank after `moment` seconds; returns how long mpiexec kept running. None if the run ended before."""
    run = start(ranks, folder, *MODEL, "--text", str(text), "--steps", str(steps))
    try:
        run.wait(moment)
        return None
    except subprocess.TimeoutExpired:
        pass
    while not (victims := ranks_of(run.pid)):
        if run.poll() is not None:
            return None
        time.sleep(0.01)
    os.kill(draw.choice(victims), signal.SIGKILL)
    begin = time.monotonic()
    run.communicate()
    return time.monotonic() - begin


def content(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in (CHECKPOINT, METRICS)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--limit", type=float, default=15.0, help="seconds in which all must have ended")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    from minirnn.io import checkpoint

    draw, failures = random.Random(args.seed), 0
    with tempfile.TemporaryDirectory() as place:
        text, whole = Path(place, "text.txt"), Path(place, "whole")
        text.write_text((ROOT / "minirnn" / "engine" / "tensor.py").read_text("utf-8"), encoding="utf-8")
        begin = time.monotonic()
        finished(2, whole, text, args.steps)
        duration, expected = time.monotonic() - begin, content(whole)
        for k in range(args.times):
            folder, ranks, other = Path(place, str(k)), (2, 3, 4)[k % 3], (1, 2, 4, 6, 3)[k % 5]
            moment = draw.uniform(0, duration)
            lived = killed(ranks, folder, text, args.steps, moment, draw)
            step: object = "none yet"
            if (folder / CHECKPOINT).exists():
                step = checkpoint.load(folder / CHECKPOINT)[1]["step"]  # raises if it is not whole
            finished(other, folder, text, args.steps)
            same = content(folder) == expected
            ended = "the run was over" if lived is None else f"all ended within {lived:.1f} s"
            print(f"{k + 1}: {ranks} ranks, {moment:.1f} s: {ended}; checkpoint of step {step}; on {other}: ", end="")
            print("same bits" if same else "OTHER BITS", flush=True)
            failures += not same or (lived or 0.0) > args.limit
    print(f"{args.times} times, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
