"""Distributing a test run over processes, its order, and the final report of tests not run."""

import gc
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any

import pytest

SHOWN = 7
"""The number of reasons with their own line. With the title, the line for the others and pytest's counts, it is ten
lines.
"""

SLOW = "slow, not in the default run: pytest -m slow"
"""Why a test marked `slow` is not run unless ``-m`` mentions it."""

left_out = pytest.StashKey[int]()
"""The number of slow tests that were left out. Each worker collects the same ones and reports them to the main
process.
"""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """``-n auto``, the setting in pyproject.toml: 0 runs the tests in this process, None means one worker per core."""
    return 0 if in_one_process(config, os.environ) else None


def in_one_process(config: pytest.Config, environment: Mapping[str, str]) -> bool:
    """Whether workers would cost more than they save, would share one GPU, or would interfere with a debugger."""
    option = config.option
    some = bool(option.keyword or getattr(option, "lf", False)) or any(
        "::" in a or a.endswith(".py") for a in config.args
    )
    watched = option.capture == "no" or getattr(option, "trace", False)
    inside_a_test = "PYTEST_CURRENT_TEST" in environment
    return some or watched or inside_a_test or uses_a_gpu(option.devices)


def uses_a_gpu(devices: str | None) -> bool:
    """Whether this machine has a GPU that works, and the tests (of ``--devices``, or of all devices) run on it."""
    from minirnn import devices as known

    return "cuda" in (devices or "cuda").split(",") and known.available()["cuda"] is None


def pytest_configure(config: pytest.Config) -> None:
    """Settings for processes that run at the same time; and ``--restless``."""
    if config.option.restless:
        be_restless()
    if getattr(config.option, "numprocesses", None):
        # the workers use all cores, so that threads of products would wait for each other
        for library in ("OPENBLAS", "OMP"):
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
        import matplotlib.font_manager  # noqa: F401  looks for fonts once, and not in every process with a complaint


def be_restless() -> None:
    """Threads switch as often as Python allows, and garbage is collected at any moment.

    A test (or a `__del__`) that only works without interruptions then fails soon, and not once a month.
    """
    sys.setswitchinterval(1e-6)  # seconds
    gc.set_threshold(97, 3, 3)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Exclude the collected tests from garbage collection, because they never become garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--shuffle SEED``, put the files and the tests in each in a random order. Deselect slow tests unless
    requested.
    """
    if not asked_for_slow(config):
        slow = {item: None for item in items if item.get_closest_marker("slow")}
        config.stash[left_out] = len(slow)
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]
    if (seed := config.option.shuffle) is not None:
        items[:] = shuffled(items, seed, key=lambda item: item.nodeid.partition("::")[0])


def asked_for_slow(config: pytest.Config) -> bool:
    """Whether ``-m`` mentions slow tests, or a test is named by its id."""
    return "slow" in config.option.markexpr or any("::" in argument for argument in config.args)


def shuffled(items: Iterable[Any], seed: int, key: Callable[[Any], str]) -> list[Any]:
    """Shuffle, keeping items with the same key together. Their order depends only on seed and key."""
    groups: dict[str, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    names = random.Random(seed).sample(sorted(groups), len(groups))
    return [item for name in names for item in random.Random(f"{seed} {name}").sample(groups[name], len(groups[name]))]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist reports how many tests it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = session.config.stash.get(left_out, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Receive a worker's report in the main process."""
    node.config.stash[left_out] = getattr(node, "workeroutput", {}).get("left out", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Report the tests that were not run, and why, before the failures and the counts."""
    reasons = [reason_of(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    reasons += [SLOW] * config.stash.get(left_out, 0)
    lines = not_run(reasons)
    if lines:
        terminalreporter.section(f"not run: {len(reasons)}", sep="-")
        for line in lines:
            terminalreporter.write_line(line)


def reason_of(longrepr: Any) -> str:
    """The first line of a reason, without a repeated device name."""
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    first = text.removeprefix("Skipped: ").partition("\n")[0]
    return re.sub(r"^([\w-]+): (?=\1\b)", "", first)


def not_run(reasons: Iterable[str]) -> list[str]:
    """One line per reason, with the number of tests that it skipped, the most frequent first."""
    counts = Counter(reasons).most_common()
    others = counts[SHOWN:] if len(counts) > SHOWN + 1 else []
    lines = [f"{count:6d}  {reason}" for reason, count in counts[: len(counts) - len(others)]]
    if others:
        lines.append(f"{sum(n for _, n in others):6d}  for {len(others)} other reasons: pytest -rs shows them")
    return lines
