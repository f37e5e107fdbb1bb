"""`minirnn verify`: the stored table holds, nothing disappears from it, and nothing wrong passes."""

from __future__ import annotations

import dataclasses
import gc
import importlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.cli import build_parser, main
from minirnn.commands import verify
from minirnn.devices.cpu.device import CPU
from minirnn.devices.cuda import device as cuda_device
from minirnn.devices.cuda.driver import LaunchError
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.gru_block import GRUBlockCell, GRUBlockCellGrad
from minirnn.verify import cudnn as verify_cudnn
from minirnn.verify import rungs as verify_rungs
from minirnn.verify import stored as verify_stored
from minirnn.verify import table as verify_table
from minirnn.verify import ways as verify_ways
from minirnn.verify.table import ABSENT, FAILED, OPS, PASSED, Cell, Result

ROOT = Path(__file__).parents[2]
BASELINE = ROOT / "docs" / "data" / "verify" / "cpu_cuda-sim.json"
GOLDEN = ROOT / "tests" / "golden"
SIMULATOR = mr.devices.available()["cuda-sim"]
needs_simulator = pytest.mark.skipif(SIMULATOR is not None, reason=f"cuda-sim: {SIMULATOR}")


def run(tmp_path: Path, *arguments: str) -> tuple[int, list[Result]]:
    """A quick run: exit status and table."""
    out = tmp_path / "table.json"
    status = main(["verify", "--quick", "--out", str(out), *arguments])
    return status, verify_table.read(out)[1]


def statuses(results: list[Result], **where: str) -> dict[str, set[str]]:
    """Way -> the statuses of its cells, of those that match `where`."""
    found: dict[str, set[str]] = {}
    for r in results:
        if all(getattr(r.cell, name) == value for name, value in where.items()):
            found.setdefault(r.cell.way, set()).add(r.status)
    return found


def outcomes(found: dict[str, set[str]]) -> set[str]:
    """All statuses, of torch too where it is installed."""
    return set().union(*(each for way, each in found.items() if way != "torch" or each != {ABSENT}))


# ---- the stored table


def test_a_quick_run_passes_and_is_not_worse_than_the_stored_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = ["cpu"] if SIMULATOR else ["cpu", "cuda-sim"]
    status, results = run(tmp_path, "--device", *devices, "--against", str(BASELINE))
    said = capsys.readouterr().out
    assert status == 0, said
    assert "0 cells are worse than in" in said
    assert {r.cell.op for r in results} == set(OPS)
    assert not [r for r in results if r.status == ABSENT and r.cell.way != "torch"]


def test_no_cell_of_the_stored_table_has_disappeared_and_none_is_missing_in_it() -> None:
    _, baseline = verify_table.read(BASELINE)
    listed = verify_table.count_cases(verify.all_checks(dict.fromkeys(("cpu", "cuda-sim")), GOLDEN))
    then = {r.cell: r.cases for r in baseline}
    gone = [f"{cell}: {n} cases, now {listed.get(cell, 0)}" for cell, n in then.items() if listed.get(cell, 0) < n]
    new = [f"{cell}: {n} cases, not {then.get(cell, 0)}" for cell, n in listed.items() if then.get(cell, 0) < n]
    again = f"minirnn verify --device cpu cuda-sim --out {BASELINE.relative_to(ROOT)}"
    assert not gone, "\n".join(["cells or cases disappeared:", *gone])
    assert not new, "\n".join([f"cells that the stored table does not have; run {again}", *new])


def test_every_cell_of_the_stored_table_passed_with_a_reason() -> None:
    head, baseline = verify_table.read(BASELINE)
    assert not head["quick"]
    for r in baseline:
        assert r.status == PASSED and r.error is not None and r.tolerance is not None and r.reason, r.cell
        assert 0 <= r.error <= r.tolerance, r.cell


def test_the_stored_table_has_every_public_op() -> None:
    _, baseline = verify_table.read(BASELINE)
    rows = {r.cell.op for r in baseline}
    assert rows == set(OPS)
    primitives = {r.cell.variant.split(" of ")[0] for r in baseline if r.cell.op == "primitives"}
    assert set(ops.__all__) - rows == primitives


def test_every_fused_op_is_proven_in_every_way_that_applies() -> None:
    _, baseline = verify_table.read(BASELINE)
    ways: dict[tuple[str, str], set[str]] = {}
    for r in baseline:
        ways.setdefault((r.cell.device, r.cell.op), set()).add(r.cell.way)
    block_grads = [op for op in OPS if op.endswith(("cell_grad", "lstm_grad", "lstm_grad_v2"))]
    for op in OPS:
        if op in ("primitives", "cudnn_rnn_params_size"):
            continue
        expected = {"stored", "differences", "definition"}
        expected |= set() if op in block_grads or "params" in op else {"torch"}
        assert ways["cpu", op] == expected, op
        assert ways["cuda-sim", op] == expected | {"check mode"}, op


def test_networks_are_proven_in_all_combinations_of_their_attributes() -> None:
    _, baseline = verify_table.read(BASELINE)
    variants = {r.cell.variant for r in baseline if r.cell.op == "cudnn_rnn_v3" and r.cell.way == "definition"}
    for mode in ("rnn_relu", "rnn_tanh", "gru", "lstm"):
        for direction in ("unidirectional", "bidirectional"):
            for input_mode in ("linear_input", "skip_input", "auto_select"):
                for layers in ("1 layer", "2 layers"):
                    name = f"{mode} {direction} {input_mode}, {layers}"
                    assert name in variants
                    assert (f"{name}, projection" in variants) == (mode == "lstm")


def test_the_stored_table_names_no_place_of_a_machine() -> None:
    assert not re.search(r'[" (](/|[A-Z]:\\)\w', BASELINE.read_text(encoding="utf-8"))


# ---- what is wrong fails


def patched(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Let `change` alter what a function returns."""
    original = getattr(owner, name)
    wrong = lambda *a, **k: change(original(*a, **k))  # noqa: E731
    monkeypatch.setattr(
        owner, name, staticmethod(wrong) if isinstance(owner, type) and "self" not in str(name) else wrong
    )


def gru_with_h(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Any]:
    return lambda y: (*y[:3], change(y[3]))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda h: h * h.dtype.type(1 + 4e-3), id="off by 4 in a thousand"),
        pytest.param(lambda h: h.astype("f2").astype(h.dtype), id="computed in half precision"),
        pytest.param(lambda h: h.astype("f4").astype(h.dtype), id="computed in single precision"),
        pytest.param(lambda h: h + 1e-12 if h.dtype == "f8" else h, id="off by 1e-12 in float64"),
        pytest.param(lambda h: np.where(np.arange(h.size).reshape(h.shape) == 3, np.nan, h), id="one NaN"),
        pytest.param(lambda h: np.where(np.arange(h.size).reshape(h.shape) == h.size - 1, 0, h), id="last unit lost"),
        pytest.param(lambda h: h[:, :-1], id="another shape"),
    ],
)
def test_a_wrong_kernel_fails(
    change: Callable[[np.ndarray], np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched(monkeypatch, CPU, "gru_block_cell", gru_with_h(change))
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    assert status == 1
    failed = [r for r in results if r.status == FAILED]
    assert "definition" in {r.cell.way for r in failed}
    assert all(re.search(r"B=3 I=5 H=7|gru_cell_plain", r.why) for r in failed)


def test_a_wrong_kernel_is_found_by_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, CPU, "gru_block_cell", gru_with_h(lambda h: h * h.dtype.type(1.01)))
    _, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    found = statuses(results, dtype="float64") | statuses(results, way="stored")
    assert outcomes(found) == {FAILED}, found


@pytest.mark.parametrize("term", range(6))
def test_a_gradient_with_a_wrong_term_fails_by_differences_and_by_the_definition(
    term: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = GRUBlockCell.backward

    def wrong(self: Any, dy: Any, y: Any, *inputs: Any) -> Any:
        gradients = list(original(self, dy, y, *inputs))
        gradients[term] = gradients[term] * 0.999
        return gradients

    monkeypatch.setattr(GRUBlockCell, "backward", wrong)
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    found = statuses(results, dtype="float64")
    assert status == 1
    assert {way for way, status in found.items() if status == {FAILED}} >= {"differences", "definition"}


OUTPUTS = {
    "lstm_block_cell": 7,
    "lstm_block_cell_grad": 5,
    "block_lstm": 7,
    "block_lstm_grad": 8,
    "gru_block_cell": 4,
    "gru_block_cell_grad": 4,
    "rnn_sequence": 3,
    "rnn_sequence_grad": 3,
}


@pytest.mark.parametrize(("kernel", "k"), [(kernel, k) for kernel, n in OUTPUTS.items() for k in range(n)])
def test_every_output_of_every_kernel_is_watched(kernel: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(outputs: Any) -> Any:
        return tuple(y * (1 + 1e-9) if n == k and y is not None else y for n, y in enumerate(outputs))

    patched(monkeypatch, CPU, kernel, change)
    op = kernel.replace("rnn_sequence", "cudnn_rnn_v3").removesuffix("_grad" if "rnn" in kernel else "")
    chosen = [
        check
        for check in verify.all_checks({"cpu": None}, None)
        if check.quick and (check.cell.op, check.cell.dtype, check.cell.way) == (op, "float64", "definition")
    ]
    assert FAILED in {result.status for result in verify_table.run_checks(chosen)}


def test_a_wrong_definition_fails_and_stored_values_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = GRUBlockCellGrad.compose
    monkeypatch.setattr(GRUBlockCellGrad, "compose", lambda self, *x: [y * 1.001 for y in original(self, *x)])
    status, results = run(tmp_path, "--op", "gru_block_cell_grad", "--device", "cpu")
    found = statuses(results)
    assert status == 1
    assert FAILED in found["definition"]  # float16 has room for a thousandth
    assert found["stored"] == {PASSED}


def test_a_kernel_that_raises_fails_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("the kernel is broken")

    monkeypatch.setattr(CPU, "gru_block_cell", broken)
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    assert status == 1
    assert outcomes(statuses(results)) == {FAILED}
    assert "ZeroDivisionError: the kernel is broken" in capsys.readouterr().out


def test_a_kernel_that_a_device_lost_fails_rather_than_its_composition_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CPU, "kernels", CPU.kernels - {"gru_block_cell"})
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    assert status == 1
    assert statuses(results)["definition"] == {FAILED}
    assert any("cpu has no kernel gru_block_cell" in r.why for r in results)


@pytest.fixture
def cuda_source(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Makes the simulator compile a kernel file with one text replaced by another."""

    def replace(file: str, old: str, new: str) -> None:
        original = cuda_device.text

        def text(name: str) -> str:
            found = original(name)
            if name != file:
                return found
            assert old in found
            return found.replace(old, new)

        monkeypatch.setattr(cuda_device, "text", text)
        made = {name: device for name, device in mr.devices.registry._made.items() if name != "cuda-sim"}
        monkeypatch.setattr(mr.devices.registry, "_made", made)
        verify_ways.checking.cache_clear()

    yield replace
    verify_ways.checking.cache_clear()
    driver = mr.devices.get("cuda-sim").driver
    gc.collect()
    for _ in range(100):  # the damage that a wrong kernel has done is told once for each array: not to the next test
        try:
            driver.synchronize()
            break
        except LaunchError:
            continue


@needs_simulator
def test_a_wrong_cuda_kernel_fails_on_its_device_alone(
    cuda_source: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    cuda_source("gru_block.cu", "u * h_prev + (1 - u) * c;", "u * h_prev + (1 - u) * h_prev;")
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "cuda-sim")
    assert status == 1
    assert outcomes(statuses(results, device="cpu")) == {PASSED}
    assert outcomes(statuses(results, device="cuda-sim")) == {FAILED}


@needs_simulator
def test_an_access_out_of_bounds_fails_in_check_mode_with_its_line(
    cuda_source: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    bounds = "if (row >= B || unit >= H) return;"
    cuda_source(
        "gru_block.cu",
        f"{bounds}\n    const i64 k = (i64)row * H + unit;\n    z_ru",
        "const i64 k = (i64)row * H + unit;\n    z_ru",
    )
    _, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cuda-sim")
    (checked,) = [r for r in results if r.cell.way == "check mode"]
    assert checked.status == FAILED
    assert "gru_block.cu:" in checked.why and "gru_block_cell_gates" in checked.why


@needs_simulator
def test_a_layer_that_another_rung_computed_does_not_count() -> None:
    case = verify_cudnn.forward("cudnn_rnn_v3", Network("lstm", 1, 6, 5, num_proj=4), False, False)
    device = mr.devices.get("cuda-sim")
    verify_rungs.on_rung("steps", lambda: device, case, "float64")
    with pytest.raises(ValueError, match="computed by steps backward, steps forward\n  expected the rung persistent"):
        verify_rungs.on_rung("persistent", lambda: device, case, "float64")
    assert device.cudnn_rnn_rung is None


# ---- stored values of other libraries


def test_changed_stored_values_fail(tmp_path: Path) -> None:
    folder = tmp_path / "golden"
    shutil.copytree(GOLDEN / "block_ops", folder / "block_ops")
    shutil.copytree(GOLDEN / "cudnn_rnn", folder / "cudnn_rnn")
    path = folder / "block_ops" / "gru_cell_plain.npz"
    with np.load(path, allow_pickle=False) as z:
        case = dict(z)
    np.savez(path, **case | {"h": case["h"] + np.float32(1e-4)})
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--golden", str(folder))
    assert status == 1
    assert statuses(results)["stored"] == {FAILED}


def test_a_cell_whose_files_are_gone_fails(tmp_path: Path) -> None:
    folder = tmp_path / "golden"
    for name in ("block_ops", "cudnn_rnn"):
        (folder / name).mkdir(parents=True)
    shutil.copy(GOLDEN / "block_ops" / "lstm_cell_plain.npz", folder / "block_ops")
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--golden", str(folder))
    assert status == 1
    assert statuses(results)["stored"] == {FAILED}


def test_without_a_clone_stored_values_are_not_at_hand_rather_than_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verify_stored, "find", lambda given: None)
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", str(BASELINE))
    said = capsys.readouterr().out
    assert status == 0
    assert statuses(results)["stored"] == {ABSENT}
    assert "tests/golden is not here" in said
    assert re.search("not compared: gru_block_cell, values of TensorFlow, float32, cpu, stored", said)


def test_without_torch_its_cells_are_not_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_ways, "find_spec", lambda name: None)
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    assert status == 0
    assert statuses(results)["torch"] == {ABSENT}
    assert statuses(results)["definition"] == {PASSED}


def test_a_device_that_is_not_there_is_not_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = {"cpu": None, "cuda-sim": "no compiler", "cuda": "no GPU"}
    monkeypatch.setattr(mr.devices, "available", lambda: reasons)
    status, results = run(tmp_path, "--op", "gru_block_cell")
    assert status == 0
    for device in ("cuda-sim", "cuda"):
        assert all(status == {ABSENT} for status in statuses(results, device=device).values())
    assert statuses(results, device="cpu")["definition"] == {PASSED}


# ---- against a stored table


def stored(tmp_path: Path, change: Callable[[list[Result]], list[Result]]) -> str:
    """A file with the stored table, changed."""
    head, results = verify_table.read(BASELINE)
    path = tmp_path / "then.json"
    verify_table.write(path, head, change(results))
    return str(path)


GRU = Cell("gru_block_cell", "plain", "float32", "cpu", "definition")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(lambda r: dataclasses.replace(r, error=1e-9), None, id="below a few eps"),
        pytest.param(lambda r: dataclasses.replace(r, cases=r.cases + 1), "3 cases, there were 4", id="fewer cases"),
        pytest.param(lambda r: dataclasses.replace(r, status=ABSENT, error=None), None, id="was not at hand"),
    ],
)
def test_a_cell_is_compared_with_what_it_was(
    change: Callable[[Result], Result], said: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = stored(tmp_path, lambda results: [change(r) if r.cell == GRU else r for r in results])
    status, _ = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WORSE")]
    assert status == (said is not None)
    assert found == ([] if said is None else [f"WORSE {GRU}: {said}"])


def test_an_error_that_grew_tenfold_fails_though_it_is_within_its_tolerance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worse = 1.5e-6  # 25 units of roundoff, and half the tolerance
    path = stored(
        tmp_path, lambda results: [dataclasses.replace(r, error=5e-8) if r.cell == GRU else r for r in results]
    )
    patched(monkeypatch, CPU, "gru_block_cell", gru_with_h(lambda h: h + h.dtype.type(worse) if h.dtype == "f4" else h))
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WORSE")]
    assert statuses(results, dtype="float32")["definition"] == {PASSED}
    assert status == 1
    assert found[0].startswith(f"WORSE {GRU}: error 1.") and "more than 10 times" in found[0]


def test_a_cell_that_disappeared_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = dataclasses.replace(GRU, variant="with a fifth gate")
    path = stored(tmp_path, lambda results: [*results, Result(gone, 1, PASSED, 1e-8, 1e-6, "n u", "h")])
    status, _ = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)
    assert status == 1
    assert f"WORSE {gone}: the cell disappeared" in capsys.readouterr().out


def test_cells_that_were_not_asked_for_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = [dataclasses.replace(GRU, variant="gone", device="cuda-sim"), dataclasses.replace(GRU, op="primitives")]
    path = stored(tmp_path, lambda results: [*results, *(Result(c, 1, PASSED, 0.0, 0.0, "exact", "") for c in others)])
    assert run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)[0] == 0


# ---- the documentation


def test_the_page_shows_every_op_and_where_its_tolerances_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    importlib.import_module("verification_table").write(tmp_path / "verification.txt")
    page = (ROOT / "docs" / "verified.md").read_text(encoding="utf-8")
    included = re.findall(r"\{include\} api/(\S+)", page)
    assert sorted(included) == sorted(path.name for path in tmp_path.iterdir())
    table = (tmp_path / "verification.txt").read_text(encoding="utf-8")
    reasons = (tmp_path / "verification_tolerances.txt").read_text(encoding="utf-8")
    for op in OPS:
        name = op if op == "primitives" else f"`{op}`"
        assert f"| {name} |" in table
        assert f"| {name} |" in reasons or "params" in op  # these are exact
    assert "sqrt(N) u" in reasons and FAILED not in table and ABSENT not in table
    for line in (*table.splitlines(), *reasons.splitlines()):
        assert not line.startswith("|") or line.count("|") in (6, 7), line


# ---- the command


def test_devices_and_ops_may_be_named_one_by_one_or_together() -> None:
    parse = build_parser(["verify"]).parse_args
    assert parse(["verify", "--device", "cpu", "cuda-sim"]).device == ["cpu", "cuda-sim"]
    assert parse(["verify", "--device", "cpu", "--device", "cuda-sim"]).device == ["cpu", "cuda-sim"]
    assert parse(["verify", "--op", "primitives", "--op", "block_lstm"]).op == ["primitives", "block_lstm"]


def test_the_file_names_no_folder_of_the_machine(tmp_path: Path) -> None:
    why = "CompileError: /usr/include/c++/12/cmath:3: no such file /home/me/x.cu (a/b, 2 / 3)"
    verify_table.write(tmp_path / "t.json", {}, [Result(GRU, 1, FAILED, why=why)])
    assert verify_table.read(tmp_path / "t.json")[1][0].why == "CompileError: cmath:3: no such file x.cu (a/b, 2 / 3)"


def test_the_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    results = [
        Result(GRU, 3, PASSED, 1.5e-8, 2e-6, "N u, N = 3", "B=1, h"),
        Result(dataclasses.replace(GRU, way="torch"), 1, ABSENT, why="torch is not installed"),
        Result(dataclasses.replace(GRU, way="stored"), 1, FAILED, why='ValueError: "h"\n  is NaN'),
    ]
    head = {"minirnn": "0", "quick": True}
    verify_table.write(tmp_path / "t.json", head, results)
    again, found = verify_table.read(tmp_path / "t.json")
    plain = lambda r: dataclasses.replace(r, ratio=0.0)  # noqa: E731
    assert sorted(map(plain, found), key=lambda r: r.cell) == sorted(map(plain, results), key=lambda r: r.cell)
    assert again == {"schema": verify_table.SCHEMA, **head}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--op", "gru"], "--op gru; expected one of lstm_block_cell, "),
        (["--device", "gpu"], "no device is called 'gpu'; known: "),
        (["--golden", "nowhere"], "--golden nowhere: there are no folders block_ops and cudnn_rnn in it"),
        (["--out", "nowhere/table.json"], "--out nowhere/table.json: there is no such folder"),
        (["--out", "."], "--out .: this is a folder; expected a file"),
        (["--against", "nowhere.json"], "nowhere.json: No such file or directory"),
    ],
)
def test_mistakes_are_told_on_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"minirnn verify: {said}")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": 2}', '{"schema": 1, "columns": [], "reasons": [], "cells": [[1]]}']
)
def test_a_file_that_is_no_table_is_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    assert main(["verify", "--against", str(path)]) == 2
    assert "table" in capsys.readouterr().err


def test_the_file_is_json_of_numbers_even_for_what_is_infinitely_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patched(monkeypatch, CPU, "gru_block_cell", gru_with_h(lambda h: h * np.nan))
    run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    text = (tmp_path / "table.json").read_text(encoding="utf-8")
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
