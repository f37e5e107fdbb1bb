"""How the tests are run: in how many processes, in which order, and how the last screen sums up what was not run.

Tests `tests/run.py`.
"""

from __future__ import annotations

import gc
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from minirnn import devices
from tests.run import (
    SHOWN,
    SLOW,
    asked_for_slow,
    be_restless,
    in_one_process,
    not_run,
    pytest_collection_modifyitems,
    reason_of,
    shuffled,
)

GPU = "cuda: NVIDIA driver missing"


def config(*args: str, **options: Any) -> Any:
    plain = dict(keyword="", lf=False, capture="fd", trace=False, devices=None, markexpr="")
    return SimpleNamespace(args=args, option=SimpleNamespace(**(plain | options)))


@pytest.mark.parametrize(
    ("chosen", "environment", "expected"),
    [
        (config("tests"), {}, False),
        (config("tests/ops", "tests/nn"), {}, False),
        (config("tests/test_random.py"), {}, True),
        (config("tests/test_random.py::test_a"), {}, True),
        (config("tests", keyword="random"), {}, True),
        (config("tests", lf=True), {}, True),
        (config("tests", capture="no"), {}, True),
        (config("tests", trace=True), {}, True),
        (config("tests"), {"PYTEST_CURRENT_TEST": "tests/test_a.py::test_a (call)"}, True),
    ],
)
def test_workers_are_for_whole_folders_and_never_inside_a_test(
    chosen: Any, environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "available", lambda: {"cuda": GPU})
    assert in_one_process(chosen, environment) is expected


@pytest.mark.parametrize(("named", "expected"), [(None, True), ("cpu,cuda", True), ("cpu,cuda-sim", False)])
def test_one_gpu_is_not_shared_by_workers(named: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda: {"cuda": None})
    assert in_one_process(config("tests", devices=named), {}) is expected


def test_a_random_order_keeps_the_tests_of_a_file_together_and_comes_again_with_its_seed() -> None:
    tests = [f"test_{file}.py::test_{k}" for file in "abc" for k in range(6)]
    orders = [shuffled(tests, seed, key=lambda test: test.partition("::")[0]) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    for order in orders:
        assert sorted(order) == tests != order
        assert len({test.partition("::")[0] for test in order[:6]}) == 1
    of_b = [test for test in orders[0] if test.startswith("test_b.py")]
    assert shuffled(sorted(of_b), 1, key=lambda test: test.partition("::")[0]) == of_b  # the file alone


def test_the_search_for_garbage_works_and_leaves_out_what_was_collected() -> None:
    assert gc.isenabled() and gc.get_freeze_count() > 10_000


def test_a_restless_run_looks_for_garbage_and_changes_threads_much_more_often() -> None:
    interval, threshold = sys.getswitchinterval(), gc.get_threshold()
    try:
        sys.setswitchinterval(0.005)
        gc.set_threshold(700, 10, 10)
        be_restless()
        assert sys.getswitchinterval() < 1e-5 and gc.get_threshold()[0] < 100
    finally:
        sys.setswitchinterval(interval)
        gc.set_threshold(*threshold)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (config("tests"), False),
        (config("tests/test_run.py"), False),
        (config("tests", markexpr="cuda"), False),
        (config("tests", markexpr="slow"), True),
        (config("tests", markexpr="not slow"), True),
        (config("tests/test_run.py::test_many_reasons_fit_on_the_last_screen"), True),
    ],
)
def test_a_slow_test_waits_until_it_is_asked_for(chosen: Any, expected: bool) -> None:
    added: list[Any] = []
    items: list[Any] = [
        SimpleNamespace(get_closest_marker=lambda name, slow=slow: slow and name == "slow", add_marker=added.append)
        for slow in (True, False, True)
    ]
    chosen.option.shuffle = None
    assert asked_for_slow(chosen) is expected
    pytest_collection_modifyitems(chosen, items)
    assert [mark.kwargs["reason"] for mark in added] == ([] if expected else [SLOW, SLOW])


def test_reasons_are_grouped_the_most_frequent_first() -> None:
    skips: list[Any] = [("a.py", 3, f"Skipped: cuda: {GPU}"), ("a.py", 9, "Skipped: no Chromium"), f"{GPU}\nmore"]
    assert not_run(map(reason_of, skips)) == [f"     2  {GPU}", "     1  no Chromium"]


def test_many_reasons_fit_on_the_last_screen() -> None:
    lines = not_run([f"reason {k}" for k in range(30) for _ in range(40 - k)])
    assert len(lines) == SHOWN + 1
    assert lines[0] == "    40  reason 0" and lines[-1].endswith(
        f"  for {30 - SHOWN} other reasons: pytest -rs shows them"
    )
    assert not_run([]) == []
    assert len(not_run(f"reason {k}" for k in range(SHOWN + 1))) == SHOWN + 1
