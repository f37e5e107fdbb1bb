"""A cell as a whole: its step, its backward pass, its plans, and its printed formulas."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any, Self

from minirnn.cells.by_hand import ByHand
from minirnn.cells.derive import Derivation
from minirnn.cells.expr import CellError
from minirnn.cells.formulas import Writer, as_latex, as_text, with_products
from minirnn.cells.keyed import KeyedPlan
from minirnn.cells.plan import Plan
from minirnn.cells.trace import Step


def cell(states: str | Sequence[str]) -> Callable[[Callable[..., Any]], Formulas]:
    """Decorator that makes a cell without arrays of a step."""
    names = (states,) if isinstance(states, str) else tuple(states)
    return lambda function: Formulas(function, names)


class Formulas:
    """A recurrent cell without arrays: one step as a Python function, its backward formulas, and the plan for devices.

    Attributes
    ----------
    function : callable
        The step, as the user wrote it.
    step : minirnn.cells.trace.Step
        The values that the function reads, computes and returns.
    derivation : minirnn.cells.derive.Derivation
        The backward pass.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        states: Sequence[str],
        output: str | None = None,
        keys: int | None = None,
        /,
        **constants: float,
    ) -> None:
        self.function = function
        self.step = Step(function, states, output, keys, **constants)
        self.derivation = Derivation(self.step)
        self.__name__, self.__doc__ = self.step.name, function.__doc__
        self.__module__ = getattr(function, "__module__", __name__)
        self.__qualname__ = getattr(function, "__qualname__", self.__name__)
        self.plans: dict[bool, Plan] = {}
        self.keyed: KeyedPlan | None = None
        self.by_hand: tuple[Callable[..., Any], tuple[str, ...]] | None = None

    def keyed_plan(self) -> KeyedPlan:
        """The plan for devices of a cell with keys."""
        if self.keyed is None:
            self.keyed = KeyedPlan(self.derivation)
        return self.keyed

    def plan(self, projected: bool = False) -> Plan:
        """The plan for devices. `projected` is for a layer that projects its output."""
        if self.step.keys is not None:
            raise CellError(
                f"{self.__name__}: got a cell with keys\n  expected one without: this needs a plan of units"
            )
        if projected not in self.plans:
            self.plans[projected] = Plan(self.derived(True) if projected else self.derivation)
        return self.plans[projected]

    def derived(self, projected: bool) -> Derivation:
        """The backward pass: the one by hand, if there is one."""
        found = Derivation(self.step, projected)
        return found if self.by_hand is None else ByHand(found, *self.by_hand)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the user's step function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<cell {self.__name__}({', '.join(self.step.signature)})>"

    def with_constants(self, **constants: float) -> Self:
        """The same cell with other values for its constants."""
        others = {n: v for n, v in self.step.constants.items() if n not in constants}
        found = type(self)(
            self.function, self.step.user_states, self.step.output, self.step.keys, **others, **constants
        )
        return found if self.by_hand is None else found.with_backward(*self.by_hand)

    def __reduce__(self) -> str:
        """Cells are pickled by name, like functions. A copy is the same cell."""
        return self.__qualname__

    # ---- in print

    def forward_formulas(self) -> str:
        """The step, a line for every name, as text."""
        return as_text(Writer(self.derivation).forward())

    def backward_formulas(self, products: bool = False) -> str:
        """The backward pass as text: the derived one, or a handwritten one that was found to be right (`backward`).

        ``dc`` is the whole gradient of c, and ``dc_prev`` goes to the previous step. The gradient that arrives from the
        next step and from the loss is called ``c_grad`` if the step adds to it: ``dc = c_grad + ..``.

        `products` adds the lines that every cell has: dx, dW, dR, db.
        """
        w = Writer(self.derivation)
        return as_text(with_products(w.backward(), w) if products else w.backward())

    def backward(self, function: Callable[..., Any] | None = None, *, again: str | Sequence[str] = ()) -> Any:
        """Decorator for a backward pass by hand, which is compared with the derived one and then runs in its place.

        The parameters of the function are names of the step: incoming gradients (``c_grad``, ``h_grad``), states before
        the step (``c_prev``), values (``i``, ``tanh_c``) and vectors. If the step adds nothing to ``h_grad``, this is
        the whole gradient, and you may call it ``dh``. The function sets the gradients of gates, states and vectors
        (``dz_i``, ``dc_prev``, ``dwci``, without sums over steps), as local variables or in a dict that it returns.
        Values named in `again` are computed again rather than saved: ``@lstm.backward(again="tanh_c")``.

        Raises
        ------
        CellError
            With the sign, factor, variable or term that is wrong, for each line.
        """
        if self.step.keys is not None:
            raise CellError(f"{self.__name__}: backward of a cell with keys\n  expected none: it is always derived")
        names = (again,) if isinstance(again, str) else again
        if not isinstance(names, (tuple, list)) or not all(isinstance(n, str) for n in names):
            raise CellError(f"{self.__name__}: again= is {again!r}\n  expected names of values, such as 'tanh_c'")

        def checked(function: Callable[..., Any]) -> Callable[..., Any]:
            self.with_backward(function, tuple(names))
            return function

        return checked if function is None else checked(function)

    def with_backward(self, function: Callable[..., Any], again: tuple[str, ...]) -> Self:
        """This cell, which from now on computes the backward pass by hand."""
        self.derivation = ByHand(Derivation(self.step), function, again)
        self.by_hand = function, again
        self.plans.clear()
        return self

    def latex(self, products: bool = False) -> str:
        """The step and its backward pass as two aligned blocks of LaTeX."""
        w = Writer(self.derivation, "latex")
        backward = with_products(w.backward(), w) if products else w.backward()
        return "\n\n".join(as_latex(part) for part in (w.forward(), backward))

    def _repr_html_(self) -> str:
        w = Writer(self.derivation, "latex")
        parts = "".join(f"<p>$${as_latex(part)}$$</p>" for part in (w.forward(), w.backward()))
        return f"<div><p><b>{html.escape(repr(self))}</b></p>{parts}</div>"

    def saved(self) -> list[str]:
        """The names of the values that a step saves for its backward pass, in addition to its states."""
        return [self.derivation.names[e] for e in self.derivation.saved]
