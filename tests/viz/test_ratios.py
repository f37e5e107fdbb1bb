from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn.viz import UpdateRatios, update_ratios


def test_the_ratio_of_plain_descent_is_rate_times_gradient_over_weight(rng):
    layer = mr.nn.Linear(3, 2)
    steps = UpdateRatios(mr.optim.SGD(layer.parameters(), lr=0.1), layer.named_parameters())
    for _ in range(3):
        steps.zero_grad()
        (layer(mr.tensor(np.float32(rng.normal(size=(4, 3))))) ** 2).sum().backward()
        expected = {n: 0.1 * np.linalg.norm(p.grad) / np.linalg.norm(p.numpy()) for n, p in layer.named_parameters()}
        steps.step()
        for name, ratio in expected.items():
            assert steps.ratios[name][-1] == pytest.approx(ratio, rel=1e-5)
    picture = update_ratios(steps.ratios)
    assert set(picture.artists) == set(dict(layer.named_parameters()))
    for name, line in picture.artists.items():
        np.testing.assert_allclose(line.get_ydata(), steps.ratios[name])
    assert picture.ax.get_yscale() == "log" and "rule of thumb" in picture.ax.texts[0].get_text()


def test_a_weight_of_zeros_has_no_ratio_and_a_frozen_one_no_point():
    p = mr.nn.Parameter(np.zeros(2, np.float32))
    steps = UpdateRatios(mr.optim.SGD([p], lr=1.0), [("p", p)])
    (p * 2).sum().backward()
    steps.step()
    assert np.isnan(steps.ratios["p"][0])
    assert np.isnan(update_ratios({"p": [0.0, 0.1]}).artists["p"].get_ydata()[0])


def test_parameters_are_pairs_of_a_name_and_a_tensor():
    p = mr.nn.Parameter(np.zeros(2, np.float32))
    for wrong in (["p", p], ("p", p, 1), ("p", 3.0), p):
        with pytest.raises(TypeError, match="among the parameters"):
            UpdateRatios(mr.optim.SGD([p], lr=1.0), [("p", p), wrong])
