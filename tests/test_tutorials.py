"""Every tutorial runs from top to bottom, checks its own numbers, and becomes a page of the site.

Tests `tutorials/`.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minirnn as mr


def returned(function: Any) -> Any:
    """The annotated return type of a public name."""
    return getattr(function, "__annotations__", {}).get("return")


DRAWINGS = {name for name in mr.viz.__all__ if returned(getattr(mr.viz, name)) == "Picture"}
TUTORIALS = sorted((Path(__file__).parents[1] / "tutorials").glob("[0-9][0-9]_*.py"))
BOOK = Path(__file__).parent / "book"
CLAIMS = "".join(path.read_text(encoding="utf-8") for path in sorted(BOOK.glob("test_claims*.py")))
RUN = {path.stem for path in TUTORIALS if f"def test_{path.name[:2]}_" in CLAIMS}
RUN |= {path.stem for path in (BOOK / "bound").glob("*.txt")}
ALONE = [path for path in TUTORIALS if path is TUTORIALS[0] or path.stem not in RUN]
"""Run as a user runs them: one, and those that the tests of `tests/book/` do not run anyway."""


@pytest.mark.slow
@pytest.mark.parametrize("path", ALONE, ids=lambda p: p.stem)
def test_a_tutorial_runs_without_a_warning_and_says_something(path: Path, tmp_path: Path) -> None:
    if "cuda.sim" in path.read_text() and (reason := mr.devices.available()["cuda-sim"]):
        pytest.skip(reason)
    # The products are small, so on a busy machine the threads of BLAS would only wait for each other.
    env = {"OPENBLAS_NUM_THREADS": "1"} | os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and done.stdout
    shows = path.read_text(encoding="utf-8").count("mr.viz.show(")
    pictures = [tmp_path / "minirnn-pictures" / f"{path.stem}-{k}.png" for k in range(1, shows + 1)]
    assert sorted(tmp_path.rglob("*.*")) == sorted(pictures)  # exactly the pictures that it makes are shown
    assert shows >= 1 and min(picture.stat().st_size for picture in pictures) > 5000
    assert all(f"saved {picture.relative_to(tmp_path)}" in done.stdout for picture in pictures)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_every_figure_that_a_tutorial_draws_is_shown_by_the_call_that_users_write(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    drawn = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "minirnn.viz"
             for name in node.names} & DRAWINGS  # fmt: skip
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [ast.unparse(call.func) for call in calls]
    made = sum(name in drawn | {"Figure"} for name in names)
    assert names.count("mr.viz.show") >= made, (names.count("mr.viz.show"), made)


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda p: p.stem)
def test_a_tutorial_opens_with_a_question_shows_a_picture_and_ends_with_something_to_try(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    title, underline, question = (line for line in (ast.get_docstring(ast.parse(text)) or "").splitlines()[:4] if line)
    assert title.startswith(f"{int(path.name[:2])}. ") and set(underline) == {"="} and len(underline) == len(title)
    assert question.startswith("*") and question.endswith("?*")
    assert re.search(r"minirnn\.viz|Figure\(", text)
    assert text.rstrip().rpartition("# Try it\n# ------\n")[2].startswith("# ")
    assert path.stem in RUN and not re.search(r"^\s*assert ", text, flags=re.M)
