"""The ways of proving a case: its definition, its second order, differences, and the simulator's check mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from minirnn import devices
from minirnn.devices.base import Device
from minirnn.engine.tensor import tensor
from minirnn.gradcheck import gradcheck
from minirnn.proof import tolerance
from minirnn.proof.case import DTYPES, Arrays, Case, evaluate, gradient_of, reference
from minirnn.proof.table import Cell, Comparison, Finding, worst

ORDERS = (0, 1, 2)
"""Thread orders of check mode: 0 is index order, the others are random; threads also yield at accesses."""
DIRECTIONS = 3
"""Random directions through each input, for central differences."""
WITH_KERNELS = ("cpu", "native", "cuda", "cuda-sim")
"""Devices that have a kernel for every fused op. Others may use the composition for some of them."""
SLOW = (("check mode", "float64"), ("check mode", "float16"))
"""The cases that a quick run leaves out."""


def comparisons(cases: Iterable[Case], devices: Mapping[str, str | None]) -> Iterator[Comparison]:
    """All comparisons of some cases. `devices` maps a name to None, or to the reason why it does not work here."""
    for case, (device, absent) in product(cases, devices.items()):
        for way, dtype, run, *name in ways_of(case, device):
            cell = Cell(case.op, (*name, case.variant)[0], dtype, device, way)
            yield comparison(case, cell, run, absent or "", case.quick and (way, dtype) not in SLOW)


def comparison(case: Case, cell: Cell, run: Callable[[], Finding], missing: str, quick: bool) -> Comparison:
    """One comparison of a case; it does not run if something is `missing`."""
    return Comparison(cell, case.size, None if missing else run, missing, quick)


def ways_of(case: Case, device: str) -> Iterator[tuple[Any, ...]]:
    """Yields a way, a dtype, the function that compares, and the name of the variant if it is not that of the case."""
    for dtype in DTYPES:
        # Without a composition the reference is `cpu` itself, which in float64 would be compared with itself.
        if case.has_definition or (device, dtype) != ("cpu", "float64"):
            yield "definition", dtype, partial(by_definition, case, dtype, device)
        if device == "cuda-sim":
            yield "check mode", dtype, partial(in_check_mode, case, dtype)
    if case.step:
        yield "differences", "float64", partial(by_differences, case, device)
    if case.second_order:
        yield "second order", "float64", partial(by_second_order, case, device)
    if case.to_second_order is not None:
        run = partial(by_differences_to_second_order, case, device, case.to_second_order)
        yield "differences", "float64", run, "to second order"
    if case.recorded:
        yield "definition", "float64", partial(by_recording, case, device), "recorded backward pass"


def by_definition(case: Case, dtype: str, device: str | Device) -> Finding:
    """Outputs and gradients against the composition in float64, from the same inputs."""
    place = devices.get(device)
    before = place.fallbacks.copy()
    found = evaluate(case, case.rounded(dtype), dtype, place)
    if place.name in WITH_KERNELS and place.fallbacks != before:
        raise ValueError(
            f"{place} has no kernel {', '.join(place.fallbacks - before)}: the composition was compared with itself"
        )
    return compare(case, dtype, found, reference(case, dtype), both=dtype == "float64")


def by_differences(case: Case, device: str) -> Finding:
    """The gradients at two entries of each input, and along random directions, against central differences."""
    inputs = [tensor(a, True, device) for a in case.inputs.values()]
    values = sum(a.size for name, a in reference(case, "float64").items() if name in case.outputs)
    allowed = tolerance.of_differences(case.count, values, case.step)
    report = gradcheck(
        case.call,
        inputs,
        rtol=allowed.value,
        atol=allowed.value,
        steps=(case.step,),
        max_entries=2,
        directions=DIRECTIONS,
        raise_exception=False,
    )
    if report.problems or report.worst is None:
        raise ValueError("; ".join(report.problems) or "no gradient was checked")
    entry = report.worst
    scale = 1 + max(abs(entry.analytic), abs(entry.numeric))
    name = list(case.inputs)[[r.name for r in report.inputs].index(entry.name)]
    return Finding(entry.difference / scale, allowed.value, allowed.reason, gradient_of(name))


def by_differences_to_second_order(case: Case, device: str, options: Mapping[str, Any]) -> Finding:
    """Gradients, and gradients of gradients, against central differences, as `gradcheck` compares them."""
    inputs = [tensor(a, True, device) for a in case.inputs.values()]
    report = gradcheck(case.call, inputs, order=2, raise_exception=False, **options)
    if report.problems:
        raise ValueError("; ".join(report.problems))
    reason = "atol + rtol * the larger one, as in mr.gradcheck"
    # An input without entries has nothing to be compared.
    return worst(Finding(r.difference, r.tolerance, reason, f"the gradient of {r.name}") for r in report.inputs)


def by_recording(case: Case, device: str) -> Finding:
    """Gradients with and without ``create_graph`` are the same, bit for bit."""
    plain, again = (evaluate(case, case.inputs, "float64", device, record=record) for record in (False, True))
    same = all(np.array_equal(plain[gradient_of(name)], again[gradient_of(name)]) for name in case.inputs)
    return Finding(0.0 if same else np.inf, 0.0, tolerance.EXACT.reason, "the gradients under create_graph")


def by_second_order(case: Case, device: str) -> Finding:
    """Gradients of the gradients against those of the composition, in float64."""
    found = evaluate(case, case.inputs, "float64", device, order=2)
    twice = replace(case, gradient_count=case.gradient_count.twice())
    return compare(twice, "float64", found, reference(case, "float64", order=2), both=True)


def in_check_mode(case: Case, dtype: str) -> Finding:
    """`by_definition` with every access checked; float32 in every order of the threads, the other dtypes in one."""
    return worst(by_definition(case, dtype, checking(order)) for order in orders_of(dtype))


def orders_of(dtype: str) -> tuple[int, ...]:
    """The thread orders in which a dtype is checked."""
    return ORDERS if dtype == "float32" else ORDERS[1:2]


@lru_cache
def checking(order: int) -> Device:
    """The simulated CUDA device in check mode."""
    from minirnn.devices.cuda.device import Cuda
    from minirnn.devices.cuda.sim.driver import SimDriver
    from minirnn.devices.cuda.sim.options import SimOptions

    return Cuda(SimDriver(SimOptions(check=True, seed=order, preempt=8 if order else 0)))


def compare(case: Case, dtype: str, found: Arrays, expected: Arrays, both: bool = False) -> Finding:
    """The worst of all outputs and gradients. With `both`, the expected values are rounded as often as the values
    found.
    """
    if found.keys() != expected.keys():
        raise ValueError(f"got {', '.join(found)}\n  expected {', '.join(expected)}")
    findings = []
    for name, wanted in expected.items():
        count = case.count if name in case.outputs else case.gradient_count
        allowed = tolerance.of(dtype, count.twice() if both else count)
        findings.append(compare_arrays(name, found[name], wanted, allowed))
        if found[name].dtype.kind == "f" and found[name].dtype != dtype:
            raise TypeError(f"{name} has dtype {found[name].dtype}\n  expected {dtype}")
    return worst(findings)


def compare_arrays(name: str, found: np.ndarray, expected: np.ndarray, allowed: tolerance.Tolerance) -> Finding:
    """The largest difference, relative to max(1, largest expected value). NaN is always wrong."""
    if found.shape != expected.shape:
        raise ValueError(f"{name} has shape {found.shape}\n  expected {expected.shape}")
    if expected.dtype.kind != "f":
        same = found.dtype == expected.dtype and np.array_equal(found, expected)
        return Finding(0.0 if same else np.inf, 0.0, tolerance.EXACT.reason, name)
    wide = expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs(found.astype(np.float64) - wide).max(initial=0.0) / max(1.0, np.abs(wide).max(initial=0.0))
    return Finding(float(error) if error == error else np.inf, allowed.value, allowed.reason, name)
