"""The check. For outputs y_k of a function and random cotangents v_k, the gradient of L = sum over k of <v_k, y_k> is
computed twice: by the tape, and from values of the function alone. A missing factor, a forgotten term or a lost path
makes them differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.arguments.host_array import values_of
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor, tensor
from minirnn.gradcheck.differences import Along, Comparison
from minirnn.gradcheck.function import Gradients, analytic, name_of, outputs, promote, reached
from minirnn.gradcheck.report import GradcheckError, InputReport, Report

STEPS = (1e-3, 1e-5)
"""Relative step sizes. Where the first disagrees, the second is tried, because a smaller step avoids nearby kinks and
poles.
"""


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
    eps: float | None = None,
) -> Report:
    """Compare the gradients of ``fn(*inputs)`` with central differences in float64.

    Every float output gets a random cotangent; outputs of other dtypes are ignored. Each checked input must have an
    influence on an output.

    Parameters
    ----------
    fn : callable
        Takes Tensors, returns a Tensor or a list, tuple or named tuple of Tensors.
    inputs : sequence, or one array or Tensor
        The arguments of `fn`. Float64 leaves with ``requires_grad`` are passed on themselves, perturbed in place and
        restored, so `fn` may also use them without its arguments: ``lambda *p: net(x)`` with ``net.parameters()``.
        Float arrays, and other float Tensors with ``requires_grad``, become float64 leaves and are checked; other float
        Tensors become float64 constants; anything else is passed on unchanged.
    order : {1, 2}
        Order 2 also checks the gradients of the gradients, with respect to the inputs and to the cotangents.
    rtol, atol : float
        Allowed: ``atol + rtol * max(|analytic|, |numeric|)``. Central differences of steps h and h/2, extrapolated,
        err by about ``h**4`` (truncation) and ``1e-16 / h`` (rounding): 1e-12 times the values involved for h = 1e-3.
        The defaults leave room for values and fifth derivatives of 1e3, and notice a factor rounded to float32 (6e-8).
    steps : sequence of float
        The sizes h of the differences, relative to ``max(1, |x|)``. Where a gradient disagrees, the next one is tried.
    max_entries, directions : int
        An input of more than `max_entries` entries is checked along this many random directions through all of them.
    seed : int
        Determines the cotangents and directions.
    raise_exception : bool
        If false, return the report even if the check failed.
    eps : float, optional
        Accepted for programs written for torch and ignored. `steps` determines the differences.

    Returns
    -------
    Report
        True if all gradients agree. ``report.errors`` has the largest difference of each input.

    Raises
    ------
    GradcheckError
        If a gradient is wrong. The message names the input, the entry, both values and the tolerance. Also if `fn`
        gives other results when called again, changes its inputs, does not use one, has values that are not finite, or
        returns floats other than float64. The message also says if the input is at a kink or `steps` are too large.
    ValueError, TypeError
        If nothing can be checked: no input requires gradients, `fn` returns no float Tensor, `order` is unknown.

    Notes
    -----
    At a kink (relu at 0, maximum of equal values, a bound of clip) differences are not the derivative: choose inputs at
    least 1e-4 away. A gradient that is meant to differ from the derivative (clip with ``straight_through``, `detach`)
    is reported as wrong where it does. A gradient wrong by less than the tolerance is not found. A function that varies
    over distances below 1e-4 needs smaller `steps`.
    """
    if not isinstance(order, int) or order not in (1, 2):
        raise ValueError(f"gradcheck: order is {shown(order)}\n  expected 1 or 2")
    if not steps or min(steps) <= 0:
        raise ValueError(f"gradcheck: steps are {shown(steps)}\n  expected at least one positive number")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:  # NaN is not finite either
            raise ValueError(f"gradcheck: {name} is {shown(value)}\n  expected 0 or more")
    for name, number, low in (("max_entries", max_entries, 0), ("directions", directions, 1), ("seed", seed, 0)):
        if number < low:
            raise ValueError(f"gradcheck: {name} is {shown(number)}\n  expected {low} or more")
    if not callable(fn):
        raise TypeError(f"gradcheck: fn is a {type(fn).__name__}\n  expected a function of Tensors")
    names, args, checked, copied = promote(fn, inputs)
    rng = np.random.default_rng(seed)
    compare = Comparison(rtol, atol, tuple(steps), max_entries, directions, rng)
    before = [(args[k], args[k].array, args[k].seq) for k in checked]
    try:
        reports, problems = _check(fn, args, checked, names, compare)
        problems += _unused(fn, args, checked, names, copied, reports)
        if order == 2 and not problems:
            vs = [tensor(rng.standard_normal(y.shape), True, y.device, np.float64) for y in outputs(fn, args)]
            variables = [args[k] for k in checked] + vs
            labels = [names[k] for k in checked] + [f"cotangent {k}" for k in range(len(vs))]
            labels = [f"{label}, order 2" for label in labels]
            more, problems = _check(Gradients(fn, args, checked), variables, range(len(variables)), labels, compare)
            reports += more
    finally:  # `fn` may have written into one
        for x, array, seq in before:
            x.array, x.seq = array, seq
    report = Report(tuple(reports), tuple(problems))
    if raise_exception and not report:
        wrong = [str(r) for r in report.inputs if r.wrong]
        raise GradcheckError("\n".join([f"gradcheck of {name_of(fn)}, seed {seed}:", *problems, *wrong]))
    return report


def _values(x: Tensor | np.ndarray) -> np.ndarray:
    """A copy."""
    return np.array(values_of(x))


def _unused(
    fn: Any,
    args: Sequence[Any],
    checked: Sequence[int],
    names: Sequence[str],
    copied: Mapping[int, Tensor],
    reports: Sequence[InputReport],
) -> list[str]:
    """Problems of inputs that `fn` does not use, or uses without its argument."""
    problems = []
    used = reached(outputs(fn, args))
    for k, report in zip(checked, reports, strict=False):  # no reports if there were problems
        if copied.get(k) in used:
            problems.append(
                f"{names[k]} is used without the argument of {name_of(fn)}, so its gradient was not checked\n"
                f"  expected float64 leaves, which are perturbed in place, got dtype {copied[k].dtype}\n"
                "  likely net.double() is missing"
            )
        elif not report.influence and args[k] not in used:
            problems.append(
                f"{names[k]} has no influence on any output\n"
                f"  expected a function that uses each input; pass others with requires_grad=False\n"
                f"  likely {name_of(fn)} uses another Tensor or array than its argument"
            )
    return problems


def _check(
    fn: Any, args: Sequence[Any], checked: Sequence[int], names: Sequence[str], compare: Comparison
) -> tuple[list[InputReport], list[str]]:
    """Compare the gradients of all `checked` arguments or, if there are problems, say which."""
    before = {k: _values(x) for k, x in enumerate(args) if isinstance(x, (Tensor, np.ndarray))}
    ys = outputs(fn, args)
    values = [_values(y) for y in ys]
    problems = [
        f"output {k} has dtype {y.dtype}\n"
        "  expected float64, as the inputs: something inside computes with lower precision"
        for k, y in enumerate(ys)
        if y.dtype != np.float64
    ]
    if problems:
        return [], problems
    vs = [compare.rng.standard_normal(y.shape) for y in ys]
    gs = [g.numpy() for g in analytic(ys, [args[k] for k in checked], vs)]
    again = [_values(y) for y in outputs(fn, args)]

    for k, old in before.items():
        if not np.array_equal(_values(args[k]), old, equal_nan=old.dtype.kind == "f"):
            problems.append(f"{names[k]} was changed by {name_of(fn)}\n  expected inputs to be left as they are")
    named = [(f"output {k}", a) for k, a in enumerate(values)]
    named += [(f"the gradient of {names[k]}", g) for k, g in zip(checked, gs, strict=True)]
    for name, a in named:
        if not np.isfinite(a).all():
            problems.append(f"{name} has {np.sum(~np.isfinite(a))} of {a.size} values that are not finite")
    for k, (old, new) in enumerate(zip(values, again, strict=True)):
        if not problems and not np.array_equal(old, new):
            problems.append(
                f"output {k} changes when {name_of(fn)} is called again with the same inputs\n"
                "  expected a deterministic function: likely dropout; call mr.manual_seed inside it"
            )
    if problems:
        return [], problems
    return [compare(names[k], g, Along(fn, args, k, vs)) for k, g in zip(checked, gs, strict=True)], []
