"""Planted mistakes are noticed by the judges in the table: a sample in a plain run, all of them as slow.

Tests `tests/ptx_machine/mistakes.py`, `tests/ptx_machine/planted.py`, `tests/ptx_machine/assembly.cu` and
`tests/ptx_machine/PLANTED.md`.
"""

import pytest

from tests.devices.cuda.sim import test_students as students
from tests.ptx_machine import build
from tests.ptx_machine.mistakes import ASSEMBLY, MISTAKES, Mistake
from tests.ptx_machine.planted import TABLE, judges, notices, outcome, table

pytestmark = pytest.mark.skipif(build.reason_against() is not None, reason=f"ptx: {build.reason_against()}")
SAMPLE = {
    "a weak load looks",
    "ld.acquire is ld.relaxed",
    "a lock without an acquire",
    "a vector's operands are exchanged",
}


@pytest.mark.parametrize(
    "mistake",
    [pytest.param(m, id=m.name, marks=[pytest.mark.slow] * (m.name not in SAMPLE)) for m in MISTAKES],
)
def test_a_mistake_is_noticed_by_whom_the_table_names(mistake: Mistake) -> None:
    assert outcome(mistake, mistake.where) == mistake.noticed


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("fenced", "turns", "grid_barrier", "lock")))
        for name in (*ASSEMBLY, *students.CASES, "ladder", "barrier")
    ],
)
def test_the_same_kernels_are_right_on_the_machine(where: str) -> None:
    for make in judges(where)[2]:
        assert not notices(None, where, make)


def test_the_table_is_the_committed_one_and_nearly_all_is_noticed() -> None:
    rows = [(mistake, mistake.noticed) for mistake in MISTAKES]
    assert table(rows) in TABLE.read_text(encoding="utf-8")
    noticed = [m for m in MISTAKES if m.noticed[2] == "y"]
    assert len(MISTAKES) >= 25 and len(noticed) >= len(MISTAKES) - 3
    assert sum(m.in_assembly for m in noticed) >= 10 <= sum(not m.in_assembly for m in noticed)
