"""The GRU kernels under all checks of the simulator, in several thread orders: no report, the cpu device's results."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.launch import threads
from tests.devices.cuda.checked import BLOCK_OPS, assert_equal_on_both, block_op, checked

__all__ = ["checked"]  # a fixture


CASES = ["gru_block_cell"]


# Rows of whole vectors: threads take several units each; `odd`: from addresses where they cannot.
@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("I", [5, 8])
@pytest.mark.parametrize(("dtype", "tolerance"), [("f2", 0.03), ("f4", 1e-4), ("f8", 1e-12)])
@pytest.mark.parametrize("case", CASES)
def test_rows_of_whole_vectors(
    checked: Cuda, rng: np.random.Generator, case: str, dtype: str, tolerance: float, odd: bool, I: int
) -> None:
    assert_equal_on_both(checked, block_op(*BLOCK_OPS[case], dtype, rng, H=12, I=I, odd=odd), tolerance)


def test_several_units_a_thread_give_the_bits_of_one(
    checked: Cuda, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = block_op(*BLOCK_OPS[CASES[-1]], "f4", rng, H=12, I=4)
    several = work(checked)
    assert any("-DPER_THREAD=4" in constants for *_, constants in checked._compiled)
    monkeypatch.setattr(threads, "PER_THREAD", dict.fromkeys(threads.PER_THREAD, 1))
    for a, b in zip(several, work(checked), strict=True):
        assert a.tobytes() == b.tobytes()
