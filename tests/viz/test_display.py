import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import display, loss_curve, show
from tests.slow import slow_unless

SCRIPT = """
import minirnn as mr

picture = mr.viz.loss_curve([1, 2], [3, 2])
mr.viz.show(picture)
mr.viz.show(picture.figure)
x = mr.tensor([1.0], requires_grad=True)
mr.viz.show(mr.viz.tape_graph((x * x).sum()))
print("the end")
"""
# A Matplotlib backend with a window, which reports that it was opened and is closed at once.
SCREEN = """
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib import pyplot


class Window(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block=None):
        for number in pyplot.get_fignums():
            print("window:", pyplot.figure(number).axes[0].get_title())
        pyplot.close("all")


class FigureCanvas(FigureCanvasAgg):
    manager_class = Window
"""
PNG = b"\x89PNG\r\n"


def run(folder: Path, script: str = SCRIPT, **environment: str) -> list[str]:
    """The lines that a script prints in this folder, which may contain modules for it."""
    (folder / "some_script.py").write_text(script)
    kept = {k: v for k, v in os.environ.items() if k not in ("MPLBACKEND", "DISPLAY", "WAYLAND_DISPLAY")}
    path = os.pathsep.join([str(folder), str(Path(mr.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "some_script.py"], capture_output=True, text=True, cwd=folder, timeout=300,
        env=kept | {"PYTHONPATH": path} | environment,
    )  # fmt: skip
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.splitlines()


# TkAgg: requests a screen where there is none.
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a display is there without a variable that names it")
@pytest.mark.parametrize("backend", slow_unless([{}], [{}, {"MPLBACKEND": "agg"}, {"MPLBACKEND": "TkAgg"}]))
def test_without_a_display_a_script_writes_files_and_says_so_in_a_line_each(tmp_path, backend):
    names = ["some_script-1.png", "some_script-2.png", "some_script-3.png"]
    folder = tmp_path / "minirnn-pictures"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("of a run before, and replaced")
    said = run(tmp_path, **backend)
    assert said == [*(f"saved {Path('minirnn-pictures') / name}" for name in names), "the end"]
    written = sorted(folder.iterdir())
    assert [p.name for p in written] == names
    assert [p.read_bytes()[:6] for p in written] == [PNG, PNG, PNG]


@pytest.mark.slow
def test_with_a_display_each_picture_opens_a_window(tmp_path):
    (tmp_path / "screen.py").write_text(SCREEN)
    of_pyplots = 'import matplotlib.pyplot as plt\nfigure, ax = plt.subplots()\nax.set_title("mine")\n'
    script = SCRIPT + of_pyplots + "mr.viz.show(figure)\n"
    lines = run(tmp_path, script, MPLBACKEND="module://screen")
    title, tape = "window: Loss while training", "window: The tape: values flow right, gradients flow back left"
    assert lines == [title, title, tape, "the end", "window: mine"]


def test_what_is_shown_can_be_collected_instead(monkeypatch):
    monkeypatch.setattr(display, "_collected", None)
    picture, figure = loss_curve([1, 2], [3, 2]), Figure()
    with display.collecting() as shown:
        show(picture)
        show(figure)
    assert shown == [picture, figure] and display._collected is None


def test_the_name_is_that_of_the_script(monkeypatch):
    main = sys.modules["__main__"]
    for path, name in (("a/train.py", "train"), ("a/package/__main__.py", "package"), (None, "python")):
        monkeypatch.setattr(main, "__file__", path, raising=False)
        assert display._script() == name


def test_a_folder_that_cannot_be_made_is_an_error_and_no_number_is_used_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(display, "_show_in_window", lambda figure: False)
    monkeypatch.setattr(display, "_written", type(display._written)())
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "here.py", raising=False)
    (tmp_path / display.FOLDER).write_text("a file in its place")
    with pytest.raises(ValueError, match=r"show: cannot create the folder 'minirnn-pictures' in .*\n  expected"):
        show(Figure((1, 1)))
    (tmp_path / display.FOLDER).unlink()
    for _ in range(3):
        show(Figure((1, 1)))
    assert sorted(p.name for p in (tmp_path / display.FOLDER).iterdir()) == ["here-1.png", "here-2.png", "here-3.png"]


@pytest.mark.parametrize(
    ("shell", "notebook"),
    [
        (None, False),
        (SimpleNamespace(), False),
        (SimpleNamespace(kernel=None), False),
        (SimpleNamespace(kernel=1), True),
    ],
)
def test_only_ipython_with_a_kernel_is_a_notebook(shell, notebook, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert display._in_notebook() is notebook


def test_without_ipython_there_is_no_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert display._in_notebook() is False


@pytest.mark.parametrize(
    ("backend", "files"), [("agg", True), ("Agg", True), ("svg", True), ("TkAgg", False), ("module://screen", False)]
)
def test_a_backend_that_matplotlib_does_not_know_as_one_for_files_has_windows(backend, files, monkeypatch):
    monkeypatch.setattr("matplotlib.get_backend", lambda: backend)
    assert display._draws_files_only() is files
