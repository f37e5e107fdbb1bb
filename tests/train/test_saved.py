"""The model of a checkpoint is the one that was trained.

Tests `minirnn/train/checkpoint.py`.
"""

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.arguments.user_error import UserError
from minirnn.io import checkpoint
from minirnn.parallel import World
from minirnn.train.checkpoint import CHECKPOINT, read_model
from minirnn.train.run import continued
from tests.slow import slow_unless
from tests.train.runs import Train

PATH = Path("out", CHECKPOINT)

KINDS = {
    "lstm": [],
    "projection": ["--projection", "3", "--layers", "2"],
    "gru": ["--cell", "gru", "--layers", "2"],
    "rnn": ["--cell", "rnn"],
    "both ways": ["--bidirectional", "--layers", "2", "--dropout", "0.2"],
    "regularized": ["--variational", "--input-dropout", "0.2", "--weight-dropout", "0.3", "--zoneout", "0.1"],
    "regularized gru": ["--cell", "gru", "--weight-dropout", "0.3", "--zoneout", "0.1"],
}


@pytest.mark.parametrize("kind", slow_unless(2, KINDS.values()))
def test_the_model_of_a_checkpoint_scores_as_the_one_that_was_trained(
    kind: list[str], train: Train, no_pictures: None, rng: np.random.Generator
) -> None:
    assert train("--steps", "4", "--quiet", *kind) == 0
    trained = read_model(PATH)
    run = continued(PATH, *checkpoint.load(PATH), {}, World()).model.eval()
    assert trained.step == 4
    ids = rng.integers(len(trained.vocabulary), size=(9, 2))
    with mr.no_grad():
        ours, theirs = trained.model(ids, trained.model.zero_state(2)), run(ids, run.zero_state(2))
    np.testing.assert_array_equal(ours[0], theirs[0])
    for a, b in zip(ours[1], theirs[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_model_is_read_on_another_device_than_it_was_trained_on(train: Train, no_pictures: None, device: str) -> None:
    assert train("--steps", "2", "--quiet") == 0
    trained = read_model(PATH, device)
    assert {str(p.device) for p in trained.model.parameters()} == {device}
    assert trained.options.device == "cpu"


def test_parameters_that_are_not_finite_are_damage(train: Train, no_pictures: None) -> None:
    assert train("--steps", "1", "--quiet") == 0
    arrays, metadata = checkpoint.load(PATH)
    arrays["model.output.bias"][0] = np.nan
    checkpoint.save(PATH, arrays, metadata)
    with pytest.raises(UserError, match=r"out/checkpoint.safetensors': ValueError: a parameter is not finite"):
        read_model(PATH)
