"""One recurrent layer in every compared library: the timed passes, as functions without arguments.

forward            no gradient is kept
forward+backward   gradients of x, the states and all weights, for a given gradient of y
step               of training: gradients of the squares of y, and Adam
train              a step of ``minirnn train``, and the same model, text and optimizer in torch
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn.bench.calls import GATES, Call, Size, our_calls, torch_calls

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


def jax(mode: str, size: Size, dtype: str) -> Calls:
    """`lax.scan` under `jit`, with one product for all inputs before the loop. The GRU is that of cuDNN."""
    import jax as library
    import jax.numpy as jnp
    from jax import lax

    if dtype == "float64":
        library.config.update("jax_enable_x64", True)
    T, B, I, H = size
    G, rng = GATES[mode], np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return jnp.asarray((H**-0.5 * rng.standard_normal(shape)).astype(dtype))

    x, h0, c0, dy = draw(T, B, I), draw(B, H), draw(B, H), draw(T, B, H)
    weights = draw(G * H, I), draw(G * H, H), draw(G * H), draw(G * H)
    sigmoid = library.nn.sigmoid

    def run(weights: Any, x: Any, h0: Any, c0: Any) -> Any:
        W, R, bW, bR = weights

        def lstm(state: Any, a_x: Any) -> Any:
            h, c = state
            i, f, n, o = jnp.split(a_x + h @ R.T + bR, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * jnp.tanh(n)
            h = sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        def gru(state: Any, a_x: Any) -> Any:
            h, c = state
            x_r, x_z, x_n = jnp.split(a_x, 3, axis=1)
            h_r, h_z, h_n = jnp.split(h @ R.T + bR, 3, axis=1)
            r, z = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
            n = jnp.tanh(x_n + r * h_n)
            h = n + z * (h - n)
            return (h, c), h

        return lax.scan(lstm if mode == "lstm" else gru, (h0, c0), x @ W.T + bW)[1]

    forward = library.jit(run)
    grad = library.jit(library.grad(lambda *arguments: (run(*arguments) * dy).sum(), argnums=(0, 1, 2, 3)))
    given = weights, x, h0, c0
    return {
        "forward": lambda: forward(*given).block_until_ready(),
        "forward+backward": lambda: library.block_until_ready(grad(*given)),
    }


def onnxruntime(mode: str, size: Size, dtype: str, threads: int) -> Calls:
    """One node, LSTM or GRU, whose weights are constants of the model; there is no backward."""
    import onnxruntime as library
    from onnx import TensorProto, helper, numpy_helper

    T, B, I, H = size
    G, rng = GATES[mode], np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return (H**-0.5 * rng.standard_normal(shape)).astype(dtype)

    weights = {"W": draw(1, G * H, I), "R": draw(1, G * H, H), "b": draw(1, 2 * G * H)}
    kind = TensorProto.FLOAT if dtype == "float32" else TensorProto.DOUBLE
    more = {"linear_before_reset": 1} if mode == "gru" else {}
    node = helper.make_node(mode.upper(), ["x", *weights], ["y"], hidden_size=H, **more)
    graph = helper.make_graph(
        [node],
        mode,
        [helper.make_tensor_value_info("x", kind, (T, B, I))],
        [helper.make_tensor_value_info("y", kind, (T, 1, B, H))],
        [numpy_helper.from_array(a, name) for name, a in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
    model.ir_version = 8
    options = library.SessionOptions()
    options.intra_op_num_threads = threads
    session = library.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    x = draw(T, B, I)
    return {"forward": lambda: session.run(None, {"x": x})}


def training(cell: str, size: Size) -> Call:
    """Steps of ``minirnn train`` on the default device."""
    from minirnn.train.work import begun

    T, B, _, H = size
    work = begun({"cell": cell, "hidden": H, "batch": B, "length": T, "steps": 10**6})
    return work.advance


def training_in_torch(cell: str, size: Size) -> Call:
    """The same step in typical torch code."""
    import torch as library
    from torch import nn

    import minirnn as mr
    from minirnn.train.model import EMBEDDING
    from minirnn.train.run import CLIP

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


def of(name: str, mode: str, size: Size, dtype: str, threads: int, trains: bool) -> Calls:
    """The passes of a library; "cpu" and "native" are minirnn's devices."""
    if trains:
        return {"train": (training_in_torch if name == "torch" else training)(mode, size)}
    if name == "onnxruntime":
        return onnxruntime(mode, size, dtype, threads)
    makers: dict[str, Callable[[str, Size, str], Calls]] = {"torch": torch, "jax": jax}
    return makers.get(name, minirnn)(mode, size, dtype)
