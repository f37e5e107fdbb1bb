"""A step of ``minirnn train`` beside the same step written in torch: the model, the text, the optimizer are the same.

    python benchmarks/train.py [--devices cpu native] [--cell lstm] [--hidden 256] [--turns 9] [--threads 2]

Each runs in a process of its own; they take turns, and nobody starts before the others' threads have gone to sleep
(libraries keep theirs spinning for up to 0.2 s after a call, which takes the cores away from the next one). A turn is
10 steps; printed are the median of a step, the fastest and the slowest turn, and the ratio to torch. Only the ratios
mean something.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

STEPS = 10
OPTIONS = ("cell", "hidden", "batch", "length")


def ours(options: dict[str, object], device: str) -> Callable[[], float]:
    """A step of ``minirnn train --device DEVICE``; it returns the loss."""
    from minirnn.train.work import begun

    training = begun({**options, "device": device, "steps": 10**6})

    def step() -> float:
        training.advance()
        return training.lines[-1]["loss"] or 0.0

    return step


def torchs(options: dict[str, object]) -> Callable[[], float]:
    """The same step as a user of torch writes it."""
    import torch
    from torch import nn

    import minirnn as mr
    from minirnn.train.model import EMBEDDING
    from minirnn.train.run import CLIP

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
    text = mr.data.python_source_text()
    vocabulary = mr.data.CharVocabulary.from_text(text)
    ids, _ = mr.data.train_validation_split(vocabulary.encode(text))
    V, H, B, T = len(vocabulary), options["hidden"], options["batch"], options["length"]
    batches = mr.data.CharBatches(ids, T, B)
    kind = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[str(options["cell"])]
    embedding, recurrent, output = nn.Embedding(V, EMBEDDING), kind(EMBEDDING, H), nn.Linear(H, V)
    parameters = [p for module in (embedding, recurrent, output) for p in module.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.004)
    state = None

    def step() -> float:
        nonlocal state
        if batches.at_start:
            state = None
        x, y = (torch.from_numpy(a.astype("int64")) for a in next(batches))
        h, state = recurrent(embedding(x), state)
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        loss = nn.functional.cross_entropy(output(h).reshape(-1, V), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        value = loss.item()
        optimizer.step()
        return value

    return step


def serve(name: str, options: dict[str, object]) -> None:
    """Answer every line of the standard input with the milliseconds of a step."""
    step = torchs(options) if name == "torch" else ours(options, name)
    for _ in range(5):
        step()
    for _ in sys.stdin:
        start = time.perf_counter()
        for _ in range(STEPS):
            step()
        print((time.perf_counter() - start) / STEPS * 1e3, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", nargs="+", default=["cpu"])
    parser.add_argument("--cell", default="lstm", choices=["lstm", "gru", "rnn"])
    for name, default in (("hidden", 256), ("batch", 32), ("length", 64), ("turns", 9), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    options = {name: getattr(arguments, name) for name in OPTIONS}
    if arguments.serve:
        serve(arguments.serve, options)
        return

    from minirnn.bench.peers import environment, wait_until_idle

    command = [sys.executable, __file__, *(f"--{name}={value}" for name, value in options.items())]
    runs = {
        name: subprocess.Popen(
            [*command, f"--serve={name}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(arguments.threads),
        )
        for name in (*arguments.devices, "torch")
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(arguments.turns + 1):  # the first one warms up
        for name, run in runs.items():
            wait_until_idle(runs.values())
            assert run.stdin is not None and run.stdout is not None
            run.stdin.write("\n")
            run.stdin.flush()
            answer = float(run.stdout.readline())
            if turn:
                times[name].append(answer)
    for run in runs.values():
        run.communicate()
    of_torch = statistics.median(times["torch"])
    for name, found in times.items():
        median = statistics.median(found)
        print(f"{name:8} {median:8.2f} ms   {min(found):8.2f} .. {max(found):8.2f}   / torch {median / of_torch:5.2f}")
    print(json.dumps({"options": options, "threads": arguments.threads, "milliseconds": times}))


if __name__ == "__main__":
    main()
