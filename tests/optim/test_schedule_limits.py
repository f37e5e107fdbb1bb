"""The edges of schedules: smallest and largest settings, equality at a threshold, what is saved and what is ignored.

Tests `minirnn/optim/lr_scheduler`. All numbers are computed by hand and exact in binary.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minirnn import nn, optim
from minirnn.optim import lr_scheduler as s


def sgd(lr: float = 0.5, groups: int = 1, **settings: Any) -> optim.SGD:
    return optim.SGD([{"params": [nn.Parameter([1.0])]} for _ in range(groups)], lr, **settings)


def walked(optimizer: optim.Optimizer, schedule: Any, steps: int) -> list[float]:
    """Step sizes of the first group, at the beginning and after each epoch."""
    found = [optimizer.param_groups[0]["lr"]]
    for _ in range(steps):
        optimizer.step()
        schedule.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


SMALLEST: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "StepLR": (lambda o: s.StepLR(o, 1, 0.5), [0.5, 0.25, 0.125]),
    "MultiStepLR": (lambda o: s.MultiStepLR(o, [0, 1], 0.5), [0.25, 0.125, 0.125]),
    "ConstantLR never": (lambda o: s.ConstantLR(o, 1, 1), [0.5, 0.5, 0.5]),
    "ConstantLR nothing": (lambda o: s.ConstantLR(o, 0, 2), [0, 0, 0.5, 0.5]),
    "ConstantLR half": (lambda o: s.ConstantLR(o, 0.5, 1), [0.25, 0.5, 0.5]),
    "LinearLR": (lambda o: s.LinearLR(o, 0.5, 1, 1), [0.25, 0.5, 0.5]),
    "LinearLR down": (lambda o: s.LinearLR(o, 1, 0, 2), [0.5, 0.25, 0, 0]),
    "PolynomialLR": (lambda o: s.PolynomialLR(o, 1), [0.5, 0, 0]),
    "CosineAnnealingLR": (lambda o: s.CosineAnnealingLR(o, 1), [0.5, 0, 0.5, 0]),
    "CosineAnnealingWarmRestarts": (lambda o: s.CosineAnnealingWarmRestarts(o, 1), [0.5, 0.5, 0.5]),
    "OneCycleLR": (lambda o: s.OneCycleLR(o, 0.75, 1, pct_start=1.0, cycle_momentum=False), [0.75]),
    "OneCycleLR by epochs": (
        lambda o: s.OneCycleLR(
            o, 0.75, epochs=1, steps_per_epoch=1, pct_start=0.0, div_factor=1, final_div_factor=4, cycle_momentum=False
        ),
        [0.1875],
    ),
    "OneCycleLR with a first phase of one step": (
        lambda o: s.OneCycleLR(
            o, 0.75, 4, pct_start=0.25, anneal_strategy="linear", div_factor=1, final_div_factor=4, cycle_momentum=False
        ),
        [0.75, 0.5625, 0.375, 0.1875],
    ),
    "CyclicLR": (lambda o: s.CyclicLR(o, 0.25, 0.75, 1, 1, cycle_momentum=False), [0.25, 0.75, 0.25, 0.75]),
    "SequentialLR": (
        lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 9), s.ConstantLR(o, 0.25, 9)], [0]),
        [0.125, 0.125],
    ),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_settings_are_taken(name: str) -> None:
    build, expected = SMALLEST[name]
    optimizer = sgd()
    schedule = build(optimizer)
    np.testing.assert_allclose(walked(optimizer, schedule, len(expected) - 1), expected, rtol=1e-15, atol=1e-15)


def test_momentum_is_written_where_the_optimizer_keeps_it() -> None:
    """RMSprop has a momentum, Adam the first of its betas; the second one stays."""
    p = nn.Parameter([1.0])
    rms, adam = optim.RMSprop([p], momentum=0.5), optim.Adam([p], betas=(0.5, 0.75))
    for optimizer in (rms, adam):
        s.CyclicLR(optimizer, 0.1, 0.5, 1, base_momentum=0.25, max_momentum=0.375)
    assert rms.momentum == 0.375
    assert adam.betas == (0.375, 0.75)
    plain = sgd(momentum=0.5)
    s.CyclicLR(plain, 0.1, 0.5, 1, cycle_momentum=False)
    s.OneCycleLR(plain, 0.5, 9, cycle_momentum=False)
    assert plain.momentum == 0.5
    assert "max_momentum" not in plain.param_groups[0]


# ---- plateau


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize(("how", "needed"), [("rel", 2.0), ("abs", 0.25)])
def test_the_threshold_itself_is_no_improvement_and_a_relative_one_is_a_share_of_the_best(
    mode: str, how: str, needed: float
) -> None:
    """From 8, a quarter is 2, but as a difference 1/4."""
    sign = -1 if mode == "min" else 1
    for change, lr, best in ((needed, 0.25, 8.0), (needed + 0.125, 0.5, 8.0 + sign * (needed + 0.125))):
        optimizer = sgd()
        plateau = s.ReduceLROnPlateau(optimizer, mode, 0.5, 0, threshold=0.25, threshold_mode=how)
        plateau.step(8.0)
        plateau.step(8.0 + sign * change)
        assert optimizer.lr == lr
        assert (plateau.get_last_lr(), plateau.best, plateau.last_epoch) == ([lr], best, 2)


def test_patience_is_let_pass_and_cooldown_counts_nothing() -> None:
    optimizer = sgd(1.0)
    plateau = s.ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=2)
    found = []
    for _ in range(9):
        plateau.step(1.0)
        found.append((optimizer.lr, plateau.in_cooldown, plateau.num_bad_epochs))
    assert found == [
        (1.0, False, 0),
        (1.0, False, 1),
        (0.5, True, 0),
        (0.5, True, 0),
        (0.5, False, 0),
        (0.5, False, 1),
        (0.25, True, 0),
        (0.25, True, 0),
        (0.25, False, 0),
    ]


def test_a_change_of_no_more_than_eps_is_not_made_and_min_lr_is_the_floor() -> None:
    for eps, lr in ((0.25, 0.5), (0.2499, 0.25)):
        optimizer = sgd()
        plateau = s.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, eps=eps)
        plateau.step(1.0)
        plateau.step(1.0)
        assert optimizer.lr == lr
    optimizer = sgd(groups=2)
    plateau = s.ReduceLROnPlateau(optimizer, factor=0.5, patience=0, min_lr=[0.375, 0.0])
    for _ in range(3):
        plateau.step(1.0)
    assert plateau.get_last_lr() == [0.375, 0.125]
    optimizer.add_param_group({"params": [nn.Parameter([1.0])]})
    with pytest.raises(ValueError, match="min_lrs has 2 values\n  expected 3"):
        plateau.step(1.0)
    other = sgd()
    plateau = s.ReduceLROnPlateau(other, factor=0.5, patience=0, min_lr=0.375)
    other.add_param_group({"params": [nn.Parameter([1.0])], "lr": 2.0})
    for _ in range(4):
        plateau.step(1.0)
    assert plateau.get_last_lr() == [0.375, 0.375]


# ---- steps


def test_an_optimizer_whose_step_is_its_own_is_not_asked_whether_it_made_one() -> None:
    class Own(optim.SGD):
        def step(self, closure: Any = None) -> None:
            pass

    schedule = s.StepLR(Own([nn.Parameter([1.0])]), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()


def test_an_error_within_a_step_leaves_the_epoch() -> None:
    def factor(epoch: int) -> float:
        return 1.0 / (2 - epoch)

    optimizer = sgd()
    schedule = s.LambdaLR(optimizer, factor)
    assert walked(optimizer, schedule, 1) == [0.25, 0.5]
    with pytest.raises(ZeroDivisionError):
        schedule.step()
    assert schedule.last_epoch == 1
    assert schedule.get_lr() == [0.5]
    assert schedule.get_last_lr() == [0.5]


# ---- states


def test_private_and_old_entries_of_a_state_may_be_missing_or_unknown() -> None:
    schedule = s.StepLR(sgd(), 3)
    state = schedule.state_dict()
    assert "optimizer" not in state
    del state["_last_lr"]
    schedule.load_state_dict(state | {"verbose": True, "_unknown": 5, "last_epoch": -1})
    assert not hasattr(schedule, "verbose")
    assert schedule.last_epoch == -1
    with pytest.raises(ValueError, match="last_epoch is -2"):
        schedule.load_state_dict(state | {"last_epoch": -2})
    with pytest.raises(ValueError, match="missing nothing, unexpected speed"):
        schedule.load_state_dict(state | {"speed": 1})


class Height:
    """A callable object, whose attributes are saved."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: float) -> float:
        return self.by


@pytest.mark.parametrize("name", ["lr_lambdas", "_scale_fn_custom"])
def test_the_attributes_of_callable_objects_are_saved_and_functions_are_not(name: str) -> None:
    def build(height: Any) -> Any:
        if name == "lr_lambdas":
            return s.LambdaLR(sgd(), height)
        return s.CyclicLR(sgd(), 0.25, 0.75, 1, scale_fn=height, cycle_momentum=False)

    def saved(value: Any) -> Any:
        return [value] if name == "lr_lambdas" else value

    state = build(Height(0.5)).state_dict()
    assert state[name] == saved({"by": 0.5})
    height = Height(1.0)
    build(height).load_state_dict(state)
    assert height.by == 0.5
    plain = build(lambda x: 1.0)
    assert plain.state_dict()[name] == saved(None)
    plain.load_state_dict(plain.state_dict())


def test_a_cycle_without_a_height_of_its_own_takes_the_state_of_one_that_has_one() -> None:
    none = s.CyclicLR(sgd(), 0.25, 0.75, 1, cycle_momentum=False)
    assert none.state_dict()["_scale_fn_custom"] is None
    none.load_state_dict(none.state_dict() | {"_scale_fn_custom": {"by": 0.5}})
    assert none.scale_fn(3.0) == 1.0
