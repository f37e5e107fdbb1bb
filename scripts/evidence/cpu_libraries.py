"""One recurrent layer in every compared library: the timed passes, as functions without arguments.

forward            no gradient is kept
forward+backward   gradients of x, the states and all weights, for a given gradient of y
step               of training: gradients of the squares of y, and Adam
train              a step of ``minirnn train``, and the same model, text and optimizer in torch
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from minirnn.bench.calls import Call, Size, our_calls, torch_calls

Calls = dict[str, Call]


def minirnn(mode: str, size: Size, dtype: str) -> Calls:
    """On the default device, which ``MINIRNN_DEVICE`` names."""
    import minirnn as mr

    T, B, I, H = size
    x = mr.tensor(np.random.default_rng(0).standard_normal((T, B, I)).astype(dtype))
    layer = {"lstm": mr.nn.LSTM, "gru": mr.nn.GRU}[mode](I, H, dtype=dtype)
    optimizer = mr.optim.Adam(layer.parameters(), lr=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        y = layer(x)[0]
        (y * y).mean().backward()
        optimizer.step()

    return {**our_calls(mr.devices.get(), mode, size, dtype), "step": step}


def torch(mode: str, size: Size, dtype: str) -> Calls:
    import torch as library

    T, B, I, H = size
    kind = getattr(library, dtype)
    x = library.randn(T, B, I, dtype=kind)
    layer = {"lstm": library.nn.LSTM, "gru": library.nn.GRU}[mode](I, H, dtype=kind)
    optimizer = library.optim.Adam(layer.parameters(), lr=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        y = layer(x)[0]
        (y * y).mean().backward()
        optimizer.step()

    return {**torch_calls("cpu", mode, size, dtype), "step": step}


def training(cell: str, size: Size) -> Call:
    """Steps of ``minirnn train`` on the default device."""
    from minirnn.train.run import begun

    T, B, _, H = size
    work = begun({"cell": cell, "hidden": H, "batch": B, "length": T, "steps": 10**6})
    return work.advance


def training_in_torch(cell: str, size: Size) -> Call:
    """The same step in typical torch code."""
    import torch as library
    from torch import nn

    import minirnn as mr
    from minirnn.train.model import EMBEDDING
    from minirnn.train.training import CLIP

    library.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    T, B, _, H = size
    text = mr.data.python_source_text()
    vocabulary = mr.data.CharVocabulary.from_text(text)
    ids, _ = mr.data.train_validation_split(vocabulary.encode(text))
    V, batches = len(vocabulary), mr.data.CharBatches(ids, T, B)
    kind = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
    embedding, recurrent, output = nn.Embedding(V, EMBEDDING), kind(EMBEDDING, H), nn.Linear(H, V)
    parameters = [p for module in (embedding, recurrent, output) for p in module.parameters()]
    optimizer = library.optim.Adam(parameters, lr=0.004)
    state: Any = None

    def step() -> float:
        nonlocal state
        if batches.at_start:
            state = None
        x, y = (library.from_numpy(a.astype("int64")) for a in next(batches))
        h, state = recurrent(embedding(x), state)
        state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        loss = nn.functional.cross_entropy(output(h).reshape(-1, V), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, CLIP)
        value = loss.item()
        optimizer.step()
        return float(value)

    return step


def of(name: str, mode: str, size: Size, dtype: str, trains: bool) -> Calls:
    """The passes of a library; "cpu" and "native" are minirnn's devices."""
    if trains:
        return {"train": (training_in_torch if name == "torch" else training)(mode, size)}
    return (torch if name == "torch" else minirnn)(mode, size, dtype)
