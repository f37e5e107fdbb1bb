"""A run is compared with a stored table."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from minirnn.devices.cpu.device import CPU
from minirnn.proof import table
from minirnn.proof.table import ABSENT, PASSED, Result
from tests.proof.runs import (
    BASELINE,
    GRU,
    gru_with_h,
    patched,
    run,
    statuses,
)


def changed(tmp_path: Path, change: Callable[[list[Result]], list[Result]]) -> str:
    """A file with the stored table, changed."""
    head, results = table.read(BASELINE)
    path = tmp_path / "then.json"
    table.write(path, head, change(results))
    return str(path)


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
    path = changed(tmp_path, lambda results: [change(r) if r.cell == GRU else r for r in results])
    status, _ = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WORSE")]
    assert status == (said is not None)
    assert found == ([] if said is None else [f"WORSE {GRU}: {said}"])


@pytest.mark.slow
def test_an_error_that_grew_tenfold_fails_though_it_is_within_its_tolerance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worse = 1.5e-6  # 25 units of roundoff, and half the tolerance
    path = changed(
        tmp_path, lambda results: [dataclasses.replace(r, error=5e-8) if r.cell == GRU else r for r in results]
    )
    patched(monkeypatch, CPU, "cell_step", gru_with_h(lambda h: h + h.dtype.type(worse) if h.dtype == "f4" else h))
    status, results = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)
    found = [line for line in capsys.readouterr().out.splitlines() if line.startswith("WORSE")]
    assert statuses(results, dtype="float32")["definition"] == {PASSED}
    assert status == 1
    assert found[0].startswith(f"WORSE {GRU}: error 1.") and "more than 10 times" in found[0]


@pytest.mark.slow
def test_a_cell_that_disappeared_fails_and_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = dataclasses.replace(GRU, variant="with a fifth gate")
    path = changed(tmp_path, lambda results: [*results, Result(gone, 1, PASSED, 1e-8, 1e-6, "n u", "h")])
    status, _ = run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)
    assert status == 1
    assert f"WORSE {gone}: the cell disappeared" in capsys.readouterr().out


@pytest.mark.slow
def test_cells_that_were_not_asked_for_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    others = [dataclasses.replace(GRU, variant="gone", device="cuda-sim"), dataclasses.replace(GRU, op="primitives")]
    path = changed(tmp_path, lambda results: [*results, *(Result(c, 1, PASSED, 0.0, 0.0, "exact", "") for c in others)])
    assert run(tmp_path, "--op", "gru_block_cell", "--device", "cpu", "--against", path)[0] == 0
