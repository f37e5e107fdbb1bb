"""States of optimizers, flat and of torch; errors name entries that do not fit."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
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


# ---- the entries one by one: numbers, names and types, from files and from torch


def pair(**settings: Any) -> tuple[optim.Adam, list[nn.Parameter]]:
    """Adam after one step of its first parameter; the second had no gradient."""
    ps = [nn.Parameter([1.0, 2.0, 3.0]), nn.Parameter([4.0])]
    adam = optim.Adam(ps, **settings)
    ps[0].grad = mr.tensor([1.0, -1.0, 2.0])
    adam.step()
    return adam, ps


@pytest.mark.parametrize(
    ("step", "found"), [(3, 3), (3.0, 3), (np.int32(3), 3), (np.float32(3), 3), (np.array(3.0), 3), (0, 0)]
)
def test_a_step_is_a_whole_number_of_any_kind(step: Any, found: int) -> None:
    adam, ps = pair()
    adam.load_state_dict(adam.state_dict() | {"0.step": step})
    assert type(adam.state[ps[0]]["step"]) is int
    assert adam.state[ps[0]]["step"] == found


@pytest.mark.parametrize(
    "step", [-1, 1.5, True, np.array([3]), np.array(True), "3", np.array("3"), np.ones((1, 1)), float("nan")]
)
def test_other_steps_are_refused(step: Any) -> None:
    adam, _ = pair()
    with pytest.raises((TypeError, ValueError), match=r"Adam.load_state_dict: 0.step"):
        adam.load_state_dict(adam.state_dict() | {"0.step": step})


def test_the_product_of_momenta_stays_a_float() -> None:
    nadam = optim.NAdam([p := nn.Parameter([1.0])])
    p.grad = mr.tensor([1.0])
    nadam.step()
    for number in (0.25, 1, np.float32(0.25), np.array(0.25)):
        nadam.load_state_dict(nadam.state_dict() | {"0.M": number})
        assert type(nadam.state[p]["mu_product"]) is float
        assert nadam.state[p]["mu_product"] == float(number)


def test_arrays_come_back_in_the_dtype_of_the_parameter_and_as_copies() -> None:
    adam, ps = pair()
    m = np.array([1.0, 2.0, 3.0])
    for given in (m, m.tolist(), mr.tensor(m)):
        adam.load_state_dict(adam.state_dict() | {"0.m": given})
        kept = adam.state[ps[0]]["exp_avg"]
        assert isinstance(kept, mr.Tensor)
        assert (kept.dtype, kept.tolist()) == (np.float32, [1, 2, 3])
        assert not np.shares_memory(kept.array, m)


def test_what_depends_on_settings_may_be_missing() -> None:
    adam, ps = pair(amsgrad=True)
    state = adam.state_dict()
    del state["0.vmax"]
    adam.load_state_dict(state)
    assert set(adam.state[ps[0]]) == {"step", "exp_avg", "exp_avg_sq"}


# ---- groups


def test_switches_come_from_here_and_flags_from_the_state_if_it_has_them() -> None:
    adam, _ = pair(amsgrad=True)
    state = adam.state_dict()
    (group,) = state["param_groups"]
    group |= {"foreach": True, "fused": True, "maximize": True, "initial_lr": 0.5}
    del group["decoupled_weight_decay"], group["capturable"]
    other, _ = pair(decoupled_weight_decay=True)
    other.load_state_dict(state)
    (found,) = other.param_groups
    assert (found["foreach"], found["fused"], found["capturable"]) == (None, None, False)
    assert (found["maximize"], found["amsgrad"], found["decoupled_weight_decay"]) == (True, True, True)
    assert found["initial_lr"] == 0.5


def test_pairs_are_lists_in_a_flat_state_and_settings_are_copies() -> None:
    adam, _ = pair()
    adam.param_groups[0]["note"] = [1]
    state = adam.state_dict()
    assert state["param_groups"][0]["betas"] == [0.9, 0.999]
    state["param_groups"][0]["note"].append(2)
    assert adam.param_groups[0]["note"] == [1]
    adam.load_state_dict(state)
    state["param_groups"][0]["note"].append(3)
    assert adam.param_groups[0]["note"] == [1, 2]
    assert adam.betas == (0.9, 0.999)


# ---- torch's layout


def as_torch_has_it(adam: optim.Adam) -> dict[str, Any]:
    memory = {"step": np.float32(3), "exp_avg": np.ones(3), "exp_avg_sq": np.full(3, 2.0), "max_exp_avg_sq": None}
    return {"state": {0: memory}, "param_groups": [{**adam.defaults, "lr": 0.5, "params": [0, 1]}]}


def test_a_state_of_torch_is_known_by_its_two_keys() -> None:
    adam, ps = pair()
    adam.load_state_dict(as_torch_has_it(adam))
    assert adam.lr == 0.5
    assert adam.state[ps[0]]["step"] == 3
    assert set(adam.state[ps[0]]) == {"step", "exp_avg", "exp_avg_sq"}  # None stands for nothing
    assert ps[1] not in adam.state
    for left_out in ("state", "param_groups"):
        state = as_torch_has_it(adam)
        del state[left_out]
        with pytest.raises(ValueError, match="got the state of None\n  expected Adam"):
            adam.load_state_dict(state)
    with pytest.raises(TypeError, match="got a list"):
        adam.load_state_dict([])  # type: ignore[arg-type]


@pytest.mark.parametrize("entries", [[], 5, {0: 5}, {0: {}, 1: []}])
def test_a_state_of_torch_is_a_dict_of_dicts(entries: Any) -> None:
    adam, _ = pair()
    with pytest.raises(TypeError, match="expected a dict of dicts"):
        adam.load_state_dict(as_torch_has_it(adam) | {"state": entries})


def test_values_that_live_in_torch_are_detached_and_brought_to_the_host() -> None:
    class Theirs:
        """A minimal imitation of a torch tensor on a GPU."""

        def __init__(self, value: np.ndarray, calls: tuple[str, ...] = ()) -> None:
            self.value, self.calls = value, calls

        def detach(self) -> Theirs:
            return Theirs(self.value, (*self.calls, "detach"))

        def cpu(self) -> np.ndarray:
            assert self.calls == ("detach",)
            return self.value

    adam, ps = pair()
    state = as_torch_has_it(adam)
    state["state"][0]["exp_avg"] = Theirs(np.array([5.0, 6.0, 7.0]))
    adam.load_state_dict(state)
    assert adam.state[ps[0]]["exp_avg"].tolist() == [5, 6, 7]


def test_a_state_for_torch_has_numbered_memories_and_its_own_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = SimpleNamespace(from_numpy=lambda a: ("array", a), tensor=lambda x: ("number", x))
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    adam, ps = pair()
    found = adam.state_dict(layout="torch")
    assert set(found) == {"state", "param_groups"}
    assert list(found["state"]) == [0]
    memory = found["state"][0]
    assert memory["step"] == ("number", 1.0) and type(memory["step"][1]) is float
    assert memory["exp_avg"][0] == memory["exp_avg_sq"][0] == "array"
    np.testing.assert_array_equal(memory["exp_avg"][1], adam.state[ps[0]]["exp_avg"])
    assert not np.shares_memory(memory["exp_avg"][1], adam.state[ps[0]]["exp_avg"].array)
    assert found["param_groups"][0]["params"] == [0, 1]
    assert found["param_groups"][0]["betas"] == (0.9, 0.999)
