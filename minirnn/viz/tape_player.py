"""The backward pass, one node at a time: what arrives at it, and what it sends to each of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minirnn.backward import grad
from minirnn.devices.base import sum_to_shape
from minirnn.tape import Output, no_grad, outputs_of
from minirnn.tensor import Tensor, leaf
from minirnn.viz.tape_graph import tape_nodes


@dataclass(frozen=True)
class Frame:
    """One step of the backward pass.

    Attributes
    ----------
    node : Tensor
        Whose op is walked back through.
    name : str
    arrives : numpy.ndarray or dict
        The gradient of the loss by this value: the sum over all its uses. Of a fused op with several outputs a dict:
        "output k" -> the gradient by that output, for those that something arrives at.
    sends : tuple
        (name, array) for each input: what this use of it adds to its gradient.
    """

    node: Tensor
    name: str
    arrives: np.ndarray | dict[str, np.ndarray]
    sends: tuple[tuple[str, np.ndarray], ...] = field(default=())

    def __str__(self) -> str:
        parts = self.arrives if isinstance(self.arrives, dict) else {"": self.arrives}
        lines = [f"{self.name}: {_short(a)} arrives{f' at {name}' if name else ''}" for name, a in parts.items()]
        lines += [f"    sends {_short(array)} to {name}" for name, array in self.sends]
        return "\n".join(lines)


def tape_player(loss: Tensor, names: Mapping[str, Tensor] | None = None) -> list[Frame]:
    """Play the backward pass of `loss`, from the loss to the leaves.

    The tape is left as it is: ``loss.backward()`` still works, and gives the leaves the sums of what is sent to them.

    Parameters
    ----------
    loss : Tensor
        Of shape ().
    names : dict of str to Tensor, optional
        What to call leaves and values. Others are called by their op and number.

    Returns
    -------
    list of Frame
        In the order of the backward pass; ``print(frame)`` tells it in words.

    Raises
    ------
    ValueError
        If the loss is no single number, or nothing was recorded for it.
    """
    nodes = tape_nodes(loss)
    if loss.shape != ():
        raise ValueError(f"tape_player: loss has shape {loss.shape}\n  expected one number, shape ()")
    if loss.op is None:
        raise ValueError(
            "tape_player: nothing was recorded for this loss\n  expected one computed from requires_grad=True"
        )
    called = {id(t): name for name, t in (names or {}).items()}
    counts: dict[str, int] = {}
    titles = {}
    for t in nodes:
        if id(t) in called:
            titles[t] = called[id(t)]
            continue
        kind = t.op.name if t.op is not None else ("leaf" if t.requires_grad else "constant")
        counts[kind] = counts.get(kind, 0) + 1
        titles[t] = f"{kind} {counts[kind]}"
    computed = [t for t in reversed(nodes) if t.op is not None and t.requires_grad]
    single = [t for t in computed if not _is_fused(t)]
    arrived: dict[Tensor, Any] = dict(zip(single, grad(loss, single, retain_graph=True), strict=True))
    frames = []
    for node in computed:
        if isinstance(node.op, Output):  # a part of the node it belongs to
            arrived.setdefault(node.parents[0], {})[node.op.index] = arrived[node]
            continue
        dy = arrived[node]
        with no_grad():
            sent = _sent(node, dy)
        sends = tuple(
            (titles[p], g.numpy()) for p, g in zip(node.parents, sent, strict=True) if p.requires_grad and g is not None
        )
        parts = {f"output {k}": g.numpy() for k, g in sorted(dy.items())} if _is_fused(node) else dy.numpy()
        frames.append(Frame(node, titles[node], parts, sends))
    return frames


def _is_fused(t: Tensor) -> bool:
    return isinstance(t.array, (list, tuple))


def _sent(node: Tensor, dy: Any) -> list[Any]:
    """What the op of one node alone sends to each of its inputs; two uses of one value count apart."""
    op: Any = node.op
    if _is_fused(node):
        outputs = outputs_of(node)
        raw = op.backward([dy.get(k) for k in range(len(outputs))], outputs, *node.parents)
    else:
        raw = op.backward(dy, node, *node.parents)
    return [
        None if g is None else leaf(p.device, sum_to_shape(p.device, g.array, p.shape))
        for p, g in zip(node.parents, raw, strict=True)
    ]


def _short(a: np.ndarray) -> str:
    if a.size <= 4:
        return np.array2string(a, precision=4, separator=" ", suppress_small=True)
    return f"{a.shape}, norm {np.linalg.norm(a):.4g},"
