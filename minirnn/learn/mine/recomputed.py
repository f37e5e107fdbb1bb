"""`checkpoint_sequential` on a device whose learner decides what the backward pass keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minirnn.autograd.recomputation import Checkpoint, form, in_turn, older_than
from minirnn.engine import random
from minirnn.engine.backward import run_backward
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import enable_grad, mode, no_grad
from minirnn.engine.tensor import Tensor, leaf, next_seq
from minirnn.learn.mine.tasks import answered, has_answer


class Chain(Checkpoint):
    """y = f_n(... f_1(x)), which keeps x. The learner's answer decides what else to keep during the backward pass."""

    def __init__(
        self, function: Callable[[], Any], stream: Any, forms: list[str], parts: Sequence[Any], x: Tensor
    ) -> None:
        super().__init__(function, stream, forms)
        self.parts = parts
        self.x = x

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *xs: Tensor) -> list[Tensor | None]:
        if mode.enabled or dy[0] is None:  # the gradients are to be differentiated again
            return super().backward(dy, y, *xs)
        totals: dict[Tensor, Any] = {}

        def run(t: int, state: Tensor) -> Tensor:
            function, stream = self.parts[t]
            with random.replayed(stream):
                found: Tensor = function(state)
            return found

        def step(t: int, state: Tensor) -> Tensor:
            with no_grad():
                return run(t, state)

        def back(t: int, state: Tensor, dh: Any) -> Any:
            s, border = state.detach().requires_grad_(), next_seq()
            with enable_grad():
                out = run(t, s)
            g = leaf(out.device, dy[0].array if dh is None else dh)  # type: ignore[union-attr]
            found = run_backward([out], [g], None, False, False, border=border)
            dx = found.pop(s, None)
            for p, more in found.items():
                totals[p] = totals[p] + more if p in totals else more
            return s.device.full(s.shape, 0, s.dtype) if dx is None else dx

        dx = answered(self.x.device, "recompute", len(self.parts), self.x.detach(), step, back)
        if dx is NotImplemented:
            return super().backward(dy, y, *xs)
        totals[self.x] = totals[self.x] + dx if self.x in totals else dx
        return [leaf(p.device, totals[p]) if p in totals else None for p in xs]


def in_segments(
    original: Callable[..., Any], functions: Sequence[Callable[[Any], Any]], segments: int, x: Any, *settings: Any
) -> Any:
    """The chain as one node, whatever its segments, if it is a chain of functions from a Tensor to a Tensor."""
    if not mode.enabled or not isinstance(x, Tensor) or not has_answer(x.device, "recompute"):
        return original(functions, segments, x, *settings)
    streams, start, value = [], next_seq(), x
    for function in functions:
        streams.append(random.generator().bit_generator.state)
        value = function(value)
        if not isinstance(value, Tensor):
            raise TypeError(
                f"checkpoint_sequential: a function returned a {type(value).__name__}\n"
                f"  expected a Tensor: the device {x.device} goes back through the chain itself"
            )
    if not value.requires_grad:
        return value
    parents = tuple(dict.fromkeys([x, *older_than(start, [value])]))
    parts = list(zip(functions, streams, strict=True))
    node = Chain(lambda: in_turn(functions, x), streams[0], [form(value)], parts, x)
    return record_many(node, value.device, [value.array], parents)[0]
