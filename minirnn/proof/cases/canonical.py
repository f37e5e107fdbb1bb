"""Cases of the ops that cut the parameter buffer of a CudnnRNN network into matrices, and join them again.

They only move values, so everything is exact. Stored values check which piece is which.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.case import Case
from minirnn.proof.cases.cudnn import name_of, networks
from minirnn.proof.tolerance import Count

MOVED = Count(0, "0", 0, "0")


def cases() -> Iterator[Case]:
    """Cutting and joining for every network; the first version has no projection."""
    for net in networks():
        quick = net.rnn_mode == "lstm" and net.L == net.D and net.skip == bool(net.num_proj)
        for version in ("", "_v2")[1 if net.num_proj else 0 :]:
            yield to_canonical(f"cudnn_rnn_params_to_canonical{version}", net, quick)
            yield to_params(f"cudnn_rnn_canonical_to_params{version}", net, quick)


def to_canonical(op: str, net: Network, quick: bool) -> Case:
    """The buffer cut into its pieces."""

    def call(params: Any) -> list[Any]:
        found = getattr(ops, op)(net.L, net.H, net.I, params, **options_of(op, net))
        return [*found.weights, *found.biases]

    return Case(
        op, net.rnn_mode, f"{name_of(net)} I={net.I} H={net.H}", call,
        lambda rng: {"params": rng.standard_normal(net.size)},
        names(net), MOVED, MOVED, has_definition=False, quick=quick,
    )  # fmt: skip


def to_params(op: str, net: Network, quick: bool) -> Case:
    """The pieces joined to a buffer."""
    shapes = [region.shape for region in (*net.weights, *net.biases)]

    def call(*parts: Any) -> list[Any]:
        count = len(net.weights)
        return [getattr(ops, op)(net.L, net.H, net.I, parts[:count], parts[count:], **options_of(op, net))]

    return Case(
        op, net.rnn_mode, f"{name_of(net)} I={net.I} H={net.H}", call,
        lambda rng: {name: rng.standard_normal(shape) for name, shape in zip(names(net), shapes, strict=True)},
        ("params",), MOVED, MOVED, has_definition=False, step=1e-3 if net.L == net.D == 1 else 0.0, quick=quick,
    )  # fmt: skip


def names(net: Network) -> list[str]:
    """The names of the pieces in their order."""
    parts = {"weights": net.weights, "biases": net.biases}
    return [f"{name}[{k}]" for name, part in parts.items() for k in range(len(part))]


def options_of(op: str, net: Network) -> dict[str, Any]:
    """The attributes of a call; the first version has no projection."""
    options: dict[str, Any] = {"rnn_mode": net.rnn_mode, "input_mode": net.input_mode, "direction": net.direction}
    return options | ({"num_proj": net.num_proj} if op.endswith("_v2") else {})
