"""What only NVIDIA's tools see: ``python -m scripts.gpu.profiled sanitizer`` runs a tiny layer of each rung under
four tools, ``... ncu`` counts on a GPU what the kernels that decide the time spend it on. Exit status 69: the tool is
not installed.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys

import numpy as np

from minirnn.devices.cuda.launch.sequence.choice import RUNGS
from scripts.gpu.evidence import NOT_HERE, QUICK, device, note, side_by_side
from tests.devices.cuda.launch.sequence.ladder_cases import random_case

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
SECONDS = 500.0 if QUICK else 75.0
SECTIONS = ("SpeedOfLight", "WarpStateStats", "MemoryWorkloadAnalysis")
SIZES = ((2, 8),) if QUICK else ((64, 512), (64, 1024))
"""B, H."""


def sanitizer(program: str) -> int:
    """All tools on all rungs at the same time. Returns how many found something."""
    command = [program, "--error-exitcode", "9", "--tool"]
    layer = [sys.executable, "-m", "scripts.gpu.alive", "--tiny"]
    commands = {f"{tool} {rung}": [*command, tool, *layer, rung] for rung in RUNGS for tool in TOOLS}
    found = side_by_side(commands, SECONDS)
    for name, (status, said) in found.items():
        tool, rung = name.split()
        note("sanitizer", tool=tool, rung=rung, ok=status == 0, status=status, said=said if status else "")
    return sum(status != 0 for status, _ in found.values())


def ncu(program: str) -> int:
    """A note for each metric of each launch."""
    command = [program, "--csv", "--clock-control", "none", "--kernel-name", "regex:cell_(persistent|step)"]
    command += [word for section in SECTIONS for word in ("--section", section)]
    done = subprocess.run([*command, sys.executable, __file__, "layers"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    begin = next((k for k, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    for row in csv.DictReader(lines[begin:]):
        about = {"launch": row["ID"], "kernel": row["Kernel Name"], "unit": row["Metric Unit"]}
        note("ncu", **about, metric=row["Metric Name"], value=row["Metric Value"])
    if begin == len(lines):
        print(done.stdout[-1000:], done.stderr[-1000:])
    return done.returncode or int(begin == len(lines))


def layers() -> int:
    """What ncu looks at: a sequence forward and back by `persistent`, then two steps by `steps`."""
    gpu = device()
    gpu.recordings.enabled = False
    for B, H in SIZES:
        for gpu.cudnn_rnn_rung, T in (("persistent", 8), ("steps", 2)):
            random_case(np.random.default_rng(0), "lstm", T, B, H, H, 1, "f4", ragged=False).run(gpu)
    return 0


def main(word: str) -> int:
    if word == "layers":
        return layers()
    program = shutil.which({"sanitizer": "compute-sanitizer", "ncu": "ncu"}[word])
    if program is None:
        print(f"{word}: not installed here")
        return NOT_HERE
    return {"sanitizer": sanitizer, "ncu": ncu}[word](program)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
