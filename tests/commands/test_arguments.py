"""Numbers on the command line are read, or refused in words."""

from __future__ import annotations

import argparse

import pytest

from minirnn.commands.arguments import real, whole


def test_whole_numbers_have_their_limits() -> None:
    assert whole(2, 5)("2") == 2 and whole(2, 5)("5") == 5 and whole(0)("100") == 100
    for text in ("1", "6", "x", "2.0", ""):
        with pytest.raises(argparse.ArgumentTypeError, match=rf"got '{text}', expected a whole number, 2 .. 5"):
            whole(2, 5)(text)


def test_numbers_fit_or_are_refused() -> None:
    positive = real(lambda x: x > 0, "a number above 0")
    assert positive("2.5") == 2.5
    for text in ("0", "nan", "many"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"got '{text}', expected a number above 0"):
            positive(text)
