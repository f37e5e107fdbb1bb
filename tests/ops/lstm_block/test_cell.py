"""LSTMBlockCell: the claims about every fused op.

TensorFlow's values are in `tests/ops/test_verified.py`, wrong calls in `tests/hostile/calls_block.py`. float16 and
clipping are tested with the sequence in `tests/ops/lstm_block/test_sequence.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops import claims
from tests.ops.fused_cases import LSTM_CELLS, Case

cells = pytest.mark.parametrize("case", LSTM_CELLS, ids=str)


@cells
@pytest.mark.parametrize("claim", claims.OF_EVERY_OP, ids=claims.name_of)
def test_it_is_a_fused_op(claim: Any, case: Case, rng: np.random.Generator, device: str) -> None:
    claim(case, rng, device)


@pytest.mark.slow_elsewhere
@cells
def test_first_and_second_derivatives_are_differences(case: Case, rng: np.random.Generator, device: str) -> None:
    claims.derivatives_are_differences(case, rng, device)
