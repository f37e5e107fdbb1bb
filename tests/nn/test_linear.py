"""Linear: its dtype and its formula; the stored values of torch are in `functional/test_stored.py`."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
def test_linear_refuses_another_dtype(dtype: str, device: str) -> None:
    layer = nn.Linear(3, 5, device=device)
    with pytest.raises(TypeError, match=f"Linear: x has dtype {dtype}, the parameters have float32\n  expected one"):
        layer(mr.tensor(np.ones((2, 3)), device=device, dtype=dtype))
    assert layer([[1.0, 2.0, 3.0]]).dtype == np.float32


def test_it_is_the_formula_with_and_without_a_bias_also_of_one_row_and_of_none(rng: np.random.Generator) -> None:
    for bias in (True, False):
        layer = nn.Linear(3, 5, bias=bias, dtype=np.float64)
        assert list(layer.state_dict()) == ["weight", "bias"][: 1 + bias]
        for shape in ((3,), (0, 3), (2, 4, 3)):
            x = rng.normal(size=shape)
            expected = x @ layer.weight.numpy().T + (layer.bias.numpy() if bias else 0)
            np.testing.assert_allclose(layer(x), expected, rtol=0, atol=1e-14)
