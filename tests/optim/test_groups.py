"""The arguments of an optimizer, and errors if a gradient does not fit its parameter."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.devices.cpu.device import CPU
from minirnn.optim.groups import groups_of, mismatch, parameters_of


class SecondDevice(CPU):
    name = "second"


def test_parameters_are_one_group_and_groups_are_new_dicts() -> None:
    p, q = nn.Parameter([1.0, 2.0]), nn.Parameter([3.0, 4.0])
    assert groups_of("SGD", iter([p, q])) == [{"params": [p, q]}]
    group = {"params": [p]}
    found = groups_of("SGD", [group, {"params": q, "lr": 1}])
    assert found == [{"params": [p]}, {"params": q, "lr": 1}]
    assert found[0] is not group


def test_a_pair_of_a_name_and_a_parameter_is_told_from_two_parameters() -> None:
    p, q = nn.Parameter([1.0, 2.0]), nn.Parameter([3.0, 4.0])
    assert parameters_of("SGD", {"params": p}) == ([p], None)
    assert parameters_of("SGD", {"params": [p, q]}) == ([p, q], None)
    assert parameters_of("SGD", {"params": {"a": p}.items()}) == ([p], ["a"])
    assert parameters_of("SGD", {"params": []}) == ([], None)
    for wrong in ([(p, q)], [("a", p, 1)], [(1, p)]):
        with pytest.raises(TypeError, match="parameter 0 is a tuple\n  expected a Tensor\n  likely named_parameters"):
            parameters_of("SGD", {"params": wrong})
    with pytest.raises(ValueError, match="1 of 2 parameters have a name"):
        parameters_of("SGD", {"params": [p, ("b", q)]})


def test_the_reason_is_the_device_before_the_dtype_before_the_shape() -> None:
    p = nn.Parameter(np.ones(2))
    there = mr.tensor(np.ones(3, np.float32), device=SecondDevice())
    assert "is on cpu, its gradient on second" in str(mismatch("SGD", "p", p, there))
    narrow = mr.tensor(np.ones(3, np.float32))
    assert isinstance(found := mismatch("SGD", "p", p, narrow), TypeError)
    assert "has dtype float64, its gradient float32" in str(found)
    assert "has shape (2,), its gradient (3,)" in str(mismatch("SGD", "p", p, mr.tensor(np.ones(3))))


@pytest.mark.parametrize(
    ("g", "words"),
    [
        (mr.tensor([1.0], device=SecondDevice()), "SGD: parameter 1 is on cpu, its gradient on second"),
        (mr.tensor(np.ones(1)), "SGD: parameter 1 has dtype float32, its gradient float64"),
    ],
)
def test_a_gradient_that_does_not_fit_is_told_by_its_place(g: mr.Tensor, words: str) -> None:
    p, q = nn.Parameter([1.0]), nn.Parameter([1.0])
    p.grad = mr.tensor([1.0])
    q.grad = g
    with pytest.raises((ValueError, TypeError), match=words):
        optim.SGD([p, q], 0.5).step()
    assert p.tolist() == [1.0]
    with pytest.raises(ValueError, match=r"grad: got shape \(\)\n  expected that of the Tensor: \(1,\)"):
        q.grad = mr.tensor(1.0)
