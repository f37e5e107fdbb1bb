"""The machine's memory shows what PTX allows, and never what PTX forbids.

Tests `tests/ptx_machine/runtime/`, by the table in `tests/ptx_machine/litmus.py`.
"""

import pytest

import minirnn as mr
from tests.ptx_machine.litmus import TESTS, Litmus, outcomes

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)
RUNS = 1500
"""Enough runs for the rarest allowed outcome, which happens about once in a hundred."""


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_what_is_allowed_happens_and_what_is_forbidden_never_does(test: Litmus) -> None:
    happened = outcomes(TESTS, TESTS.index(test), range(RUNS))
    print(f"{test.question}: {sum(happened)} of {RUNS} runs; {'allowed' if test.allowed else 'forbidden'}: {test.why}")
    assert any(happened) == test.allowed, test.why


def test_names_are_unique_and_both_answers_are_asked_for() -> None:
    assert len({test.name for test in TESTS}) == len(TESTS) >= 60
    assert sum(test.allowed for test in TESTS) >= 25 <= sum(not test.allowed for test in TESTS)


@pytest.mark.slow
@pytest.mark.parametrize("test", [t for t in TESTS if not t.allowed], ids=lambda test: test.name)
def test_what_is_forbidden_does_not_happen_in_many_runs(test: Litmus) -> None:
    assert not any(outcomes(TESTS, TESTS.index(test), range(RUNS, 20 * RUNS)))


def test_without_weak_memory_nothing_forbidden_happens_either() -> None:
    for k, test in enumerate(TESTS):
        if not test.allowed:
            assert not any(outcomes(TESTS, k, range(20), weak=False)), test.name
