"""Functions that run with torch and with minirnn, because they use only common features. The inputs are drawn here.

`tests/golden/make_functions.py` runs them with torch and stores the results.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden" / "functions"


@dataclass(frozen=True)
class Case:
    """``func(w, *inputs)`` with a constant w (4, 5); shapes of the inputs; a tuple of inputs, or one alone."""

    func: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    many: bool
    is_number: bool = False

    def arrays(self, name: str) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
        """w, the inputs, and a vector for each input."""
        rng = np.random.default_rng([7, *name.encode()])
        draws = [rng.normal(size=(4, 5)), *(rng.normal(size=shape) for shape in self.shapes * 2)]
        return draws[0], draws[1 : 1 + len(self.shapes)], draws[1 + len(self.shapes) :]


def one_to_one(w: Any, x: Any) -> Any:
    return (x @ w).tanh() * x.sum()


def one_to_many(w: Any, x: Any) -> Any:
    return (x @ w).tanh(), x.exp().sum(), x[1:, 2] ** 3


def many_to_one(w: Any, x: Any, y: Any) -> Any:
    return (x @ w).tanh() @ (w.T @ y) * y.sum()


def many_to_many(w: Any, x: Any, y: Any, z: Any) -> Any:
    return x * z, (y.exp() * x.sum()) @ w, z**3 * (x @ w).sum()


def separate(w: Any, x: Any, y: Any) -> Any:
    return x**2, (y @ w) * 3


def unused(w: Any, x: Any, y: Any) -> Any:
    return (x @ w).exp()


def number_to_number(w: Any, x: Any) -> Any:
    return x**3 * w.sum()


def nothing(w: Any, x: Any, y: Any) -> Any:
    return x.exp().sum() * y, (x @ w) * y.sum()


def loss_of_one(w: Any, x: Any) -> Any:
    return ((x @ w).tanh() ** 2).sum() + (x**3).sum()


def loss_of_many(w: Any, x: Any, y: Any) -> Any:
    return ((x @ w).tanh().sum() * y.exp()).sum() + (x**3).sum() * y[0]


def loss_of_some(w: Any, x: Any, y: Any) -> Any:
    return ((x @ w).tanh() ** 2).sum().reshape((1, 1))


def linear_loss(w: Any, x: Any) -> Any:
    return (x @ w).sum() * 3


CASES = {
    "one_to_one": Case(one_to_one, ((3, 4),), False),
    "one_in_a_tuple": Case(one_to_one, ((2, 4),), True),
    "one_to_many": Case(one_to_many, ((3, 4),), False),
    "many_to_one": Case(many_to_one, ((3, 4), (4,)), True),
    "many_to_many": Case(many_to_many, ((3, 4), (2, 4), ()), True),
    "separate": Case(separate, ((3, 2), (4,)), True),
    "unused": Case(unused, ((2, 4), (3,)), True),
    "number_to_number": Case(number_to_number, ((),), False),
    "nothing": Case(nothing, ((0, 4), (3,)), True),
    "loss_of_one": Case(loss_of_one, ((3, 4),), False, True),
    "loss_of_many": Case(loss_of_many, ((3, 4), (2,)), True, True),
    "loss_of_some": Case(loss_of_some, ((3, 4), (2,)), True, True),
    "linear_loss": Case(linear_loss, ((3, 4),), False, True),
}


@dataclass(frozen=True)
class Mapping:
    """Arguments of vmap, the function, and shapes of its arguments."""

    func: Callable[..., Any]
    shapes: Any
    in_dims: Any
    out_dims: Any

    def arrays(self, name: str) -> Any:
        rng = np.random.default_rng([8, *name.encode()])

        def draw(shape: Any) -> Any:
            if isinstance(shape, dict):
                return {key: draw(one) for key, one in shape.items()}
            return [draw(one) for one in shape] if isinstance(shape, list) else rng.normal(size=shape)

        return [draw(shape) for shape in self.shapes]


MAPPINGS = {
    "first_axis": Mapping(lambda x: x.tanh() @ x, ((3, 4),), 0, 0),
    "one_for_all": Mapping(lambda w, x: (x @ w).tanh(), ((4, 5), (4, 3)), (None, 1), 0),
    "other_axes": Mapping(lambda x, y: (x @ y).tanh(), ((2, 3, 4), (4, 5, 3)), (1, -1), -1),
    "several_results": Mapping(lambda x, y: (x * y, (x.exp(), y.sum())), ((2, 3), (3, 2)), (1, 0), (1, 0)),
    "nested": Mapping(
        lambda p, x: {"a": (x @ p["w"]).tanh() + p["b"], "s": x.sum()},
        ({"w": (3, 4, 5), "b": (3, 5)}, (3, 4)),
        0,
        0,
    ),
    "a_list": Mapping(lambda xs: [xs[0] * xs[1]], ([(3, 2), (3, 2)],), (0,), 0),
}


def named(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of tuples, lists and dicts, named by their paths."""
    if isinstance(value, (tuple, list)):
        value = dict(enumerate(value))
    if isinstance(value, dict):
        for key, part in value.items():
            yield from named(f"{prefix}.{key}", part)
    else:
        yield prefix, value


def results(F: Any, case: Case, w: Any, xs: list[Any], vs: list[Any], weigh: Callable[[Any], Any]) -> dict[str, Any]:
    """All functions of functions `F` (torch.autograd.functional or minirnn) at one point; paths -> tensors.

    `weigh` gives the vector for an output, or the weights for a result that is differentiated again.
    """

    def func(*inputs: Any) -> Any:
        return case.func(w, *inputs)

    inputs, v = (tuple(xs), tuple(vs)) if case.many else (xs[0], vs[0])
    y = func(*xs)
    u = tuple(map(weigh, y)) if isinstance(y, tuple) else weigh(y)
    found = {"vjp": F.vjp(func, inputs, u), "jvp": F.jvp(func, inputs, v)}
    if 0 not in [n for shape in case.shapes for n in shape]:  # torch cannot stack the rows of an empty Jacobian
        found["jacobian"] = F.jacobian(func, inputs)
    if case.is_number:
        found |= {"hessian": F.hessian(func, inputs), "hvp": F.hvp(func, inputs, v)}
    return dict(pair for name, value in found.items() for pair in named(name, value))
