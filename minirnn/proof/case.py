"""One case of the verification table: a call of an op, its random inputs, and what it computes on a device."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from minirnn.devices.base import Device
from minirnn.devices.cpu.primitives import Primitives
from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor, tensor
from minirnn.proof.tolerance import Count

Arrays = dict[str, np.ndarray]
DTYPES = ("float64", "float32", "float16")


class Composed(Primitives, Device):
    """NumPy without a fused kernel: every op is computed by its composition from primitives."""

    name = "cpu-composed"


COMPOSED = Composed()


class Kinks(Composed):
    """The same, and it records how near values come to kinks and jumps, where rounding can switch a gradient.

    These are 0 of relu, |x| and sign, equal operands of a comparison, bounds, whole numbers of floor, and a second
    largest value. Values that are exactly there, such as padding, do not count.
    """

    nearest = np.inf

    def near(self, distance: Any) -> None:
        apart = np.abs(np.asarray(distance, np.float64))
        self.nearest = min(self.nearest, float(apart.min(initial=np.inf, where=apart > 0)))


def _to_bounds(a: Any, low: Any, high: Any) -> Any:
    bounds = (-np.inf if low is None else low, np.inf if high is None else high)
    return np.minimum(*[np.abs(a - bound) for bound in bounds])


DISTANCES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("relu", "absolute", "sign"), lambda a: a),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "maximum", "minimum"), np.subtract),
    **{"floor": lambda a: a - np.rint(a), "clip": _to_bounds},
    "max": lambda a, axis, keepdims: a - np.max(a, axis=axis, keepdims=True),
}
"""How far the operands of a primitive are from its kinks."""


def _recording(name: str, distance: Callable[..., Any]) -> Callable[..., Any]:
    def primitive(self: Kinks, *args: Any) -> Any:
        self.near(distance(*args))
        return getattr(Composed, name)(*args)

    return primitive


for _name, _distance in DISTANCES.items():
    setattr(Kinks, _name, _recording(_name, _distance))


@dataclass(frozen=True, eq=False)
class Case:
    """A function of float arrays with random inputs.

    Attributes
    ----------
    op, variant, size : str
        The row of the table, the attributes, and the sizes.
    call : callable
        Takes a Tensor for each input, returns its float outputs.
    make : callable
        Takes a random generator, returns the inputs by name, float64.
    outputs : sequence of str
        Names of what `call` returns.
    count, gradient_count : Count
        Roundings on the way to an output and to a gradient.
    step : float
        The step of central differences; 0 where the gradient is meant to be another one (an active clip passes it
        straight through).
    has_definition : bool
        Whether the composition is a separate computation. It is not for a primitive.
    second_order : bool
        Whether gradients of gradients are also compared.
    to_second_order : mapping, optional
        Arguments of `gradcheck`, which then compares gradients, and gradients of gradients, with central differences.
    recorded : bool
        Whether a backward pass that is recorded itself must have the same bits.
    quick : bool
        Whether a quick run has this case.
    """

    op: str
    variant: str
    size: str
    call: Callable[..., Sequence[Tensor]]
    make: Callable[[np.random.Generator], Arrays]
    outputs: Sequence[str]
    count: Count
    gradient_count: Count
    step: float = 1e-3
    has_definition: bool = True
    second_order: bool = False
    to_second_order: Mapping[str, Any] | None = None
    recorded: bool = False
    quick: bool = False

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers for this case only, the same in every run."""
        return np.random.default_rng(zlib.crc32(f"{self.op}|{self.variant}|{self.size}".encode()))

    @cached_property
    def inputs(self) -> Arrays:
        """The inputs by name, float64."""
        return self.make(self.rng)

    def rounded(self, dtype: str) -> Arrays:
        """The inputs as `dtype` holds them."""
        return {name: a.astype(dtype) for name, a in self.inputs.items()}

    def cotangent(self, k: int, shape: Sequence[int], dtype: str) -> np.ndarray:
        """The gradient that arrives at output k, rounded to `dtype`."""
        return np.random.default_rng([k, 1]).standard_normal(tuple(shape)).astype(dtype)


def evaluate(
    case: Case, inputs: Arrays, dtype: str, device: str | Device, order: int = 1, record: bool = False
) -> Arrays:
    """All outputs, and the gradients of all inputs for random cotangents on all outputs.

    `inputs` may be wider than `dtype`, the precision to which cotangents are rounded, so that a reference in float64
    gets the same numbers. With `order` 2, gradients of the gradients are computed, for random cotangents on all of
    them. With `record`, the last backward pass is also recorded.
    """
    xs = [tensor(a, True, device) for a in inputs.values()]
    ys = list(case.call(*xs))
    if len(ys) != len(case.outputs):
        raise ValueError(f"{case.op} returned {len(ys)} outputs\n  expected {', '.join(case.outputs)}")
    found = {name: y.numpy() for name, y in zip(case.outputs, ys, strict=True)}
    for again in range(order, 0, -1):
        carried = [(case.cotangent(k, y.shape, dtype), y) for k, y in enumerate(ys) if y.requires_grad]
        if not carried:
            return found
        wide = next(iter(inputs.values())).dtype
        vs = [tensor(v.astype(wide), device=device) for v, _ in carried]
        ys = grad([y for _, y in carried], xs, vs, create_graph=record or again > 1)
    return found | {gradient_of(name): g.numpy() for name, g in zip(inputs, ys, strict=True)}


def gradient_of(name: str) -> str:
    """The name that the gradient of an input has among the arrays of a case."""
    return f"gradient of {name}"


@lru_cache(maxsize=16)
def reference(case: Case, dtype: str, order: int = 1) -> Arrays:
    """The results of the definition for inputs rounded to `dtype`: the composition, in float64."""
    wide = {name: a.astype(np.float64) for name, a in case.rounded(dtype).items()}
    return evaluate(case, wide, dtype, COMPOSED, order)
