"""What was timed is kept whole: by several processes at once, through interruptions, beside damaged files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from minirnn.devices.cuda.launch.cudnn_rnn import timings as module
from minirnn.devices.cuda.launch.cudnn_rnn.timings import ENDED, Timing, Timings

ABOUT = {"gpu": "one", "driver": [13000, ""]}
FAST = Timing(64, {"steps": 2e-3, "cluster": 1e-4}, {"persistent": "its results differ"})


def test_what_was_put_is_read_by_another_process_s_object(tmp_path: Path) -> None:
    mine, other = Timings(ABOUT, tmp_path / "deep" / "folder"), Timings(ABOUT, tmp_path / "deep" / "folder")
    assert other.read() == {}
    mine.put("a", FAST)
    other.put("b", Timing(5, {"steps": 1.0}))
    assert mine.read() == other.read() == {"a": FAST, "b": Timing(5, {"steps": 1.0})}
    mine.put("a", Timing(6, {"steps": 0.5}))
    assert other.read()["a"] == Timing(6, {"steps": 0.5})
    assert [path.name for path in mine.path.parent.iterdir()] == [mine.path.name]
    assert json.loads(mine.path.read_text())["about"] == mine.about  # people can read what it is about


def test_another_gpu_driver_compiler_or_kernel_has_a_file_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = {Timings(about, tmp_path).path for about in (ABOUT, {**ABOUT, "gpu": "two"}, {**ABOUT, "driver": [12000]})}
    copied = tmp_path / "cuda"
    shutil.copytree(module.HERE.parents[1], copied, ignore=shutil.ignore_patterns("__pycache__", "sim"))
    monkeypatch.setattr(module, "HERE", copied / "launch" / "cudnn_rnn")
    for changed in ("kernels/grid.cuh", "kernels/cudnn_rnn/steps.cu", "launch/cudnn_rnn/plan.py"):
        module.fingerprint.cache_clear()
        paths.add(Timings(ABOUT, tmp_path).path)
        with open(copied / changed, "a") as file:
            file.write("\n")
    module.fingerprint.cache_clear()
    paths.add(Timings(ABOUT, tmp_path).path)
    monkeypatch.undo()
    module.fingerprint.cache_clear()
    assert len(paths) == 3 + 3


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": 2, "timings": {}}',
        b'{"format": 1}',
        b'{"format": 1, "timings": [1], "running": 7}',
        b'{"format": 1, "timings": {"a": 1, "b": {"steps": "x"}}, "running": {"a": 5}}',
        b'{"format": 1, "timings": {"a": {"steps": 2, "seconds": {"steps": NaN}, "dropped": {}}}}',
        b'{"format": 1, "timings": {"a": {"steps": 2, "seconds": {"steps": -1}, "dropped": {}}}}',
        b'{"format": 1, "timings": {"a": {"steps": 2, "seconds": {"steps": "1"}, "dropped": {}}}}',
        b'{"format": 1, "timings": {"a": {"steps": 2, "seconds": {}, "dropped": {}}}}',
        b'{"format": 1, "timings": {"a": {"steps": 2, "seconds": {"steps": 1}, "dropped": []}}}',
    ],
    ids=lambda text: repr(text[:40]),
)
def test_a_damaged_file_counts_as_an_empty_one_and_is_mended(text: bytes, tmp_path: Path) -> None:
    kept = Timings(ABOUT, tmp_path)
    kept.path.write_bytes(text)
    assert kept.read() == {} and kept.lost_in("a") == {}
    kept.mark("a", "cluster")
    kept.put("a", FAST)
    assert kept.read()["a"] == FAST and kept.lost_in("a") == {"cluster": ENDED}


def test_a_file_that_was_cut_off_anywhere_is_no_error(tmp_path: Path) -> None:
    kept = Timings(ABOUT, tmp_path)
    kept.put("a", FAST)
    whole = kept.path.read_bytes()
    for length in range(len(whole) - 1):
        kept.path.write_bytes(whole[:length])
        assert kept.read() == {}


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_write_that_fails_leaves_the_old_file(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Timings(ABOUT, tmp_path)
    kept.put("a", FAST)

    def fails(*args: Any) -> None:
        raise error

    monkeypatch.setattr(os, "replace", fails)
    if error is OSError:
        kept.put("b", FAST)  # a full disk is no reason to stop computing
    else:
        with pytest.raises(KeyboardInterrupt):
            kept.put("b", FAST)
    assert kept.read() == {"a": FAST}
    assert [path.name for path in tmp_path.iterdir()] == [kept.path.name]


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = Timings(ABOUT, tmp_path / "file" / "folder")
    with kept.alone():
        kept.put("a", FAST)
        kept.mark("a", "cluster")
    assert kept.read() == {} and kept.lost_in("a") == {}


def test_a_mark_stays_until_it_is_taken_away(tmp_path: Path) -> None:
    mine, other = Timings(ABOUT, tmp_path), Timings(ABOUT, tmp_path)
    mine.put("a", FAST)
    mine.mark("a", "cluster")
    mine.mark("a", "persistent")
    mine.mark("b", "cluster")
    assert other.lost_in("a") == {"cluster": ENDED, "persistent": ENDED}
    other.unmark("a", "cluster")
    assert mine.lost_in("a") == {"persistent": ENDED} and mine.lost_in("b") == {"cluster": ENDED}
    mine.unmark("a", "persistent")
    mine.unmark("a", "persistent")
    assert mine.lost_in("a") == {} and mine.read() == {"a": FAST}


def test_the_default_place_is_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path))
    assert Timings(ABOUT).path.parent == tmp_path / "cuda"


WRITER = """
import sys
from pathlib import Path
from minirnn.devices.cuda.launch.cudnn_rnn.timings import Timing, Timings
kept = Timings({"gpu": "one", "driver": [13000, ""]}, Path(sys.argv[1]))
for k in range(25):
    with kept.alone():
        kept.mark("all", sys.argv[2])
        kept.put(f"{sys.argv[2]} {k}", Timing(k, {"steps": 1.0}))
        kept.unmark("all", sys.argv[2])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks are those of Unix")
def test_several_processes_lose_nothing_and_a_reader_sees_whole_files(tmp_path: Path) -> None:
    kept = Timings(ABOUT, tmp_path)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "abc"]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        found = len(kept.read())
        assert found >= seen
        seen = found
        if kept.path.exists():
            json.loads(kept.path.read_text())
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert sorted(kept.read()) == sorted(f"{name} {k}" for name in "abc" for k in range(25))
    assert kept.lost_in("all") == {}


@pytest.mark.skipif(sys.platform == "win32", reason="locks are those of Unix")
def test_who_waits_too_long_goes_on_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    kept = Timings(ABOUT, tmp_path)
    clock = iter(range(1000))
    naps: list[float] = []
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(module.time, "sleep", naps.append)
    monkeypatch.setattr(module, "PATIENCE", 5)
    with open(kept.path.with_suffix(".lock"), "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with kept.alone():
            kept.put("a", FAST)
    assert len(naps) == 5
    naps.clear()
    with kept.alone(), open(kept.path.with_suffix(".lock"), "w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not naps and kept.read() == {"a": FAST}


def test_an_error_inside_gives_the_lock_back(tmp_path: Path) -> None:
    kept = Timings(ABOUT, tmp_path)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="inside"), kept.alone():
            raise RuntimeError("inside")
