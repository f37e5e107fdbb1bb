"""What holds for every row of `cases.py`: a new optimizer or schedule is tested by adding its row.

Tests `minirnn/optim/settings.py`, `minirnn/optim/groups.py`, `minirnn/optim/state.py` and `minirnn/optim/optimizer.py`.
"""

import inspect
import re
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.devices.cpu.device import CPU
from minirnn.optim import lr_scheduler
from tests.each import each
from tests.optim import cases
from tests.optim.test_optim import CASES, run

NAMES = sorted({case.split()[0] for case in cases.OPTIMIZERS})


class SecondDevice(CPU):
    """The cpu under another name, so that arrays of the two must not be mixed."""

    name = "second"


def test_every_optimizer_and_every_schedule_has_a_row() -> None:
    optimizers = {name for name in optim.__all__ if inspect.isclass(getattr(optim, name))}
    assert {*NAMES, "LBFGS", "Optimizer"} == optimizers
    assert {case.split()[0] for case in cases.SCHEDULES} == {*lr_scheduler.__all__} - {"LRScheduler"}


@pytest.mark.parametrize("name", [*NAMES, "LBFGS"])
def test_the_documentation_says_what_each_argument_means_and_wrong_ones_are_named(name: str) -> None:
    kind = getattr(optim, name)
    rows = re.findall(r"^(\w+(?:, \w+)*)(?: : .+)?\n    (\S.+)$", kind.__doc__.split("----------\n")[1], re.M)
    told = {argument for names, _ in rows for argument in names.split(", ")}
    assert set(inspect.signature(kind).parameters) == told - {"TypeError", "ValueError"}
    p = nn.Parameter([1.0])
    for arguments, named, words in (
        ((), {}, "missing a required argument: 'params'"),
        (([p],), {"momentun": 0.9}, "got an unexpected keyword argument 'momentun'"),
        (([p], *range(20)), {}, "too many positional arguments"),
        (([p], 1), {"lr": 1}, "multiple values for argument 'lr'"),
    ):
        with pytest.raises(TypeError, match=f"{name}: {words}"):
            kind(*arguments, **named)


@each("case", cases.OPTIMIZERS)
def test_settings_are_attributes_that_write_all_groups(case: str) -> None:
    settings = cases.OPTIMIZERS[case]
    optimizer = getattr(optim, case.split()[0])([{"params": [nn.Parameter([k])]} for k in (1.0, 2.0)], **settings)
    for name, value in settings.items():
        assert getattr(optimizer, name) == optimizer.defaults[name] == value
        optimizer.param_groups[1].pop(name)
        setattr(optimizer, name, value)
        assert [group[name] for group in optimizer.param_groups] == [value] * 2


@each("case", cases.OPTIMIZERS)
def test_a_group_for_each_parameter_changes_nothing(case: str) -> None:
    ends = []
    for grouped in (False, True):
        begin, centers = cases.start()
        ps = [nn.Parameter(a) for a in begin]
        kind, settings = getattr(optim, case.split()[0]), cases.OPTIMIZERS[case]
        ends.append(run(kind([{"params": p} for p in ps] if grouped else ps, **settings), ps, centers, range(5)))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


@each("case", CASES)
def test_parameters_may_go_to_another_device_and_dtype_between_steps(case: str, device: str) -> None:
    ends = []
    for places in ([], [device, SecondDevice(), "cpu"]):
        begin, centers = cases.start()
        net: Any = nn.Module()
        for k, a in enumerate(begin):
            setattr(net, f"p{k}", nn.Parameter(a))
        ps = list(net.parameters())
        optimizer = cases.made(mr, case, ps)
        for k in range(1, 9):
            if k % 2 == 0 and places:
                net.to(places[k // 2 % len(places)])
            run(optimizer, ps, centers, range(k, k + 1))
        ends.append([p.numpy().copy() for p in ps])
    for one, other in zip(*ends, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    net.to(np.float32)
    for p in ps:
        p.grad = mr.tensor(np.ones(p.shape, np.float32), device=p.device)
    optimizer.step()
    kept = [m for p in ps for m in (p, *optimizer.state[p].values()) if isinstance(m, mr.Tensor)]
    assert all(m.dtype == np.float32 for m in kept)


@each("name", NAMES)
def test_steps_are_counted_and_a_step_size_of_0_moves_nothing(name: str) -> None:
    p, idle = nn.Parameter(np.array([1.0, -2.0])), nn.Parameter([3.0])
    optimizer = getattr(optim, name)([p, idle], lr=0.0)
    for k in range(1, 4):
        p.grad = mr.tensor(np.array([0.5, 2.0]))
        optimizer.step()
        assert optimizer.state[p].get("step", k) == k
        assert optimizer.steps_done == k
    np.testing.assert_array_equal(p, [1.0, -2.0])
    assert idle not in optimizer.state or not optimizer.state[idle]
    assert ("step" in optimizer.state[p]) == (name != "SGD")


@each("shape", [(0,), (1,), (2, 0, 3), ()])
@each("name", NAMES)
def test_empty_and_single_parameters_are_stepped_and_saved(name: str, shape: Any, device: str) -> None:
    p = nn.Parameter(np.ones(shape), device=device)
    optimizer = getattr(optim, name)([p], lr=0.1)
    for _ in range(2):
        p.grad = mr.tensor(np.ones(shape), device=device)
        optimizer.step()
    assert p.shape == shape
    again = getattr(optim, name)([p])
    again.load_state_dict(optimizer.state_dict())
    p.grad = mr.tensor(np.ones(shape), device=device)
    again.step()


def test_a_gradient_that_does_not_fit_is_told_by_its_place() -> None:
    p = nn.Parameter(np.ones(2))
    for g, words in (
        (mr.tensor(np.ones(2, np.float32), device=SecondDevice()), "is on cpu, its gradient on second"),
        (mr.tensor(np.ones(2, np.float32)), "has dtype float64, its gradient float32"),
    ):
        q = nn.Parameter(np.ones(2))
        p.grad, q.grad = mr.tensor(np.ones(2)), g
        with pytest.raises((ValueError, TypeError), match=f"SGD: parameter 1 {words}"):
            optim.SGD([p, q], 0.5).step()
        assert p.tolist() == [1.0, 1.0]
