"""The GRU kernels under all checks of the simulator, in several thread orders: no report, the cpu device's results."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cuda.device import Cuda
from tests.devices.cuda.checked import BLOCK_OPS, assert_equal_on_both, block_op, checked

__all__ = ["checked"]  # a fixture


@pytest.mark.parametrize("case", ["gru_block_cell"])
def test_block_ops_forward_and_backward(checked: Cuda, rng: np.random.Generator, case: str) -> None:
    assert_equal_on_both(checked, block_op(*BLOCK_OPS[case], "f4", rng), 1e-4)


@pytest.mark.parametrize("case", ["gru_block_cell"])
def test_block_ops_in_half_precision(checked: Cuda, rng: np.random.Generator, case: str) -> None:
    assert_equal_on_both(checked, block_op(*BLOCK_OPS[case], "f2", rng), 0.03)
