"""Functions of functions against values that torch computed, and against torch itself where it is installed.

Tests `minirnn/autograd/`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.autograd.cases import CASES, GOLDEN, MAPPINGS, named, results
from tests.each import each

PAIRS = [
    (name, function)
    for name, case in CASES.items()
    for function in ("jacobian", "hessian", "vjp", "jvp", "hvp")
    if (case.is_number or function not in ("hessian", "hvp")) and (name, function) != ("nothing", "jacobian")
]


def weigh(y: mr.Tensor) -> mr.Tensor:
    """The same numbers as in `tests/golden/make_functions.py`."""
    return mr.tensor(np.cos(np.arange(1, 1 + y.size)).reshape(y.shape), device=y.device, dtype=y.dtype)


def stored(name: str) -> dict[str, np.ndarray]:
    with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as file:
        return dict(file)


def compare(found: dict[str, Any], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        got = found[key].numpy()
        assert got.shape == value.shape, key
        assert got.dtype == value.dtype, key
        np.testing.assert_allclose(got, value, rtol=1e-10, atol=1e-10 * np.abs(value).max(initial=1), err_msg=key)


def on(device: str, value: Any, requires_grad: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: on(device, part, requires_grad) for key, part in value.items()}
    if isinstance(value, list):
        return [on(device, part, requires_grad) for part in value]
    return mr.tensor(value, requires_grad, device)


@each("name", CASES)
def test_values_and_nesting_are_those_of_torch(name: str, device: str) -> None:
    w, xs, vs = on(device, list(CASES[name].arrays(name)))
    found = results(mr, CASES[name], w, xs, vs, weigh)
    expected = {key: value for key, value in stored(name).items() if "gradient" not in key}
    compare(found, expected)
    assert not any(t.requires_grad for t in found.values())


@pytest.mark.slow_elsewhere
@each(("name", "function"), PAIRS)
def test_results_can_be_differentiated_once_more(name: str, function: str, device: str) -> None:
    case = CASES[name]
    expected = {key: value for key, value in stored(name).items() if key.startswith(f"{function}.gradient")}
    w, xs, vs = on(device, list(case.arrays(name)), True)
    inputs, v = (tuple(xs), tuple(vs)) if case.many else (xs[0], vs[0])
    if function == "vjp":
        y = case.func(w, *xs)
        v = tuple(map(weigh, y)) if isinstance(y, tuple) else weigh(y)
    arguments = (inputs,) if function in ("jacobian", "hessian") else (inputs, v)
    result = getattr(mr, function)(lambda *z: case.func(w, *z), *arguments, create_graph=True)
    total = sum(((t * weigh(t)).sum() for _, t in named("", result)), mr.tensor(0.0, device=device))
    leaves = [w, *xs, *(vs if function in ("jvp", "hvp") else [])]
    found = mr.grad(total, leaves) if total.requires_grad else [t * 0 for t in leaves]
    compare({f"{function}.gradient.{k}": g for k, g in enumerate(found)}, expected)
    assert all(t.grad is None for t in leaves)


@each("name", [name for name, case in CASES.items() if name != "nothing"])
def test_columns_are_rows(name: str, device: str) -> None:
    """strategy="forward-mode" and "reverse-mode" find the same numbers in two ways."""
    case = CASES[name]
    w, xs, _ = on(device, list(case.arrays(name)))
    inputs = tuple(xs) if case.many else xs[0]
    expected = {key: value for key, value in stored(name).items() if "gradient" not in key}

    def func(*z: mr.Tensor) -> Any:
        return case.func(w, *z)

    found = dict(named("jacobian", mr.jacobian(func, inputs, strategy="forward-mode", vectorize=True)))
    compare(found, {key: value for key, value in expected.items() if key.startswith("jacobian")})
    if case.is_number:
        found = dict(named("hessian", mr.hessian(func, inputs, outer_jacobian_strategy="forward-mode")))
        compare(found, {key: value for key, value in expected.items() if key.startswith("hessian")})


@each("name", MAPPINGS)
def test_vmap_gives_what_torch_gives(name: str, device: str) -> None:
    mapping = MAPPINGS[name]
    args = on(device, mapping.arrays(name), True)
    found = dict(named("result", mr.vmap(mapping.func, mapping.in_dims, mapping.out_dims)(*args)))
    leaves = dict(named("gradient", args))
    total = sum(((t * weigh(t)).sum() for t in found.values()), mr.tensor(0.0, device=device))
    gradients = dict(zip(leaves, mr.grad(total, list(leaves.values())), strict=True))
    compare(found | gradients, stored(f"vmap_{name}"))


@pytest.mark.slow
def test_the_stored_values_are_what_torch_gives_today() -> None:
    pytest.importorskip("torch")
    from tests.golden.make_functions import main

    assert main(check=True) == 0
