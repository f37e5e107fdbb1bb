"""Compiled libraries on disk.

Tests `minirnn/devices/host_cpp/cache.py` and `minirnn/devices/host_cpp/compiler.py`.
"""

from pathlib import Path

import pytest

from minirnn.devices.host_cpp import cache, compiler


def test_a_library_is_made_once(tmp_path: Path) -> None:
    calls = []

    def make(path: Path) -> None:
        calls.append(path)
        path.write_text("made")

    first = cache.built(tmp_path, "key", make)
    assert cache.built(tmp_path, "key", make) == first and len(calls) == 1
    assert first.name == f"key.{cache.checksum(first)}.so" and first.read_text() == "made"
    assert cache.built(tmp_path, "other", make) != first and len(calls) == 2
    assert {path.suffix for path in tmp_path.iterdir()} == {".so"}, "nothing else is left"


@pytest.mark.parametrize("damage", ["cut", "MADE", "\0\0\0\0"])
def test_a_library_that_is_not_what_was_made_is_made_anew(tmp_path: Path, damage: str) -> None:
    def make(path: Path) -> None:
        path.write_text("made")

    made = cache.built(tmp_path, "key", make)
    made.write_text(damage)
    assert cache.built(tmp_path, "key", make).read_text() == "made"


def test_a_maker_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise compiler.CompileError("no")

    with pytest.raises(compiler.CompileError):
        cache.built(tmp_path, "key", fail)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_replaced_by_a_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "file"))
    found = cache.folder("native")
    assert found.is_dir() and tmp_path not in found.parents
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "cache"))
    assert cache.folder("native") == tmp_path / "cache" / "native"
