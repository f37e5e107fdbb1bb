from __future__ import annotations

import os
import sysconfig

import pytest

from minirnn.data import CharVocabulary, python_source_text, read_text
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


def test_a_binary_file_is_named_by_its_first_nul_byte(tmp_path):
    file = tmp_path / "image.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" * 200)
    with pytest.raises(ValueError, match=r"image.png': byte 8 is NUL\n.*\n.*binary"):
        read_text(file)


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


def test_missing_files_folders_and_devices_are_told_apart(tmp_path):
    with pytest.raises(ValueError, match="nowhere.txt': no such file"):
        read_text(tmp_path / "nowhere.txt")
    with pytest.raises(ValueError, match="no such file"):
        read_text(tmp_path / ("x" * 500))
    with pytest.raises(ValueError, match="this is a folder"):
        read_text(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="not a regular file"):
            read_text(tmp_path / "pipe")


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
