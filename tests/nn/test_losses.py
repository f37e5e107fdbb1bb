"""Losses as modules: each is the function of its name, with the options it was given. Stored values are torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.each import each
from tests.nn.functional.stored import assert_is_stored, case, cases, inputs_of

LOSSES: dict[str, Any] = {
    "cross_entropy": nn.CrossEntropyLoss,
    "nll_loss": nn.NLLLoss,
    "binary_cross_entropy": nn.BCELoss,
    "binary_cross_entropy_with_logits": nn.BCEWithLogitsLoss,
    "mse_loss": nn.MSELoss,
    "l1_loss": nn.L1Loss,
    "smooth_l1_loss": nn.SmoothL1Loss,
    "huber_loss": nn.HuberLoss,
    "kl_div": nn.KLDivLoss,
    "ctc_loss": nn.CTCLoss,
}
WITHOUT_WEIGHT = ("mse_loss", "l1_loss", "huber_loss")  # which the functions have, but not the modules
STORED = [
    (name, said) for name, said in cases(*LOSSES) if not (name in WITHOUT_WEIGHT and "weight" in case(name, said)["in"])
]


@each(("function", "name"), STORED, ids=["-".join(c) for c in STORED])
def test_a_module_hands_all_its_options_on(function: str, name: str) -> None:
    stored = case(function, name)
    inputs = inputs_of(stored, "cpu")
    options = {key: inputs[key] for key in ("weight", "pos_weight") if key in inputs}
    rest = {key: value for key, value in inputs.items() if key not in options}
    assert_is_stored(LOSSES[function](**options, **stored["said"])(**rest), inputs, stored)


MEANS = [(function, name) for function, name in STORED if case(function, name)["said"].get("reduction") == "mean"]


@each(("function", "name"), MEANS, ids=["-".join(c) for c in MEANS])
def test_without_a_word_the_mean_is_taken(function: str, name: str) -> None:
    stored = case(function, name)
    said = {key: value for key, value in stored["said"].items() if key != "reduction"}
    inputs = inputs_of(stored, "cpu")
    assert_is_stored(getattr(nn.functional, function)(**inputs, **said), inputs, stored)
    options = {key: inputs[key] for key in ("weight", "pos_weight") if key in inputs}
    rest = {key: value for key, value in inputs.items() if key not in options}
    assert_is_stored(LOSSES[function](**options, **said)(**rest), inputs, stored)


def test_weights_follow_the_device_of_the_scores(device: str, rng: np.random.Generator) -> None:
    weight = np.array([0.5, 1.0, 2.0])
    x = mr.tensor(rng.normal(size=(4, 3)), device=device)
    loss = nn.CrossEntropyLoss(mr.tensor(weight, device=device))(x, [0, 1, 2, 1])
    logp = mr.ops.log_softmax(x).numpy()[np.arange(4), [0, 1, 2, 1]]
    w = weight[[0, 1, 2, 1]]
    assert loss.item() == pytest.approx(-(logp * w).sum() / w.sum(), rel=1e-13)


@pytest.mark.parametrize("kind", [nn.MSELoss, nn.CrossEntropyLoss, nn.ReLU, nn.ELU])
def test_a_missing_argument_is_told_under_the_name_of_the_class(kind: type[nn.Module]) -> None:
    with pytest.raises(TypeError, match=rf"^{kind.__name__}\.forward\(\) missing"):
        kind()()
