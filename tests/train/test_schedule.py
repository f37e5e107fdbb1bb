"""The optimizer and the schedule of a run, and their exact resumption."""

import math
from pathlib import Path

import numpy as np
import pytest

from minirnn import nn, optim
from minirnn.io import checkpoint
from minirnn.train.checkpoint import CHECKPOINT
from minirnn.train.schedule import OPTIMIZERS, SCHEDULES, Schedule, optimizer_of
from tests.each import each
from tests.slow import slow_unless
from tests.train.runs import Train, complaint, outcome


def rates(name: str, warmup: int, length: int, steps: int) -> list[float]:
    sgd = optim.SGD([nn.Parameter([1.0])], 0.5, momentum=0.9)
    schedule = Schedule(name, sgd, 0.5, warmup, length)
    found = []
    for _ in range(steps):
        found.append(sgd.lr)
        sgd.step()
        schedule.step()
    return found


def test_the_step_sizes_are_those_that_the_names_promise() -> None:
    assert rates("constant", 0, 5, 7) == [0.5] * 7
    np.testing.assert_allclose(rates("constant", 4, 6, 8), [0.125, 0.25, 0.375, 0.5, 0.5, 0.5, 0.5, 0.5])
    cosine = [0.25 * (1 + math.cos(math.pi * k / 8)) for k in range(8)]
    np.testing.assert_allclose(rates("cosine", 0, 8, 10), [*cosine, cosine[-1], cosine[-1]])
    np.testing.assert_allclose(rates("cosine", 2, 10, 11), [0.25, 0.5, *cosine, cosine[-1]])
    np.testing.assert_allclose(rates("step", 1, 9, 10), [0.5, *[0.5] * 4, *[0.05] * 2, *[0.005] * 3])
    one = rates("onecycle", 4, 20, 25)
    assert (one[0], one[3], max(one)) == (pytest.approx(0.02), pytest.approx(0.5), pytest.approx(0.5))
    assert one[19:] == [pytest.approx(2e-6)] * 6


@each("name", OPTIMIZERS)
@each("schedule", SCHEDULES)
def test_every_optimizer_has_every_schedule(name: str, schedule: str) -> None:
    p = nn.Parameter([1.0])
    optimizer = optimizer_of(name, [p], 0.1)
    assert type(optimizer).__name__.lower() == name
    one = Schedule(schedule, optimizer, 0.1, 2, 6)
    for _ in range(9):
        optimizer.step()
        one.step()
    assert optimizer.defaults.get("momentum") == {"sgd": 0.9, "rmsprop": 0}.get(name)


@pytest.mark.parametrize(
    ("name", "schedule"),
    slow_unless(
        [("adam", "onecycle"), ("rmsprop", "step"), ("sgd", "cosine")],
        [(name, schedule) for name in OPTIMIZERS for schedule in SCHEDULES],
    ),
)
def test_a_resumed_run_equals_an_unbroken_one_to_the_last_bit(
    name: str, schedule: str, train: Train, no_pictures: None
) -> None:
    new = ["--optimizer", name, "--schedule", schedule, "--warmup", "5", "--lr", "0.01", "--quiet"]
    length = [] if schedule == "constant" else ["--schedule-steps", "20"]
    assert train("--steps", "26", *new, *length, out="unbroken") == 0
    assert train("--steps", "3", *new, *length, out="broken") == 0
    assert train("--resume", "--steps", "11", out="broken") == 0
    assert train("--resume", "--steps", "26", out="broken") == 0
    assert outcome(Path("broken")) == outcome(Path("unbroken"))


def test_more_steps_do_not_stretch_a_schedule(train: Train, no_pictures: None) -> None:
    assert train("--steps", "12", "--schedule", "cosine", "--quiet") == 0
    assert train("--resume", "--steps", "20", "--quiet") == 0
    metadata = checkpoint.load(Path("out", CHECKPOINT))[1]
    assert metadata["options"]["schedule_steps"] == 12
    lr = 0.002 * (1 + math.cos(math.pi * 11 / 12))
    assert metadata["optimizer"]["param_groups"][0]["lr"] == pytest.approx(lr)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--schedule", "cosine", "--warmup", "12"], "--warmup 12 leaves none of the 12 steps of --schedule"),
        (["--schedule-steps", "9"], "--schedule-steps needs a --schedule"),
    ],
)
def test_options_that_contradict_each_other_are_named(
    argv: list[str], words: str, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "12", *argv) == 2
    assert words in complaint(capsys)
