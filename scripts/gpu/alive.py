"""Is every rung right? Layers on each rung, plain and recorded, compared with the CPU in float64.

``python -m scripts.gpu.alive`` runs all ways at the same time, each in a process that can be ended. ``python -m
scripts.gpu.alive persistent`` is one of them, and ``--tiny`` asks it for one layer only. Device memory is filled with
NaN before it is used, so that a number that no kernel wrote is noticed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from scripts.gpu.evidence import DEVICE, QUICK, device, note, side_by_side
from tests.devices.cuda.launch.sequence.ladder_cases import MODES, Case, in_float64, random_case

WAYS = ("default", "steps", "steps, recorded", "barrier", "persistent", "persistent, recorded")
SIZES = ((4, 3, 10, 2),) if QUICK else ((5, 1, 64, 1), (6, 3, 333, 2), (5, 17, 512, 1))
"""T, B, H, D."""
TOLERANCES = {"f8": 1e-11, "f4": 5e-4}
"""Sums of H products of size 1 / sqrt(H), through T steps and back."""
SECONDS = 500.0 if QUICK else 75.0


def cases(tiny: bool = False) -> Iterator[tuple[str, Case, float]]:
    """Layers, each with its name and tolerance."""
    for dtype, mode, (T, B, H, D) in product(TOLERANCES, MODES, SIZES):
        if (tiny or QUICK) and (dtype, mode) != ("f4", "lstm"):
            continue
        yield (
            f"{mode} {dtype} {T},{B},{H},{D}",
            random_case(np.random.default_rng(0), mode, T, B, 7, H, D, dtype),
            TOLERANCES[dtype],
        )
        if tiny:
            return


def difference(found: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> float:
    """The largest one, relative to numbers above 1; infinite if a number is missing or not finite."""
    if found.keys() != right.keys() or not all(np.isfinite(a).all() for a in found.values()):
        return float("inf")
    return max(float(np.max(np.abs(found[k] - a) / (1 + np.abs(a)), initial=0)) for k, a in right.items())


def poisoned(gpu: Any) -> Any:
    """The device; from now on its new memory is full of NaN."""
    alloc = gpu.driver.alloc

    def filled(nbytes: int) -> Any:
        buffer = alloc(nbytes)
        gpu.driver.memset(buffer.ptr, 0xFF, nbytes)
        return buffer

    gpu.driver.alloc = filled
    return gpu


def one_way(way: str, tiny: bool = False) -> int:
    """Note each layer. Returns how many were wrong."""
    gpu, wrong = poisoned(device()), 0
    rung, recorded = (None, gpu.recordings.enabled) if way == "default" else (way.split(",")[0], "," in way)
    gpu.cudnn_rnn_rung, gpu.recordings.enabled = rung, recorded
    for name, case, tolerance in cases(tiny):
        gpu.rungs.clear()
        runs = [case.run(gpu) for _ in range(3 if recorded else 1)]  # the second records, the third replays
        right = in_float64(case)
        worst = max(difference(found, right) for found in runs)
        used = sorted({key.split()[0] for key in gpu.rungs})
        ok = worst <= tolerance and (rung is None or used == [rung])
        wrong += not ok
        said = {"difference": worst if np.isfinite(worst) else None, "allowed": tolerance, "used": used}
        note("alive", way=way, case=name, ok=ok, **said)
    return wrong


def main(words: list[str]) -> int:
    if ways := [word for word in words if word != "--tiny"]:
        return one_way(ways[0], "--tiny" in words)
    commands = {way: [sys.executable, "-m", "scripts.gpu.alive", way] for way in WAYS}
    failed = {way: (s, said) for way, (s, said) in side_by_side(commands, SECONDS).items() if s}
    for way, (status, said) in failed.items():
        note("alive", way=way, ok=False, status=status, said=said)
    print(f"{DEVICE}: {len(failed)} of {len(WAYS)} ways failed")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
