"""The path of one call: its calls, its files, and its time.

Run with ``python trips.py``, with the checkout that is measured first on PYTHONPATH, it prints all of this as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Trip = tuple[Callable[[], Any], Callable[[Any], Any]]


def entered(function: Callable[[], Any], root: str) -> list[CodeType]:
    """The functions of the package that `function` enters, in order."""
    found: list[CodeType] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(root):
            found.append(frame.f_code)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def trips() -> dict[str, Trip]:
    """Maps a name to its preparation and to the measured call, which gets the prepared objects."""
    import numpy as np

    import minirnn as mr

    rng = np.random.default_rng(0)
    T, B, I, H = 4, 1, 8, 16

    def leaf(*shape: int) -> Any:
        return mr.tensor(rng.normal(size=shape).astype(np.float32), requires_grad=True)

    cell = leaf(B, I), leaf(B, H), leaf(B, H), leaf(I + H, 4 * H), leaf(H), leaf(H), leaf(H), leaf(4 * H)
    x, state, lengths = leaf(T, B, I), (leaf(1, B, H), leaf(1, B, H)), [T] * B
    params = leaf(mr.ops.cudnn_rnn_params_size(1, H, I))
    module, data = mr.nn.LSTM(I, H), mr.tensor(x.numpy())
    a, b = leaf(), leaf()

    def loss() -> Any:
        for t in cell:
            t.grad = None
        return mr.ops.lstm_block_cell(*cell).h.sum()

    def scalars(_: Any) -> None:
        y = a
        for _ in range(100):
            y = y * b + a
        y.backward()

    nothing = lambda: None  # noqa: E731
    return {
        "a * b + b": (nothing, lambda _: a * b + b),
        "lstm_block_cell": (nothing, lambda _: mr.ops.lstm_block_cell(*cell)),
        ".h.sum().backward()": (loss, lambda y: y.backward()),
        # Gradients from earlier runs exist, so the new ones are added to them.
        "lstm_block_cell, backward": (nothing, lambda _: mr.ops.lstm_block_cell(*cell).h.sum().backward()),
        "cudnn_rnn_v3": (nothing, lambda _: mr.ops.cudnn_rnn_v3(x, *state, params, lengths)),
        "nn.LSTM": (nothing, lambda _: module(data)),
        "nn.LSTM, backward": (nothing, lambda _: module(x)[0].sum().backward()),
        "200 scalar ops and back": (nothing, scalars),
    }


def measured() -> dict[str, dict[str, float]]:
    """Maps a trip to its calls, files and microseconds, in this process."""
    import minirnn

    root = str(Path(minirnn.__file__).parent)
    return {name: _measured(name, *trip, root) for name, trip in trips().items()}


def _measured(name: str, prepare: Callable[[], Any], call: Callable[[Any], Any], root: str) -> dict[str, float]:
    for _ in range(3):
        call(prepare())
    ready = prepare()
    codes = entered(lambda: call(ready), root)
    found: dict[str, float] = {"calls": len(codes), "files": len({code.co_filename for code in codes})}
    times = []
    for _ in range(200 if "scalar" not in name else 20):
        ready = prepare()
        start_time = time.perf_counter()
        call(ready)
        times.append(time.perf_counter() - start_time)
    return {**found, "us": min(times) * 1e6}


def measured_in(folder: Path) -> dict[str, dict[str, float]]:
    """The same for the checkout in `folder`, in its own process."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, str(Path(__file__).resolve())]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


if __name__ == "__main__":
    print(json.dumps(measured()))
