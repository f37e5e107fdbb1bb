"""The notebooks of the tutorials run from their first cell to the last and show pictures. Their text is Markdown.

Tests `docs/install_cell.py`, `docs/repository.py`, `docs/chapter_text.py`, the notebooks that the site offers (they run
when it is built), and `minirnn/viz/display.py` in a notebook.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.slow import slow_unless

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "docs" / "tutorials"
CELL = ROOT / "docs" / "install_cell.py"
NOTEBOOKS = sorted(BUILT.glob("[0-9]*.ipynb"))
SITE = 'pip install -e ".[docs,site]"'
PICTURES = """
import minirnn as mr

picture = mr.viz.loss_curve([1, 2], [3, 2])
mr.viz.show(picture)
mr.viz.show(picture.figure)
x = mr.tensor([1.0], requires_grad=True)
mr.viz.show(mr.viz.tape_graph((x * x).sum()))
"""

sys.path.insert(0, str(ROOT / "docs"))
from repository import first_cell, here  # noqa: E402


def run_cell(cell: str, folder: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run a cell in `folder` like a notebook, in a Python without minirnn whose pip reports its arguments."""
    pip = tmp_path / "recorder" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").touch()
    (pip / "__main__.py").write_text("import sys; print(sys.argv[1:], flush=True)")
    code = f"""
import pathlib, sys
has = lambda p: (pathlib.Path(p) / "minirnn" / "__init__.py").exists()
sys.path[:] = [p for p in sys.path if p and not has(p)]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in getattr(f, "__module__", "")]
exec(compile({cell!r}, "cell", "exec"))
print(minirnn.__file__)
"""
    environment = {**os.environ, "PYTHONPATH": str(pip.parent)}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("address", ["", "https://github.com/somebody/minirnn"])
def test_the_first_cell_installs_the_clone_that_it_lies_in(tmp_path: Path, address: str) -> None:
    clone = tmp_path / "clone"
    (clone / "minirnn").mkdir(parents=True)
    (clone / "docs" / "tutorials").mkdir(parents=True)
    (clone / "minirnn" / "__init__.py").write_text('__version__ = "0"\n')
    done = run_cell(first_cell(address), clone / "docs" / "tutorials", tmp_path)
    asked, version, file = done.stdout.splitlines()
    assert asked == str(["install", "-q", "-e", str(clone)])
    assert (version, file) == ("minirnn 0", str(clone / "minirnn" / "__init__.py"))


def test_outside_of_a_clone_the_first_cell_asks_no_index_and_says_what_to_do(tmp_path: Path) -> None:
    done = run_cell(first_cell(""), tmp_path, tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert "pip install -e PATH/TO/THE/CLONE" in done.stderr


def test_outside_of_a_clone_the_first_cell_installs_from_the_address_once_there_is_one(tmp_path: Path) -> None:
    done = run_cell(first_cell("https://github.com/somebody/minirnn"), tmp_path, tmp_path)
    assert done.stdout.splitlines() == [
        str(["install", "-q", "minirnn @ git+https://github.com/somebody/minirnn"])
    ]  # the requested package is not there, so the import that follows fails
    assert "No module named 'minirnn'" in done.stderr


def test_where_minirnn_is_nothing_is_installed() -> None:
    done = subprocess.run([sys.executable, str(CELL)], cwd=ROOT, capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "PIP_NO_INDEX": "1"})  # fmt: skip
    assert done.stdout.startswith("minirnn ")


@pytest.mark.skipif(not NOTEBOOKS, reason="the site is not built")
# A sample: the site was built by running all of them, and tests/test_tutorials.py runs each as a script.
@pytest.mark.parametrize("path", slow_unless(12, NOTEBOOKS), ids=lambda p: p.stem)
def test_a_notebook_begins_with_the_installation_runs_and_shows_pictures(path: Path, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason=SITE)
    nbformat = pytest.importorskip("nbformat", reason=SITE)
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0].source == first_cell(here())
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=500, resources=resources).execute(
        env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    outputs = [output for cell in code for output in cell.outputs]
    images = [o for o in outputs if any(kind.startswith("image/") for kind in o.get("data", {}))]
    assert images, json.dumps([o.get("text", "") for o in outputs])[:500]


@pytest.mark.skipif(not NOTEBOOKS, reason="the site is not built")
def test_every_tutorial_has_a_notebook() -> None:
    assert [p.stem for p in NOTEBOOKS] == sorted(p.stem for p in (ROOT / "tutorials").glob("[0-9]*.py"))


@pytest.mark.skipif(not NOTEBOOKS, reason="the site is not built")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_the_text_of_a_notebook_is_markdown(path: Path) -> None:
    """Each numbered equation of the chapter is there with its number, and nothing is left of reStructuredText."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    left = re.findall(r":(?:eq|doc|math|label|ref|class|func):.*|``.*|^\.\. .*|^\| .*", text, flags=re.M)
    assert not left
    chapter = (ROOT / "tutorials" / f"{path.stem}.py").read_text(encoding="utf-8")
    labels = re.findall(r"^# +:label: (\S+)$", chapter, flags=re.M)
    tags = [f"\\tag{{{int(path.stem[:2])}.{k}}}" for k in range(1, len(labels) + 1)]
    assert [text.count(tag) for tag in tags] == [1] * len(labels)


def test_a_notebook_holds_the_pictures_below_their_cells_and_nothing_is_written(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason=SITE)
    nbclient = pytest.importorskip("nbclient", reason=SITE)
    cells = [nbformat.v4.new_code_cell(part) for part in PICTURES.split("\n\n")]
    cells.append(nbformat.v4.new_code_cell("import matplotlib.pyplot as plt\nmr.viz.show(plt.figure())\nplt.close()"))
    notebook = nbformat.v4.new_notebook(cells=cells)
    # A kernel of this interpreter, whatever kernels are installed for others.
    spec = tmp_path / "kernels" / "here"
    spec.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "here", "language": "python"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(tmp_path))
        patch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
        patch.setenv("PYTHONPATH", str(ROOT))
        work = tmp_path / "work"
        work.mkdir()
        nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="here", resources={"metadata": {"path": work}}
        ).execute()
    kinds = [[kind for output in cell.outputs for kind in output.get("data", {})] for cell in notebook.cells]
    assert kinds[0] == [] and kinds[-1].count("image/png") == 1
    assert [kind for kind in kinds[1] if kind.startswith(("image", "text/html"))] == ["image/png"] * 3
    assert list(work.iterdir()) == []
