"""The output of `minirnn explain FILE.py:cell` agrees with the cell, a layer of it and the devices.

Tests `minirnn/explain/cells.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import minirnn as mr
from minirnn.commands.cli import main
from minirnn.devices.cells.header import header
from minirnn.devices.cells.keyed import keyed_header
from minirnn.devices.cuda.launch.sequence.choice import H200, choose
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.explain.cells import made_of
from minirnn.nn.own.file import cell_in
from tests.cells.with_torch import CELLS, GALLERY, WITH_KEYS


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    """The sections by their titles."""
    assert main(["explain", *arguments]) == 0
    parts = re.split(r"^== (.*)$", capsys.readouterr().out, flags=re.MULTILINE)
    return {title: text.strip("\n") for title, text in zip(parts[1::2], parts[2::2], strict=True)}


@pytest.mark.parametrize("name", CELLS)
def test_the_sections_are_the_formulas_the_parameters_and_the_devices(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(GALLERY / f"{name}.py")
    cell = cell_in(path)
    found = explained(capsys, f"{path}:{name}")
    assert found[f"{name}: one step ({path}:{name})"].endswith(cell.forward_formulas())
    assert found["its backward pass"] == cell.backward_formulas(products=True)
    said = learned(found["what a layer learns: I inputs, H units"])
    assert said == {n: p.shape for n, p in cell.layer(3, 5).named_parameters()}
    devices = found["what computes it"].splitlines()
    assert [line.split()[0] for line in devices] == list(mr.devices.available())
    lines = [line for title, text in found.items() if title != "what computes it" for line in text.splitlines()]
    assert max(map(len, lines)) < 200


def learned(table: str) -> dict[str, tuple[int, ...]]:
    """The shapes in a table of parameters, for I = 3, H = 5 and N = 16."""
    rows = re.findall(r"^(\w+).*?  (\(.*?\))(?:  |$)", table, re.MULTILINE)
    return {n: eval(re.sub(r"(\d) ([HN])", r"\1*\2", shape), {"I": 3, "H": 5, "N": 16}) for n, shape in rows}


@pytest.mark.parametrize("name", WITH_KEYS)
def test_a_cell_with_keys(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(GALLERY / "with_keys" / f"{name}.py")
    cell = cell_in(path)
    found = explained(capsys, f"{path}:{name}", "--source")
    assert found["its backward pass"] == cell.backward_formulas(products=True)
    said = learned(found["what a layer learns: I inputs, H units, N = 16 keys"])
    assert said == {n: p.shape for n, p in cell.layer(3, 5).named_parameters()}
    kept = [line.split()[0] for line in found["what a step keeps for its backward pass"].splitlines()]
    assert kept == [*cell.saved(), *cell.step.user_states]
    lines = dict(line.split(maxsplit=1) for line in found["what computes it"].splitlines())
    assert list(lines) == list(mr.devices.available())
    assert lines["cuda-sim"] == "a C++ header: one launch for all steps, a block of threads for each sample"
    assert found["the header, for C++ and CUDA"] == keyed_header(cell.keyed_plan()).text.rstrip()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mingru", "yes: dh/dh_prev = 1 - z; a scan could compute all steps at once (chapter 23)"),
        ("with_keys/retnet", "yes: dS/dS_prev = gamma; a scan could compute all steps at once (chapter 23)"),
        ("lstm", "no: z_i reads h of all units"),
    ],
)
def test_a_cell_that_is_linear_in_its_states_says_so(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(capsys, str(GALLERY / f"{name}.py"))["is it linear in its states, unit by unit?"] == said


def test_an_output_that_is_no_state_is_not_called_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cells.py").write_text(
        "from minirnn import cell, exp\n\n\n@cell(states=('c',), output='y')\n"
        "def one(x_a, c):\n    c = c * x_a\n    y = exp(c)\n    return c, y\n"
    )
    kept = explained(capsys, f"{tmp_path}/cells.py:one")["what a step keeps for its backward pass"]
    assert kept.startswith(
        "x_a, c_prev, y: 3 numbers for each unit; of them c_prev, which is a state, and y, the output"
    )


def test_a_cell_with_a_mean_a_mask_and_a_constant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cells.py").write_text(
        "from minirnn import cell, tanh, unit_mean\n\n\n@cell(states=('h',))\n"
        "def centered(z_a, h, mask_keep=0.25, mask_new=0.5, *, rate=0.5):\n"
        "    'A cell that is centered.'\n"
        "    v = mask_new * rate * z_a\n    h = mask_keep * h + tanh(v - unit_mean(v))\n    return h\n"
    )
    found = explained(capsys, f"{tmp_path}/cells.py:centered")
    assert next(iter(found.values())).startswith("A cell that is centered.\n\ncentered(z_a, h, mask_keep, mask_new, *")
    learns = found["what a layer learns: I inputs, H units"]
    assert re.search(r"^rate +constant, 0.5$", learns, re.MULTILINE)
    assert re.search(r"^mask_keep +mask, 1 with the probability 0.25$", learns, re.MULTILINE)


def test_the_source_is_that_of_the_devices(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(GALLERY / "mgu.py")
    on_cpu = explained(capsys, path, "--source", "--device", "cpu")
    numpy = [text for title, text in on_cpu.items() if title.startswith("NumPy")]
    assert [re.findall(r"^def (\w+)", text, re.MULTILINE) for text in numpy] == [
        ["mgu", "mgu_backward"],
        ["mgu_forward"],
        ["mgu_factors", "mgu_backward"],
    ]
    assert "the header, for C++ and CUDA" not in on_cpu
    if mr.devices.available()["cuda-sim"] is None:
        there = explained(capsys, path, "--source", "--device", "cuda-sim")
        assert there["the header, for C++ and CUDA"] == header(cell_in(path).plan()).strip()
        launches = "cuda-sim  a C++ header: in a kernel, 2 launches per step forward, 2 backward; not one for all"
        assert there["what computes it"].startswith(launches)


@pytest.mark.parametrize(
    ("name", "rung"), [("lstm", "persistent"), ("indrnn", "unitwise"), ("sru", "unitwise"), ("mgu", "steps")]
)
def test_one_launch_is_promised_where_a_layer_may_have_it(name: str, rung: str) -> None:
    """A GPU takes one launch for this layer of the cell, or its reason why not is what the page says."""
    plan = cell_in(str(GALLERY / f"{name}.py")).plan()
    choice = choose(Sizes(plan, T=50, B=1, H=64, P=64, D=1, itemsize=4), H200, backward=True)
    assert choice.rung == rung
    ends = {
        "persistent": "one launch for all steps of a layer that fits (persistent)",
        "unitwise": f"in a kernel, one launch for all steps, forward and backward: {choice.reason}",
        "steps": f"not one for all steps: {choice.reason.removeprefix('not persistent: ')}",
    }
    assert made_of(plan, "cuda-sim").endswith(ends[rung])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.py:mgu"], "there is no file nowhere.py; expected FILE.py:name"),
        ([f"{GALLERY}/mgu.py:mgv"], "it defines no 'mgv'; it has mgu; likely 'mgu' is meant"),
        ([f"{GALLERY}/mgu.py", "--device", "gpu"], "likely 'cuda' is meant"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1


def test_a_backward_pass_by_hand_is_printed_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cells.py").write_text(
        "from minirnn import cell, tanh\n\n\n"
        "@cell(states=('h',))\ndef elman(z_a, h):\n    h = tanh(z_a)\n    return h\n\n\n"
        "@elman.backward\ndef elman_backward(dh, h):\n    slope = 1 - h * h\n    dz_a = dh * slope\n"
    )
    found = explained(capsys, f"{tmp_path}/cells.py:elman", "--source", "--device", "cpu")
    [title] = [title for title in found if title.startswith("its backward pass")]
    assert "by hand" in title and "compared with the derivative" in title
    assert found[title].startswith("dz_a = dh * (1 - h**2)\n")
    assert "    dz_a = dh * (1 - h**2)\n" in found["NumPy: one step, and its backward pass"]
