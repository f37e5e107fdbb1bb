"""Fused ops: one node of the tape for what would be many, computed by a device's kernel.

The same three rules hold for every fused op:

* forward: the device's kernel computes it; a device without that kernel gets the composition from primitives instead;
* backward: a formula of Tensor ops around the Grad kernel;
* what has no formula of its own (the Grad ops themselves, for second derivatives) is differentiated through its
composition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minirnn.devices.base import KERNELS
from minirnn.engine.backward import grad
from minirnn.engine.tape import Op, enable_grad, mode, record_many
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives.elementwise import astype, identity
from minirnn.ops.primitives.operands import same_device


class FusedOp(Op):
    """An op whose forward is the device kernel `kernel`, and whose meaning is `compose`.

    Subclasses set ``kernel``, keep the kernel's keyword arguments in ``self.attributes`` and define ``compose``, and
    ``backward`` where there is a kernel for it.
    """

    kernel: str

    def __init__(self, **attributes: Any) -> None:
        self.attributes = attributes

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.kernel not in KERNELS:
            raise TypeError(
                f"{cls.__name__}.kernel is {cls.kernel!r}\n  expected a name in minirnn.devices.base.KERNELS"
            )

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        """The outputs computed from primitive ops: the definition, in float32 or float64."""
        raise NotImplementedError

    def __call__(self, *inputs: Tensor) -> list[Tensor]:
        """The outputs, as one node of the tape where the device has the kernel."""
        device = same_device(self.kernel, *inputs)
        kernel = device.kernel(self.kernel)
        if kernel is None:
            return self.composed(*inputs)
        return record_many(self, device, kernel(*[t.array for t in inputs], **self.attributes), inputs)

    def composed(self, *inputs: Tensor) -> list[Tensor]:
        """`compose`, with float16 data computed in float32 and rounded once at the end, as the kernels do."""
        half = np.dtype(np.float16)
        if all(t.dtype != half for t in inputs):
            return list(self.compose(*inputs))
        wide = [astype(t, np.float32) if t.dtype == half else t for t in inputs]
        return [astype(y, half) if y.dtype.kind == "f" else y for y in self.compose(*wide)]

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        return backward_through_composition(self, dy, inputs)


def backward_through_composition(
    op: FusedOp, dy: Sequence[Tensor | None], inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """Gradients of the inputs of `op`, by differentiating its composition from primitives on a tape of its own.

    Under ``create_graph`` that tape hangs on the outer one, so the result can be differentiated again.
    """
    again = mode.enabled
    with enable_grad():
        # New nodes or leaves, so that the inner backward pass stops at the inputs, also where one depends on another.
        ends = [t if not t.requires_grad else identity(t) if again else t.detach().requires_grad_() for t in inputs]
        ys = op.composed(*ends)
        reached = [(y, g) for y, g in zip(ys, dy, strict=True) if g is not None and y.requires_grad]
        wanted = [t for t in ends if t.requires_grad]
        if not reached or not wanted:
            return [None] * len(inputs)
        found = iter(grad([y for y, _ in reached], wanted, [g for _, g in reached], create_graph=again))
    return [next(found) if t.requires_grad else None for t in ends]


def zeros(shape: Sequence[int], like: Tensor) -> Tensor:
    """Zeros of `shape` with the dtype and device of `like`."""
    return leaf(like.device, like.device.full(tuple(shape), 0, like.dtype))


def or_zeros(g: Tensor | None, like: Tensor) -> Tensor:
    """A gradient, or zeros where none arrived."""
    return zeros(like.shape, like) if g is None else g
