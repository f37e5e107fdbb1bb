"""The sLSTM of the gallery is that of its authors.

Tests `minirnn/nn/own/layer.py` and `docs/examples/cells/slstm.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn.own.file import cell_in

SLSTM = Path(__file__).parents[3] / "docs" / "examples" / "cells" / "slstm.py"
T, B, I, H = 12, 4, 3, 5


@pytest.mark.parametrize("bias", [0.0, 3.0])
def test_the_slstm_is_that_of_its_authors(rng: np.random.Generator, bias: float) -> None:
    """The equations of Beck et al. 2024 without m, and m as in the authors' code: z_i at the first step."""
    layer = cell_in(str(SLSTM)).layer(I, H, dtype="float64")
    for p in layer.parameters():
        p.assign(rng.normal(size=p.shape))
    layer.bias.assign(layer.bias.numpy() + bias * np.repeat([0, 1, 0, 0], H))
    x, W, R, b = rng.normal(size=(T, B, I)), *(p.numpy() for p in (layer.weight_ih, layer.weight_hh, layer.bias))
    h = c = n = np.zeros((B, H))
    m = np.full((B, H), -np.inf)
    outputs = []
    for x_t in x:
        z_i, z_f, z_z, z_o = np.split(x_t @ W.T + h @ R.T + b, 4, axis=1)
        c, n = np.exp(z_f) * c + np.exp(z_i) * np.tanh(z_z), np.exp(z_f) * n + np.exp(z_i)
        m = np.maximum(z_f + m, z_i)
        h = c / n / (1 + np.exp(-z_o))
        outputs.append(h)
    y, (_, _, last_m, _) = layer(mr.tensor(x))
    np.testing.assert_allclose(y.numpy(), outputs, rtol=1e-12)
    np.testing.assert_allclose(last_m.numpy(), m, rtol=1e-12)
