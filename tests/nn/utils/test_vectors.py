"""All parameters as one vector, and back."""

from pathlib import Path

import numpy as np

import minirnn as mr
from minirnn import nn
from minirnn.nn import utils
from tests.nn.twin_programs import wave

STORED = Path(__file__).parents[2] / "golden" / "modules" / "clip.npz"


def test_the_vector_is_that_of_torch_and_gradients_flow_through_it(device: str) -> None:
    ps = [nn.Parameter(wave(2, 3), device=device), nn.Parameter(wave(4), device=device)]
    vector = utils.parameters_to_vector(iter(ps))
    with np.load(STORED, allow_pickle=False) as stored:
        np.testing.assert_array_equal(vector, stored["vector"])
    one, two = mr.grad(vector, ps, np.arange(10.0))
    np.testing.assert_array_equal(one, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(two, np.arange(6.0, 10.0))


def test_a_vector_goes_back_into_the_parameters(device: str) -> None:
    layer = nn.Linear(3, 2, device=device)
    before = list(layer.parameters())
    assert utils.vector_to_parameters(np.arange(8.0), layer.parameters()) is None
    assert layer.weight.tolist() == [[0, 1, 2], [3, 4, 5]] and layer.bias.tolist() == [6, 7]
    assert all(p is q for p, q in zip(layer.parameters(), before, strict=True)) and layer.bias.dtype == np.float32
    np.testing.assert_array_equal(utils.parameters_to_vector(layer.parameters()), np.arange(8.0))
