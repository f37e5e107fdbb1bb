"""``minirnn figures``: files for slides, made from the chapters."""

from __future__ import annotations

from pathlib import Path

import pytest

from minirnn.commands import cli, figures
from minirnn.viz import display

CHAPTER = """
from matplotlib.figure import Figure
import minirnn as mr
print("this is not shown")
mr.viz.show(mr.viz.loss_curve([1, 2], [3.0, 2.0]))
mr.viz.show(mr.viz.loss_curve([1, 2, 3], [3.0, 2.0, 1.5]))
"""


@pytest.fixture
def chapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tutorials"
    folder.mkdir()
    (folder / "01_one.py").write_text(CHAPTER)
    (folder / "02_two.py").write_text('raise SystemExit("This page needs the simulator")')
    monkeypatch.setattr(figures, "TUTORIALS", folder)
    return folder


@pytest.mark.parametrize(("kind", "first"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_the_figures_of_a_chapter_become_files_that_are_described(
    chapters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, first: bytes
) -> None:
    assert cli.main(["figures", "1", f"--{kind}", str(tmp_path / "out")]) == 0
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == [f"01_one_1.{kind}", f"01_one_2.{kind}"]
    assert all(file.read_bytes().startswith(first) for file in files)
    told = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in told] == [str(file) for file in files]
    assert all("loss" in line.partition(": ")[2] for line in told)
    assert display._collected is None


def test_the_same_figures_give_the_same_files(chapters: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert cli.main(["figures", "1", "--pdf", str(tmp_path / folder)]) == 0
    assert (tmp_path / "one" / "01_one_2.pdf").read_bytes() == (tmp_path / "two" / "01_one_2.pdf").read_bytes()


def test_a_chapter_that_cannot_run_here_says_why_and_the_others_are_written(
    chapters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["figures", "--svg", str(tmp_path / "out")]) == 1
    assert "02_two: This page needs the simulator" in capsys.readouterr().out
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_chapter_that_is_not_there_is_one_line(
    chapters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["figures", "7", "--pdf", str(tmp_path)]) == 2
    assert "there is no chapter 7; the chapters are 1 to 2" in capsys.readouterr().err
    monkeypatch.setattr(figures, "TUTORIALS", tmp_path / "nowhere")
    assert cli.main(["figures", "--pdf", str(tmp_path)]) == 2
    assert "in a clone of the repository" in capsys.readouterr().err
