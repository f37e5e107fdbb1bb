"""Typical mistakes are references with pieces of their text replaced.

Tests `minirnn/learn/catalog/edited.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.learn.catalog.edited import edited, mistakes
from minirnn.learn.formulas import training


def test_a_mistake_is_the_reference_with_its_text_replaced():
    (one,) = mistakes(training.adam_step, ("no root", "np.sqrt(v_hat)", "v_hat", "**step", "**(step + 1)"))
    p, g, m, v = np.array([1.0]), np.array([2.0]), np.array([0.5]), np.array([0.25])
    found = one.function(parameter=p, gradient=g, m=m, v=v, step=1, lr=0.1, beta1=0.5, beta2=0.75, eps=0.5)
    new_m, new_v = 0.5 * 0.5 + 0.5 * 2, 0.75 * 0.25 + 0.25 * 4
    step = 0.1 * (new_m / (1 - 0.5**2)) / (new_v / (1 - 0.75**2) + 0.5)
    assert one.sentence == "no root" and np.allclose(np.ravel(found), [1 - step, new_m, new_v], rtol=1e-15)


def test_a_text_that_the_reference_does_not_have_is_refused():
    with pytest.raises(AssertionError, match="adam_step has no 'sqrt"):
        edited(training.adam_step, "sqrt(nothing)", "1")(parameter=0)
