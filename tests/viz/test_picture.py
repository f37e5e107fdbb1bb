import os
import subprocess
import sys
from io import BytesIO

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import Picture, gate_map, gradient_flow, gradient_shares, loss_curve, save, style
from minirnn.viz.picture import new_figure
from tests.slow import slow_unless

GATES = {"f": np.full((4, 2, 3), 0.5), "ci": np.full((4, 2, 3), -0.5)}
DRAWINGS = {
    "loss_curve": lambda: loss_curve(
        np.arange(200),
        np.linspace(4, 1, 200),
        validation=([50, 150], [3, 2]),
        baselines={"unigram entropy": 3.1},
        bits=True,
    ),
    "gradient_flow": lambda: gradient_flow([[0.0, 1e-9, 1.0], [1.0, np.nan, 2.0]], max_columns=2),
    "gradient_flow, one layer": lambda: gradient_flow(np.geomspace(1e-9, 1, 1000)[None]),
    "gate_map": lambda: gate_map({name: values[:, 0] for name, values in GATES.items()}),
}


@pytest.mark.slow
def test_importing_is_cheap_and_drawing_never_touches_pyplot():
    code = """
import sys
import minirnn.data, minirnn.io, minirnn.viz
heavy = {"matplotlib", "tqdm", "torch", "pycuda", "safetensors"} & sys.modules.keys()
assert not heavy, heavy
import numpy as np
minirnn.viz.gradient_flow(np.ones((2, 3)))._repr_png_()
assert "matplotlib.pyplot" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("look", [{}, pytest.param(style, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", slow_unless(["gradient_flow"], DRAWINGS))
def test_every_word_lies_within_the_figure_and_no_setting_of_matplotlibs_changes(name, look):
    with matplotlib.rc_context(look):
        before = dict(matplotlib.rcParams)
        figure = DRAWINGS[name]().figure
        figure.savefig(BytesIO(), dpi=20)  # the layout is found while rendering
        drawn = figure.get_tightbbox()  # inches, labels included
        assert dict(matplotlib.rcParams) == before
    assert drawn.x0 > -0.01
    assert drawn.y0 > -0.01
    assert drawn.x1 < figure.get_figwidth() + 0.01
    assert drawn.y1 < figure.get_figheight() + 0.01


def test_a_picture_tells_what_it_holds():
    picture = loss_curve([1, 2], [3, 2])
    assert repr(picture) == "Picture(steps (2,), train_loss (2,), baselines (0,))"
    assert isinstance(picture, Picture)


def test_a_notebook_shows_a_picture_once():
    assert DRAWINGS["gate_map"]()._repr_png_().startswith(b"\x89PNG")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    assert loss_curve([1, 2], [3, 2], ax=ax)._repr_png_() is None  # pyplot's own display does it
    pyplot.close(figure)


def test_the_figure_of_axes_in_a_subfigure_is_the_whole_one():
    figure = Figure()
    left, _ = figure.subfigures(1, 2)
    picture = loss_curve([1, 2], [3, 2], ax=left.add_subplot())
    assert picture.figure is figure


def test_pictures_are_written_as_png_and_svg_each_time_with_the_same_bytes(tmp_path):
    draw = DRAWINGS["gradient_flow"]
    for ending, begins in (("png", b"\x89PNG\r\n"), ("SVG", b"<?xml")):
        save(draw(), tmp_path / f"1.{ending}", dpi=30)
        save(draw().figure, str(tmp_path / f"2.{ending}"), dpi=30)
        first, second = ((tmp_path / f"{k}.{ending}").read_bytes() for k in (1, 2))
        assert first == second and first.startswith(begins)
    assert b"<svg" in first[:1000]
    assert sorted(os.listdir(tmp_path)) == ["1.SVG", "1.png", "2.SVG", "2.png"]


def test_dpi_sets_the_pixels(tmp_path):
    sizes = []
    for dpi in (10, 20):
        save(Figure((7.5, 1)), tmp_path / "a.png", dpi=dpi)
        sizes.append(int.from_bytes((tmp_path / "a.png").read_bytes()[16:20]))
    assert sizes == [75, 150]  # 7.5 inches


def test_a_picture_that_can_not_be_drawn_leaves_the_old_file(tmp_path):
    (tmp_path / "a.png").write_text("old")
    picture = loss_curve([1, 2], [3, 2])
    picture.ax.set_title("$no such formula: \\nonsense$")
    with pytest.raises(ValueError):
        save(picture, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.png"]


def test_other_endings_and_other_things_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"ends in '.jpg'\n  expected .png, .svg or .pdf"):
        save(loss_curve([1, 2], [3, 2]), tmp_path / "a.jpg")
    with pytest.raises(ValueError, match="ends in ''"):
        save(loss_curve([1, 2], [3, 2]), tmp_path / "a")
    with pytest.raises(TypeError, match="picture is list\n.*Picture"):
        save([1, 2], tmp_path / "a.png")
    with pytest.raises(ValueError, match="there is no folder"):
        save(loss_curve([1, 2], [3, 2]), tmp_path / "missing" / "a.png")
    assert os.listdir(tmp_path) == []


def test_tensors_are_drawn_like_arrays():
    rng = np.random.default_rng(12)
    losses, norms, gate = rng.random(5), rng.random((2, 3)), rng.random((4, 2, 3))
    for tensor, array in [
        (loss_curve(mr.tensor(np.arange(5)), mr.tensor(losses)), loss_curve(np.arange(5), losses)),
        (gradient_flow(mr.tensor(norms, requires_grad=True)), gradient_flow(norms)),
        (gate_map({"f": mr.tensor(gate[:, 0])}), gate_map({"f": gate[:, 0]})),
    ]:
        for name, shown in array.data.items():
            np.testing.assert_array_equal(tensor.data[name], shown)


def test_a_notebook_shows_100_pixels_an_inch():
    png = Picture(new_figure(2, 1).add_subplot(), {}, {})._repr_png_()
    assert [int.from_bytes(png[k : k + 4]) for k in (16, 20)] == [200, 100]


def test_a_number_a_step_is_a_series():
    np.testing.assert_array_equal(gradient_shares([3.0, -1.0]).data["norm"], [3, 1])


def test_a_picture_says_how_it_is_saved_and_that_it_lacks_other_names():
    picture = DRAWINGS["gate_map"]()
    for name in ("save", "savefig"):
        with pytest.raises(
            AttributeError, match=rf"a Picture has no {name}; write minirnn\.viz\.save\(picture, path\)"
        ):
            getattr(picture, name)
    assert not hasattr(picture, "colour")
