"""The pictures and the sample show the measured and written values."""

import re
from pathlib import Path

import numpy as np
import pytest

from minirnn import data, viz
from minirnn.io import checkpoint
from minirnn.train import pictures
from minirnn.train.checkpoint import CHECKPOINT
from tests.slow import slow_unless
from tests.train.runs import DEEP, Train, lines_of


def test_the_pictures_show_what_was_measured(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures: dict[str, viz.Picture] = {}
    monkeypatch.setattr(viz, "save", lambda p, path: pictures.__setitem__(path.name, p))
    assert train("--steps", "110", "--quiet") == 0
    lines = lines_of(Path("out"))

    loss = pictures["loss.png"].data
    np.testing.assert_array_equal(loss["steps"], range(10, 111, 10))
    np.testing.assert_array_equal(loss["train_loss"], [line["loss"] for line in lines[1:]])
    np.testing.assert_array_equal(loss["validation_steps"], [0, 100])

    flow = pictures["gradient_flow.png"]
    assert flow.data["norms"].shape == (6, 11)
    assert [label.get_text() for label in flow.ax.get_yticklabels()] == [
        f"{row}, {when}" for when in ("untrained", "after 110 steps") for row in ("x", "h", "c")
    ]
    np.testing.assert_array_equal(flow.data["norms"][:3], checkpoint.load("out/" + CHECKPOINT)[0]["first_norms"])
    assert (flow.data["norms"][:3] != flow.data["norms"][3:]).all()

    gates = pictures["gates.png"]
    assert set(gates.data) == {"i", "f", "o", "n", "unit"}
    assert gates.data["i"].shape == (7, 60)
    shown = "".join(label.get_text() for label in gates.ax[-1].get_xticklabels())
    assert "the\u00b7" in shown
    assert "\u21b5" in shown

    units = pictures["units.png"]
    assert isinstance(units, viz.ColoredText) and pictures["units.html"] is units
    (label,) = [ax.get_title(loc="left") for ax in units.ax]  # the text has lines, but neither quotes nor indentation
    told = r"c of unit [0-6] (tells|says little about) the position in the line: \d\.\d\d of \d\.\d\d bits"
    assert re.fullmatch(told, label)
    bits, of = map(float, re.findall(r"\d\.\d\d", label))
    assert ("tells" in label) == (bits >= 0.2 * of)


@pytest.mark.parametrize(("cell", "names"), slow_unless(2, [("gru", {"r", "z", "n", "unit"}), ("rnn", {"h", "unit"})]))
def test_deep_models_have_gates_of_the_layer_and_a_row_for_each_layer_and_direction(
    cell: str, names: set[str], train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, viz.Picture] = {}
    monkeypatch.setattr(viz, "save", lambda picture, path: drawn.update({Path(path).name: picture}))
    assert train("--steps", "2", "--cell", cell, *DEEP, "--bidirectional") == 0
    assert set(drawn["gates.png"].data) == names
    assert "h of unit" in drawn["units.html"].ax[0].get_title(loc="left")
    picture = drawn["gradient_flow.png"]
    rows = [label.get_text() for label in picture.ax.get_yticklabels()]
    assert rows[:3] == ["x, untrained", "h0\u2192, untrained", "h0\u2190, untrained"]
    assert len(rows) == 2 * (1 + 2 * 2)  # before and after: x, then h of 2 layers, 2 directions
    assert picture.data["norms"].shape == (len(rows), 11)


@pytest.mark.slow
@pytest.mark.parametrize("more", [["--projection", "3"], ["--zoneout", "0.2", "--bidirectional"]])
def test_every_model_is_drawn(more: list[str], train: Train) -> None:
    assert train("--steps", "1", "--layers", "2", *more) == 0


@pytest.mark.slow
def test_a_model_of_two_directions_fills_in_blanks_better_than_chance_and_shows_them(
    train: Train, unrendered: None, text: Path, tmp_path: Path
) -> None:
    assert train("--steps", "200", "--lr", "0.04", "--bidirectional") == 0
    last = [line for line in lines_of(tmp_path / "out") if line["validation_loss"] is not None][-1]
    content = text.read_text()
    ids = data.CharVocabulary.from_text(content).encode(content)
    assert last["validation_loss"] < 0.6 * data.unigram_entropy(ids, ids.max() + 1)
    sample = (tmp_path / "out" / "sample.txt").read_text(encoding="utf-8")
    read, filled = sample.split("\n--- filled in: ")
    assert pictures.BLANK in read.splitlines()[1]
    assert pictures.BLANK not in filled.split("\n", 1)[1]
