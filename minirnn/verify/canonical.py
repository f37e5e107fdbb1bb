"""Cases of the ops that cut the parameter buffer of a CudnnRNN network into matrices, and join them again.

They move numbers, so everything is exact. The expected pieces are those of a plain cut, one after the other, with the
sizes of TensorFlow's documentation.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.verify.case import Arrays, Case, gradient_of
from minirnn.verify.cudnn import name_of, networks
from minirnn.verify.table import Cell, Comparison, Finding
from minirnn.verify.tolerance import EXACT, Count

MOVED = Count(0, "0", 0, "0")
GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def cases() -> Iterator[Case]:
    """Cutting and joining for every network; the first version knows no projection."""
    for net in networks():
        quick = net.L == 2 and net.rnn_mode == "lstm" and net.D == 2 and net.skip == bool(net.num_proj)
        for version in ("", "_v2")[1 if net.num_proj else 0 :]:
            yield to_canonical(f"cudnn_rnn_params_to_canonical{version}", net, quick)
            yield to_params(f"cudnn_rnn_canonical_to_params{version}", net, quick)


def size_comparisons(devices: dict[str, str | None]) -> Iterator[Comparison]:
    """`cudnn_rnn_params_size`, which computes on no device, against the lengths of the pieces."""
    if "cpu" in devices:
        for net in networks():
            cell = Cell("cudnn_rnn_params_size", net.rnn_mode, "int", "cpu", "definition")
            yield Comparison(cell, name_of(net), partial(size, net), quick=True)


def size(net: Network) -> Finding:
    """`cudnn_rnn_params_size` against the lengths of the pieces."""
    found = ops.cudnn_rnn_params_size(net.L, net.H, net.I, **options_of("_v2", net))
    expected = sum(prod(shape) for shape in [s for part in shapes(net) for s in part])
    return Finding(0.0 if found == expected else np.inf, 0.0, EXACT.reason, "size")


def to_canonical(op: str, net: Network, quick: bool) -> Case:
    """The buffer cut into its pieces."""
    pieces = names(net)

    def expected(inputs: Arrays, cotangents: list[np.ndarray]) -> Arrays:
        return dict(zip(pieces, cut(net, inputs["params"]), strict=True)) | {gradient_of("params"): join(cotangents)}

    def call(params: Any) -> list[Any]:
        found = getattr(ops, op)(net.L, net.H, net.I, params, **options_of(op, net))
        return [*found.weights, *found.biases]

    return Case(
        op, net.rnn_mode, f"{name_of(net)} I={net.I} H={net.H}", call,
        lambda rng: {"params": rng.standard_normal(net.size)},
        pieces, MOVED, MOVED, expected=expected, quick=quick,
    )  # fmt: skip


def to_params(op: str, net: Network, quick: bool) -> Case:
    """The pieces joined to a buffer."""
    matrices, vectors = shapes(net)
    pieces = names(net)

    def expected(inputs: Arrays, cotangents: list[np.ndarray]) -> Arrays:
        gradients = zip(pieces, cut(net, cotangents[0]), strict=True)
        return {"params": join(list(inputs.values()))} | {gradient_of(name): g for name, g in gradients}

    def call(*parts: Any) -> list[Any]:
        weights, biases = list(parts[: len(matrices)]), list(parts[len(matrices) :])
        return [getattr(ops, op)(net.L, net.H, net.I, weights, biases, **options_of(op, net))]

    return Case(
        op, net.rnn_mode, f"{name_of(net)} I={net.I} H={net.H}", call,
        lambda rng: {n: rng.standard_normal(s) for n, s in zip(pieces, [*matrices, *vectors], strict=True)},
        ("params",), MOVED, MOVED, expected=expected, step=1e-3 if net.L == net.D == 1 else 0.0, quick=quick,
    )  # fmt: skip


def shapes(net: Network) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Shapes of the matrices and of the vectors, in their order; without input matrices they have no columns."""
    G, width = GATES[net.rnn_mode], net.num_proj or net.H
    skip = net.input_mode == "skip_input" or (net.input_mode == "auto_select" and net.I == net.H)
    matrices: list[tuple[int, ...]] = []
    for layer in range(net.L):
        below = (0 if skip else net.I) if layer == 0 else net.D * width
        for _ in range(net.D):
            matrices += [(net.H, below)] * G + [(net.H, width)] * G
            matrices += [(net.num_proj, net.H)] if net.num_proj else []
    return matrices, [(net.H,)] * (2 * G * net.L * net.D)


def names(net: Network) -> list[str]:
    """The names of the pieces in their order."""
    matrices, vectors = shapes(net)
    return [f"weights[{k}]" for k in range(len(matrices))] + [f"biases[{k}]" for k in range(len(vectors))]


def cut(net: Network, params: np.ndarray) -> list[np.ndarray]:
    """The pieces of a buffer, one after the other."""
    listed = [shape for part in shapes(net) for shape in part]
    ends = np.cumsum([prod(shape) for shape in listed])
    return [part.reshape(shape) for part, shape in zip(np.split(params, ends[:-1]), listed, strict=True)]


def join(pieces: list[np.ndarray]) -> np.ndarray:
    """The buffer that consists of these pieces."""
    return np.concatenate([piece.ravel() for piece in pieces])


def options_of(op: str, net: Network) -> dict[str, Any]:
    """The attributes of a call; the first version knows no projection."""
    options: dict[str, Any] = {"rnn_mode": net.rnn_mode, "input_mode": net.input_mode, "direction": net.direction}
    return options | ({"num_proj": net.num_proj} if op.endswith("_v2") else {})
