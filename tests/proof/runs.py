"""Runs of ``python -m tests.verified`` for tests, and helpers to read them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.proof import table
from minirnn.proof.table import Cell, Result
from tests.verified import GOLDEN, main

ROOT = Path(__file__).parents[2]

BASELINE = ROOT / "docs" / "data" / "verify" / "cpu_cuda-sim.json"

STAND_IN = BASELINE.with_name("cuda_stand-in.json")

SIMULATOR = mr.devices.available()["cuda-sim"]

needs_simulator = pytest.mark.skipif(SIMULATOR is not None, reason=f"cuda-sim: {SIMULATOR}")

GRU = Cell("gru_block_cell", "plain", "float32", "cpu", "definition")


def run(tmp_path: Path, *arguments: str, golden: Path = GOLDEN) -> tuple[int, list[Result]]:
    """A quick run: exit status and table."""
    out = tmp_path / "table.json"
    out.unlink(missing_ok=True)
    status = main(["--quick", "--out", str(out), *arguments], golden)
    return status, table.read(out)[1]


def statuses(results: list[Result], **where: str) -> dict[str, set[str]]:
    """Maps a way to the statuses of its cells that match `where`."""
    found: dict[str, set[str]] = {}
    for r in results:
        if all(getattr(r.cell, name) == value for name, value in where.items()):
            found.setdefault(r.cell.way, set()).add(r.status)
    return found


def outcomes(found: dict[str, set[str]]) -> set[str]:
    """All statuses."""
    return set().union(*found.values())


def patched(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Let `change` alter the result of a function."""
    original = getattr(owner, name)
    wrong = lambda *a, **k: change(original(*a, **k))  # noqa: E731
    monkeypatch.setattr(
        owner, name, staticmethod(wrong) if isinstance(owner, type) and "self" not in str(name) else wrong
    )


def gru_with_h(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Any]:
    """For `patched`: the result of `cell_step` with another h."""
    return lambda found: ((change(found[0][0]),), found[1])
