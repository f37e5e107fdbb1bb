"""Numbers on the command line are read, or rejected with a message."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pytest

from minirnn.arguments.user_error import UserError
from minirnn.commands.arguments import real, try_file, whole


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


def test_a_file_to_write_is_tried_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old.json").write_text("old")
    for name in ("old.json", "new.json"):
        try_file("--out", str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
    assert (tmp_path / "old.json").read_text() == "old"
    for name, words in ((f"{tmp_path}/no/x.json", "no such folder"), (f"{tmp_path}", "this is a folder")):
        with pytest.raises(UserError, match=f"^--out {name}: {words}"):
            try_file("--out", name)

    def refused(**options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    with pytest.raises(UserError, match="new.json: Permission denied"):
        try_file("--out", str(tmp_path / "new.json"))
