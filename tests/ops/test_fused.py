"""The claims about every fused op, of block cells, sequences and CudnnRNN networks, with and without zoneout.

TensorFlow's and torch's values are in `tests/ops/test_verified.py`, wrong calls in `tests/hostile/`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops import claims
from tests.ops.fused_cases import ALL, GRU, SEQUENCES, ZONED, Case

every_op = pytest.mark.parametrize("case", ALL + ZONED, ids=str)


@every_op
def test_kernels_equal_the_composition(case: Case, rng: np.random.Generator, device: str) -> None:
    claims.kernels_equal_the_composition(case, rng, device)


@pytest.mark.slow_elsewhere
@every_op
@pytest.mark.parametrize("claim", claims.OF_EVERY_OP[1:], ids=claims.name_of)
def test_it_is_a_fused_op(claim: Any, case: Case, rng: np.random.Generator, device: str) -> None:
    claim(case, rng, device)


@pytest.mark.slow_elsewhere
@pytest.mark.parametrize("case", [c for c in ALL + ZONED if "relu" not in c.name], ids=str)  # relu has kinks
def test_first_and_second_derivatives_are_differences(case: Case, rng: np.random.Generator, device: str) -> None:
    claims.derivatives_are_differences(case, rng, device)


@pytest.mark.parametrize("case", [*SEQUENCES, GRU], ids=str)
def test_float16_is_computed_in_float32_and_rounded_once(case: Case, rng: np.random.Generator, device: str) -> None:
    claims.float16_is_computed_in_float32_and_rounded_once(case, rng, device)
