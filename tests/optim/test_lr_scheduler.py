"""Schedules: the step sizes that torch writes, saving, resuming."""

import copy
import inspect
import itertools
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.optim import lr_scheduler
from tests.each import each
from tests.optim import cases
from tests.optim.cases import EPOCHS, SCHEDULES

GOLDEN = Path(__file__).parents[1] / "golden" / "optim" / "schedules.npz"
EACH = [(case, kind) for case in SCHEDULES for kind in cases.kinds(case)]


def started(case: str, kind: str = "SGD") -> tuple[optim.Optimizer, Any]:
    optimizer = cases.scheduled(mr, kind, [nn.Parameter(a) for a in cases.start()[0]])
    return optimizer, SCHEDULES[case](lr_scheduler, optimizer)


def go(optimizer: optim.Optimizer, schedule: Any, epochs: range) -> list[list[float]]:
    rows = []
    for epoch in epochs:
        optimizer.step()
        cases.advance(schedule, epoch)
        rows.append(cases.rates(optimizer))
    return rows


@each(("case", "kind"), EACH)
def test_step_sizes_and_momentum_are_those_that_torch_has_written(case: str, kind: str) -> None:
    with np.load(GOLDEN) as stored:
        expected = stored[f"{case}, {kind}"]
    n = cases.WITHOUT_FORMULA.get(case, EPOCHS + 1)
    course = cases.course(mr, case, kind, nn.Parameter)
    np.testing.assert_allclose(course[:n], expected[:n], rtol=1e-12, atol=1e-18)


def test_chained_schedules_are_the_product_of_their_factors_at_every_epoch() -> None:
    """torch's cosine forgets the factors of the other schedules after its lowest point."""
    course = cases.course(mr, "ChainedScheduler cosine", "SGD", nn.Parameter)[:, 0]
    for t, lr in enumerate(course):
        steps = 0.5 ** ((t >= 4) + (t >= 9))
        line = 0.2 + 0.6 * min(t / 6, 1)
        assert lr == pytest.approx(0.1 * (1 + np.cos(np.pi * t / 8)) / 2 * steps * line, rel=1e-12, abs=1e-18)


def test_a_multiplied_schedule_begins_its_turn_at_the_initial_step_size() -> None:
    """torch's goes on from the step size of the moment, and multiplies by the factor of epoch 0 first."""
    course = cases.course(mr, "LambdaLR in turn", "SGD", nn.Parameter)[:, 0]
    for t, lr in enumerate(course):
        factor = 0.9**t if t < 4 else np.prod([1 - 0.5 / (k + 1) for k in range(1, t - 3)])
        assert lr == pytest.approx(0.1 * factor, rel=1e-12)


def test_schedules_that_are_stepped_apart_also_multiply_their_factors() -> None:
    optimizer = optim.SGD([nn.Parameter([1.0])], 0.5)
    parts = [lr_scheduler.LinearLR(optimizer, 0.2, 1.0, 4), lr_scheduler.StepLR(optimizer, 3, 0.5)]
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.25, patience=0)
    found = []
    for _ in range(6):
        optimizer.step()
        for part in parts:
            part.step()
        found.append(optimizer.lr)
    np.testing.assert_allclose(found, [0.2, 0.3, 0.2, 0.25, 0.25, 0.125], rtol=1e-14)
    plateau.step(1.0)
    plateau.step(1.0)
    assert optimizer.lr == 0.125 / 4
    parts[1].step()
    assert optimizer.lr == 0.125 / 4


def test_a_second_lambda_takes_the_place_of_the_first_as_in_torch() -> None:
    optimizer = optim.SGD([nn.Parameter([1.0])], 0.5)
    optimizer.step()
    lr_scheduler.StepLR(optimizer, 1, 0.5).step()
    lr_scheduler.LambdaLR(optimizer, lambda t: 0.25)
    assert optimizer.lr == 0.125
    assert lr_scheduler.LambdaLR(optimizer, lambda t: 0.5).get_last_lr() == [0.25]


@each("case", [case for case in SCHEDULES if not case.startswith("Reduce")])
def test_the_step_size_is_the_formula_of_the_epoch(case: str) -> None:
    optimizer, schedule = started(case)
    bases = list(schedule.base_lrs)
    rows = go(optimizer, schedule, range(12))
    for schedule.group, base in enumerate(bases):
        assert [schedule.at(t, base) for t in range(1, 13)] == [row[2 * schedule.group] for row in rows]


class Halving(lr_scheduler.LRScheduler):
    def at(self, epoch: float, base: float) -> float:
        return base * 0.5**epoch


class TorchsForm(lr_scheduler._LRScheduler):
    def get_lr(self) -> list[float]:
        return [lr * 0.5**self.last_epoch for lr in self.base_lrs]


@pytest.mark.parametrize("kind", [Halving, TorchsForm])
def test_a_subclass_defines_the_formula_and_follows_groups_that_are_added(kind: Any) -> None:
    optimizer = optim.SGD([nn.Parameter([1.0])], 0.5)
    schedule = lr_scheduler.SequentialLR(optimizer, [lr_scheduler.ConstantLR(optimizer, 0.5, 2), kind(optimizer)], [2])
    optimizer.add_param_group({"params": [nn.Parameter([1.0])], "lr": 1.0})
    go(optimizer, schedule, range(4))
    assert schedule.get_last_lr() == [0.125, 0.25]


ORDERS = ("optimizer, new, schedule", "new, schedule, optimizer", "new, optimizer, schedule")


@each(("case", "kind"), EACH)
def test_resuming_in_any_order_gives_the_rates_of_the_uninterrupted_run(case: str, kind: str) -> None:
    for stop, order in itertools.product((1, 5, 13), ORDERS):
        optimizer, schedule = started(case, kind)
        go(optimizer, schedule, range(stop))
        states = optimizer.state_dict(), schedule.state_dict()
        expected = [cases.rates(optimizer), *go(optimizer, schedule, range(stop, 22))]  # must not reach what was saved
        again = cases.scheduled(mr, kind, [nn.Parameter(a) for a in cases.start()[0]])
        for what in order.split(", "):
            if what == "new":
                new = SCHEDULES[case](lr_scheduler, again)
            elif what == "schedule":
                new.load_state_dict(states[1])
            else:
                again.load_state_dict(states[0])
        assert [cases.rates(again), *go(again, new, range(stop, 22))] == expected, (stop, order)


def test_signatures_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    for name in lr_scheduler.__all__:
        ours, theirs = (
            [(p.name, p.kind, p.default) for p in inspect.signature(getattr(s, name)).parameters.values()]
            for s in (lr_scheduler, torch.optim.lr_scheduler)
        )
        assert ours == theirs, name


WITHOUT_FUNCTIONS = [case for case in SCHEDULES if not case.startswith(("Lambda", "Multiplicative", "CyclicLR own"))]


@each("case", WITHOUT_FUNCTIONS)
def test_states_are_json_copies_and_pickles_share_nothing_and_torchs_go_on_here(case: str) -> None:
    optimizer, schedule = started(case)
    go(optimizer, schedule, range(9))
    text = json.dumps(schedule.state_dict())
    twins = copy.deepcopy(schedule), pickle.loads(pickle.dumps(schedule))
    rest = go(optimizer, schedule, range(9, 20))
    for twin in twins:
        assert twin.optimizer is not optimizer
        assert go(twin.optimizer, twin, range(9, 20)) == rest

    third, another = started(case)
    another.load_state_dict(json.loads(text))
    go(third, another, range(0))
    assert json.dumps(another.state_dict()) == text

    torch = pytest.importorskip("torch")
    theirs = cases.scheduled(torch, "SGD", [torch.tensor(a, requires_grad=True) for a in cases.start()[0]])
    original = SCHEDULES[case](torch.optim.lr_scheduler, theirs)
    go(theirs, original, range(9))
    optimizer, schedule = started(case)
    schedule.load_state_dict(original.state_dict())
    optimizer.load_state_dict(theirs.state_dict())
    np.testing.assert_allclose(go(optimizer, schedule, range(9, 20)), rest, rtol=1e-12)
    if case in cases.WITHOUT_FORMULA:
        return
    back = cases.scheduled(torch, "SGD", [torch.tensor(a, requires_grad=True) for a in cases.start()[0]])
    returned = SCHEDULES[case](torch.optim.lr_scheduler, back)
    returned.load_state_dict(schedule.state_dict())
    back.load_state_dict(optimizer.state_dict(layout="torch"))
    np.testing.assert_allclose(go(back, returned, range(20, 30)), go(optimizer, schedule, range(20, 30)), rtol=1e-12)


@pytest.mark.parametrize("case", cases.RESUMED)
def test_last_epoch_goes_on_with_a_loaded_optimizer_as_torch_has_done(case: str) -> None:
    with np.load(GOLDEN) as stored:
        expected = stored[f"{case}, resumed"]
    np.testing.assert_allclose(cases.resumed(mr, case, nn.Parameter), expected, rtol=1e-12, atol=1e-18)


def test_last_epoch_without_a_loaded_optimizer_is_refused() -> None:
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(optim.SGD([nn.Parameter([1.0])]), 3, last_epoch=4)


@pytest.mark.parametrize("case", ["StepLR", "ReduceLROnPlateau"])
def test_an_epoch_as_argument_is_refused_and_the_message_says_what_to_do_instead(case: str) -> None:
    optimizer, schedule = started(case)
    go(optimizer, schedule, range(2))
    before = schedule.state_dict(), cases.rates(optimizer)
    with pytest.raises(TypeError, match=r"step\(\) got the epoch 7\n  expected none.*\n.*load_state_dict\(\)"):
        schedule.step(*([1.0] if case.startswith("Reduce") else []), epoch=7)
    assert (schedule.state_dict(), cases.rates(optimizer)) == before


@pytest.mark.parametrize("T_mult", [1, 2, 3])
def test_warm_restarts_between_epochs_are_where_torch_has_put_them(T_mult: int) -> None:
    with np.load(GOLDEN) as stored:
        expected = stored[f"times {T_mult}, sent between"]
    np.testing.assert_allclose(cases.sent_between(mr, T_mult, nn.Parameter), expected, rtol=1e-12, atol=1e-18)


def test_a_schedule_stepped_before_its_optimizer_warns_once() -> None:
    optimizer, schedule = started("StepLR")
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        optimizer, schedule = started("StepLR")
        optimizer.step()
        schedule.step()


def test_one_cycle_ends_after_its_steps_and_stays_as_it_is() -> None:
    optimizer = optim.SGD([nn.Parameter([1.0])], 0.1, momentum=0.9)
    schedule = lr_scheduler.OneCycleLR(optimizer, 0.5, 4)
    go(optimizer, schedule, range(4))
    before = cases.rates(optimizer)
    for _ in range(2):
        with pytest.raises(ValueError, match="OneCycleLR: step 5\n  expected at most total_steps, 4"):
            schedule.step()
    assert cases.rates(optimizer) == before
    assert schedule.last_epoch == 4


def test_a_plateau_takes_tensors_and_follows_groups_that_are_added() -> None:
    optimizer, _ = started("StepLR")
    schedule = lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    optimizer.add_param_group({"params": [nn.Parameter([1.0])], "lr": 1.0})
    for loss in (mr.tensor(1.0), np.float32(1.0), 1.0):
        schedule.step(loss)
    assert schedule.get_last_lr() == [0.025, 0.0075, 0.25]
    with pytest.raises(TypeError, match="metrics is 'low'"):
        schedule.step("low")


def test_a_schedule_without_a_formula_is_refused_and_leaves_the_optimizer_as_it_was() -> None:
    optimizer = optim.SGD([nn.Parameter([1.0])], 0.5)
    with pytest.raises(NotImplementedError, match=r"LRScheduler defines no at\(epoch, base\)"):
        lr_scheduler.LRScheduler(optimizer)
    assert lr_scheduler.StepLR(optimizer, 3).get_last_lr() == [0.5]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.pop("gamma"), "missing gamma"),
        (lambda s: s.update(T_max=3), "unexpected T_max"),
        (lambda s: s.update(base_lrs=[0.1]), "base_lrs has 1 values\n  expected 2"),
        (lambda s: s.update(last_epoch=1.5), "last_epoch"),
    ],
)
def test_a_state_that_does_not_fit_is_named_and_changes_nothing(change: Any, words: str) -> None:
    _, schedule = started("StepLR")
    state = schedule.state_dict()
    before = copy.deepcopy(state)
    change(state)
    with pytest.raises((ValueError, TypeError), match=words):
        schedule.load_state_dict(state)
    assert schedule.state_dict() == before


@pytest.mark.parametrize("parts", [None, 3, [], "twice"])
def test_a_combined_state_needs_a_state_for_each_part(parts: Any) -> None:
    _, schedule = started("SequentialLR")
    state = schedule.state_dict()
    before = copy.deepcopy(state)
    state["_schedulers"] = state["_schedulers"] * 2 if parts == "twice" else parts
    with pytest.raises(ValueError, match="_schedulers is .*\n  expected 2 states"):
        schedule.load_state_dict(state)
    state["_schedulers"] = before["_schedulers"][::-1]
    with pytest.raises(ValueError, match="likely the state of another schedule"):
        schedule.load_state_dict(state)
    assert schedule.state_dict() == before


@pytest.mark.parametrize("case", ["LambdaLR each", "CyclicLR triangular2"])
def test_a_group_that_was_added_since_is_noticed_where_each_has_its_own_setting(case: str) -> None:
    optimizer, schedule = started(case)
    optimizer.add_param_group({"params": [nn.Parameter([1.0])]})
    optimizer.step()
    before, epoch = [group["lr"] for group in optimizer.param_groups], schedule.last_epoch
    with pytest.raises(ValueError, match="has 2 values\n  expected 3, one per group"):
        schedule.step()
    assert [group["lr"] for group in optimizer.param_groups] == before
    assert schedule.last_epoch == epoch
