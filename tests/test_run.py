"""How the tests are run: the number of processes, the order, the number of examples, and the final report.

Tests `tests/run.py` and `tests/examples.py`.
"""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minirnn import devices
from tests.run import (
    SHOWN,
    SLOW,
    asked_for_slow,
    in_one_process,
    left_out,
    not_run,
    pytest_collection_modifyitems,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
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


class Item:
    """A test that is slow or not."""

    def __init__(self, slow: bool) -> None:
        self.slow = slow

    def get_closest_marker(self, name: str) -> bool:
        return self.slow and name == "slow"


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
    items: list[Any] = [Item(slow) for slow in (True, False, True)]
    chosen.option.shuffle, deselected = None, []
    chosen.stash, chosen.hook = (
        pytest.Stash(),
        SimpleNamespace(pytest_deselected=lambda items: deselected.extend(items)),
    )
    assert asked_for_slow(chosen) is expected
    pytest_collection_modifyitems(chosen, items)
    assert [item.slow for item in items] == ([True, False, True] if expected else [False])
    assert len(deselected) == chosen.stash.get(left_out, 0) == (0 if expected else 2)


def test_the_last_screen_says_how_many_slow_tests_a_worker_left_out() -> None:
    worker = SimpleNamespace(stash=pytest.Stash(), workeroutput={})
    worker.stash[left_out] = 3
    pytest_sessionfinish(SimpleNamespace(config=worker))  # type: ignore[arg-type]
    printing: Any = SimpleNamespace(stash=pytest.Stash())
    pytest_testnodedown(SimpleNamespace(config=printing, workeroutput=worker.workeroutput))
    said: list[str] = []
    screen = SimpleNamespace(stats={}, section=lambda title, sep: said.append(title), write_line=said.append)
    pytest_terminal_summary(screen, printing)
    assert said == ["not run: 3", f"     3  {SLOW}"]


CLOCKS = {"monotonic", "perf_counter", "process_time", "time", "thread_time"}


def reads_a_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("time.").removesuffix("_ns") in CLOCKS


def durations_asserted(source: str) -> list[int]:
    """Lines with an assertion about a difference of two clock readings, or about a variable that holds one."""
    tree = ast.parse(source)

    def measures(node: ast.AST) -> bool:
        differences = [n for n in ast.walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub)]
        return any(reads_a_clock(n.left) for n in differences)

    names = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and measures(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    asserts = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    used = {id(n): {m.id for m in ast.walk(n.test) if isinstance(m, ast.Name)} for n in asserts}
    return [node.lineno for node in asserts if measures(node.test) or used[id(node)] & names]


def test_no_test_measures_time() -> None:
    for source, lines in [
        ("start = time.monotonic()\nassert time.monotonic() - start < 3", [2]),
        ("start = perf_counter()\nseconds = perf_counter() - start\nassert seconds < 3", [3]),
        ("until = time.monotonic() + 100\nassert time.monotonic() < until", []),
    ]:
        assert durations_asserted(source) == lines
    sources = {path.name: path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py")}
    readers = {name: text for name, text in sources.items() if any(f"{clock}()" in text for clock in CLOCKS)}
    assert {name: lines for name, text in readers.items() if (lines := durations_asserted(text))} == {}


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
