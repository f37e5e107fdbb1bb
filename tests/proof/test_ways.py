"""Wrong ops fail in every way of verification that should notice them."""

import gc
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cpu.device import CPU
from minirnn.devices.cuda import device as cuda_device
from minirnn.devices.cuda.driver import LaunchError
from minirnn.ops.gru_block.cell import GRUBlockCell, GRUBlockCellGrad
from minirnn.proof import table, ways
from minirnn.proof.cases import all_comparisons
from minirnn.proof.table import FAILED, PASSED
from tests.proof.runs import (
    gru_with_h,
    needs_simulator,
    outcomes,
    patched,
    run,
    statuses,
)


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
    patched(monkeypatch, CPU, "cell_step", gru_with_h(change))
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    assert status == 1
    failed = [r for r in results if r.status == FAILED]
    assert "definition" in {r.cell.way for r in failed}
    assert all(re.search(r"B=3 I=5 H=7|gru_cell_plain", r.why) for r in failed)


def test_a_wrong_kernel_is_found_by_every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patched(monkeypatch, CPU, "cell_step", gru_with_h(lambda h: h * h.dtype.type(1.01)))
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


STEP = {"cell_step": [(0, 0), (0, 1), *[(1, name) for name in ("i", "ci", "f", "o", "co")]]}
STEP_GRAD = {"cell_step_grad": [(0,), (1, 0), (2, 0), (2, 1), (2, 2)]}
BLOCK = {"cell_sequence": [(0,), *[(3, name) for name in ("i", "ci", "f", "o", "co", "cs")]]}
GRADIENTS = [(0,), (1,), (2,), (3, 0, "W"), (3, 0, "R"), (3, 0, "bW")]
OUTPUTS: dict[str, dict[str, list[tuple[Any, ...]]]] = {
    "lstm_block_cell": STEP,
    "lstm_block_cell_grad": STEP_GRAD,
    "block_lstm": BLOCK,
    "block_lstm_grad": {"cell_sequence_grad": [*GRADIENTS, *[(3, 0, "vectors", k) for k in range(3)]]},
    "gru_block_cell": {"cell_step": [(0, 0), (1, "r"), (1, "u"), (1, "c")]},
    "gru_block_cell_grad": {"cell_step_grad": [(0,), (1, 0)]},
    "cudnn_rnn_v3": {"cell_sequence": [(0,), (1,), (2,)], "cell_sequence_grad": [*GRADIENTS, (3, 0, "bR")]},
}
"""For each op and its kernels, the paths to the arrays of a result that the op uses."""


def changed(found: Any, path: tuple[Any, ...]) -> Any:
    """A result with other numbers at this path, if there is anything."""
    if not path:
        return None if found is None else found * (1 + 1e-9)
    first, *rest = path
    if isinstance(found, dict):
        return found | {first: changed(found[first], tuple(rest))}
    if hasattr(found, "_fields"):
        return found._replace(**{first: changed(getattr(found, first), tuple(rest))})
    return type(found)(changed(part, tuple(rest)) if k == first else part for k, part in enumerate(found))


@cache
def by_definition() -> dict[str, list[table.Comparison]]:
    """Some comparisons with the definition in float64, by op."""
    found: dict[str, list[table.Comparison]] = {}
    for one in all_comparisons({"cpu": None}):
        if one.quick and (one.cell.dtype, one.cell.way) == ("float64", "definition"):
            found.setdefault(one.cell.op, []).append(one)
    return found


@pytest.mark.parametrize(
    ("op", "kernel", "path"),
    [(op, kernel, path) for op, kernels in OUTPUTS.items() for kernel, paths in kernels.items() for path in paths],
)
def test_every_output_of_every_kernel_is_watched(
    op: str, kernel: str, path: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    patched(monkeypatch, CPU, kernel, lambda found: changed(found, path))
    assert FAILED in {result.status for result in table.compare_all(by_definition()[op])}


def test_a_wrong_definition_fails_and_stored_values_do_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = GRUBlockCellGrad.compose
    monkeypatch.setattr(GRUBlockCellGrad, "compose", lambda self, *x: [y * 1.001 for y in original(self, *x)])
    status, results = run(tmp_path, "--op", "gru_block_cell_grad", "--device", "cpu")
    found = statuses(results)
    assert status == 1
    assert FAILED in found["definition"]  # float16 allows an error of a thousandth
    assert found["stored"] == {PASSED}


def test_a_kernel_that_raises_fails_with_what_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("the kernel is broken")

    monkeypatch.setattr(CPU, "cell_step", broken)
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    assert status == 1
    assert outcomes(statuses(results)) == {FAILED}
    assert "ZeroDivisionError: the kernel is broken" in capsys.readouterr().out


def test_a_kernel_that_a_device_lost_fails_rather_than_its_composition_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CPU, "kernels", CPU.kernels - {"cell_step"})
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu")
    assert status == 1
    assert statuses(results)["definition"] == {FAILED}
    assert any("cpu has no kernel cell_step" in r.why for r in results)


@pytest.fixture
def cuda_source(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Makes the simulator compile a kernel file of cells with one text replaced by another."""

    def replace(file: str, old: str, new: str) -> None:
        original = cuda_device.text

        def text(name: str, plan: Any = None) -> str:
            found, included = original(name, plan), f'#include "{name}"\n'
            if name != file:
                return found
            whole = original(name)
            assert whole.count(old) == 1 and included in found
            return found.replace(included, f'#line 1 "{name}"\n{whole.replace(old, new)}')

        monkeypatch.setattr(cuda_device, "text", text)
        made = {name: device for name, device in mr.devices.registry._made.items() if name != "cuda-sim"}
        monkeypatch.setattr(mr.devices.registry, "_made", made)
        ways.checking.cache_clear()

    yield replace
    ways.checking.cache_clear()
    driver = mr.devices.get("cuda-sim").driver
    gc.collect()
    for _ in range(100):  # damage by a wrong kernel is reported once for each array, and not in the next test
        try:
            driver.synchronize()
            break
        except LaunchError:
            continue


@needs_simulator
def test_a_wrong_cuda_kernel_fails_on_its_device_alone(
    cuda_source: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    cuda_source("sequence/steps.cu", "after[j][n] = s.after[j];", "after[j][n] = s.before[j];")
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "cuda-sim")
    assert status == 1
    assert outcomes(statuses(results, device="cpu")) == {PASSED}
    assert outcomes(statuses(results, device="cuda-sim")) == {FAILED}


@needs_simulator
def test_an_access_out_of_bounds_fails_in_check_mode_with_its_line(
    cuda_source: Callable[[str, str, str], None], tmp_path: Path
) -> None:
    size = "const i64 k = (i64)row * H + unit, block = (i64)B * H;\n    Units<real> A_"
    cuda_source(
        "sequence/steps.cu", f"if (row >= B || unit >= H) return;\n    {size}", f"if (unit >= H) return;\n    {size}"
    )
    _, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cuda-sim")
    (checked,) = [r for r in results if r.cell.way == "check mode"]
    assert checked.status == FAILED
    # All arrays are read by a function of units.cuh; a compiler that puts it into the kernel has the kernel's line.
    assert re.search(r" at (units.cuh|steps.cu):\d+", checked.why) and "cell_step_0" in checked.why
