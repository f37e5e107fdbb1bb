"""Arguments at the border: what torch makes of empty axes, masks without axes, tuples, integers of any width, NaN.

Tests `minirnn/ops/primitives/indexing.py`, `minirnn/ops/primitives/reductions.py`, `minirnn/ops/primitives/scans.py`,
`minirnn/ops/primitives/truths.py`, `minirnn/ops/primitives/bounds.py`, `minirnn/arguments/host_array.py` and
`minirnn/ops/primitives/combined.py`. The expected values are torch's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

F, R = mr.nn.functional, mr.nn.utils.rnn
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]


@each("name", ["sum", "prod", "cumsum", "cumprod"])
@each("source", [*INTEGERS, "bool", "float16", "float32"])
@each("dtype", [*INTEGERS, "bool", "float16", "float32", "float64"])
def test_dtype_holds_for_every_type(name: str, source: str, dtype: str) -> None:
    x = mr.tensor([1, 0, 1], dtype=source)
    along = {} if name in ("sum", "prod") else {"dim": 0}
    right = getattr(np, name)(np.array([1, 0, 1]))
    y = getattr(mr, name)(x, **along, dtype=dtype)
    assert y.dtype == dtype and (y.numpy() == right.astype(dtype)).all()
    y = getattr(mr, name)(x, **along)
    assert y.dtype == (source if source.startswith("float") else "int64") and (y.numpy() == right).all()


def test_integers_are_divided_exactly() -> None:
    a, b = np.array([7, -7, 7, -7, 6, 0, 2**53 + 1]), np.array([2, 2, -2, -2, -3, 5, 1])
    right = [3, -3, -3, 3, -2, 0, 2**53 + 1]
    for dtype in ("int64", "int32", "int16"):
        n = 7 if dtype == "int64" else 6
        y = mr.div(mr.tensor(a[:n], dtype=dtype), mr.tensor(b[:n], dtype=dtype), rounding_mode="trunc")
        assert y.dtype == dtype and y.tolist() == right[:n]
    index = mr.div(mr.tensor([7]), 2, rounding_mode="trunc")
    assert mr.arange(10)[index].tolist() == [3]
    x = mr.tensor([7, -7])
    assert x.div_(2, rounding_mode="trunc").tolist() == [3, -3]
    assert mr.div(mr.tensor([7.5, -7.5]), 2, rounding_mode="trunc").tolist() == [3.0, -3.0]
    assert mr.div(mr.tensor([200], dtype="uint8"), 3, rounding_mode="trunc").dtype == "uint8"


LSTM = mr.nn.LSTM(2, 3)
X = mr.tensor(np.arange(24).reshape(4, 3, 2) / 7, dtype="float32")
POSITIONS: dict[str, Callable[[Any], Any]] = {
    "lengths": lambda t: LSTM(X, lengths=t([4, 2, 1]))[0],
    "packing": lambda t: R.pack_padded_sequence(X, t([4, 2, 1])).data,
    "packing unsorted": lambda t: R.pack_padded_sequence(X, t([1, 4, 2]), enforce_sorted=False).data,
    "packed": lambda t: LSTM(R.PackedSequence(X[0], t([2, 1]), t([1, 0]), t([1, 0])))[1][0],
    "index": lambda t: X[t([3, 1])],
    "two indices": lambda t: X[t([3, 1]), t([2, 0])],
    "one index": lambda t: X[t(3)],
    "slice": lambda t: X[t(1) : t(3)],
    "gather": lambda t: X[0].gather(0, t([[1, 0]])),
    "scatter_add": lambda t: X[0].scatter_add(0, t([[1, 1]]), X[1]),
    "embedding": lambda t: F.embedding(t([1, 0]), X[0]),
    "cross_entropy": lambda t: F.cross_entropy(X[0], t([1, 0, 1])),
    "ctc": lambda t: F.ctc_loss(X.log_softmax(2), t([[1], [1], [1]]), t([4, 3, 4]), t([1, 1, 1])),
    "one_hot": lambda t: F.one_hot(t([1, 0])),
    "repeat_interleave": lambda t: mr.repeat_interleave(X[0], t([1, 0, 2]), dim=0),
    "roll": lambda t: mr.roll(X, t(2), 0),
    "narrow": lambda t: mr.narrow(X, 0, t(1), t(2)),
    "reshape": lambda t: X.reshape(t(8), 3),
    "split": lambda t: X.split(t(3))[1],
    "sum": lambda t: X.sum(t(1)),
    "topk": lambda t: X.topk(t(1))[0],
}


@each("dtype", INTEGERS)
@each("name", POSITIONS)
def test_integers_of_every_width_are_lengths_indices_and_positions(name: str, dtype: str) -> None:
    right = POSITIONS[name](lambda v: np.array(v)[()] if np.ndim(v) == 0 else np.array(v))
    for made in (lambda v: mr.tensor(v, dtype=dtype), lambda v: np.array(v, dtype)[()] if np.ndim(v) == 0 else v):
        np.testing.assert_array_equal(POSITIONS[name](made).detach().numpy(), right.detach().numpy())


def test_an_empty_tuple_of_axes() -> None:
    x = mr.ones(1, 2, 1)
    assert [x.squeeze(()).shape, x.squeeze(dim=()).shape, mr.squeeze(x, dim=()).shape] == [(1, 2, 1)] * 3
    assert [x.all(dim=()).shape, x.any(dim=()).shape] == [(1, 2, 1)] * 2
    assert [getattr(x, name)(dim=()).shape for name in ("sum", "mean", "amax", "std")] == [()] * 4


def test_masks_without_axes_and_tuples_are_indices() -> None:
    x = mr.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    for true in (True, np.True_, mr.tensor(True)):
        y = x[true]
        assert y.shape == (1, 2, 2)
        assert mr.grad(y.sum(), x).tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert x[False].shape == (0, 2, 2)
    assert mr.masked_select(mr.tensor(3.0), mr.tensor(True)).tolist() == [3.0]
    assert mr.masked_select(x, mr.tensor(True)).tolist() == [1.0, 2.0, 3.0, 4.0]
    y = mr.zeros(2)
    y[mr.tensor(True)] = 5.0
    assert y.tolist() == [5.0, 5.0]
    assert x[(0, 1), :].tolist() == x[[0, 1], :].tolist() == x[(1, 1), (0, 1)][:0].tolist() + x.tolist()
    assert x[0, 1].item() == 2.0


def test_negative_indices_of_take_along_dim() -> None:
    x = mr.tensor([[1.0, 2.0, 3.0]])
    assert mr.take_along_dim(x, mr.tensor([[-1, 0]]), 1).tolist() == [[3.0, 1.0]]
    assert mr.take_along_dim(x, mr.tensor([-3])).tolist() == [1.0]
    with pytest.raises(IndexError, match="expected 0 .. 2"):
        mr.take_along_dim(x, mr.tensor([[-4]]), 1)


def test_numbers_out_of_range_have_a_sentence() -> None:
    for n in (0, -1):
        with pytest.raises(ValueError, match=rf"multinomial: num_samples is {n}\n  expected 1 or more"):
            mr.multinomial(mr.ones(3), n)
    with pytest.raises(TypeError, match="narrow: length is 1.5"):
        mr.narrow(X, 0, 1, 1.5)


def test_a_vector_without_axes_is_normalized() -> None:
    assert F.normalize(mr.tensor(-3.0), dim=0).item() == -1.0
    assert F.cosine_similarity(mr.tensor(-3.0), mr.tensor(2.0), dim=0).item() == -1.0


def test_nan_is_a_padding_value_everywhere() -> None:
    nan, packed = float("nan"), R.pack_sequence([mr.ones(2, 1), mr.ones(1, 1)])
    for y in (
        R.pad_sequence([mr.ones(2), mr.ones(1)], padding_value=nan),
        R.pad_packed_sequence(packed, padding_value=nan)[0],
        F.pad(mr.ones(2, 1), (0, 1), value=nan),
    ):
        assert np.isnan(y.numpy()).sum() in (1, 2)
    assert np.isnan(mr.ones(2).clamp(min=nan).numpy()).all() and np.isnan(mr.ones(2).clamp(0.0, nan).numpy()).all()


def test_a_packed_sequence_is_moved_as_in_torch() -> None:
    packed = R.pack_sequence([mr.ones(1, 2), mr.ones(3, 2)], enforce_sorted=False)
    assert packed.to("cpu") is packed
    moved = packed.to("native", mr.float64)
    assert moved.data.device == moved.sorted_indices.device == "native" and moved.data.dtype == "float64"
    assert moved.batch_sizes.device == "cpu"


def test_whole_numbers_between_ends_with_fractions() -> None:
    for found, right in (  # torch 2.13
        (mr.arange(2.1, 2.0, -0.5 - 1, dtype="int64"), []),
        (mr.arange(-7.9, -4.0, dtype="int64"), [-7, -6, -5]),
        (mr.arange(-2.9, -1.0, dtype="int64"), [-2]),
        (mr.linspace(-3, 50, 5, dtype="int64"), [-3, 10, 23, 36, 50]),
        (mr.linspace(4.3, -3, 4, dtype="int64"), [4, 1, 0, -3]),
    ):
        assert found.tolist() == right and found.dtype == "int64"


def test_small_differences_from_numpy_that_torch_has() -> None:
    x = mr.tensor([1, 0], dtype="uint8")
    assert x.any().dtype == x.all().dtype == mr.any(x, dim=0).dtype == "uint8" and x.any().item() == 1
    assert mr.diff(X, n=0, prepend=X).shape == X.shape
    y = mr.zeros(3).scatter(0, mr.tensor([1, 1]), mr.tensor([2.0, 3.0]), reduce="add")
    assert y.tolist() == [0.0, 5.0, 0.0]
    assert mr.zeros(3).scatter_(0, mr.tensor([1, 1]), 2.0, reduce="add").tolist() == [0.0, 4.0, 0.0]
    with pytest.raises(ValueError, match="scatter: reduce is 'multiply'\n  expected None or 'add'"):
        mr.zeros(3).scatter(0, mr.tensor([1]), 2.0, reduce="multiply")
