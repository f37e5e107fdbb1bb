"""Fused ops: a single node of the tape instead of many, computed by a device's kernel.

The same rules hold for every fused op:

* forward: the device's kernel computes it; a device without that kernel gets the composition from primitives instead;
* float16 is computed in float32, and every result is rounded once, at the end; kernels do not see float16, except those
  that a device names in `half_kernels`;
* backward: a formula of Tensor ops around the Grad kernel;
* ops without their own formula (the Grad ops themselves, for second derivatives) are differentiated through their
  composition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from minirnn.devices.base import KERNELS, Array, Device
from minirnn.devices.precision import chosen
from minirnn.engine.backward import grad
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op, enable_grad, mode
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives.elementwise import astype, identity
from minirnn.ops.primitives.products import MATMUL
from minirnn.ops.primitives.reductions import Sum
from minirnn.ops.primitives.shapes import Concat, Transpose

HALF = np.dtype(np.float16)
TRANSPOSED, SIDE_BY_SIDE = Transpose((1, 0)), Concat(1)
ARRAY = attrgetter("array")


class FusedOp(Op):
    """An op that runs the device kernel `kernel`, and that `compose` defines.

    Subclasses set ``kernel``, keep the kernel's keyword arguments in ``self.attributes``, and define ``compose``. They
    define ``backward`` if there is a kernel for it.
    """

    kernel: str

    def __init__(self, **attributes: Any) -> None:
        self.attributes = attributes
        self.precision = chosen.precision

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
        """The outputs, as one node of the tape if the device has the kernel. The inputs must have been checked."""
        device = inputs[0].device
        if self.kernel not in device.kernels:
            device.fallbacks[self.kernel] += 1
            return self.composed(*inputs)
        run = self.run_half if inputs[0].dtype == HALF and self.kernel not in device.half_kernels else self.run
        return record_many(self, device, run(device, *map(ARRAY, inputs)), inputs)

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        """The outputs as arrays, by the device's kernel."""
        return getattr(device, self.kernel)(*arrays, **self.attributes)

    def run_half(self, device: Device, *arrays: Array) -> Sequence[Array]:
        """`run`, but float16 data are computed in float32."""
        return device.cast_floats(self.run(device, *device.cast_floats(arrays, np.float32)), HALF)

    def composed(self, *inputs: Tensor) -> list[Tensor]:
        """`compose`, but float16 data are computed in float32."""
        if inputs[0].dtype != HALF:
            return list(self.compose(*inputs))
        wide = [astype(t, np.float32) if t.dtype == HALF else t for t in inputs]
        return [astype(y, HALF) if y.dtype.kind == "f" else y for y in self.compose(*wide)]

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        return gradients_through_composition(self.composed, inputs, dy, [t.requires_grad for t in inputs])

    def with_others(
        self, found: Sequence[Tensor | None], dy: Sequence[Tensor | None], inputs: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        """The gradients `found` by a Grad kernel, plus those of outputs that it does not know, by the composition."""
        more = FusedOp.backward(self, dy, (), *inputs)
        return [a if b is None else b if a is None else a + b for a, b in zip(found, more, strict=True)]


def gradients_through_composition(
    compose: Callable[..., Sequence[Tensor]],
    inputs: Sequence[Tensor],
    dy: Sequence[Tensor | None],
    wanted: Sequence[bool],
) -> list[Tensor | None]:
    """Gradients of the wanted inputs, from differentiating the composition on a separate tape.

    With ``create_graph`` that tape is connected to the outer one, so the result can be differentiated again.
    """
    again = mode.enabled and any(t is not None and t.requires_grad for t in (*inputs, *dy))
    with enable_grad():
        # New nodes or leaves, so that the inner backward pass stops at the inputs, even if one depends on another.
        ends = [
            t if not want else identity(t) if again and t.requires_grad else t.detach().requires_grad_()
            for t, want in zip(inputs, wanted, strict=True)
        ]
        reached = [(y, g) for y, g in zip(compose(*ends), dy, strict=True) if g is not None and y.requires_grad]
        targets = [t for t, want in zip(ends, wanted, strict=True) if want]
        if not reached or not targets:
            return [None] * len(inputs)
        found = iter(grad([y for y, _ in reached], targets, [g for _, g in reached], create_graph=again))
    return [next(found) if want else None for want in wanted]


def weight_grads(parts: Sequence[Tensor], w: Tensor, b: Tensor, dz: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of w and b in ``z = [parts side by side] @ w + b`` (B, n), from the gradient dz of z."""
    w_grad = MATMUL[chosen.precision](TRANSPOSED(SIDE_BY_SIDE(*parts)), dz) if w.requires_grad else None
    b_grad = Sum((0,), dz.shape)(dz) if b.requires_grad else None
    return w_grad, b_grad


def zeros(shape: Sequence[int], like: Tensor) -> Tensor:
    """Zeros of `shape` with the dtype and device of `like`."""
    return leaf(like.device, like.device.full(tuple(shape), 0, like.dtype))


def or_zeros(g: Tensor | None, like: Tensor) -> Tensor:
    """A gradient, or zeros where none arrived."""
    return leaf(like.device, like.device.full(like.shape, 0, like.dtype)) if g is None else g


def all_or_zeros(dy: Sequence[Tensor | None], y: Sequence[Tensor]) -> list[Tensor]:
    """`or_zeros` for all outputs. Neighbors of one shape share the same zeros."""
    found: list[Tensor] = []
    none: Tensor | None = None
    for g, like in zip(dy, y, strict=True):
        if g is None:
            if none is None or none.shape != like.shape:
                none = zeros(like.shape, like)
            g = none
        found.append(g)
    return found
