"""The entries of a state, one by one: the accepted numbers, names and types, from files and from torch.

Tests `minirnn/optim/state.py`.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim


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
    for value in (0.25, 1, np.float32(0.25), np.array(0.25)):
        nadam.load_state_dict(nadam.state_dict() | {"0.M": value})
        assert type(nadam.state[p]["mu_product"]) is float
        assert nadam.state[p]["mu_product"] == float(value)


def test_arrays_come_back_in_the_dtype_of_the_parameter_and_as_copies() -> None:
    adam, ps = pair()
    m = np.array([1.0, 2.0, 3.0])
    for value in (m, m.tolist(), mr.tensor(m)):
        adam.load_state_dict(adam.state_dict() | {"0.m": value})
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
