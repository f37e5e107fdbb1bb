"""``minirnn figures --pdf FOLDER``: the figures of the chapters, as files for slides."""

from __future__ import annotations

import argparse
import contextlib
import io
import runpy
from pathlib import Path
from typing import Any

from minirnn import viz
from minirnn.arguments.user_error import UserError
from minirnn.viz import display

TUTORIALS = Path(__file__).parents[2] / "tutorials"
WORDS = TUTORIALS.parent / "docs" / "drawings" / "alt.py"
KINDS = ("pdf", "svg", "png")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("chapters", nargs="*", type=int, metavar="N", help="numbers of chapters (default: all)")
    group = parser.add_mutually_exclusive_group(required=True)
    for kind in KINDS:
        group.add_argument(f"--{kind}", metavar="FOLDER", help=f"write {kind.upper()} files to this folder")


def run(args: argparse.Namespace) -> int:
    """Run the chapters and write their figures. The exit status is 1 if a chapter cannot run on this machine."""
    chapters = _chosen(args.chapters)
    described = runpy.run_path(str(WORDS))["described"]
    kind = next(kind for kind in KINDS if getattr(args, kind) is not None)
    folder = Path(getattr(args, kind))
    folder.mkdir(parents=True, exist_ok=True)
    missing = 0
    for path in chapters:
        try:
            shown = _shown_by(path)
        except SystemExit as error:  # the chapter reports its requirements
            print(f"{path.stem}: {error}")
            missing += 1
            continue
        for k, picture in enumerate(shown, 1):
            file = folder / f"{path.stem}_{k}.{kind}"
            viz.save(picture, file)
            print(f"{file}: {described(picture)}")
    return 1 if missing else 0


def _chosen(numbers: list[int]) -> list[Path]:
    chapters = {int(path.name[:2]): path for path in sorted(TUTORIALS.glob("[0-9][0-9]_*.py"))}
    if not chapters:
        raise UserError(f"no chapters in {TUTORIALS}: run minirnn figures in a clone of the repository")
    for number in numbers:
        if number not in chapters:
            raise UserError(f"there is no chapter {number}; the chapters are 1 to {max(chapters)}")
    return [chapters[number] for number in numbers or chapters]


def _shown_by(path: Path) -> list[Any]:
    """The pictures that a chapter shows. Its printed text is discarded."""
    with display.collecting() as shown, contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(path))
    return shown
