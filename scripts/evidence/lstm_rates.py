#!/usr/bin/env python3
"""The factor per step by which an untrained LSTM multiplies a gradient: the table of `docs/derivations.md`.

    python scripts/evidence/lstm_rates.py docs/data/lstm_rates.json     # two minutes; goes on where it was interrupted

Weights begin as in torch, and the bias of the forget gate is set. `measured` is the mean factor between 50 and 150
steps before the loss, `late` between 500 and 1000. `mean` is the spectral radius of the mean Jacobian of a step over
the same steps. Everything is NumPy in float64, with the backward pass of tutorial 5 written out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from rows import sweep

H, I = 128, 32
BIASES, INPUTS, SEEDS = (-1.0, 0.0, 1.0, 2.0, 3.0, 5.0), (0.0, 1.0, 2.0), range(10)


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def run(bias: float, size: float, seed: int, T: int, first: int, last: int) -> tuple[float, float]:
    """The mean factor between `first` and `last` steps back, and the radius of the mean Jacobian there."""
    rng = np.random.default_rng(seed)
    k = 1 / np.sqrt(H)
    W, R = rng.uniform(-k, k, (I, 4 * H)), rng.uniform(-k, k, (H, 4 * H))  # gates i, f, c, o
    b = rng.uniform(-k, k, 4 * H) + rng.uniform(-k, k, 4 * H)
    b[H : 2 * H] = bias
    R_i, R_f, R_c, R_o = np.split(R, 4, axis=1)
    x, h, c, steps = size * rng.normal(size=(T, I)), np.zeros(H), np.zeros(H), []
    for t in range(T):
        z_i, z_f, z_c, z_o = np.split(x[t] @ W + h @ R + b, 4)
        i, f, n, o, before = sigmoid(z_i), sigmoid(z_f), np.tanh(z_c), sigmoid(z_o), c
        c = f * c + i * n
        h = o * np.tanh(c)
        steps.append((i, f, n, o, before, c))
    dc, dh = rng.normal(size=H), np.zeros(H)
    logs, log, mean = [], 0.0, np.zeros((H, H))
    paths, f_after = np.zeros((H, H)), np.zeros(H)  # of the step after
    for back, (i, f, n, o, before, c) in enumerate(reversed(steps)):
        total = dc + dh * o * (1 - np.tanh(c) ** 2)
        norm = np.linalg.norm(total)
        log += np.log(norm)
        logs.append(log)
        total, dh = total / norm, dh / norm
        S = o * (1 - np.tanh(c) ** 2)
        if first <= back < last:
            mean += paths * S + np.diag(f_after)
        gates = total * n * i * (1 - i), total * before * f * (1 - f), total * i * (1 - n * n)
        dh = sum(d @ r.T for d, r in zip(gates, (R_i, R_f, R_c), strict=True)) + (dh * np.tanh(c) * o * (1 - o)) @ R_o.T
        dc = total * f
        slopes = n * i * (1 - i), before * f * (1 - f), i * (1 - n * n)
        paths = sum(s[:, None] * r.T for s, r in zip(slopes, (R_i, R_f, R_c), strict=True))
        f_after = f
    rate = float(np.exp((logs[last] - logs[first]) / (last - first)))
    return rate, float(np.abs(np.linalg.eigvals(mean / (last - first))).max())


def row(bias: float, inputs: float, seed: int) -> dict[str, Any]:
    measured, mean = run(bias, inputs, seed, 300, 50, 150)
    found = {"bias": bias, "inputs": inputs, "seed": seed, "measured": measured, "mean": mean}
    return found if seed > 2 else found | {"late": run(bias, inputs, seed, 1500, 500, 1000)[0]}


def key(row: dict[str, Any]) -> tuple[float, float, int]:
    return row["bias"], row["inputs"], row["seed"]


def as_table(rows: list[dict[str, Any]]) -> str:
    """The rows of the table of the page: means over the seeds."""
    lines = []
    for bias in BIASES:
        cells = [f"{bias:g}", f"{sigmoid(np.array(bias)):.2f}", f"{sigmoid(np.array(bias)) + 3**-0.5 / 4:.2f}"]
        for name in ("measured", "late"):
            for size in (0.0, 1.0):
                mine = [r[name] for r in rows if (r["bias"], r["inputs"]) == (bias, size) and name in r]
                cells.append(f"{np.mean(mine):.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    wanted = [dict(bias=b, inputs=x, seed=seed) for b in BIASES for x in INPUTS for seed in SEEDS]
    command = "python scripts/evidence/lstm_rates.py docs/data/lstm_rates.json"
    print(as_table(sweep(parser.parse_args().out, wanted, row, key, command)))


if __name__ == "__main__":
    main()
