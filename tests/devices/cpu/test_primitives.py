"""The primitives of the cpu device: their descriptions in base.py, on plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices
from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.primitives import without_false_alarms
from tests.compare import assert_same

cpu = devices.get("cpu")
FLOATS = [np.float16, np.float32, np.float64]


def test_asarray_copies_and_makes_scalars_of_zero_dimensional_arrays() -> None:
    a = np.ones((2, 3))
    assert not np.shares_memory(cpu.asarray(a), a)
    scalar = cpu.asarray(np.array(2.0, np.float32))
    assert type(scalar) is np.float32
    assert_same(cpu.to_numpy(scalar), np.float32(2))


def test_five_columns_of_float32_do_not_warn() -> None:
    """OpenBLAS may raise the invalid flag there without a reason. Here it is always raised."""
    a, b = np.full((1, 5), np.inf, np.float32), np.zeros((3, 5), np.float32)
    assert_same(cpu.matmul(a, b.T), np.full((1, 3), np.nan, np.float32))


@pytest.mark.parametrize("kind", [mr.nn.RNN, mr.nn.GRU, mr.nn.LSTM], ids=lambda k: k.__name__)
def test_layers_of_five_columns_do_not_warn_either(kind: Any) -> None:
    layer = kind(5, 5)
    for p in layer.parameters():
        p.assign(np.zeros(p.shape, p.dtype))
    x = mr.tensor(np.full((1, 1, 5), np.inf, np.float32), requires_grad=True)
    y, *_ = layer(x)
    y.sum().backward()
    assert np.isnan(y.numpy()).all()


def test_a_large_product_is_that_of_numpy_in_memory_that_comes_back(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((130, 40)), rng.standard_normal((300, 40)).T
    for dtype in (*FLOATS, np.int64):
        p, q = (10 * a).astype(dtype), (10 * b).astype(dtype)
        got = cpu.matmul(p, q)
        assert_same(got, p @ q)
        assert got.flags.c_contiguous and got.flags.writeable
    pool = workspace.Pool()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workspace, "empty", pool.empty)
        kept = cpu.matmul(a, b)
        before = kept.copy()
        where = cpu.matmul(a, -b).ctypes.data  # this one is not referenced
        assert cpu.matmul(-a, b).ctypes.data == where != kept.ctypes.data
        assert_same(kept, before)


def test_operands_of_two_dtypes_and_shapes_that_do_not_fit_are_left_to_numpy(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((200, 3)).astype(np.float32), rng.standard_normal((3, 200))
    assert cpu.matmul(a, b).dtype == np.float64
    with pytest.raises(ValueError, match="mismatch"):
        cpu.matmul(b, b)


def test_a_kernel_without_false_alarms_has_its_own_settings_and_otherwise_those_of_its_caller() -> None:
    @without_false_alarms
    def kernel(a: float, *, b: float) -> tuple[float, dict[str, str]]:
        """What it computes."""
        found = np.geterr()
        np.seterr(over="ignore")
        return a + b, dict(found)

    with np.errstate(over="raise", invalid="call"):
        before = np.geterr()
        assert kernel(1.0, b=2.0) == (3.0, {**before, "invalid": "ignore"})
        assert np.geterr() == before
    assert (kernel.__name__, kernel.__doc__) == ("kernel", "What it computes.")
