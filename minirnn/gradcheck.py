"""gradcheck: does `backward` agree with what the function does? Answered by central differences in float64.

For outputs y_k of a function and random cotangents v_k, the gradient of L = sum over k of <v_k, y_k> is computed twice:
by the tape, and from values of the function alone. A missing factor, a forgotten term or a lost path makes them differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from minirnn.tape import enable_grad, grad
from minirnn.tensor import Tensor, tensor

STEPS = (1e-3, 1e-5)
"""Relative step sizes. The second is tried where the first disagrees: it stays clear of kinks and poles nearby."""


class GradcheckError(AssertionError):
    """A gradient is wrong, or the function cannot be checked. The text says which input, which entry, which values."""


@dataclass(frozen=True)
class InputReport:
    """What was found out about the gradient with respect to one input.

    Attributes
    ----------
    name, shape : str, tuple of int
        The input; ``"x, order 2"`` for gradients of gradients.
    checked, wrong : int
        How many entries (or directions) were compared, and how many of them are off.
    directions : bool
        Random directions were compared instead of entries.
    index : tuple of int or None
        The worst entry; None if there is none.
    analytic, numeric : float
        Its gradient by `backward` and by central differences.
    difference, tolerance : float
        How far they are apart, and how far they may be.
    """

    name: str
    shape: tuple[int, ...]
    checked: int
    wrong: int
    directions: bool
    index: tuple[int, ...] | None
    analytic: float
    numeric: float
    difference: float
    tolerance: float

    def __str__(self) -> str:
        what = "random directions" if self.directions else "entries"
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return (
            f"gradient of {self.name}, shape {self.shape}: {self.wrong} of {self.checked} {what} are off\n"
            f"  worst {self.name.partition(',')[0]}{at}: backward gives {self.analytic:.12g},"
            f" central differences give {self.numeric:.12g}\n"
            f"  difference {self.difference:.2e}, tolerance {self.tolerance:.2e} (atol + rtol * the larger one)"
        )


@dataclass(frozen=True)
class Report:
    """The result of `gradcheck`: true if it passed; ``str(report)`` is a table, a line for each input.

    Attributes
    ----------
    inputs : tuple of InputReport
        One for each input checked and each order.
    problems : tuple of str
        What makes the function unfit for the check: random draws, changed inputs, values that are not finite.
    """

    inputs: tuple[InputReport, ...]
    problems: tuple[str, ...]

    def __bool__(self) -> bool:
        return not self.problems and all(r.wrong == 0 for r in self.inputs)

    @property
    def errors(self) -> dict[str, float]:
        """Input name -> difference of the two gradients where it is worst."""
        return {r.name: r.difference for r in self.inputs}

    @property
    def worst(self) -> InputReport | None:
        """The input whose difference is largest, measured by its tolerance."""
        return max(self.inputs, key=lambda r: _ratio(r.difference, r.tolerance), default=None)

    def __str__(self) -> str:
        width = max([5, *(len(r.name) for r in self.inputs)])
        lines = [f"{'input':{width}}  {'shape':14}{'checked':>8}{'off':>6}{'difference':>12}{'tolerance':>11}"]
        for r in self.inputs:
            checked = f"{r.checked} dir" if r.directions else r.checked
            numbers = f"{r.difference:>12.1e}{r.tolerance:>11.1e}"
            lines.append(f"{r.name:{width}}  {r.shape!s:14}{checked:>8}{r.wrong:>6}{numbers}")
        return "\n".join([*lines, *self.problems, "passed" if self else "FAILED"])


def gradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    *,
    order: int = 1,
    rtol: float = 1e-8,
    atol: float = 1e-9,
    steps: Sequence[float] = STEPS,
    max_entries: int = 500,
    directions: int = 20,
    seed: int = 0,
    raise_exception: bool = True,
) -> Report:
    """Compare the gradients of ``fn(*inputs)`` with central differences in float64.

    Every float output gets a random cotangent; outputs of other dtypes are ignored. An input that does not influence
    the outputs must have gradient zero.

    Parameters
    ----------
    fn : callable
        Takes Tensors, returns a Tensor or a list, tuple or named tuple of Tensors.
    inputs : sequence, or one array or Tensor
        The arguments of `fn`. Float arrays, and float Tensors with ``requires_grad``, become float64 leaves and are
        checked; other float Tensors become float64 constants; anything else is handed on as it is.
    order : {1, 2}
        2 checks the gradients of the gradients as well, with respect to the inputs and to the cotangents.
    rtol, atol : float
        Allowed: ``atol + rtol * max(|analytic|, |numeric|)``. Central differences of steps h and h/2, extrapolated,
        err by about ``h**4`` (truncation) and ``1e-16 / h`` (rounding): 1e-12 times the values involved for h = 1e-3.
        The defaults leave room for values and fifth derivatives of 1e3, and notice a factor rounded to float32 (6e-8).
    steps : sequence of float
        h, relative to ``max(1, |x|)``. Where a gradient disagrees, the next one is tried.
    max_entries, directions : int
        An input of more than `max_entries` entries is checked along this many random directions through all of them.
    seed : int
        Of the cotangents and directions.
    raise_exception : bool
        False: hand back the report also if the check failed.

    Returns
    -------
    Report
        True if all gradients agree. ``report.errors`` has the largest difference of each input.

    Raises
    ------
    GradcheckError
        If a gradient is off, naming input, entry, both values and the tolerance; or if `fn` gives other results when
        called again, changes its inputs, has values that are not finite, or returns floats other than float64.
    ValueError, TypeError
        If nothing can be checked: no input requires gradients, `fn` returns no float Tensor, `order` is unknown.

    Notes
    -----
    At a kink (relu at 0, maximum of equal values, a bound of clip) differences are no derivative: choose inputs at
    least 1e-4 away. A gradient that is meant to differ from the derivative (clip with ``straight_through``, `detach`)
    is reported as wrong where it does. A gradient wrong by less than the tolerance is not found.
    """
    if order not in (1, 2):
        raise ValueError(f"gradcheck: order is {order!r}\n  expected 1 or 2")
    if not steps or min(steps) <= 0:
        raise ValueError(f"gradcheck: steps are {steps!r}\n  expected at least one positive number")
    names, args, checked = _promote(fn, inputs)
    check = _Check(rtol, atol, tuple(steps), max_entries, directions, np.random.default_rng(seed))
    reports, problems = check.run(fn, args, checked, names)
    if order == 2 and not problems:
        first = _Gradients(fn, args, checked)
        vs = [tensor(check.rng.standard_normal(y.shape), True, y.device) for y in _outputs(fn, args)]
        variables = [args[k] for k in checked] + vs
        labels = [names[k] for k in checked] + [f"cotangent {k}" for k in range(len(vs))]
        more, problems = check.run(first, variables, range(len(labels)), [f"{label}, order 2" for label in labels])
        reports += more
    report = Report(tuple(reports), tuple(problems))
    if raise_exception and not report:
        wrong = [str(r) for r in report.inputs if r.wrong]
        raise GradcheckError("\n".join([f"gradcheck of {_name(fn)}, seed {seed}:", *problems, *wrong]))
    return report


# ---- inputs and outputs


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _promote(fn: Any, inputs: Any) -> tuple[list[str], list[Any], list[int]]:
    """Names of the arguments; the arguments, floats in float64; the numbers of those to be checked."""
    if isinstance(inputs, (Tensor, np.ndarray, np.generic)):
        inputs = (inputs,)
    args: list[Any] = []
    checked = []
    for k, x in enumerate(inputs):
        if isinstance(x, (Tensor, np.ndarray, np.generic)) and x.dtype.kind == "f":
            if not isinstance(x, Tensor) or x.requires_grad:
                checked.append(k)
            x = tensor(x, requires_grad=k in checked, dtype=np.float64)
        args.append(x)
    if not checked:
        raise ValueError(
            f"gradcheck: no input requires gradients, got {', '.join(type(x).__name__ for x in args) or 'none'}\n"
            "  expected at least one float array, or float Tensor with requires_grad=True"
        )
    names = [f"input {k}" for k in range(len(args))]
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (ValueError, TypeError):  # some built-in functions have none
        return names, args, checked
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (positional + names[len(positional) :])[: len(args)], args, checked


def _outputs(fn: Any, args: Sequence[Any]) -> list[Tensor]:
    """The float outputs of ``fn(*args)``, recorded."""
    with enable_grad():
        result = fn(*args)
    ys = list(result) if isinstance(result, (list, tuple)) else [result]
    for y in ys:
        if not isinstance(y, Tensor):
            raise TypeError(f"gradcheck: {_name(fn)} returned a {type(y).__name__}\n  expected Tensors")
    ys = [y for y in ys if y.dtype.kind == "f"]
    if not ys:
        raise ValueError(f"gradcheck: {_name(fn)} returned no float Tensor\n  expected at least one")
    return ys


def _analytic(
    ys: Sequence[Tensor], xs: Sequence[Tensor], vs: Sequence[Any], create_graph: bool = False
) -> list[Tensor]:
    """The tape's gradient of L = sum <v, y>. Outputs that were not recorded are constants to it."""
    pairs = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
    if not pairs:
        return [tensor(np.zeros(x.shape), device=x.device) for x in xs]
    return list(grad([y for y, _ in pairs], xs, [v for _, v in pairs], create_graph=create_graph))


class _Gradients:
    """The gradients of `fn`, as a function of its inputs and the cotangents: what order 2 checks."""

    def __init__(self, fn: Any, args: Sequence[Any], checked: Sequence[int]) -> None:
        self.fn, self.args, self.checked = fn, args, checked
        self.__name__ = f"the gradient of {_name(fn)}"

    def __call__(self, *variables: Tensor) -> list[Tensor]:
        xs, vs = variables[: len(self.checked)], variables[len(self.checked) :]
        args = list(self.args)
        for k, x in zip(self.checked, xs, strict=True):
            args[k] = x
        return _analytic(_outputs(self.fn, args), xs, vs, create_graph=True)


# ---- the comparison


def _ratio(difference: float, tolerance: float) -> float:
    if difference <= tolerance:
        return difference / tolerance if tolerance else 0.0
    return difference / tolerance if tolerance and isfinite(difference) else inf


class _Found(NamedTuple):
    """A derivative along `direction`, computed both ways."""

    direction: np.ndarray
    analytic: float
    numeric: float
    difference: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.difference <= self.tolerance  # False for NaN


@dataclass
class _Check:
    rtol: float
    atol: float
    steps: Sequence[float]
    limit: int
    directions: int
    rng: np.random.Generator

    def run(
        self, fn: Any, args: Sequence[Any], checked: Sequence[int], names: Sequence[str]
    ) -> tuple[list[InputReport], list[str]]:
        """Compare the gradients of all `checked` arguments; or, if there are problems, say which."""
        arrays = {k: np.array(x) for k, x in enumerate(args) if isinstance(x, (Tensor, np.ndarray))}
        ys = _outputs(fn, args)
        values = [np.array(y) for y in ys]
        problems = [
            f"output {k} has dtype {y.dtype}\n  expected float64, as its inputs: something inside computes with less"
            for k, y in enumerate(ys)
            if y.dtype != np.float64
        ]
        if problems:
            return [], problems
        vs = [self.rng.standard_normal(y.shape) for y in ys]
        gs = [g.numpy() for g in _analytic(ys, [args[k] for k in checked], vs)]
        for k, old in arrays.items():
            if not np.array_equal(np.asarray(args[k]), old, equal_nan=old.dtype.kind == "f"):
                problems.append(f"{names[k]} was changed by {_name(fn)}\n  expected inputs to be left as they are")
        named = [(f"output {k}", a) for k, a in enumerate(values)]
        named += [(f"the gradient of {names[k]}", g) for k, g in zip(checked, gs, strict=True)]
        for name, a in named:
            if not np.isfinite(a).all():
                problems.append(f"{name} has {np.sum(~np.isfinite(a))} of {a.size} values that are not finite")
        if problems:
            return [], problems
        for k, (y, old) in enumerate(zip(_outputs(fn, args), values, strict=True)):
            if not np.array_equal(y.numpy(), old):
                problems.append(
                    f"output {k} is another one when {_name(fn)} is called again with the same inputs\n"
                    "  expected a deterministic function: likely dropout; call mr.manual_seed inside it"
                )
        if problems:
            return [], problems
        return [self._input(_Along(fn, args, k, vs), g, names[k]) for k, g in zip(checked, gs, strict=True)], []

    def _input(self, along: _Along, g: np.ndarray, name: str) -> InputReport:
        sampled = g.size > self.limit
        found = [self._compare(along, g, d) for d in (self._random(along.scale) if sampled else _units(g.shape))]
        wrong = sum(not f.agrees for f in found)
        if not found:
            return InputReport(name, g.shape, 0, 0, False, None, 0.0, 0.0, 0.0, self.atol)
        worst = max(found, key=lambda f: _ratio(f.difference, f.tolerance))
        if sampled and wrong:
            worst = self._compare(along, g, self._locate(along, g, worst.direction))
        index = None
        if wrong or not sampled:
            index = tuple(int(i) for i in np.unravel_index(np.argmax(np.abs(worst.direction)), g.shape))
        return InputReport(name, g.shape, len(found), wrong, sampled, index, *worst[1:])

    def _compare(self, along: _Along, g: np.ndarray, d: np.ndarray) -> _Found:
        analytic = float(np.sum(g * d))
        tries = []
        for step in self.steps:
            numeric = along.derivative(d, step)
            tolerance = self.atol + self.rtol * max(abs(analytic), abs(numeric))
            tries.append(_Found(d, analytic, numeric, abs(analytic - numeric), tolerance))
            if tries[-1].agrees:
                return tries[-1]
        return min(tries, key=lambda f: f.difference if isfinite(f.difference) else inf)

    def _random(self, scale: np.ndarray) -> Iterator[np.ndarray]:
        """Directions of length 1, measured in `scale`."""
        for _ in range(self.directions):
            d = self.rng.standard_normal(scale.shape)
            yield scale * d / np.linalg.norm(d)

    def _locate(self, along: _Along, g: np.ndarray, d: np.ndarray) -> np.ndarray:
        """One entry whose gradient is off, found by halving a direction that is: log2(size) comparisons."""
        places = np.arange(d.size)
        while places.size > 1:
            half = places[: places.size // 2]
            part = np.zeros(d.size)
            part[half] = d.ravel()[half]
            places = places[half.size :] if self._compare(along, g, part.reshape(d.shape)).agrees else half
        return _unit(d.shape, int(places[0]))


def _unit(shape: tuple[int, ...], k: int) -> np.ndarray:
    d = np.zeros(shape)
    d.flat[k] = 1.0
    return d


def _units(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """The direction of each entry."""
    return (_unit(shape, k) for k in range(int(np.prod(shape, dtype=np.int64))))


class _Along:
    """Derivatives of L = sum <v, y> along directions of argument number `k`, from values of `fn` alone."""

    def __init__(self, fn: Any, args: Sequence[Any], k: int, vs: Sequence[np.ndarray]) -> None:
        self.fn, self.args, self.k, self.vs = fn, args, k, vs
        self.x = args[k].numpy()
        self.scale = np.maximum(1.0, np.abs(self.x))

    def derivative(self, d: np.ndarray, step: float) -> float:
        """(4 D(h/2) - D(h)) / 3, where D(h) = (L(x + h d) - L(x - h d)) / 2h: the h**2 terms of the error cancel."""
        h = step / float(np.linalg.norm(d / self.scale))
        return (4 * self._central(d, h / 2) - self._central(d, h)) / 3

    def _central(self, d: np.ndarray, h: float) -> float:
        # A step may leave the domain (log, sqrt); the result is NaN then, and a smaller step is tried.
        with np.errstate(all="ignore"):
            pairs = zip(self._values(self.x + h * d), self._values(self.x - h * d), strict=True)
            # Differences first, then products: what the step does not reach cancels exactly.
            return float(sum(np.sum(v * (a - b)) for v, (a, b) in zip(self.vs, pairs, strict=True))) / (2 * h)

    def _values(self, x: np.ndarray) -> list[np.ndarray]:
        args = list(self.args)
        args[self.k] = tensor(x, requires_grad=True, device=self.args[self.k].device)
        return [y.numpy() for y in _outputs(self.fn, args)]
