"""The description of this machine, and how the user starts programs on it."""

from pathlib import Path

import pytest

from minirnn.machine import computer


def test_paths_are_shown_as_a_user_in_this_folder_would_type_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert computer.short(str(tmp_path / ".venv" / "bin" / "python")) == ".venv/bin/python"
    assert computer.short(str(tmp_path / "minirnn")) == "./minirnn"
    assert computer.short("/usr/bin/python3") == "/usr/bin/python3"
    assert computer.short(str(tmp_path / "minirnn"), tmp_path / "course") == str(tmp_path / "minirnn")
