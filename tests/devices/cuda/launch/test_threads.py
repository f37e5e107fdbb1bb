"""How many units a thread takes follows from the rows and the addresses of the arrays."""

from __future__ import annotations

import numpy as np

from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.launch.threads import units_at_once
from tests.devices.cuda.checked import checked

__all__ = ["checked"]  # a fixture


def test_a_thread_takes_several_units_where_rows_and_addresses_permit(checked: Cuda) -> None:
    for dtype, n in (("float16", 2), ("float32", 4), ("float64", 2)):
        array = checked.empty((3, 8), np.dtype(dtype))
        assert units_at_once(8, array, None, dtype=array.dtype) == n
        assert units_at_once(n, array, dtype=array.dtype) == n
        assert units_at_once(8 + n // 2, array, dtype=array.dtype) == 1
        for offset in range(1, n):
            assert units_at_once(8, array, array.seen_as((2, 8), (8, 1), offset), dtype=array.dtype) == 1
        assert units_at_once(8, array.seen_as((2, 8), (8, 1), n), dtype=array.dtype) == n
    # float16 is summed in float32: those arrays are read eight bytes at once
    half, sums = np.dtype(np.float16), checked.empty((4, 8), np.float32)
    assert units_at_once(8, sums.seen_as((3, 8), (8, 1), 2), dtype=half) == 2
    assert units_at_once(8, sums.seen_as((3, 8), (8, 1), 1), dtype=half) == 1
