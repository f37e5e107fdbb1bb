#!/usr/bin/env python3
"""The benefit of a longer window of truncated backpropagation on text.

    python scripts/evidence/windows.py docs/data/windows.json                     # goes on where it was interrupted
    python scripts/evidence/windows.py FILE --seeds 0 --windows 4 32 --steps 200  # in a minute

Every network has 64 units and is trained by Adam on the text of chapter 10, with 512 characters per update. The state
is passed on from window to window. With the same rows ("bias"), an update has 8 rows of 64 characters, and the gradient
is cut every K characters, so that only the lost terms differ. With the same budget ("budget"), an update has 512 / K
rows of K characters. The validation loss, in nats per character, is that of a text which is read in one piece. The page
of questions has the table.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from rows import sweep  # noqa: E402

import minirnn as mr  # noqa: E402

H, EMBEDDED, RATE = 64, 32, 0.005
CHARACTERS, LONGEST = 512, 64
ROWS = ("bias", "budget")

NETWORKS: dict[str, Callable[[], mr.nn.Module]] = {
    "RNN": lambda: mr.nn.RNN(EMBEDDED, H),
    "LSTM": lambda: mr.nn.LSTM(EMBEDDED, H, forget_bias=1.0),
}


def cut(state: Any) -> Any:
    """The same state, detached from its past."""
    if state is None:
        return None
    return mr.nn.LSTMHidden(*(part.detach() for part in state)) if isinstance(state, tuple) else state.detach()


def learn(rows: str, network: str, window: int, seed: int, steps: int) -> dict[str, Any]:
    """One row of the table."""
    text = mr.data.python_source_text()
    vocabulary = mr.data.CharVocabulary.from_text(text, min_count=20)
    train, validation = mr.data.train_validation_split(vocabulary.encode(text))
    mr.manual_seed(seed)
    V = len(vocabulary)
    embedding, layer, head = mr.nn.Embedding(V, EMBEDDED), NETWORKS[network](), mr.nn.Linear(H, V)
    parameters = [p for part in (embedding, layer, head) for p in part.parameters()]
    optimizer = mr.optim.Adam(parameters, lr=RATE)
    T = LONGEST if rows == "bias" else window
    batches = mr.data.CharBatches(np.roll(train, -10_000 * seed), T=T, B=CHARACTERS // T)  # each seed starts elsewhere
    state, began = None, time.process_time()
    for _ in range(steps):
        state = None if batches.at_start else state
        x, y = next(batches)
        optimizer.zero_grad()
        for t in range(0, T, window):
            h, state = layer(embedding(x[t : t + window]), cut(state))
            (mr.ops.cross_entropy(head(h), y[t : t + window]) * (window / T)).backward()
        mr.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    seconds = time.process_time() - began
    x, y = mr.data.CharBatches(validation, T=1000, B=32).batch(0)
    with mr.no_grad():
        found = mr.ops.cross_entropy(head(layer(embedding(x))[0]), y).item()
    row = {"rows": rows, "network": network, "window": window, "seed": seed, "steps": steps}
    return row | {"validation": found, "seconds": round(seconds, 1)}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("rows", "network", "window", "seed", "steps"))


def as_table(rows: list[dict[str, Any]]) -> str:
    """The table of `docs/questions.md`: for each window the median loss, and the smallest and largest over
    the seeds.
    """
    columns = list(product(ROWS, NETWORKS))
    titles = {"bias": "same rows", "budget": "512/K rows"}
    lines = ["| K | " + " | ".join(f"{network}, {titles[kind]}" for kind, network in columns) + " |"]
    lines.append("|--:" * (1 + len(columns)) + "|")
    for window in sorted({row["window"] for row in rows}):
        cells = []
        for kind, network in columns:
            of = (network, "bias" if window == LONGEST else kind, window)
            found = sorted(row["validation"] for row in rows if (row["network"], row["rows"], row["window"]) == of)
            cells.append(f"{float(np.median(found)):.2f} ({found[0]:.2f} to {found[-1]:.2f})")
        lines.append(f"| {window} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--windows", nargs="+", type=int, default=[4, 16, 64])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=1500)
    given = parser.parse_args()
    wanted = [
        {"rows": kind, "network": network, "window": window, "seed": seed, "steps": given.steps}
        for seed, window, kind, network in product(given.seeds, given.windows, ROWS, NETWORKS)
        if (kind, window) != ("budget", LONGEST)  # the same run as "bias"
    ]
    print(as_table(sweep(given.out, wanted, learn, key, "python scripts/evidence/windows.py docs/data/windows.json")))


if __name__ == "__main__":
    main()
