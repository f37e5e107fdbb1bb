"""States of optimizers, flat and of torch; errors name entries that do not fit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from tests.each import each
from tests.optim import cases
from tests.optim.cases import SHAPES, STEPS
from tests.optim.test_optim import CASES, parameters, run, value


def fresh(case: str, ps: list[nn.Parameter]) -> optim.Optimizer:
    """An optimizer of the class and groups of a case, with other settings."""
    kind = getattr(optim, case.split()[0])
    if case in cases.GROUPS:
        return kind([{"params": ps[:1]}, {"params": ps[1:]}], lr=123.0)
    return kind(ps, lr=123.0)


@pytest.mark.slow_elsewhere
@each("case", CASES)
def test_going_on_from_a_saved_state_gives_the_same_bits(case: str, device: str) -> None:
    begin, centers = cases.start()
    ps = [nn.Parameter(a, device=device) for a in begin]
    unbroken = run(cases.made(mr, case, ps), ps, centers, range(STEPS))

    ps = [nn.Parameter(a, device=device) for a in begin]
    first = cases.made(mr, case, ps)
    middle = run(first, ps, centers, range(7))
    state = first.state_dict()
    run(first, ps, centers, range(7, 9))  # the saved state is a copy: this must not reach it

    ps = [nn.Parameter(a, device=device) for a in middle]
    second = fresh(case, ps)
    rest = json.loads(json.dumps({k: v for k, v in state.items() if not isinstance(v, np.ndarray)}))
    second.load_state_dict({**rest, **{k: v for k, v in state.items() if isinstance(v, np.ndarray)}})
    for ours, expected in zip(run(second, ps, centers, range(7, STEPS)), unbroken, strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.fixture
def wide_torch() -> Any:
    torch = pytest.importorskip("torch")
    torch.set_default_dtype(torch.float64)  # otherwise NAdam keeps its product of momenta in float32
    yield torch
    torch.set_default_dtype(torch.float32)


@each("case", CASES)
def test_a_state_of_torch_goes_on_here_and_ours_in_torch(case: str, wide_torch: Any) -> None:
    torch = wide_torch
    begin, centers = cases.start()
    theirs = [torch.tensor(a, requires_grad=True) for a in begin]
    twin = cases.made(torch, case, theirs)

    def run_torch(twin: Any, theirs: list[Any], ks: range) -> None:
        for k in ks:
            for t, g in zip(theirs, cases.gradient([t.detach().numpy() for t in theirs], centers, k), strict=True):
                t.grad = None if g is None else torch.tensor(g)
            twin.step()

    run_torch(twin, theirs, range(7))
    ps = [nn.Parameter(t.detach().numpy().copy()) for t in theirs]
    ours = fresh(case, ps)
    ours.load_state_dict(twin.state_dict())
    run(ours, ps, centers, range(7, STEPS))
    run_torch(twin, theirs, range(7, STEPS))
    for p, t in zip(ps, theirs, strict=True):
        np.testing.assert_allclose(p, t.detach(), rtol=1e-11, atol=1e-12)

    others = [torch.tensor(value(p), requires_grad=True) for p in ps]
    back = cases.made(torch, case, others)
    for group in back.param_groups:
        group["lr"] = 123.0
    back.load_state_dict(ours.state_dict(layout="torch"))
    run_torch(back, others, range(STEPS, STEPS + 5))
    run(ours, ps, centers, range(STEPS, STEPS + 5))
    for p, t in zip(ps, others, strict=True):
        np.testing.assert_allclose(p, t.detach(), rtol=1e-11, atol=1e-12)


def test_a_saved_state_is_flat_arrays_json_and_the_name(rng: np.random.Generator) -> None:
    ps = parameters(rng)
    adam = optim.Adam([{"params": ps[:2]}, {"params": ps[2:], "lr": 0.5}])
    run(adam, ps, [np.zeros(s) for s in SHAPES], range(1))
    state = adam.state_dict()
    assert sorted(state) == sorted(
        ["optimizer", "param_groups"]
        + [f"{k}.{name}" for k in (0, 2) for name in ("m", "step", "v")]  # the second one had no gradient
    )
    assert state["optimizer"] == "Adam"
    assert [(group["lr"], group["params"]) for group in state["param_groups"]] == [(0.001, [0, 1]), (0.5, [2])]
    assert state["0.step"] == 1
    assert type(state["0.m"]) is np.ndarray
    assert state["0.v"].shape == (3, 5)
    before = adam.state_dict()
    state["0.v"][:] = 7  # a copy
    state["param_groups"][0]["lr"] = 7
    np.testing.assert_array_equal(adam.state_dict()["0.v"], before["0.v"])
    assert adam.lr == 0.001


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"optimizer": "SGD"}, "got the state of SGD\n  expected Adam"),
        ({"param_groups": [{"params": [0, 1], "lr": 0.1}]}, "group 0 has 2 parameters\n  expected 3"),
        ({"0.m": np.zeros((5, 3))}, r"0.m has shape \(5, 3\)\n  expected \(3, 5\)"),
        ({"0.momentum": np.zeros((3, 5))}, "unexpected 0.momentum"),
    ],
)
def test_a_state_that_does_not_fit_is_named_and_changes_nothing(
    change: dict[str, Any], words: str, rng: np.random.Generator
) -> None:
    ps = parameters(rng)
    adam = optim.Adam(ps, lr=0.25)
    run(adam, ps, [np.zeros(s) for s in SHAPES], range(1))
    before = adam.state_dict()
    with pytest.raises((ValueError, TypeError), match=words):
        adam.load_state_dict(before | change)
    after = adam.state_dict()
    assert before.keys() == after.keys()
    for key, entry in before.items():
        np.testing.assert_array_equal(after[key], entry, err_msg=key)


def test_a_state_of_another_optimizer_of_torch_is_refused() -> None:
    p = nn.Parameter([1.0])
    memory = {0: {"step": 3, "exp_avg": np.ones(1), "exp_avg_sq": np.ones(1)}}
    state = {"state": memory, "param_groups": [{**optim.Adam([p]).defaults, "params": [0]}]}
    optim.Adam([p]).load_state_dict(state)
    with pytest.raises(ValueError, match=r"unexpected step in state\[0\]\n  expected momentum_buffer\n  likely"):
        optim.SGD([p]).load_state_dict(state)
    with pytest.raises(ValueError, match="missing momentum, dampening"):
        optim.SGD([p]).load_state_dict({**state, "state": {}})
