"""LayerNorm and RMSNorm: parameters of torch's names, against the functions and torch."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn import nn
from tests.compare import assert_close
from tests.nn.functional.stored import assert_is_stored, case, inputs_of


@pytest.mark.parametrize("name", ["affine1", "affine2", "weight1", "weight2", "plain1"])
def test_layer_norm_gives_stored_values(name: str) -> None:
    stored = case("layer_norm", name)
    said = dict(stored["said"])
    shape = tuple(said.pop("normalized_shape"))
    inputs = inputs_of(stored, "cpu")
    module = nn.LayerNorm(shape, **said, elementwise_affine="weight" in inputs, bias="bias" in inputs, dtype=np.float64)
    for key in ("weight", "bias"):
        if key in inputs:
            getattr(module, key).assign(inputs[key])
            inputs[key] = getattr(module, key)
    assert_is_stored(module(inputs["input"]), inputs, stored)


@pytest.mark.parametrize("name", ["weight1", "weight2", "plain2"])
def test_rms_norm_gives_stored_values(name: str) -> None:
    stored = case("rms_norm", name)
    said = dict(stored["said"])
    inputs = inputs_of(stored, "cpu")
    module = nn.RMSNorm(said.pop("normalized_shape"), **said, elementwise_affine="weight" in inputs, dtype=np.float64)
    if "weight" in inputs:
        module.weight.assign(inputs["weight"])
        inputs["weight"] = module.weight
    assert_is_stored(module(inputs["input"]), inputs, stored)


def test_they_begin_with_ones_and_zeros_and_come_back_to_them() -> None:
    norm = nn.LayerNorm((2, 3))
    assert [(name, p.shape, p.dtype) for name, p in norm.named_parameters()] == [
        ("weight", (2, 3), np.float32),
        ("bias", (2, 3), np.float32),
    ]
    assert_close(norm.weight, np.ones((2, 3)))
    assert_close(norm.bias, np.zeros((2, 3)))
    norm.weight.assign(np.full((2, 3), 7.0))
    norm.bias.assign(np.full((2, 3), 7.0))
    norm.reset_parameters()
    assert_close(norm.weight, np.ones((2, 3)))
    assert_close(norm.bias, np.zeros((2, 3)))
    rms = nn.RMSNorm(3)
    assert rms.weight.tolist() == [1, 1, 1]
    rms.weight.assign([2.0, 2.0, 2.0])
    rms.reset_parameters()
    assert rms.weight.tolist() == [1, 1, 1]


def test_they_show_their_settings() -> None:
    assert repr(nn.LayerNorm((2, 3))) == "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True)"
    assert repr(nn.LayerNorm(3, bias=False)) == "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)"
    assert repr(nn.RMSNorm(3, 0.5, False)) == "RMSNorm((3,), eps=0.5, elementwise_affine=False)"
