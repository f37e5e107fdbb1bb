"""A program that starts writers of one checkpoint, kills each at a random moment, and looks at what is left.

    python killed_writers.py FOLDER KILLS atomic|plain SEED

It prints a JSON object. After KILLS kills it goes on until enough of them have come in the middle of a write, at most
20 times as many: on a busy machine a writer may be killed before it has begun. Each writer is a fork of this small
process, which has imported everything and runs no other thread: 200 of them take seconds.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as to_safetensors

from minirnn.io import load, save
from minirnn.io.atomic import PREFIX

SIZE = 50_000  # numbers: 400 kB, about a millisecond to write
ENOUGH = 10  # kills in the middle of a write, and completed writes: with fewer a run shows nothing


def content(step: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    return {"w": np.full(SIZE, step), "b": np.full(3, step)}, {"step": step}


def write_plainly(path: Path, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
    """The control: what `save` would be without its care."""
    own = {"minirnn.checkpoint": "1", "minirnn.metadata": json.dumps(metadata)}
    data = to_safetensors(arrays, metadata=own)
    with open(path, "wb") as file:
        for k in range(0, len(data), 4096):
            file.write(data[k : k + 4096])
            file.flush()


def writes(path: Path, step: int, report: int, write: Any) -> None:
    """Write steps step + 1, step + 2, ...; report each when it is safe. Never returns."""
    while True:
        step += 1
        write(path, *content(step))
        os.write(report, struct.pack("<q", step))


def start(path: Path, step: int, write: Any) -> tuple[int, int]:
    """A writer, and where it reports."""
    ours, theirs = os.pipe()
    writer = os.fork()
    if writer == 0:
        try:
            writes(path, step, theirs, write)
        finally:
            os._exit(1)
    os.close(theirs)
    return writer, ours


def stop(writer: int, reports: int) -> bytes:
    """Kill a writer; what it had reported."""
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    found = b""
    while piece := os.read(reports, 65536):
        found += piece
    os.close(reports)
    return found


def main(folder: Path, kills: int, kind: str, seed: int) -> dict[str, Any]:
    path = folder / "c.safetensors"
    write = save if kind == "atomic" else write_plainly
    rng = np.random.default_rng(seed)
    step = 0
    save(path, *content(step))
    broken, lost, leftovers, crowded, done = 0, 0, 0, 0, 0
    unfinished: set[str] = set()
    one_write = 0.001  # seconds; measured anew each time, on this machine, as busy as it is now
    while done < kills or (done < 20 * kills and not (broken if kind == "plain" else min(leftovers, step) > ENOUGH)):
        done += 1
        writer, reports = start(path, step, write)
        found = b""
        for _ in range(rng.integers(0, 3)):  # writes that are completed before the one that is killed
            began = time.perf_counter()
            found += os.read(reports, 8)
            one_write = time.perf_counter() - began
        time.sleep(rng.uniform(0, one_write))
        found += stop(writer, reports)
        safe = struct.unpack("<q", found[-8:])[0] if found else step
        older, unfinished = unfinished, {name for name in os.listdir(folder) if name.startswith(PREFIX)}
        leftovers += not unfinished <= older
        crowded += len(unfinished) > 1  # an earlier writer's leftover lies there still, beside this one's
        try:
            arrays, metadata = load(path)
            step = metadata["step"]
            broken += not ((arrays["w"] == step).all() and (arrays["b"] == step).all())
            lost += step not in (safe, safe + 1)  # renamed, but killed before it could say so
        except ValueError:
            broken += 1
            save(path, *content(step))
    save(path, *content(step))
    counts = {"broken": broken, "lost": lost, "leftovers": leftovers, "crowded": crowded, "steps": step}
    return {**counts, "files": sorted(os.listdir(folder))}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
