"""The context of a call of a `Function`: what forward leaves there for backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minirnn.engine.tensor import Tensor


class FunctionCtx:
    """The argument ``ctx`` of the methods of a `Function`. Any other attribute may be set on it.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        For each argument of `Function.apply` whether it is a Tensor that requires grad.
    """

    def __init__(self, name: str, args: Sequence[Any]) -> None:
        self.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        self._name = name
        self._saved: list[tuple[Tensor | int | None, int]] = []
        self._constant: tuple[Tensor, ...] = ()
        self._materialize = True
        self._outputs: Sequence[Any] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep arguments and results of the op for backward, where `saved_tensors` has them.

        Only these two can be differentiated again: an intermediate value of forward counts as a constant in second
        derivatives, unless forward also returns it. Raises TypeError if a value is neither a Tensor nor None. Keep such
        values as attributes: ``ctx.axis = axis``.
        """
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(
                    f"{self._name}: save_for_backward got a {type(t).__name__}\n"
                    "  expected Tensors; keep other values as attributes: ctx.axis = axis"
                )
        self._saved = [(t, 0 if t is None else t.seq) for t in tensors]

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept. Raises RuntimeError if `Tensor.assign` changed a value since then."""
        found: list[Tensor | None] = []
        for t, seq in self._saved:
            if isinstance(t, Tensor) and t.seq != seq:
                name = getattr(t, "older", (t, "assign() or in place"))[1]
                raise RuntimeError(
                    f"{self._name}: a saved Tensor (shape {t.shape}) was changed by {name} after use\n"
                    "  expected the values of the forward pass; call backward before changing parameters"
                )
            found.append(self._outputs[t] if isinstance(t, int) else t)
        return tuple(found)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Do nothing, because `mr.jvp` is composed of backward passes."""

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Mark results without a gradient, such as indices or masks. Results that are not floats never have one."""
        self._constant = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros (True, the default) or None for a result that no gradient reached."""
        self._materialize = value

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Refuse torch's list of the arguments that forward changes, because forward may not write into Tensors."""
        raise TypeError(
            f"{self._name}: mark_dirty is not supported\n"
            "  expected a forward that returns a new Tensor and does not change its arguments"
        )

    def _settle(self, args: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Keep saved results by number: backward gets those that are on the tape."""
        for constant in self._constant:
            if not any(constant is y for y in outputs):
                raise ValueError(
                    f"{self._name}: mark_non_differentiable got a value that forward does not return\n"
                    "  expected some of its results"
                )
        for k, (t, _) in enumerate(self._saved):
            number = next((n for n, y in enumerate(outputs) if y is t), None)
            if number is not None and t is not None and not any(t is a for a in args):
                self._saved[k] = number, 0
