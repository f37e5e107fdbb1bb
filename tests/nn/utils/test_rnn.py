"""Padding and packing of sequences as in torch, and layers that accept both."""

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
    for b, s in enumerate(sequences):
        alone, (h, _) = lstm(s)
        np.testing.assert_allclose(output[: len(s), b].numpy(), alone.numpy(), rtol=0, atol=1e-14)
        np.testing.assert_allclose(h_n.numpy()[:, b], h.numpy(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("enforce_sorted", [True, False])
@pytest.mark.parametrize("batch_first", [False, True])
def test_packing_is_torchs(batch_first: bool, enforce_sorted: bool, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.nn.utils.rnn
    lengths = [5, 4, 4, 1] if enforce_sorted else [4, 1, 5, 4]
    a = rng.normal(size=(4, 5, 3) if batch_first else (5, 4, 3))
    x, y = mr.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    ours = rnn.pack_padded_sequence(x, lengths, batch_first, enforce_sorted)
    packed = theirs.pack_padded_sequence(y, lengths, batch_first, enforce_sorted)
    assert isinstance(ours, rnn.PackedSequence)
    for found, expected in zip(ours, packed, strict=True):
        assert (found is None) == (expected is None)
        if found is not None and enforce_sorted:  # torch does not document its order of equal lengths
            np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
    options = dict(batch_first=not batch_first, padding_value=-1.5, total_length=7)
    (p, n), (q, m) = rnn.pad_packed_sequence(ours, **options), theirs.pad_packed_sequence(packed, **options)
    np.testing.assert_array_equal(n.numpy(), m.numpy())
    np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())
    g = rng.normal(size=tuple(q.shape))
    p.backward(g)
    q.backward(torch.tensor(g))
    np.testing.assert_array_equal(x.grad.numpy(), y.grad.numpy())


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_layer_takes_packed_sequences_as_in_torch(kind: str, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    lengths, a, h0 = [3, 1, 5, 2], rng.normal(size=(5, 4, 3)), rng.normal(size=(4, 4, 6))
    ours = getattr(nn, kind)(3, 6, 2, bidirectional=True, batch_first=True, dtype="f8")
    theirs = getattr(torch.nn, kind)(3, 6, 2, bidirectional=True, batch_first=True, dtype=torch.float64)
    theirs.load_state_dict({k: torch.from_numpy(v.copy()) for k, v in ours.state_dict().items()})
    results = []
    for lib, layer, module in ((mr, ours, rnn), (torch, theirs, torch.nn.utils.rnn)):
        x, h = lib.tensor(a, requires_grad=True), lib.tensor(h0, requires_grad=True)
        packed = module.pack_padded_sequence(x, lengths, enforce_sorted=False)
        output, state = layer(packed, (h, h * 0.5) if kind == "LSTM" else h)
        assert isinstance(output, module.PackedSequence)
        padded, _ = module.pad_packed_sequence(output)
        h_n = state[0] + state[1] if kind == "LSTM" else state
        ((padded * lib.tensor(np.cos(np.arange(240.0)).reshape(5, 4, 12))).sum() + (h_n * h_n).sum()).backward()
        results.append([padded.detach(), h_n.detach(), x.grad, h.grad, *[p.grad for p in layer.parameters()]])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=0, atol=1e-12)


def test_packed_sequences_come_apart_again(rng: np.random.Generator) -> None:
    sequences = [mr.tensor(rng.normal(size=(n, 2))) for n in (2, 4, 1)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    doubled = rnn.PackedSequence(packed.data * 2, *packed[1:])
    padded, lengths = rnn.pad_packed_sequence(doubled)
    for b, (n, s) in enumerate(zip(lengths.tolist(), sequences, strict=True)):
        np.testing.assert_array_equal(padded[:n, b].numpy(), 2 * s.numpy())
    with pytest.raises(ValueError, match="lengths were given for a PackedSequence"):
        nn.GRU(2, 3, dtype="f8")(packed, lengths=[2, 4, 1])
