import itertools
import json
import sysconfig

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirnn.data import CharBatches, CharVocabulary, python_source_text, read_text, train_validation_split
from minirnn.data.text import PYTHON_MODULES

LONG = "characters of a text\n" * 100


def test_the_default_text_is_the_source_of_the_modules_in_order():
    text = python_source_text()
    assert 300_000 < len(text) < 1_500_000
    assert text == python_source_text()
    places = [text.index(line) for line in ("def bisect_right", "class HTMLCalendar", "class Counter", "def deepcopy")]
    assert places == sorted(places)
    assert "class WeakValueDictionary" in text
    assert "\r" not in text


def test_the_default_text_has_a_small_alphabet():
    assert 90 < len(CharVocabulary.from_text(python_source_text(), min_count=10)) < 110


def test_a_python_without_sources_on_disk_names_what_is_missing_and_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "bisect.py").write_text("x = 1\n")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(ValueError, match="no source of calendar, ") as caught:
        python_source_text()
    assert "bisect" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert "zip" in str(caught.value)
    assert "--text FILE" in str(caught.value)


def test_a_module_that_became_a_package_is_still_found(tmp_path, monkeypatch):
    for module in PYTHON_MODULES:
        folder = tmp_path.joinpath(*module.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(f"# {module}\n")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert python_source_text().split("\n\n")[:2] == ["# bisect", "# calendar"]


def test_line_ends_and_the_byte_order_mark_are_evened_out(tmp_path):
    file = tmp_path / "text.txt"
    file.write_bytes(b"\xef\xbb\xbf" + "one\r\ntwo\rthrée\n".encode())
    assert read_text(file, minimum=5) == "one\ntwo\nthrée\n"
    assert read_text(str(file), minimum=5) == "one\ntwo\nthrée\n"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_bytes_that_are_not_utf8_are_named_by_their_position(tmp_path, mark):
    file = tmp_path / "latin.txt"
    data = mark + LONG.encode() + "é".encode() + b"caf\xe9 noir" + LONG.encode()
    file.write_bytes(data)
    with pytest.raises(ValueError, match=rf"byte {data.index(0xE9, 2100)} \(0xe9\) is not UTF-8") as caught:
        read_text(file)
    assert str(file) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be-sig"])
def test_utf16_is_recognised_by_its_mark(tmp_path, encoding):
    file = tmp_path / "notepad.txt"
    file.write_bytes(LONG.encode("utf-16") if encoding == "utf-16" else b"\xfe\xff" + LONG.encode("utf-16-be"))
    with pytest.raises(ValueError, match="byte 0 starts a UTF-16 byte order mark"):
        read_text(file)


def test_a_short_text_says_how_short_and_why_that_matters(tmp_path):
    file = tmp_path / "short.txt"
    file.write_text("a" * 999)
    with pytest.raises(ValueError, match=r"999 characters\n  expected at least 1000\n.*memorizes.*validation"):
        read_text(file)
    file.write_text("a" * 1000)
    assert read_text(file) == "a" * 1000
    file.write_text("")
    with pytest.raises(ValueError, match="0 characters"):
        read_text(file)


def test_an_unreadable_file_says_why(tmp_path, monkeypatch):
    file = tmp_path / "secret.txt"
    file.write_text(LONG)

    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)  # chmod doesn't stop the superuser
    with pytest.raises(ValueError, match=r"secret.txt': can't be read \(Permission denied\)"):
        read_text(file)


def test_a_nul_in_the_first_byte_is_named(tmp_path):
    file = tmp_path / "binary.txt"
    file.write_bytes(b"\0" + LONG.encode())
    with pytest.raises(ValueError, match="byte 0 is NUL"):
        read_text(file)


def test_a_module_of_one_character_is_text(tmp_path, monkeypatch):
    for module in PYTHON_MODULES:
        file = tmp_path.joinpath(*module.split(".")).with_suffix(".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    assert python_source_text() == "\n".join("#" * len(PYTHON_MODULES))


@given(st.integers(1, 7), st.integers(1, 5), st.integers(0, 60))
def test_rows_are_contiguous_streams_and_targets_the_next_characters(T, B, extra):
    N = T * B + 1 + extra
    ids = np.arange(100, 100 + N)  # each id is its own position
    batches = CharBatches(ids, T, B)
    drawn = list(itertools.islice(batches, len(batches)))
    x = np.concatenate([x for x, _ in drawn])  # (batches T, B)
    y = np.concatenate([y for _, y in drawn])
    assert all(part.shape == (T, B) and part.dtype == np.int64 for pair in drawn for part in pair)
    np.testing.assert_array_equal(y, x + 1)
    np.testing.assert_array_equal(np.diff(x, axis=0), 1)
    assert len(set(x.ravel())) == x.size  # no character is read twice in a pass
    assert N - 1 - x.size < T * B  # and fewer are left out than there are in one batch


def test_after_a_pass_it_starts_again_and_says_so():
    batches = CharBatches(np.arange(25), T=4, B=2)
    assert len(batches) == 3
    seen = []
    first, _ = batches.batch(0)
    for _ in range(7):
        seen.append(batches.at_start)
        x, _ = next(batches)
        assert np.array_equal(x, first) == seen[-1]
    assert seen == [True, False, False, True, False, False, True]


@given(st.integers(0, 20))
def test_a_restored_position_goes_on_exactly(steps):
    ids = np.random.default_rng(5).integers(0, 50, 97)
    first = CharBatches(ids, T=5, B=3)
    for _ in range(steps):
        next(first)
    state = json.loads(json.dumps(first.state()))
    assert all(type(value) is int for value in first.state().values())
    second = CharBatches(ids, T=5, B=3)
    second.restore(state)
    assert second.state() == state
    for _ in range(9):
        assert second.at_start == first.at_start
        np.testing.assert_array_equal(next(second), next(first))


def test_one_pass_starts_at_the_start_and_leaves_the_position():
    batches = CharBatches(np.arange(25), T=4, B=2)
    next(batches)
    before = batches.state()
    xs = [x for x, _ in batches.one_pass()]
    assert batches.state() == before
    assert len(xs) == 3
    np.testing.assert_array_equal(xs[0][:, 0], [0, 1, 2, 3])


def test_batches_are_copies_and_the_text_stays():
    ids = np.arange(25)
    x, y = next(CharBatches(ids, T=4, B=2))
    x[:] = -1
    y[:] = -1
    np.testing.assert_array_equal(ids, np.arange(25))


def test_small_integer_types_come_back_as_int64():
    x, y = next(CharBatches(np.arange(25, dtype=np.uint8), T=4, B=2))
    assert x.dtype == y.dtype == np.int64


def test_too_short_a_text_says_how_many_characters_a_batch_takes():
    CharBatches(np.arange(13), T=4, B=3)
    with pytest.raises(ValueError, match=r"CharBatches: 12 characters\n.*B T \+ 1 = 13, for one batch of T=4, B=3"):
        CharBatches(np.arange(12), T=4, B=3)


@pytest.mark.parametrize(
    "state",
    [{}, None, {"batch": 1.5, "pass": 0, "T": 4, "B": 2, "N": 25}, {"batch": 3, "pass": 0, "T": 4, "B": 2, "N": 25}],
)
def test_a_position_that_is_none_is_refused_and_changes_nothing(state):
    batches = CharBatches(np.arange(25), T=4, B=2)
    next(batches)
    before = batches.state()
    with pytest.raises(ValueError, match="CharBatches.restore: "):
        batches.restore(state)
    assert batches.state() == before


def test_the_split_keeps_the_order_and_every_character():
    ids = np.arange(101)
    train, validation = train_validation_split(ids, 0.2)
    np.testing.assert_array_equal(np.concatenate([train, validation]), ids)
    assert len(validation) == 20
    assert np.shares_memory(train, ids) and np.shares_memory(validation, ids)  # no copy of a long text


def test_each_part_of_a_split_has_at_least_two_ids():
    train, validation = train_validation_split(np.arange(4), 0.5)
    assert (train.tolist(), validation.tolist()) == ([0, 1], [2, 3])
    for N, fraction in ((4, 0.25), (4, 0.75)):
        with pytest.raises(ValueError, match="4 ids give parts of .*\n  expected at least 2 in each"):
            train_validation_split(np.arange(N), fraction)


def test_the_state_counts_passes_and_batches_from_zero():
    batches = CharBatches(np.arange(25), T=4, B=2)
    places = []
    for _ in range(7):
        places.append((batches.state()["pass"], batches.state()["batch"]))
        next(batches)
    assert places == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0)]


def test_a_batch_is_had_by_its_number():
    batches = CharBatches(np.arange(25), T=4, B=2)
    for part, expected in zip(batches[1], batches.batch(1), strict=True):
        np.testing.assert_array_equal(part, expected)
    with pytest.raises(IndexError, match="k is 3"):
        batches[3]


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({"pass": 0, "batch": 0}, True),
        ({"pass": 5, "batch": 2}, True),
        ({"pass": -1, "batch": 0}, False),
        ({"pass": 0, "batch": -1}, False),
        ({"pass": 0, "batch": 3}, False),
    ],
)
def test_a_position_is_a_pass_from_0_on_and_a_batch_of_it(changes, taken):
    batches = CharBatches(np.arange(25), T=4, B=2)
    state = batches.state() | changes
    if taken:
        batches.restore(state)
        assert batches.state() == state
        assert batches.at_start == (changes["batch"] == 0)
    else:
        with pytest.raises(ValueError, match=r"expected pass >= 0 and batch 0 .. 2"):
            batches.restore(state)


def test_the_smallest_batches_are_of_one_character():
    batches = CharBatches([4, 5, 6], T=1, B=1)
    assert len(batches) == 2
    assert [(x.tolist(), y.tolist()) for x, y in batches.one_pass()] == [([[4]], [[5]]), ([[5]], [[6]])]
    for k in (-1, 2):
        with pytest.raises(IndexError, match=f"k is {k}\n  expected 0 .. 1"):
            batches.batch(k)


def test_one_id_in_ten_is_kept_for_validation():
    train, validation = train_validation_split(np.arange(20))
    assert (train.tolist(), validation.tolist()) == (list(range(18)), [18, 19])
