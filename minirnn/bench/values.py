"""The values of one device: minirnn.verify's comparisons, as ``minirnn bench --check`` reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from minirnn.verify import block, cudnn, primitives, stored
from minirnn.verify.case import Case
from minirnn.verify.table import Finding, worst
from minirnn.verify.ways import by_definition, by_differences


@dataclass(frozen=True)
class Value:
    """What was compared: the difference that comes nearest to its bound, what was allowed, and why it failed."""

    name: str
    ok: bool
    difference: float | None = None
    allowed: float | None = None
    why: str = ""


def golden(folder: Path, device: str, quick: bool) -> Iterator[Value]:
    """Every file of a clone's ``tests/golden``, of the networks those of the newest version; `quick`: a few files."""
    runs: dict[str, list[Callable[[], Finding]]] = {}
    for cell, stem, run in stored.jobs(folder, device):
        network = cell.op.startswith("cudnn_rnn")
        if (network and cell.op != "cudnn_rnn_v3") or (quick and stem not in stored.QUICK):
            continue
        runs.setdefault(f"golden {stem} {cell.dtype}" if network else f"golden {stem}", []).append(run)
    for name, listed in runs.items():
        yield value(name, listed)


def cases() -> Iterator[tuple[str, Case]]:
    """The name and a case of every op: a small one of the primitives, the block ops and the networks."""
    for case in (case for module in (primitives, block, cudnn) for case in module.cases()):
        if case.quick and (case.step or not case.has_definition):
            variant = "" if case.variant == "plain" else f" {case.variant}"
            yield case.variant if case.op == "primitives" else f"{case.op}{variant}", case


def gradients(device: str) -> Iterator[Value]:
    """Central differences of every op that has gradients; the definition of those that have none."""
    for name, case in cases():
        if case.step:
            yield value(f"gradcheck {name}", [partial(by_differences, case, device)])
        else:
            yield value(f"values {name}", [partial(by_definition, case, "float64", device)])


def value(name: str, runs: Iterable[Callable[[], Finding]]) -> Value:
    """Compare; whatever a comparison raises is its result."""
    try:
        found = worst(run() for run in runs)
    except Exception as error:
        return Value(name, False, why=f"{type(error).__name__}: {error}")
    return Value(name, found.ok, found.error, found.tolerance)
