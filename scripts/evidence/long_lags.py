#!/usr/bin/env python3
"""The longest lag that each network learns, and the gradient that reached the first step before training.

    python scripts/evidence/long_lags.py docs/data/long_lags.json --tasks adding     # goes on where it was interrupted
    python scripts/evidence/long_lags.py docs/data/long_lags.json --tasks copying --lags 5 7 10
    python scripts/evidence/long_lags.py docs/data/long_lags.json --tasks adding --lags 200 --rates 0.005
    python scripts/evidence/long_lags.py docs/data/five_seeds.json --small           # two rates, lags of 20, 50 and 200
    python scripts/evidence/long_lags.py docs/data/five_seeds.json --small --tasks copying --lags 20
    python scripts/evidence/long_lags.py FILE --seeds 0 --lags 10 20 --steps 200     # in a minute

Every network has 64 units and is trained by Adam on batches of 32 new sequences, until the mean loss of 50 steps is
below a tenth of the loss of a network without memory, or the steps are over. With `--small` it has 16 units, batches
have 16 sequences, and one symbol is copied instead of four. `reach` is the norm of the gradient of the
last step's loss with respect to the state after the first step, as a share of that with respect to the last output,
before training. Tutorial 7 draws the results with the learning rate 0.002. Rows with another one have a `rate`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # noqa: E402
from rows import sweep  # noqa: E402

import minirnn as mr  # noqa: E402

WINDOW = 50
RATE = 0.002


class Size(NamedTuple):
    """How large the networks and the batches are, how many symbols are copied, and which device computes."""

    H: int
    B: int
    copied: int
    device: str


LARGE, SMALL = Size(64, 32, 4, "cpu"), Size(16, 16, 1, "native")


def plain(
    start: Callable[[np.ndarray], Any] | None = None, nonlinearity: str = "tanh"
) -> Callable[[int, int], mr.nn.Module]:
    """A plain network whose recurrent matrix may be initialized differently from torch."""

    def make(I: int, H: int) -> mr.nn.Module:
        layer = mr.nn.RNN(I, H, nonlinearity=nonlinearity)
        if start:
            start(layer.weight_hh_l0)
        return layer

    return make


NETWORKS: dict[str, Callable[[int, int], mr.nn.Module]] = {
    "RNN": plain(),
    "RNN, orthogonal": plain(mr.nn.init.orthogonal_),
    "RNN, relu, identity": plain(mr.nn.init.eye_, "relu"),
    "GRU": lambda I, H: mr.nn.GRU(I, H),
    "LSTM, forget bias 0": lambda I, H: mr.nn.LSTM(I, H),
    "LSTM, forget bias 1": lambda I, H: mr.nn.LSTM(I, H, forget_bias=1.0),
    "LSTM, forget bias 3": lambda I, H: mr.nn.LSTM(I, H, forget_bias=3.0),
}


def adding(rng: np.random.Generator, lag: int, size: Size) -> tuple[np.ndarray, np.ndarray, float]:
    return mr.data.adding_problem(rng, lag, size.B)


def copying(rng: np.random.Generator, lag: int, size: Size) -> tuple[np.ndarray, np.ndarray, float]:
    return mr.data.copy_memory(rng, lag + size.copied, size.B, length=size.copied, symbols=4)


TASKS = {"adding": (adding, 2, 1), "copying": (copying, 6, 6)}  # batches, inputs, outputs


def loss_of(task: str, scores: mr.Tensor, target: Any) -> mr.Tensor:
    """Mean squared error of the answer after the last step; or cross-entropy at every step."""
    if task == "adding":
        return ((scores[-1] - target) ** 2).mean()
    return mr.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), target.reshape(-1))


def last_loss(task: str, scores: mr.Tensor, target: np.ndarray) -> mr.Tensor:
    """The part of the loss that comes from the last step only."""
    if task == "adding":
        return loss_of(task, scores, target)
    return mr.nn.functional.cross_entropy(scores[-1], target[-1])


def reach(task: str, layer: mr.nn.Module, head: mr.nn.Module, x: np.ndarray, target: np.ndarray) -> float:
    """The share of the last output's gradient that arrives at the state after the first step (of an LSTM h and c)."""
    state, first, y = None, (), mr.tensor(0.0)
    for t in range(len(x)):
        y, state = layer(mr.tensor(x[t : t + 1]), state)
        first = first or (state if isinstance(state, tuple) else (state,))
    found = mr.grad(last_loss(task, head(y), target), [*first, y])
    *begin, end = (float(np.linalg.norm(g.numpy().astype(float))) for g in found)
    return float(np.linalg.norm(begin)) / end


def learn(
    task: str, network: str, lag: int, seed: int, steps: int, rate: float = RATE, size: Size = LARGE
) -> dict[str, Any]:
    """One row of the table."""
    mr.manual_seed(seed)
    draw, inputs, outputs = TASKS[task]
    layer, head = NETWORKS[network](inputs, size.H), mr.nn.Linear(size.H, outputs)
    rng = np.random.default_rng([seed, lag])
    x, target, baseline = draw(rng, lag, size)
    row: dict[str, Any] = {"task": task, "network": network, "lag": lag, "seed": seed, "steps": steps}
    if rate != RATE:
        row["rate"] = rate
    row["reach"] = reach(task, layer, head, x, target)
    row["baseline"] = baseline
    model = mr.nn.ModuleList([layer, head]).to(size.device)
    parameters = list(model.parameters())
    optimizer = mr.optim.Adam(parameters, lr=rate)
    losses: list[float] = []
    began = time.process_time()
    for step in range(steps):
        x, target = (mr.tensor(array, device=size.device) for array in draw(rng, lag, size)[:2])
        loss = loss_of(task, head(layer(x)[0]), target)
        optimizer.zero_grad()
        loss.backward()
        mr.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        losses.append(loss.item())
        if len(losses) >= WINDOW and np.mean(losses[-WINDOW:]) < 0.1 * baseline:
            row["solved"] = step + 1
            break
        if not np.isfinite(losses[-1]):
            break
    return row | {"loss": float(np.mean(losses[-WINDOW:])), "seconds": round(time.process_time() - began, 1)}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return *(row[name] for name in ("task", "network", "lag", "seed", "steps")), row.get("rate", RATE)


def as_table(rows: list[dict[str, Any]]) -> str:
    """The tutorial's data for each task: the lags, and for each lag the median reach and the steps of each seed."""
    lines = []
    rows = [row for row in rows if "rate" not in row]
    for task in TASKS:
        lags = sorted({row["lag"] for row in rows if row["task"] == task})
        found: dict[str, dict[str, Any]] = {"REACH": {}, "STEPS": {}}
        for network in NETWORKS:
            mine = [row for row in sorted(rows, key=key) if (row["task"], row["network"]) == (task, network)]
            by_lag = [[row for row in mine if row["lag"] == lag] for lag in lags]
            reaches = ", ".join(f"{float(np.median([row['reach'] for row in seeds])):.0e}" for seeds in by_lag)
            steps = ", ".join(" ".join(str(row.get("solved", "-")) for row in seeds) for seeds in by_lag)
            found["REACH"][network], found["STEPS"][network] = f"({reaches})", f'"{steps}"'
        lines.append(f"{task.upper()}_LAGS = {tuple(lags)}")
        for what, cells in found.items():
            lines.append(f"{task.upper()}_{what} = {{")
            lines += [f'    "{network}": {cell},' for network, cell in cells.items()]
            lines.append("}")
    return "\n".join(lines)


def of_five_seeds(rows: list[dict[str, Any]]) -> str:
    """The tutorial's table of small networks: least and largest reach, and the steps of each seed, rate by rate."""
    lines = ["FIVE_SEEDS = {"]
    for (task, lag), case in itertools.groupby(sorted(rows, key=by_case), lambda row: by_case(row)[:2]):
        lines.append(f'    "{task}, {lag} steps": {{')
        for network, of_network in itertools.groupby(case, lambda row: row["network"]):
            runs = list(of_network)
            reach = [row["reach"] for row in runs]
            rates = itertools.groupby(runs, lambda row: row["rate"])
            steps = [" ".join(str(row.get("solved", "-")) for row in seeds) for _, seeds in rates]
            said = ", ".join(f'"{text}"' for text in steps)
            lines.append(f'        "{network}": ({min(reach):.0e}, {max(reach):.0e}, {said}),')
        lines.append("    },")
    return "\n".join([*lines, "}"])


def by_case(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["task"], row["lag"], row["network"], row["rate"], row["seed"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--lags", nargs="+", type=int, default=[10, 20, 50, 100, 200])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rates", nargs="+", type=float, default=[RATE], help="learning rates of Adam")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--small", action="store_true", help="small networks, five seeds, two rates, lags to 200")
    parser.set_defaults(size=LARGE, networks=list(NETWORKS))
    if parser.parse_known_args()[0].small:
        parser.set_defaults(size=SMALL, lags=[20, 50, 200], seeds=[0, 1, 2, 3, 4], rates=[0.003, 0.01], steps=1500)
        parser.set_defaults(networks=["RNN, relu, identity", "GRU", "LSTM, forget bias 1", "LSTM, forget bias 3"])
    given = parser.parse_args()
    names = ("lag", "seed", "task", "network", "rate", "steps", "size")
    every = given.lags, given.seeds, given.tasks, given.networks, given.rates, [given.steps], [given.size]
    wanted = [dict(zip(names, one, strict=True)) for one in itertools.product(*every)]
    command = f"python scripts/evidence/long_lags.py docs/data/{given.out.name}" + " --small" * given.small
    rows = sweep(given.out, wanted, learn, key, command)
    print(of_five_seeds(rows) if given.small else as_table(rows))


if __name__ == "__main__":
    main()
