"""``minirnn train --cell FILE.py:name``: a custom cell is trained, resumed, swept and sampled like a built-in one.

Tests `minirnn/nn/own/file.py` with the commands that read it.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.arguments.user_error import UserError
from minirnn.commands import cli
from minirnn.train import pictures
from minirnn.train.checkpoint import CHECKPOINT, read_model
from minirnn.train.messages import FILES
from minirnn.train.model import CharModel, gradient_norms, row_names
from minirnn.train.options import Options, of_new_run
from minirnn.train.training import Training
from minirnn.train.units import name_of, states_of
from tests.cells.with_torch import GALLERY
from tests.slow import slow_unless
from tests.train.runs import Train, complaint, interrupt_at, outcome

DROPPED = "--layers 2 --dropout 0.3 --weight-dropout 0.2 --input-dropout 0.1"
SOURCE = """\
from minirnn import cell, sigmoid, tanh

SLOW = 0.5


@cell(states=("m", "h"))
def patient(z_k, z_n, m, h, mask_keep=0.25, *, slow, dt=0.5):
    k = sigmoid(z_k + slow)
    n = tanh(z_n)
    m = k * m + dt * (1 - k) * n
    h = mask_keep * h + (1 - mask_keep) * tanh(m)
    return m, h


@cell(states=("h",))
def plain(z_a, h):
    h = tanh(z_a)
    return h


@cell(states=("h",))
def unrated(z_a, h, mask_keep):
    h = mask_keep * tanh(z_a)
    return h


def function(z_a, h):
    return tanh(z_a)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cells.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


# ---- training


def test_a_run_with_an_own_cell_leaves_what_every_run_leaves(
    train: Train, brief: None, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--cell", "cells.py:patient", "--steps", "20", "--layers", "2") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "patient with 2 layers of 7 units on cpu: " in out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    assert f"sample --checkpoint out --cell {file}:patient\n" in out
    assert f"train --resume --steps 40 --cell {file}:patient --out out\n" in out
    trained = read_model(tmp_path / "out" / CHECKPOINT, cell=f"{file}:patient")
    assert trained.options.cell == f"{file}:patient"
    assert {"recurrent.slow_l0", "recurrent.slow_l1"} <= set(trained.model.state_dict())
    assert cli.main(["sample", "--checkpoint", "out", "--cell", "cells.py:patient", "--length", "30"]) == 0
    assert len(capsys.readouterr().out) == 31


@pytest.mark.parametrize("more", slow_unless([DROPPED], [DROPPED, "--shards 3"]))
def test_a_resumed_run_has_the_same_bits(
    more: str, train: Train, no_pictures: None, file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = "--cell", "cells.py:patient", "--steps", "30", *more.split()
    assert train(*own) == 0
    with monkeypatch.context() as patch:
        interrupt_at(patch, 13)
        assert train(*own, out="stopped") == 130
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert train("--resume", "--cell", "../cells.py:patient", out=str(tmp_path / "stopped")) == 0
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "out")


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_the_equations_of_a_built_in_cell_learn_what_it_learns(
    name: str, text: Path, tmp_path: Path, rng: np.random.Generator
) -> None:
    """One step of training, from the same weights."""
    built_in = Training(Options(name, hidden=7, batch=3, length=11), text.read_text())
    own = Training(Options(str(GALLERY / f"{name}.py"), hidden=7, batch=3, length=11), text.read_text())
    for model in (built_in.model, own.model):
        values = np.random.default_rng(0)
        for p in (model.embedding.weight, model.output.weight):
            p.assign(values.normal(size=p.shape))
    theirs, ours = built_in.model.recurrent, own.model.recurrent
    ours.weight_ih.assign(theirs.weight_ih_l0.numpy())
    ours.weight_hh.assign(theirs.weight_hh_l0.numpy())
    bW, bR = theirs.bias_ih_l0.numpy(), theirs.bias_hh_l0.numpy()
    H = 7
    ours.bias.assign(
        bW + bR if name == "lstm" else np.concatenate([bW[: 2 * H] + bR[: 2 * H], bW[2 * H :], bR[2 * H :]])
    )
    own.model.output.bias.assign(built_in.model.output.bias.numpy())
    x, y = next(built_in.batches)
    assert abs(built_in.backward(x, y) - own.backward(x, y)) < 1e-5
    for a, b in ((theirs.weight_ih_l0, ours.weight_ih), (theirs.weight_hh_l0, ours.weight_hh)):
        np.testing.assert_allclose(b.grad, a.grad, rtol=0, atol=1e-6)


# ---- the cell in a checkpoint


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tanh(z_n)", "sigmoid(z_n)", "it was n = tanh(z_n), and is n = sigmoid(z_n)"),
        ("dt=0.5", "dt=0.25", "it was dt = 0.5, and is dt = 0.25"),
        ("mask_keep=0.25", "mask_keep=0.5", "it was mask_keep = 0.25, and is mask_keep = 0.5"),
        ("(z_k, z_n, m", "(z_n, z_k, m", "it was (z_k, z_n, m, h, mask_keep, *, slow) -> m, h; output h, and is (z_n,"),
        (
            "patient(",
            "other(",
            "it defines no 'patient'; it has other, plain, unrated; likely 'plain' is meant",
        ),
        ("SLOW = 0.5", "SLOW = nothing", "cells.py, line 3: NameError: name 'nothing' is not defined"),
    ],
)
def test_a_cell_that_was_changed_is_refused_with_the_line(
    old: str, new: str, words: str, train: Train, no_pictures: None, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--cell", "cells.py:patient", "--steps", "1") == 0
    capsys.readouterr()
    assert SOURCE.count(old) == 1
    file.write_text(SOURCE.replace(old, new))
    for command in ("train --resume --out out", "sample --checkpoint out"):
        assert cli.main([*command.split(), "--cell", "cells.py:patient"]) == 2
        assert words in complaint(capsys, command.split()[0])


def test_what_is_around_a_cell_may_change_and_its_file_may_move(
    train: Train, no_pictures: None, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--cell", "cells.py:patient", "--steps", "1") == 0
    file.write_text("import minirnn\n" + SOURCE.replace("dt * (1 - k)", "dt*(1-k)") + "# the end\n")
    assert train("--resume", "--steps", "2", "--cell", "cells.py:patient") == 0
    file.rename(tmp_path / "moved.py")
    capsys.readouterr()
    assert train("--resume", "--steps", "3", "--cell", "cells.py:patient") == 2
    assert f"there is no file {file}; expected FILE.py:name" in complaint(capsys)
    assert train("--resume", "--steps", "3", "--cell", "moved.py:plain") == 2
    assert "moved.py:plain is not the cell of checkpoint 'out" in complaint(capsys)
    assert cli.main(["sample", "--checkpoint", "out", "--cell", "moved.py:patient", "--length", "9"]) == 0
    assert train("--resume", "--steps", "3", "--cell", "moved.py:patient") == 0


def test_a_file_that_the_user_did_not_name_never_runs(
    train: Train, no_pictures: None, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = ["--cell", "cells.py:patient", "--steps", "1"]
    assert train(*own) == 0
    file.write_text(f"{SOURCE}\nfrom pathlib import Path\nPath('it ran').touch()\n")  # the same cell, and more
    capsys.readouterr()
    words = f"has a custom cell, which was '{file}:patient'; a file runs only if you name it: add --cell FILE.py:name"
    commands = "train --resume --out out", "sample --checkpoint out"
    for command in commands:
        assert cli.main(command.split()) == 2
        assert words in complaint(capsys, command.split()[0])
    assert not (tmp_path / "it ran").exists()
    for command in commands:
        assert cli.main([*command.split(), "--cell", "cells.py:patient"]) == 0
    assert (tmp_path / "it ran").exists()


def test_a_run_of_a_built_in_cell_takes_no_file(
    train: Train, no_pictures: None, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("--steps", "1") == 0
    capsys.readouterr()
    assert train("--resume", "--cell", "cells.py:plain") == 2
    assert "--cell" in complaint(capsys)
    assert cli.main(["sample", "--checkpoint", "out", "--cell", "cells.py:plain"]) == 2
    assert "has no custom cell: leave --cell" in complaint(capsys, "sample")


# ---- mistakes


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("lstn", "argument --cell: invalid choice: 'lstn' (choose from lstm, gru, rnn, or FILE.py:name of "
                 "a custom cell); likely 'lstm' is meant"),
        ("nowhere.py:patient", "there is no file "),
        ("cells:patient", "cells; expected FILE.py:name; likely '"),
        ("cells.py", "cells.py: which cell?; expected FILE.py:name; it has patient, plain, unrated"),
        ("cells.py:patent", "it defines no 'patent'; it has patient, plain, unrated; likely 'patient' is meant"),
        ("cells.py:function", "function is a function, not a cell; expected @cell(states=..) above it; "),
        ("cells.py:SLOW", "SLOW is a float, not a cell; it has patient"),
        ("cells.py:unrated", "the mask 'mask_keep' of unrated has no rate; write mask_keep=0.9 in its function"),
        (".:x", "Is a directory; expected FILE.py:name"),
        ("none.py", "none.py: which cell?; expected FILE.py:name; it has no cell: @cell(states=..) above a function"),
        ("syntax.py:a", "syntax.py, line 2: "),
        ("raises.py:a", "raises.py, line 3: ZeroDivisionError: division by zero"),
        ("exits.py:a", "exits.py, line 1: SystemExit: 3"),
        ("step.py:a", "a (/"),
        ("states.py:a", "states.py, line 3: cell: states is 3; expected names of parameters"),
        ("binary.py:a", "binary.py: "),
        ("missing.py:a", "missing.py, line 1: ModuleNotFoundError: No module named 'not_there'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_leave_nothing(
    cell: str, words: str, train: Train, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = {
        "none": "x = 1\n",
        "syntax": "x = 1\ndef f(:\n",
        "raises": "def f():\n    x = 1\n    return x / 0\n\nf()\n",
        "exits": "import sys; sys.exit(3)\n",
        "step": "from minirnn import cell\n\n\n@cell(states=('h',))\ndef a(z_a, h):\n    h = z_a.sum()\n    return h\n",
        "states": "from minirnn import cell\n\n@cell(states=3)\ndef a(z_a, h):\n    return h\n",
        "missing": "import not_there\n",
    }
    for name, source in bad.items():
        (tmp_path / f"{name}.py").write_text(source)
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\x00")
    try:
        status = train("--cell", cell)
    except SystemExit as stop:
        status = int(stop.code or 0)
    assert status == 2
    assert words in complaint(capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"zoneout": 0.1},
            "--zoneout is for lstm, gru, rnn; the custom cell patient has none: use a parameter mask_NAME",
        ),
        ({"projection": 3}, "--projection: the step of patient reads its output itself, so it cannot be projected"),
    ],
)
def test_options_that_layers_of_own_cells_do_not_have_are_refused(
    options: dict[str, Any], words: str, file: Path
) -> None:
    with pytest.raises(UserError) as caught:
        of_new_run({"cell": f"{file}:patient", **options})
    assert str(caught.value).startswith(words)


def test_a_cell_that_reads_its_output_through_R_alone_can_be_projected(file: Path) -> None:
    options = of_new_run({"cell": f"{file}:plain", "projection": 3, "hidden": 7, "bidirectional": True})
    model = CharModel(options, 5)
    assert [t.shape for t in model.zero_state(2)] == [(2, 2, 3)] and model.output.weight.shape == (5, 6)


def test_a_file_finds_what_lies_next_to_it(tmp_path: Path, file: Path) -> None:
    (tmp_path / "next_to_it.py").write_text("RATE = 0.5\n")
    file.write_text("from next_to_it import RATE\nfrom dataclasses import dataclass\n" + SOURCE)
    assert of_new_run({"cell": f"{file}:patient"}).cell == f"{file}:patient"


# ---- looking inside


def test_rows_units_and_gates_have_the_names_of_the_function(
    file: Path, text: Path, unrendered: None, rng: np.random.Generator
) -> None:
    options = of_new_run({"cell": f"{file}:patient", "hidden": 7, "batch": 3, "length": 11, "layers": 2})
    training = Training(options, text.read_text())
    training.start()
    assert row_names(training.model) == ["x", "m0", "h0", "m1", "h1"]
    assert gradient_norms(training.model, rng.integers(5, size=(6, 2)), np.array([1, 2])).shape == (5, 6)
    picture = pictures.gates(training)
    assert set(picture.data) == {"k", "n", "m", "h", "unit"}
    assert [ax.get_title() for ax in picture.ax] == ["k", "n", "m", "h"]
    assert "m: state    h: hidden state" in pictures.gradient_flow(training).ax.get_xlabel()
    ids = rng.integers(5, size=(4, 3))
    states = states_of(training.model.eval(), ids)
    _, last = training.model(ids, training.model.zero_state(3))
    np.testing.assert_allclose(states[-1], np.concatenate(list(last[0].numpy()), -1), atol=1e-6)
    assert name_of(training.model, 9) == "unit 2 of layer 1"


@pytest.mark.parametrize("path", slow_unless(4, sorted(GALLERY.glob("*.py"))), ids=lambda path: path.stem)
def test_every_cell_of_the_gallery_can_be_trained_and_drawn(path: Path, text: Path, unrendered: None) -> None:
    options = of_new_run({"cell": str(path), "hidden": 5, "batch": 2, "length": 5})
    training = Training(options, text.read_text())
    training.start()
    training.advance()
    for draw in (pictures.gradient_flow, pictures.gates, pictures.units):
        assert draw(training) is not None


def test_other_devices_train_it_with_the_same_loss(device: str, file: Path, text: Path) -> None:
    name = "patient" if device == "cuda-sim" else "plain"  # the smallest: C++ takes seconds to compile
    options = Options(f"{file}:{name}", device, hidden=7, batch=3, length=11)
    losses = []
    for name in (device, "cpu"):
        training = Training(replace(options, device=name), text.read_text())
        training.advance()
        training.advance()
        losses.append(training.losses)
    np.testing.assert_allclose(*losses, rtol=1e-5)
