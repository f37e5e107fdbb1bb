"""Float16 is widened and rounded back in one launch each, whatever number of arrays there is.

Tests `minirnn/devices/cuda/launch/copies.py`, `minirnn/devices/cuda/device.py` and
`minirnn/devices/cuda/kernels/primitives/cast.cu`.
"""

import numpy as np
import pytest

from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.launch.copies import MOST, copy_all
from tests.devices.cuda.checked import checked

__all__ = ["checked"]  # a fixture


def launches(device: Cuda, before: int) -> int:
    return device.driver.launches - before


@pytest.mark.parametrize("count", [1, 2, MOST, MOST + 1, 2 * MOST + 3])
def test_any_number_of_arrays_in_as_few_launches_as_there_is_room(
    checked: Cuda, rng: np.random.Generator, count: int
) -> None:
    """Sizes from nothing to several blocks."""
    hosts = [rng.standard_normal(size).astype(np.float16) for size in rng.permutation(np.arange(count) * 97 % 700)]
    arrays, before = [checked.asarray(a) for a in hosts], checked.driver.launches
    wide = checked.cast_floats(arrays, np.float32)
    assert launches(checked, before) == -(-sum(a.size > 0 for a in hosts) // MOST)
    before = checked.driver.launches
    narrowed = checked.cast_floats(wide, np.float16)
    assert launches(checked, before) == -(-sum(a.size > 0 for a in hosts) // MOST)
    for host, w, n in zip(hosts, wide, narrowed, strict=True):
        np.testing.assert_array_equal(checked.to_numpy(w), host.astype(np.float32))
        assert checked.to_numpy(n).tobytes() == host.tobytes()


def test_what_does_not_lie_in_order_or_has_another_dtype_is_copied_by_itself(
    checked: Cuda, rng: np.random.Generator
) -> None:
    host = rng.standard_normal((7, 12)).astype(np.float16)
    a = checked.asarray(host)
    sources = [a, checked.transpose(a, (1, 0)), a[:, 3:9], checked.cast(a, np.float64), checked.cast(a, np.float32)]
    targets = [checked.full(source.shape, 0, np.float32) for source in sources]
    targets.append(checked.transpose(checked.full((12, 7), 0, np.float32), (1, 0)))
    copy_all(checked, zip(targets, [*sources, a], strict=True))
    for to, expected in zip(targets, [host, host.T, host[:, 3:9], host, host, host], strict=True):
        np.testing.assert_array_equal(checked.to_numpy(to), expected.astype(np.float32))


def test_too_large_numbers_become_infinite_and_nan_stays(checked: Cuda) -> None:
    a, b = (checked.asarray(np.array(x, np.float32)) for x in ([1e6, -7e4, 65504.0], [np.nan, np.inf, -0.0, 1e-9]))
    found = [checked.to_numpy(x) for x in checked.cast_floats([a, b], np.float16)]
    np.testing.assert_array_equal(found[0], np.array([np.inf, -np.inf, 65504], np.float16))
    np.testing.assert_array_equal(found[1], np.array([np.nan, np.inf, -0.0, 0.0], np.float16))
    assert np.signbit(found[1][2])
