"""One small layer on each rung, each in a separate process: ``python -m tests.devices.cuda.gpu.first_layers``.

The first thing to try on a new GPU: a rung that hangs or breaks the context is ended, and the next one is tried. If
compute-sanitizer is on the PATH, each process runs under it, and its reports count as failures.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from minirnn.devices.cuda.launch.sequence.choice import RUNGS

WAYS = [(rung, False) for rung in RUNGS] + [(RUNGS[0], True)]
"""Each rung, and whether its loops are recorded."""
SECONDS = 100
"""A process that takes longer is ended, so that four of them finish within eight minutes."""
CODE = """import numpy as np, minirnn as mr
from tests.devices.cuda.launch.sequence.ladder_cases import assert_close, random_case
device = mr.devices.get({device!r})
device.cudnn_rnn_rung, device.recordings.enabled = {rung!r}, {recorded}
for mode in {modes}:
    case = random_case(np.random.default_rng(0), mode, 5, 3, 7, {H}, 2, "f4")
    expected = case.run(mr.devices.get("cpu"))
    for _ in range(4 if {recorded} else 1):
        assert_close(case.run(device), expected, 1e-4)
assert {{name.split()[0] for name in device.rungs}} == {{{rung!r}}}, device.rungs
"""


def tried(device: str, rung: str, recorded: bool, modes: tuple[str, ...], H: int) -> dict[str, Any]:
    """The outcome of one process."""
    code = CODE.format(device=device, rung=rung, recorded=recorded, modes=modes, H=H)
    sanitizer = shutil.which("compute-sanitizer")
    command = [sanitizer, "--tool", "memcheck", "--error-exitcode", "9"] if sanitizer else []
    start = time.monotonic()
    try:
        done = subprocess.run([*command, sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS)
        status, said = done.returncode, (done.stdout + done.stderr)[-2000:]
    except subprocess.TimeoutExpired:
        status, said = 124, f"ended after {SECONDS} s"
    about = {"rung": rung, "recorded": recorded, "sanitizer": bool(sanitizer), "modes": modes, "H": H}
    return about | {"status": status, "seconds": round(time.monotonic() - start, 1), "said": said if status else ""}


def main(words: list[str] | None = None) -> int:
    """Try all rungs, and print and write after each one. Returns the number of those that failed."""
    parser = argparse.ArgumentParser(prog="first_layers", description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args(words)
    modes, H = (("gru",), 10) if args.quick else (("lstm", "gru"), 64)
    rows: list[dict[str, Any]] = []
    for rung, recorded in WAYS:
        rows.append(tried(args.device, rung, recorded, modes, H))
        name = f"{rung}{', recorded' if recorded else ''}"
        print(f"{name:18} status {rows[-1]['status']}, {rows[-1]['seconds']} s {rows[-1]['said']}", flush=True)
        if args.json:
            args.json.write_text(json.dumps({"device": args.device, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    return sum(row["status"] != 0 for row in rows)


if __name__ == "__main__":
    sys.exit(main())
