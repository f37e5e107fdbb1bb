"""A cell as a whole: its step, its way back, its plans, and its formulas in print."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any, Self

from minirnn.cells.compare import Written, compare
from minirnn.cells.derive import Derivation
from minirnn.cells.formulas import Writer, as_latex, as_text, with_products
from minirnn.cells.plan import Plan
from minirnn.cells.trace import Step


class Formulas:
    """A recurrent cell without arrays: one step as a Python function, its backward formulas, and the plan for devices.

    Attributes
    ----------
    function : callable
        The step as it was given.
    step : minirnn.cells.trace.Step
        What the function reads, computes and returns.
    derivation : minirnn.cells.derive.Derivation
        The way back.
    """

    def __init__(
        self, function: Callable[..., Any], states: Sequence[str], output: str | None = None, **constants: float
    ) -> None:
        self.function = function
        self.step = Step(function, states, output, **constants)
        self.derivation = Derivation(self.step)
        self.__name__, self.__doc__ = self.step.name, function.__doc__
        self.__module__ = getattr(function, "__module__", __name__)
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.plans: dict[bool, Plan] = {}
        self.by_hand: Written | None = None

    def plan(self, projected: bool = False) -> Plan:
        """What devices compute; `projected`: of a layer that projects its output."""
        if projected not in self.plans:
            self.plans[projected] = Plan(Derivation(self.step, True) if projected else self.derivation)
        return self.plans[projected]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The step itself: the function that was given."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<cell {self.__name__}({', '.join(self.step.signature)})>"

    def with_constants(self, **constants: float) -> Self:
        """The same cell with other values of its constants."""
        kept = {n: v for n, v in self.step.constants.items() if n not in constants}
        return type(self)(self.function, self.step.given_states, self.step.output, **kept, **constants)

    def __reduce__(self) -> str:
        """Cells are pickled by their name, as functions are; a copy is the same cell."""
        return self.__qualname__

    # ---- in print

    def forward_formulas(self) -> str:
        """The step, a line for every name, as text."""
        return as_text(Writer(self.derivation).forward())

    def backward_formulas(self, products: bool = False) -> str:
        """The way back as text: derived, or as it was written by hand and found to be right (`backward`).

        ``dc`` is the whole gradient of c, and ``dc_prev`` is what goes to the step before. Where the step adds to what
        arrives from the next step and from the loss, that is called ``c_grad``: ``dc = c_grad + ..``.

        `products` adds the lines that every cell has: dx, dW, dR, db.
        """
        w = Writer(self.derivation)
        lines = w.backward() if self.by_hand is None else self.by_hand.lines
        return as_text(with_products(lines, w) if products else lines)

    def backward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a backward pass of the cell that you wrote by hand: it is compared with the derived one.

        Its parameters are names of the step: gradients that come in (``c_grad``, ``h_grad``), states before the step
        (``c_prev``), values (``i``, ``tanh_c``) and vectors. Where the step adds nothing to ``h_grad``, it is the
        whole gradient, and may be called ``dh``. The function sets the gradients of gates, states and vectors
        (``dz_i``, ``dc_prev``, ``dwci``; sums over steps are left out), as local variables or in a dict that it
        returns. If it is right, `backward_formulas` prints it.

        Raises
        ------
        CellError
            With the sign, factor, variable or term that is wrong, for each line.
        """
        self.by_hand = compare(self.derivation, function)
        return function

    def latex(self, products: bool = False) -> str:
        """The step and its way back as two aligned blocks of LaTeX."""
        w = Writer(self.derivation, "latex")
        backward = with_products(w.backward(), w) if products else w.backward()
        return "\n\n".join(as_latex(part) for part in (w.forward(), backward))

    def _repr_html_(self) -> str:
        w = Writer(self.derivation, "latex")
        parts = "".join(f"<p>$${as_latex(part)}$$</p>" for part in (w.forward(), w.backward()))
        return f"<div><p><b>{html.escape(repr(self))}</b></p>{parts}</div>"

    def saved(self) -> list[str]:
        """The names of what a step keeps for its way back, next to its states."""
        return [self.derivation.names[e] for e in self.derivation.saved]
