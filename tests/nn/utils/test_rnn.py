"""pad_sequence and unpad_sequence are torch's; what packs says what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.nn.utils import rnn
from tests.each import each

SHAPES: list[list[tuple[int, ...]]] = [[(2,), (4,), (1,)], [(3, 2), (0, 2), (5, 2)], [(2, 3, 4), (2, 3, 4)], [(0,)]]


@each("shapes", SHAPES)
@each("batch_first", [False, True])
@each("side", ["right", "left"])
def test_sequences_stand_side_by_side_at_their_places(
    shapes: list[tuple[int, ...]], batch_first: bool, side: str, device: str, rng: np.random.Generator
) -> None:
    values = [rng.normal(size=shape) for shape in shapes]
    tensors = [mr.tensor(a, True, device) for a in values]
    T = max(len(a) for a in values)
    expected = np.full((len(values), T, *shapes[0][1:]), -7.0)
    for row, a in zip(expected, values, strict=True):
        row[slice(0, len(a)) if side == "right" else slice(T - len(a), T)] = a
    found = rnn.pad_sequence(tensors, batch_first, -7.0, side)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found.numpy(), expected if batch_first else expected.swapaxes(0, 1))

    dy = rng.normal(size=found.shape)
    rows = dy if batch_first else dy.swapaxes(0, 1)
    for g, row, a in zip(mr.grad(found, tensors, dy), rows, values, strict=True):
        np.testing.assert_array_equal(g.numpy(), row[: len(a)] if side == "right" else row[T - len(a) :])

    if side == "right":
        for t, a in zip(rnn.unpad_sequence(found, [len(a) for a in values], batch_first), values, strict=True):
            np.testing.assert_array_equal(t.numpy(), a)


@pytest.mark.parametrize("dtype", ["int64", "float16", "bool"])
def test_every_dtype_is_padded(dtype: str, device: str) -> None:
    found = rnn.pad_sequence([mr.tensor(np.ones(n, dtype), device=device) for n in (3, 1)])
    assert (found.dtype, found.device) == (dtype, device)
    np.testing.assert_array_equal(found.numpy(), np.array([[1, 1], [1, 0], [1, 0]], dtype))


def test_a_padding_may_be_a_class_that_losses_ignore_and_the_default_is_zero() -> None:
    np.testing.assert_array_equal(rnn.pad_sequence([[1], [2, 3]], padding_value=-100).numpy(), [[1, 2], [-100, 3]])
    np.testing.assert_array_equal(rnn.pad_sequence(([1.0], np.array([2, 3], "f4"))).numpy(), [[1, 2], [0, 3]])
    np.testing.assert_array_equal(rnn.pad_sequence([[1.0], [2.0, 3.0]], True, 0.1).numpy()[0, 1], np.float32(0.1))
    assert rnn.pad_sequence([[True], [True] * 2], True, True).numpy().all()
    assert np.isinf(rnn.pad_sequence([[1.0], [2.0, 3.0]], padding_value=-np.inf).numpy()[1, 0])
    assert np.isnan(rnn.pad_sequence([[1.0], [2.0, 3.0]], padding_value=np.nan).numpy()[1, 0])


def test_arrays_follow_a_tensor(composed_device: str) -> None:
    found = rnn.pad_sequence([np.ones(1, "f4"), mr.tensor([1.0, 2.0], device=composed_device)])
    assert found.device == composed_device
    with pytest.raises(ValueError, match=r"sequences\[1\] is on cpu\n  expected cpu-composed, as the first"):
        rnn.pad_sequence([found, mr.tensor([[1.0, 2.0]])])


def test_a_layer_takes_what_was_padded_and_its_lengths(rng: np.random.Generator) -> None:
    sequences = [rng.normal(size=(n, 3)) for n in (2, 5, 1)]
    lstm = nn.LSTM(3, 4, dtype="f8")
    output, (h_n, _) = lstm(rnn.pad_sequence(sequences), lengths=[len(s) for s in sequences])
    for b, (row, s) in enumerate(zip(rnn.unpad_sequence(output, [2, 5, 1]), sequences, strict=True)):
        alone, (h, _) = lstm(s)
        np.testing.assert_allclose(row.numpy(), alone.numpy(), rtol=0, atol=1e-14)
        np.testing.assert_allclose(h_n.numpy()[:, b], h.numpy(), rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: rnn.pack_padded_sequence(1, [2], enforce_sorted=False),
            r"output, state = lstm\(input, lengths=lengths",
        ),
        (lambda: rnn.pad_packed_sequence(1, batch_first=True), "is padded already, with zeros"),
        (lambda: rnn.pack_sequence([[1]]), r"pad_sequence\(sequences\).* lengths=\[len\(s\) for s in sequences\]"),
        (lambda: rnn.unpack_sequence(1), r"unpad_sequence\(output, lengths\)"),
        (lambda: rnn.PackedSequence(1, 2), r"lstm\(input, lengths=lengths\)"),
    ],
)
def test_what_packs_says_what_to_write(call: Any, words: str) -> None:
    with pytest.raises(NotImplementedError, match=f"minirnn has no packed sequences.*\n  expected .*{words}"):
        call()
    assert not isinstance(mr.tensor([1.0]), rnn.PackedSequence)
