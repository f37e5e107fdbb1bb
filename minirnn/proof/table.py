"""The verification table: its cells, the comparisons that fill them, and the file in which it is stored."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from minirnn.arguments.user_error import UserError
from minirnn.io.atomic import atomic_write

SCHEMA = 1
COLUMNS = ("op", "variant", "dtype", "device", "way", "cases", "status", "error", "tolerance", "reason", "at", "why")
"""The columns of the stored table. `reason` is the index of a line of ``reasons``; null means that nothing was
found.
"""
WAYS = {
    "stored": "values that TensorFlow or torch computed, stored in tests/golden",
    "differences": "central differences in float64",
    "definition": "the composition from primitives on the tape, in float64 on the CPU (primitives: the device `cpu`)",
    "second order": "gradients of gradients, against those of the composition",
    "check mode": "the CUDA kernels, every access checked, in several thread orders, against `definition`",
}
OPS = (
    *("lstm_block_cell", "lstm_block_cell_grad"),
    *("block_lstm", "block_lstm_grad", "block_lstm_v2", "block_lstm_grad_v2"),
    *("gru_block_cell", "gru_block_cell_grad"),
    *("cudnn_rnn", "cudnn_rnn_v2", "cudnn_rnn_v3"),
    *("cudnn_rnn_backprop", "cudnn_rnn_backprop_v2", "cudnn_rnn_backprop_v3"),
    "cudnn_rnn_params_size",
    *("cudnn_rnn_params_to_canonical", "cudnn_rnn_params_to_canonical_v2"),
    *("cudnn_rnn_canonical_to_params", "cudnn_rnn_canonical_to_params_v2"),
    "primitives",
    "functional",
)
"""The rows of the table."""


def row_of(op: str) -> int:
    """The index of the row of `op`. Ops that are not part of minirnn come last."""
    return OPS.index(op) if op in OPS else len(OPS)


PASSED, FAILED, ABSENT = "passed", "FAILED", "not available"


@dataclass(frozen=True, order=True)
class Cell:
    """One entry of the table: an op, a variant, a dtype, a device, and a way of proving."""

    op: str
    variant: str
    dtype: str
    device: str
    way: str

    def __str__(self) -> str:
        return f"{self.op}, {self.variant}, {self.dtype}, {self.device}, {self.way}"


@dataclass(frozen=True)
class Finding:
    """The result of a comparison: the error relative to max(1, largest expected value), its bound and the reason for
    it, and the place.
    """

    error: float
    tolerance: float
    reason: str
    at: str

    @property
    def ok(self) -> bool:
        return self.error <= self.tolerance  # False for NaN

    @property
    def ratio(self) -> float:
        if self.ok:
            return self.error / self.tolerance if self.tolerance else 0.0
        return self.error / self.tolerance if self.tolerance and math.isfinite(self.error) else math.inf


def worst(findings: Iterable[Finding]) -> Finding:
    """The finding that comes nearest to its tolerance, or is farthest beyond it."""
    return max(findings, key=lambda finding: finding.ratio)


@dataclass(frozen=True)
class Comparison:
    """One case of a cell. `run` gives the worst finding; if it cannot run, it is None and `absent` says why."""

    cell: Cell
    case: str
    run: Callable[[], Finding] | None
    absent: str = ""
    quick: bool = False


@dataclass
class Result:
    """A cell with its result: the worst of all its cases."""

    cell: Cell
    cases: int = 0
    status: str = PASSED
    error: float | None = None
    tolerance: float | None = None
    reason: str = ""
    at: str = ""
    why: str = ""
    ratio: float = field(default=-1.0, repr=False)

    def add(self, comparison: Comparison, found: Finding | str) -> None:
        """Keep the worst result; `found` is what `made` returned for this comparison."""
        self.cases += 1
        if comparison.run is None:
            self.status, self.why = ABSENT, comparison.absent
            return
        if isinstance(found, str):
            self.fail(f"{comparison.case}: {found}")
            return
        if not found.ok:
            self.fail(f"{comparison.case}, {found.at}: off by {found.error:.2g}, allowed {found.tolerance:.2g}")
        if found.ratio > self.ratio:
            self.ratio, self.error, self.tolerance = found.ratio, found.error, found.tolerance
            self.reason, self.at = found.reason, f"{comparison.case}, {found.at}"

    def fail(self, why: str) -> None:
        self.status = FAILED
        self.why = self.why or why


def made(comparison: Comparison) -> Finding | str:
    """Make a comparison and return its finding, the error that it raised, or why it cannot run."""
    if comparison.run is None:
        return comparison.absent
    try:
        return comparison.run()
    except Exception as error:  # whatever a kernel, a compiler or a library raises is the result of this comparison
        return f"{type(error).__name__}: {error}"


def compare_all(comparisons: Iterable[Comparison]) -> list[Result]:
    """Make all comparisons. The comparisons of a cell need not be neighbors."""
    cells: dict[Cell, Result] = {}
    for one in comparisons:
        cells.setdefault(one.cell, Result(one.cell)).add(one, made(one))
    return list(cells.values())


# ---- the file


def to_json(head: dict[str, Any], results: Iterable[Result]) -> str:
    """The table as JSON: a row for each cell, and the names of the columns. Shared reasons are stored once."""
    ordered = sorted(results, key=lambda r: r.cell)
    reasons = sorted({r.reason for r in ordered if r.reason})
    number = {reason: k for k, reason in enumerate(reasons)}
    rows = []
    for r in ordered:
        found = _short(r.error), _short(r.tolerance), number.get(r.reason), r.at
        rows.append([*asdict(r.cell).values(), r.cases, r.status, *found, without_folders(r.why)])
    text = json.dumps({"schema": SCHEMA, **head, "columns": None}, indent=1)
    text = text.replace('"columns": null', f'"columns": {json.dumps(COLUMNS)}').removesuffix("\n}")
    return f'{text},\n "reasons": {_lines(reasons)},\n "cells": {_lines(rows)}\n}}\n'


def without_folders(text: str) -> str:
    """A message without the folders of the machine it comes from: ``/usr/lib/x.h:3`` is ``x.h:3``."""
    return re.sub(r"(?<![\w.])(?:/[\w.+~-]+)+/(?=[\w.])", "", text)


def _lines(rows: list[Any]) -> str:
    return "[\n  " + ",\n  ".join(json.dumps(row) for row in rows) + "\n ]" if rows else "[]"


def _short(x: float | None) -> float | None:
    """A number with three digits, or None, because JSON has no infinity."""
    return float(f"{x:.2e}") if x is not None and math.isfinite(x) else None


def write(path: Path, head: dict[str, Any], results: Iterable[Result]) -> None:
    with atomic_write(path, "w") as file:
        file.write(to_json(head, results))


def read(path: Path) -> tuple[dict[str, Any], list[Result]]:
    """The head and the cells of a stored table. Raises `UserError` if the file holds no such table."""
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        if head["schema"] != SCHEMA:
            raise UserError(f"{path}: a table of schema {head['schema']}\n  expected {SCHEMA}")
        columns, reasons, cells = head.pop("columns"), head.pop("reasons"), head.pop("cells")
        return head, [_result(dict(zip(columns, row, strict=True)), reasons) for row in cells]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UserError(f"{path}: this is not a table of minirnn verify ({type(error).__name__}: {error})") from error


def _result(line: dict[str, Any], reasons: list[str]) -> Result:
    cell = Cell(*(line[name] for name in Cell.__dataclass_fields__))
    result = Result(cell, line["cases"], line["status"], why=line["why"])
    if line["tolerance"] is not None:
        result.error = math.inf if line["error"] is None else line["error"]
        result.tolerance, result.reason, result.at = line["tolerance"], reasons[line["reason"]], line["at"]
        result.ratio = Finding(result.error, result.tolerance, "", "").ratio
    return result
