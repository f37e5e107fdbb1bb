"""Suggestions of what the user likely meant."""

import pytest

from minirnn.arguments.messages import likely, meant, shown

CELLS = ("lstm", "gru", "rnn")
DEVICES = ("cpu", "cuda", "cuda-sim")


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("lstn", CELLS, ["lstm"]),
        ("LSTM", CELLS, ["lstm"]),
        ("gruu", CELLS, ["gru"]),
        ("transformer", CELLS, []),
        ("", CELLS, []),
        ("cuda_sim", DEVICES, ["cuda-sim"]),
        ("gpu", DEVICES, ["cuda"]),
        ("GPU", DEVICES, ["cuda"]),
        ("x" * 100_000, DEVICES, []),
    ],
)
def test_the_nearest_name_is_meant(name: str, known: tuple[str, ...], expected: list[str]) -> None:
    assert likely(name, known, {"gpu": "cuda"}) == expected


def test_names_that_contain_the_word_come_before_those_that_look_like_it() -> None:
    assert likely("lstm", ("lt", "block_lstm", "lstm_cell"), most=9) == ["block_lstm", "lstm_cell"]
    assert likely("lstm", ("lt", "block_lstm", "lstm_cell")) == ["block_lstm"]


def test_what_is_meant_is_a_line_of_its_own_or_nothing() -> None:
    assert meant("trian", ["train", "verify"]) == "\n  likely 'train' is meant"
    assert meant("tan", ["tanh", "atan"], most=2) == "\n  likely 'tanh' or 'atan' is meant"
    assert meant("q", ["train"]) == ""


def test_long_values_are_shown_short_and_on_one_line() -> None:
    assert len(shown("x" * 1000)) <= 62 and shown("a\nb") == "'a\\nb'"
    assert shown(10**5000) == "an integer of 16610 bits"
    assert shown([1, 10**5000]) == "[1, an integer of 16610 bits]"
