"""The backward pass, one node at a time: what arrives at it, and what it sends to each of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minirnn.backward import grad
from minirnn.tensor import Tensor
from minirnn.viz.tape_graph import tape_nodes


@dataclass(frozen=True)
class Frame:
    """One step of the backward pass.

    Attributes
    ----------
    node : Tensor
        Whose op is walked back through.
    name : str
    arrives : numpy.ndarray
        The gradient of the loss by this value: the sum over all its uses.
    sends : tuple
        (name, array) for each input: what this use of it adds to its gradient.
    """

    node: Tensor
    name: str
    arrives: np.ndarray
    sends: tuple[tuple[str, np.ndarray], ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"{self.name}: {_short(self.arrives)} arrives"]
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
        If the loss is no single number, nothing was recorded for it, or an op with several outputs is on its tape.
    """
    nodes = tape_nodes(loss)
    if loss.shape != ():
        raise ValueError(f"tape_player: loss has shape {loss.shape}\n  expected one number, shape ()")
    if loss.op is None:
        raise ValueError(
            "tape_player: nothing was recorded for this loss\n  expected one computed from requires_grad=True"
        )
    fused = next((t for t in nodes if isinstance(t.array, (list, tuple))), None)
    if fused is not None and fused.op is not None:
        raise ValueError(
            f"tape_player: {fused.op.name} has {len(fused.array)} outputs and is one node\n"
            "  expected ops with one output; play the primitives it is composed of"
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
    arrived = grad(loss, computed, retain_graph=True)
    frames = []
    for node, dy in zip(computed, arrived, strict=True):
        sends = tuple(
            (titles[p], g.numpy())
            for p, g in zip(node.parents, _sent(node, dy), strict=True)
            if p.requires_grad and g is not None
        )
        frames.append(Frame(node, titles[node], dy.numpy(), sends))
    return frames


def _sent(node: Tensor, dy: Tensor) -> list[Any]:
    """What the op of one node alone sends to each of its inputs; two uses of one value count apart."""
    found: list[Any] = []
    op: Any = node.op
    raw = op.backward(dy, node.detach() if not op.arithmetic else node, *node.parents)
    for p, g in zip(node.parents, raw, strict=True):
        if g is None:
            found.append(None)
            continue
        g = g.detach()
        extra = g.ndim - p.ndim
        axes = tuple(k for k in range(g.ndim) if k < extra or (p.shape[k - extra] == 1 and g.shape[k] != 1))
        found.append(g.sum(axes, keepdims=True).reshape(p.shape) if axes else g)
    return found


def _short(a: np.ndarray) -> str:
    if a.size <= 4:
        return np.array2string(a, precision=4, separator=" ", suppress_small=True)
    return f"{a.shape}, norm {np.linalg.norm(a):.4g},"
