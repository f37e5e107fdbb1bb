"""Sums over all steps in two stages are right, and always the same."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.launch.lstm_block.peepholes import SHORTEST, peephole_grads
from tests.devices.cuda.checked import ORDERS, checked

__all__ = ["checked"]  # a fixture

# rows of a batch, steps, units: one part and several, the last one full, or with a single row
SIZES = [(7, 3, 45), (7, 3, 48), (SHORTEST, 1, 8), (SHORTEST // 2, 4, 4), (19, 27, 33), (19, 27, 132)]


def given(B: int, T: int, H: int, dtype: str, rng: np.random.Generator) -> list[np.ndarray]:
    shapes = (T * B, 4 * H), (B, H), (T * B, H)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def by_numpy(dicfo: np.ndarray, cs_first: np.ndarray, cs: np.ndarray) -> list[np.ndarray]:
    wide = np.longdouble
    dzi, _, dzf, dzo = np.split(dicfo.astype(wide), 4, axis=1)
    cs_prev = np.concatenate([cs_first, cs])[: len(cs)].astype(wide)
    return [(dz * c).sum(axis=0) for dz, c in ((dzi, cs_prev), (dzf, cs_prev), (dzo, cs.astype(wide)))]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_the_gradients_are_those_sums(
    checked: Cuda, rng: np.random.Generator, size: tuple[int, int, int], dtype: str
) -> None:
    arrays = given(*size, dtype, rng)
    found = peephole_grads(checked, True, *[checked.asarray(a) for a in arrays], rows=len(arrays[0]))
    checked.synchronize()
    n = len(arrays[0])
    # A part adds n / parts / 8 numbers one after the other; rounding of the result comes last.
    tolerance = np.sqrt(n) * (np.finfo("float32" if dtype == "float16" else dtype).eps + np.finfo(dtype).eps)
    for got, expected in zip(found, by_numpy(*arrays), strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(
            checked.to_numpy(got).astype(np.longdouble),
            expected,
            rtol=4e-3 if dtype == "float16" else 0,
            atol=4 * tolerance,
        )  # noqa: E501


def test_every_order_of_threads_gives_the_same_bits(rng: np.random.Generator) -> None:
    from minirnn.devices.cuda.sim.driver import SimDriver

    arrays = given(19, 27, 36, "float32", rng)
    results = []
    for options in (*ORDERS.values(), ORDERS[0]):
        device = Cuda(SimDriver(options))
        found = peephole_grads(device, True, *[device.asarray(a) for a in arrays], rows=19 * 27)
        results.append(b"".join(device.to_numpy(a).tobytes() for a in found))
    assert len(set(results)) == 1


def test_arrays_that_begin_anywhere_give_the_same_bits(checked: Cuda, rng: np.random.Generator) -> None:
    arrays = given(5, 4, 8, "float32", rng)
    expected = peephole_grads(checked, True, *[checked.asarray(a) for a in arrays], rows=20)
    for odd in range(3):
        moved = [checked.asarray(a) for a in arrays]
        flat = checked.asarray(np.concatenate([[0], arrays[odd].ravel()]).astype(np.float32))
        n = arrays[odd].shape[1]
        moved[odd] = flat.seen_as(arrays[odd].shape, (n, 1), 1)  # 4 bytes into an allocation
        found = peephole_grads(checked, True, *moved, rows=20)
        for a, b in zip(found, expected, strict=True):
            assert checked.to_numpy(a).tobytes() == checked.to_numpy(b).tobytes()


def test_without_rows_units_or_peepholes_they_are_zero_or_empty(checked: Cuda) -> None:
    def shapes(B: int, rows: int, H: int, use: bool = True) -> list[list[float]]:
        arrays = [checked.full(shape, 1, np.float32) for shape in ((rows, 4 * H), (B, H), (rows, H))]
        return [checked.to_numpy(a).tolist() for a in peephole_grads(checked, use, *arrays, rows=rows)]

    assert shapes(2, 0, 3) == shapes(2, 2, 3, use=False) == [[0.0] * 3] * 3
    assert shapes(2, 2, 0) == [[]] * 3
    assert shapes(2, 4, 3) == [[4.0] * 3] * 3
