"""default_collate is torch's, kind by kind; pad_collate pads and counts.

Tests `minirnn/data/loader.py`.
"""

from collections import OrderedDict, namedtuple
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.data import DataLoader, default_collate, pad_collate
from tests.each import each

Pair = namedtuple("Pair", "a b")
f4 = np.float32

# An example, a second one, and what torch's default_collate makes of both: types, dtypes and values.
KINDS: list[tuple[str, Any, Any, Any]] = [
    ("floats", 1.5, 2.5, ("float64", [1.5, 2.5])),
    ("integers", 1, 2, ("int64", [1, 2])),
    ("booleans", True, False, ("bool", [True, False])),
    ("NumPy floats", f4(1), f4(2), ("float32", [1, 2])),
    ("NumPy integers", np.int32(1), np.int32(2), ("int32", [1, 2])),
    ("arrays", np.ones((2, 3), f4), np.zeros((2, 3), f4), ("float32", [[[1] * 3] * 2, [[0] * 3] * 2])),
    ("arrays of no axis", np.array(1, f4), np.array(2, f4), ("float32", [1, 2])),
    ("texts", "a", "b", ["a", "b"]),
    ("bytes", b"a", b"b", [b"a", b"b"]),
    ("tuples", (1, 2.0), (3, 4.0), [("int64", [1, 3]), ("float64", [2, 4])]),
    ("lists", [1, 2], [3, 4], [("int64", [1, 3]), ("int64", [2, 4])]),
    ("tuples in tuples", (1, (2, 3)), (4, (5, 6)), [("int64", [1, 4]), [("int64", [2, 5]), ("int64", [3, 6])]]),
    ("empty lists", [], [], []),
    ("named tuples", Pair(1, 2), Pair(3, 4), Pair(("int64", [1, 3]), ("int64", [2, 4]))),
    ("dicts", {"k": 1, "l": "x"}, {"k": 2, "l": "y"}, {"k": ("int64", [1, 2]), "l": ["x", "y"]}),
    ("ordered dicts", OrderedDict(k=1), OrderedDict(k=2), OrderedDict(k=("int64", [1, 2]))),
]


def seen(value: Any) -> Any:
    """A batch in the form of the table."""
    if isinstance(value, mr.Tensor):
        return str(value.dtype), value.numpy().tolist()
    if isinstance(value, dict):
        return type(value)((k, seen(v)) for k, v in value.items())
    if hasattr(value, "_fields"):
        return type(value)(*map(seen, value))
    assert isinstance(value, (list, str, bytes)), type(value)
    return [seen(v) for v in value] if isinstance(value, list) else value


def same(found: Any, expected: Any) -> None:
    assert found == expected
    assert type(found) is type(expected)


@each(("first", "second", "expected"), [k[1:] for k in KINDS], ids=[k[0] for k in KINDS])
def test_a_batch_is_of_torchs_kind(first: Any, second: Any, expected: Any) -> None:
    same(seen(default_collate([first, second])), expected)


@each(("first", "second"), [k[1:3] for k in KINDS], ids=[k[0] for k in KINDS])
def test_the_table_is_what_torch_gives(first: Any, second: Any) -> None:
    torch = pytest.importorskip("torch")

    def theirs(value: Any) -> Any:
        if torch.is_tensor(value):
            return str(value.dtype).removeprefix("torch."), value.tolist()
        if isinstance(value, dict):
            return type(value)((k, theirs(v)) for k, v in value.items())
        if hasattr(value, "_fields"):
            return type(value)(*map(theirs, value))
        return [theirs(v) for v in value] if isinstance(value, (list, tuple)) else value

    found = torch.utils.data.default_collate([first, second])
    same(seen(default_collate([first, second])), theirs(found))


def test_tensors_are_stacked_where_they_are_and_gradients_flow(device: str, rng: np.random.Generator) -> None:
    tensors = [mr.tensor(rng.normal(size=(2, 3)), True, device) for _ in range(4)]
    found = default_collate(tensors)
    assert (found.shape, found.device, found.dtype) == ((4, 2, 3), device, np.float64)
    np.testing.assert_array_equal(found.numpy(), [t.numpy() for t in tensors])
    dy = rng.normal(size=(4, 2, 3))
    for g, row in zip(mr.grad(found, tensors, dy), dy, strict=True):
        np.testing.assert_array_equal(g.numpy(), row)
    mixed = default_collate([tensors[0], tensors[1].numpy()])
    assert mixed.device == device
    assert mixed.requires_grad


def test_arrays_follow_a_tensor_but_tensors_stay_where_they_are(composed_device: str) -> None:
    there = mr.tensor([1.0, 2.0], device=composed_device)
    found = default_collate([np.zeros(2, f4), there])  # an array comes first
    assert found.device == composed_device
    np.testing.assert_array_equal(found.numpy(), [[0, 0], [1, 2]])
    with pytest.raises(ValueError, match="different devices"):
        default_collate([mr.tensor([1.0, 2.0]), there])


def test_a_mapping_that_cannot_be_changed_becomes_a_dict() -> None:
    found = default_collate([MappingProxyType({"a": 1})] * 2)
    assert type(found) is dict
    assert found["a"].tolist() == [1, 1]


def test_numbers_of_both_kinds_become_floats_and_the_batch_is_left_as_it_is() -> None:
    same(seen(default_collate([1, 2.5])), ("float64", [1.0, 2.5]))
    same(seen(default_collate([True, 2])), ("int64", [1, 2]))
    example = OrderedDict(a=1)
    default_collate([example, example])
    assert example == OrderedDict(a=1)


def test_a_single_example_is_converted() -> None:
    words = np.array(["a"])
    example = (np.ones(2, f4), "x", 3, Pair(np.int8(1), [f4(2)]), {"a": np.zeros(1)})
    found, unchanged = DataLoader([example, words], batch_size=None)
    assert seen_types(found) == ["Tensor", "str", "int", ["Tensor", ["Tensor"]], {"a": "Tensor"}]
    assert isinstance(found[3], Pair)
    assert unchanged is words


def seen_types(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: seen_types(v) for k, v in value.items()}
    return [seen_types(v) for v in value] if isinstance(value, (list, tuple)) else type(value).__name__


# ---- padding


def test_sequences_are_padded_and_counted(rng: np.random.Generator) -> None:
    sequences = [rng.normal(size=(n, 2)).astype(f4) for n in (2, 4, 1)]
    x, target, word, lengths = pad_collate([(s, k, "w") for k, s in enumerate(sequences)])
    assert (x.shape, x.dtype) == ((4, 3, 2), f4)
    assert seen(lengths) == ("int64", [2, 4, 1])
    assert seen(target) == ("int64", [0, 1, 2])
    assert word == ["w"] * 3
    for b, s in enumerate(sequences):
        np.testing.assert_array_equal(x.numpy()[: len(s), b], s)
        assert not x.numpy()[len(s) :, b].any()
    alone, ends = pad_collate(sequences, batch_first=True, padding_value=-1.0)
    np.testing.assert_array_equal(alone.numpy()[2], [sequences[2][0], *[[-1, -1]] * 3])
    assert ends.tolist() == [2, 4, 1]


def test_targets_of_each_step_are_padded_with_a_value_of_their_own() -> None:
    collate = partial(pad_collate, sequences=2, padding_value=(0.5, -100))
    x, target, lengths = collate([(np.ones(1, f4), np.array([7])), (np.ones(2, f4), np.array([8, 9]))])
    assert x.numpy().T.tolist() == [[1, 0.5], [1, 1]]
    assert seen(target) == ("int64", [[7, 8], [-100, 9]])
    assert lengths.tolist() == [1, 2]
    same_value = pad_collate([(np.ones(1), np.ones(2)), (np.ones(2), np.ones(1))], sequences=2, padding_value=3)
    assert same_value[0].numpy().T.tolist() == [[1, 3], [1, 1]]
    assert same_value[1].numpy().T.tolist() == [[1, 1], [1, 3]]
    assert same_value[2].tolist() == [1, 2]


def test_what_was_padded_runs_through_a_layer(rng: np.random.Generator) -> None:
    sequences = [rng.normal(size=(n, 2)) for n in (2, 4, 1)]
    gru = mr.nn.GRU(2, 3, dtype="f8")
    x, lengths = pad_collate(sequences)
    _, h = gru(x, lengths=lengths)
    for b, s in enumerate(sequences):
        np.testing.assert_allclose(h.numpy()[:, b], gru(s)[1].numpy(), rtol=0, atol=1e-14)


o = np.ones
WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda: default_collate([o((2, 4)), o((3, 4))]), ValueError, r"has shape \(3, 4\)\n.*\n  likely sequences"),
    (lambda: default_collate(5), TypeError, "batch is 5\n  expected a list"),  # type: ignore[arg-type]
    (lambda: default_collate([(1, {2})]), TypeError, r"batch\[0\]\[1\] is \{2\}, a set"),
    (
        lambda: default_collate([o((2, 1)), o((2, 2))]),
        ValueError,
        r"batch\[1\] has shape \(2, 2\)\n  .* as batch\[0\]$",
    ),
    (lambda: default_collate([o(2), 1]), TypeError, r"batch\[1\] is 1\n  expected float64, as batch\[0\]"),
    (lambda: default_collate([np.array(["a"])]), TypeError, r"batch\[0\] has dtype <U1"),
    (lambda: default_collate([1, "a"]), TypeError, r"batch\[1\] is 'a'\n  expected a number"),
    (lambda: default_collate([2**70, 1]), ValueError, "too large a number"),
    (lambda: default_collate([[1], [1, 2]]), ValueError, r"batch\[1\] is \[1, 2\]\n  expected the size of batch\[0\]"),
    (lambda: default_collate([(1,), 2]), ValueError, r"batch\[1\] is 2\n  expected the size"),
    (lambda: default_collate([{"a": 1}, {"b": 1}]), ValueError, r"\{'b': 1\}\n  expected the keys of batch\[0\]"),
    (lambda: default_collate([{"a": o(1)}, {"a": o(2)}]), ValueError, r"batch\[1\]\['a'\] has shape \(2,\)"),
    (lambda: pad_collate([(o(2), 1), (o(2),)]), ValueError, r"batch\[1\] .*\n.* a tuple of 2 parts"),
    (lambda: pad_collate([o(2)], sequences=2), ValueError, "or a tuple of 2 parts, the first 2 of them sequences"),
    (lambda: pad_collate([o(2)], sequences=0), ValueError, "sequences is 0"),
    (lambda: pad_collate([(o(2), o(2)), (o(3), o(3))]), ValueError, r"batch\[1\]\[1\] has .*\n.*\n.*sequences=2"),
    (lambda: pad_collate([("ab", 1)]), TypeError, "<U2"),
]


@each(("call", "error", "words"), WRONG)
def test_wrong_examples_are_named(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()
