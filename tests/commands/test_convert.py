"""`minirnn convert`: files in, files out, one line for every mistake."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.commands import cli
from minirnn.io import read_arrays, write_arrays
from minirnn.nn.own.file import cell_in
from tests.cells.with_torch import CELLS, GALLERY
from tests.io.layouts.cases import H, I, Kind, in_layout
from tests.io.layouts.forwards import forward

T, B = 6, 2


@pytest.fixture
def folder(tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, made the current one, with weights of a GRU and of an LSTM, and an input and output of the GRU."""
    monkeypatch.chdir(tmp_path)
    gru, lstm = (
        in_layout(rng, Kind(mode, kind, 1, 1), "torch.nn") for mode, kind in (("gru", "reset_after"), ("lstm", None))
    )
    write_arrays("gru.safetensors", gru.arrays, {})
    write_arrays("lstm.safetensors", lstm.arrays, {})
    np.savez("plain.npz", *gru.arrays.values())
    x = rng.standard_normal((T, B, I)).astype(np.float32)
    y = forward("torch.nn", "gru", "reset_after", gru.arrays, 1, 1, x, np.zeros((1, B, H), np.float32), None)
    np.savez("pair.npz", input=x, output=y)
    return tmp_path


def run(line: str) -> int:
    return cli.main(["convert", *line.split()])


def test_a_file_is_converted_and_back_to_the_bit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gru.safetensors keras.safetensors --to keras") == 0
    assert run("keras.safetensors back.safetensors --to torch.nn") == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == f"gru.safetensors: torch.nn/rzn: gru (reset_after), 1 layer, unidirectional, I {I}, H {H}"
    assert lines[1] == "keras.safetensors: keras/zrh"
    assert f"  kernel            float32 {I} x {3 * H}" in lines
    before, after = read_arrays("gru.safetensors")[0], read_arrays("back.safetensors")[0]
    assert {k: a.tobytes() for k, a in before.items()} == {k: a.tobytes() for k, a in after.items()}
    assert read_arrays("keras.safetensors")[1]["minirnn.gru"] == "reset_after"


def test_files_may_stand_before_between_and_after_the_options(folder: Path) -> None:
    for line in ("lstm.safetensors out.safetensors --to keras", "lstm.safetensors --to keras out.safetensors",
                 "--to keras lstm.safetensors out.safetensors"):  # fmt: skip
        assert run(line) == 0
        (folder / "out.safetensors").unlink()


def test_settings_reach_the_conversion(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("lstm.safetensors block.safetensors --to tf.lstm_block_cell --forget-bias 0.5") == 0
    assert "note: to be run with forget_bias 0.5 and cell_clip 0" in capsys.readouterr().out
    np.savez("block.npz", **read_arrays("block.safetensors")[0])
    assert run("block.npz w.safetensors --to torch.nn") == 2
    assert run("block.npz w.safetensors --to torch.nn --from tf.lstm_block_cell --forget-bias 0.5") == 0
    assert run("w.safetensors p.safetensors --to cudnn.params") == 0
    np.savez("p.npz", **read_arrays("p.safetensors")[0])
    sizes = f"--rnn-mode lstm --num-layers 1 --num-units {H} --input-size {I} --direction unidirectional --num-proj 0"
    assert run(f"p.npz w2.safetensors --to torch.nn --from cudnn.params {sizes}") == 0
    before, after = read_arrays("lstm.safetensors")[0], read_arrays("w2.safetensors")[0]
    for l in ("weight_ih_l0", "weight_hh_l0"):
        np.testing.assert_array_equal(after[l], before[l])
    summed = [a["bias_ih_l0"] + a["bias_hh_l0"] for a in (before, after)]
    np.testing.assert_array_equal(*summed)


def test_a_module_is_chosen_by_its_prefix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrays = read_arrays("gru.safetensors")[0]
    both = {f"{module}.{key}": a for module in ("enc", "dec") for key, a in arrays.items()}
    write_arrays("both.safetensors", both, {})
    assert run("both.safetensors o.safetensors --to onnx") == 2
    assert "--prefix" in capsys.readouterr().err
    assert run("both.safetensors o.safetensors --to onnx --prefix enc.") == 0


def test_find_names_the_layout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plain.npz --find pair.npz") == 0
    out = capsys.readouterr().out
    assert out.startswith("found, among ")
    assert "[torch.nn]" in out
    assert "runner-up: " in out
    assert not [path for path in folder.iterdir() if path.name.startswith("out")]


def test_find_and_convert_in_one_go(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plain.npz out.safetensors --find pair.npz --to torch.nn") == 0
    before, (after, metadata) = read_arrays("gru.safetensors")[0], read_arrays("out.safetensors")
    assert {k: a.tobytes() for k, a in before.items()} == {k: a.tobytes() for k, a in after.items()}
    assert metadata["minirnn.layout"] == "torch.nn/rzn"


def test_what_is_not_found_is_not_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load("pair.npz") as z:
        np.savez("wrong.npz", input=z["input"], output=z["output"] + 1)
    assert run("plain.npz --find wrong.npz") == 0
    assert capsys.readouterr().out.startswith("none fits")
    assert run("plain.npz out.safetensors --find wrong.npz --to keras") == 2
    assert "out.safetensors is not written" in capsys.readouterr().err
    assert not Path("out.safetensors").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gru.safetensors", "OUT is missing; expected IN OUT --to LAYOUT, or IN --find PAIR"),
        ("gru.safetensors out.safetensors", "--to is missing; expected a layout for OUT: torch.nn, keras, "),
        ("gru.safetensors --to keras --find pair.npz", "OUT is missing"),
        ("none.npz out.safetensors --to keras", "'none.npz': No such file or directory"),
        ("gru.safetensors out.safetensors --to pytorch", "no layout is called 'pytorch'"),
        ("gru.safetensors out.safetensors --to tf.gru_block_cell", "got a GRU of the kind reset_after; "),
        ("gru.safetensors out.npz --to keras", "'out.npz': the file is written in the safetensors format"),
        ("gru.safetensors no/out.safetensors --to keras", "can't write "),
        ("plain.npz out.safetensors --to keras", "the arrays arr_0, arr_1, arr_2, arr_3 look like no known layout"),
        ("gru.safetensors out.safetensors --to keras --num-units 6", "num_units is 6 in the settings"),
        ("gru.safetensors out.safetensors --to keras --num-units 0", "num_units is 0"),
        ("gru.safetensors --find gru.safetensors", "'gru.safetensors' has the arrays "),
        ("gru.safetensors --find pair.npz --rnn-mode gru", "--rnn-mode cannot be used with --find"),
        (
            "gru.safetensors o.safetensors --to onnx --from torch.nn --find pair.npz",
            "--from cannot be used with --find",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    files = sorted(folder.iterdir())
    assert run(line) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"minirnn convert: {message}"), err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == files


@pytest.mark.parametrize(
    "line", ["gru.safetensors o.safetensors --to keras --rnn-mode mlp", "a b --to keras --num-units x", ""]
)
def test_a_wrong_option_is_one_line_and_status_2(folder: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    with pytest.raises(SystemExit) as exit_:
        run(line)
    assert exit_.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("more", [{}, {"num_layers": 2, "bidirectional": True}], ids=["one", "both ways"])
@pytest.mark.parametrize("name", CELLS)
def test_the_weights_of_an_own_cell_are_refused_and_stay_its_own(
    name: str, more: dict[str, Any], folder: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = cell_in(str(GALLERY / f"{name}.py"))
    layer, other = cell.layer(I, H, **more), cell.layer(I, H, **more)
    write_arrays("own.safetensors", {f"model.recurrent.{n}": a for n, a in layer.state_dict().items()}, {})
    for line in ("--to torch.nn", "--to keras --prefix model.recurrent.", "--to onnx --from torch.nn"):
        assert run(f"own.safetensors out.safetensors {line}") == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        assert "belongs to a layer of a custom cell (mr.cell); expected weights of one of torch.nn, keras, " in err
    assert not (folder / "out.safetensors").exists()
    arrays = read_arrays("own.safetensors")[0]
    other.load_state_dict({n.removeprefix("model.recurrent."): a for n, a in arrays.items()})
    x = rng.normal(size=(T, B, I)).astype(np.float32)
    np.testing.assert_array_equal(other(x)[0], layer(x)[0])
    mr.save(layer.state_dict(), "saved.safetensors")
    layer.reset_parameters()
    layer.load_state_dict(mr.load("saved.safetensors"))
    np.testing.assert_array_equal(other(x)[0], layer(x)[0])
