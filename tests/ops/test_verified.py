"""Every op in every way of `python -m tests.verified`, on every device. The package declares the cases.

Without `-m slow` all stored values are compared on the cpu, and one small case of every kind; with `-m slow` all other
cases. The other devices take every fourth comparison. Derivatives are compared with differences on the cpu, and with
`-m slow` every eighth also on the other devices. `python -m tests.verified` makes all comparisons on all devices.

Tests `minirnn/ops/` and the cases of `minirnn/proof/cases/`.
"""

from functools import cache

import pytest

from minirnn.proof import table
from minirnn.proof.table import FAILED, WAYS, Cell, Comparison
from tests.proof.against import compare, count_cases
from tests.proof.runs import BASELINE, needs_simulator
from tests.verified import every_comparison

SIZE = "cudnn_rnn_params_size"  # a number, computed on no device

all_or_a_few = pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "others"]
)


@cache
def stored_table() -> list[table.Result]:
    return table.read(BASELINE)[1]


def rows(*ways: str) -> list[tuple[str, str]]:
    """Each op with each of these ways that exists for it."""
    return sorted({(r.cell.op, r.cell.way) for r in stored_table() if r.cell.way in ways and r.cell.op != SIZE})


@cache
def listed(device: str) -> dict[tuple[str, str], list[Comparison]]:
    """All comparisons on a device, by op and way."""
    found: dict[tuple[str, str], list[Comparison]] = {}
    for one in every_comparison({device: None}):
        found.setdefault((one.cell.op, one.cell.way), []).append(one)
    return found


def assert_right(op: str, way: str, device: str, every: bool) -> None:
    """No comparison fails, and no error is ten times that in the table of the documentation."""
    known = listed(device)[op, way]
    few = [one for one in known if one.quick or (way == "stored" and device == "cpu")] or known[:4]
    chosen = [one for one in known if all(one is not quick for quick in few)] if every else few
    if device != "cpu":  # three dtypes follow each other, so that all of them stay
        chosen = chosen[:: (4 if way in ("differences", "second order") else 2) * (2 if every else 1)]
    results = list(table.compare_all(chosen))
    assert not [f"{r.cell}: {r.why}" for r in results if r.status == FAILED] and (chosen or every)
    before = [r for r in stored_table() if (r.cell.op, r.cell.way) == (op, way)]
    assert compare(before, count_cases(known), results, {device}) == ([], [])


@all_or_a_few
@pytest.mark.parametrize(("op", "way"), rows("stored", "definition"))
def test_an_op_is_right(op: str, way: str, device: str, every: bool) -> None:
    assert_right(op, way, device, every)


@pytest.mark.slow_elsewhere
@all_or_a_few
@pytest.mark.parametrize(("op", "way"), rows("differences", "second order"))
def test_derivatives_of_an_op_are_right(op: str, way: str, device: str, every: bool) -> None:
    assert_right(op, way, device, every)


@needs_simulator
@all_or_a_few
@pytest.mark.parametrize(
    ("op", "way"),  # a plain run has one op; the tests of each kernel also use check mode
    [pytest.param(*row, marks=[pytest.mark.slow] * (row[0] != "gru_block_cell")) for row in rows("check mode")],
)
def test_a_cuda_kernel_reads_and_writes_only_what_is_its_own(op: str, way: str, every: bool) -> None:
    assert_right(op, way, "cuda-sim", every)


def test_sizes_of_parameter_buffers_are_the_stored_ones() -> None:
    assert_right(SIZE, "stored", "cpu", False)


def test_every_cell_is_of_one_of_these_tests() -> None:
    cells: set[Cell] = {r.cell for r in stored_table()}
    assert {(cell.op, cell.way) for cell in cells} == {*rows(*WAYS), (SIZE, "stored")}
