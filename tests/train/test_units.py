"""Planted units that carry the most information are found, and the properties of a text agree with what a
reader sees.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.train.model import CharModel
from minirnn.train.options import CELLS, Options
from minirnn.train.units import (
    eighths,
    entropy,
    indentation,
    information,
    inside_quotes,
    most_telling,
    name_of,
    position_in_line,
    states_of,
)


def test_indentation_grows_through_the_white_space_and_stays_to_the_end_of_the_line() -> None:
    text = "if a:\n    b c\n\n\t\tx"
    assert indentation(text).tolist() == [0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4, 4, 0, 1, 2, 2]
    assert indentation(" " * 40).max() == 16


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("a 'b' c", "0011000"),
        ('a "b', "0011"),
        ('"a\nb', "1100"),  # ended by the line
        ('"""a "b"\n"""c', "0000011000000"),
        ("\u201ea\nb\n\nc", "1111000"),
        ("it's 'so'", "000001110"),
        (r"'a\'b'c", "1111100"),
        ("\u201ea\u201c b", "11000"),
        ("''", "10"),
    ],
)
def test_a_quotation_is_open_from_its_mark_to_the_next(text: str, inside: str) -> None:
    assert "".join(map(str, inside_quotes(text))) == inside


def test_the_position_in_a_line_counts_in_tens_and_begins_anew() -> None:
    text = "x" * 25 + "\n" + "y" * 11
    assert position_in_line(text).tolist() == [0] * 10 + [1] * 10 + [2] * 6 + [0] * 10 + [1]


@pytest.mark.parametrize("text", ["", "a", "\n", "\n\n", "'''", "\\", "\r\n", "a\u2028b"])
def test_every_property_has_a_value_for_every_character(text: str) -> None:
    for of in (indentation, inside_quotes, position_in_line):
        assert len(of(text)) == len(text)


def test_entropy_is_that_of_dice_and_of_a_biased_coin() -> None:
    assert entropy(np.arange(600) % 6) == pytest.approx(np.log2(6))
    assert entropy(np.array([0, 1, 1, 1])) == pytest.approx(2 - 0.75 * np.log2(3))
    assert entropy(np.zeros(5, int)) == 0


def test_eighths_are_of_equal_size_and_equal_values_stay_together(rng: np.random.Generator) -> None:
    states = np.stack([rng.permutation(800) * 1.0, np.repeat([3.0, 1.0], 400), np.zeros(800)], axis=1)
    found = eighths(states)
    assert np.bincount(found[:, 0]).tolist() == [100] * 8
    assert (found[:, 0] == states[:, 0] // 100).all()
    assert len(set(found[:400, 1])) == len(set(found[400:, 1])) == 1 and found[0, 1] > found[-1, 1]
    assert len(set(found[:, 2])) == 1


def test_information_of_a_noisy_channel_is_its_capacity_and_of_noise_nothing(rng: np.random.Generator) -> None:
    """A bit that arrives wrong with probability e: 1 - H(e) bits (Shannon 1948)."""
    N, e = 20_000, 0.1
    bit = rng.integers(2, size=N)
    received = np.where(rng.random(N) < e, 1 - bit, bit)
    states = np.stack([received + 0.01 * rng.random(N), rng.normal(size=N), bit * 2.0, np.ones(N)], axis=1)
    found = information(eighths(states), bit)
    capacity = 1 + e * np.log2(e) + (1 - e) * np.log2(1 - e)
    np.testing.assert_allclose(found[0], capacity, atol=0.02)  # some five standard errors
    assert found[1] < 0.005
    np.testing.assert_allclose(found[2], entropy(bit), atol=1e-3)
    assert found[3] == 0


def test_the_units_that_follow_the_text_are_found_and_named(rng: np.random.Generator) -> None:
    line = "    say('a longer word', x)\nno = 'quotes'\n"
    text = [line * 5, "y = 3  # a comment that is longer\n" + line * 4 + "yes = 4"]
    text = [piece[: min(map(len, text))] for piece in text]
    U = 30
    states = rng.normal(size=(len(text[0]), 2, U))
    for unit, of in ((4, indentation), (17, inside_quotes), (23, position_in_line)):
        states[:, :, unit] = np.stack([of(piece) for piece in text], 1) * -2.0 + 1
    found = {one.what: one for one in most_telling(states, text)}
    assert {what: one.unit for what, one in found.items()} == {
        "the indentation": 4,
        "whether a quotation is open": 17,
        "the position in the line": 23,
    }
    for one in found.values():
        assert 0.6 * one.of < one.bits <= one.of  # eighths of the values do not distinguish rare ones


def test_no_unit_is_shown_twice_and_few_units_make_few_pictures() -> None:
    text = ["  'a b'\n" * 20]
    ramp = np.arange(len(text[0]), dtype=float)[:, None, None] % 8
    assert [one.unit for one in most_telling(ramp, text)] == [0]
    both = most_telling(np.concatenate([ramp, -ramp], axis=2), text)
    assert sorted(one.unit for one in both) == [0, 1]


def test_a_text_without_lines_is_told_by_its_characters_and_one_of_a_single_character_by_nothing() -> None:
    text = "ab" * 40
    states = np.array([[[0.0, float(c == "a")]] for c in text])
    (found,) = most_telling(states[:8], [text[:8]])
    assert (found.unit, found.what) == (1, "the character read")
    (found,) = most_telling(states[:8], ["aaaaaaaa"])
    assert (found.unit, found.what, found.bits) == (0, "", 0.0)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_the_states_are_those_of_the_trace_layer_by_layer(cell: str, both: bool, rng: np.random.Generator) -> None:
    T, B, H = 7, 3, 5
    model = CharModel(Options(cell=cell, hidden=H, layers=2, bidirectional=both), 6)
    for p in model.parameters():
        p.assign(rng.normal(size=p.shape))
    ids = rng.integers(6, size=(T, B))
    with mr.no_grad():
        seen = model.trace(ids, model.zero_state(B))
    layers = [[values.states["c" if cell == "lstm" else "h"] for values in steps] for steps in seen.steps]
    states = states_of(model, ids)
    assert states.shape == (T, B, (4 if both else 2) * H)
    for p, steps in enumerate(layers):
        np.testing.assert_allclose(states[:, :, p * H : (p + 1) * H], np.stack(steps), rtol=0, atol=1e-5)


def test_units_have_names() -> None:
    assert name_of(CharModel(Options(cell="gru", hidden=5), 6), 3) == "unit 3"
    assert name_of(CharModel(Options(hidden=5, layers=2, projection=2), 6), 8) == "unit 3 of layer 1"
    assert (
        name_of(CharModel(Options(cell="rnn", hidden=5, layers=2, bidirectional=True), 6), 17)
        == "unit 2 of layer 1, reading backward"
    )
