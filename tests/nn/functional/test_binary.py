"""Binary cross-entropy: at certainty, from probabilities and scores, float16."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_scores_of_any_size_neither_overflow_nor_vanish(dtype: Any, device: str) -> None:
    x = mr.tensor(np.array([-60000.0, 60000.0, -9.0], dtype), requires_grad=True, device=device)
    loss = F.binary_cross_entropy_with_logits(x, np.array([1, 0, 0], dtype), reduction="none")
    np.testing.assert_allclose(loss.numpy(), [60000, 60000, np.log1p(np.exp(-9.0))], rtol=1e-3)
    np.testing.assert_allclose(mr.grad(loss, x, np.ones(3, dtype)).numpy(), [-1, 1, np.exp(-9.0)], rtol=2e-3, atol=1e-7)


@pytest.mark.parametrize("name", ["binary_cross_entropy", "binary_cross_entropy_with_logits"])
def test_a_weight_that_does_not_fit_is_refused_in_the_name_of_the_function(name: str, composed_device: str) -> None:
    x = np.full((3, 4), 0.5)
    function = getattr(F, name)
    for shape in ((5,), (3,), (2, 3, 4), (4, 3)):
        with pytest.raises(
            ValueError, match=rf"^{name}: weight has shape .*\n  expected one that broadcasts to \(3, 4\)"
        ):
            function(x, x, weight=np.ones(shape))
    with pytest.raises(ValueError, match=f"^{name}: "):
        function(mr.tensor(x), mr.tensor(x), weight=mr.tensor(x, device=composed_device))


def test_probabilities_run_from_0_to_1_and_no_further() -> None:
    for wrong in ([-1e-6, 0.5], [0.5, 1.000001], [np.nan]):
        with pytest.raises(ValueError, match="expected probabilities, 0 .. 1"):
            F.binary_cross_entropy(np.array(wrong), np.zeros(len(wrong)))
    assert F.binary_cross_entropy(np.array([0.0, 1.0]), np.array([0.0, 1.0])).item() == 0
