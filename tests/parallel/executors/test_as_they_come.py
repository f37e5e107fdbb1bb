"""Each task is reported once, even if its worker is lost.

Tests `minirnn/parallel/executors.py`.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from minirnn.parallel.executors import WorkerLost, open_executor, outcomes
from tests.parallel.executors import tasks

ROOT = Path(__file__).parents[3]


class KilledWorker(Exception):
    """The error of Dask for a task that has lost several workers."""


class Loses(Executor):
    """An executor whose first `times` submissions of every task lose their worker."""

    def __init__(self, times: int, error: type[Exception] = BrokenExecutor) -> None:
        self.times, self.error, self.begun = times, error, Counter[Any]()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.begun[args] += 1
        if self.begun[args] <= self.times:
            future.set_exception(self.error("killed"))
        else:
            future.set_result(function(*args))
        return future


def test_every_task_is_told_once_with_its_number() -> None:
    with ThreadPoolExecutor(3) as executor:
        found = sorted(outcomes(executor, tasks.square, range(100, 400)))
    assert found == [(k, 100 + k, (100 + k) ** 2, None) for k in range(300)]


def test_what_a_function_raises_is_its_outcome_and_is_not_tried_again() -> None:
    executor = Loses(0)

    def submit(function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        executor.begun[args] += 1
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    executor.submit = submit  # type: ignore[method-assign]
    found = sorted(outcomes(executor, tasks.refuse_odd, range(4)), key=lambda one: one.number)
    assert [one.result for one in found] == [0, None, 2, None]
    assert [str(one.error) for one in found] == ["None", "1 is odd", "None", "3 is odd"]
    assert found[2].get() == 2
    with pytest.raises(ValueError, match="3 is odd"):
        found[3].get()
    assert set(executor.begun.values()) == {1}


def test_a_task_whose_worker_was_lost_is_begun_again_and_told_once() -> None:
    executor = Loses(2)
    found = sorted(outcomes(executor, tasks.square, range(20), ahead=3))
    assert [one.result for one in found] == [k * k for k in range(20)]
    assert set(executor.begun.values()) == {3}


@pytest.mark.parametrize("error", [BrokenExecutor, KilledWorker])
def test_a_task_that_loses_every_worker_is_told_as_lost(error: type[Exception]) -> None:
    executor = Loses(99, error)
    (found,) = outcomes(executor, tasks.square, [7], tries=4)
    assert (found.number, found.task, found.result) == (0, 7, None)
    assert isinstance(found.error, WorkerLost) and "4 workers" in str(found.error) and "killed" in str(found.error)
    assert executor.begun[(7,)] == 4


def test_tasks_are_read_only_as_they_are_needed() -> None:
    read = 0

    def endless() -> Iterator[int]:
        nonlocal read
        while True:
            read += 1
            yield read

    with ThreadPoolExecutor(2) as executor:
        some = outcomes(executor, tasks.square, endless(), ahead=5)
        assert len({next(some).number for _ in range(20)}) == 20
        assert read <= 25
        some.close()  # type: ignore[attr-defined]


def test_who_stops_early_takes_back_what_was_not_begun(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        waits = [(str(tmp_path / f"begun{k}"), str(tmp_path / f"end{k}")) for k in range(5)]
        (tmp_path / "end0").touch()
        some = outcomes(executor, tasks.wait_for, waits)
        assert next(some).number == 0
        some.close()  # type: ignore[attr-defined]
        (tmp_path / "end1").touch()  # the second may have been started
    assert len(list(tmp_path.glob("begun*"))) <= 2


def test_an_executor_that_takes_no_more_is_an_error_that_says_so() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(ConnectionError, match="takes no more tasks"):
        list(outcomes(executor, tasks.square, [1]))


@pytest.mark.slow
def test_a_killed_process_takes_only_its_own_task_along(tmp_path: Path) -> None:
    with open_executor("processes:2") as executor:
        found = sorted(outcomes(executor, tasks.die_once, [(k, str(tmp_path)) for k in range(8)]))
    assert [one.result for one in found] == [k * k for k in range(8)]
    begun = Counter(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert begun == {str(k): 2 if k == 3 else 1 for k in range(8)}


@pytest.mark.slow
def test_ctrl_c_while_a_process_starts_is_left_to_the_one_that_asked() -> None:
    with open_executor("processes:2") as executor:
        masks = [executor.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []) for _ in range(20)]
        assert all(signal.SIGINT in mask.result() for mask in masks)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_task_that_kills_every_process_costs_no_other_task() -> None:
    with open_executor("processes:2") as executor:
        found = sorted(outcomes(executor, tasks.die, range(6), tries=2), key=lambda one: one.number)
    assert [one.result for one in found] == [0, 1, 4, None, 16, 25]
    assert isinstance(found[3].error, WorkerLost)


PROGRAM = """
    import sys
    from minirnn.parallel.executors import open_executor, outcomes
    from tests.parallel.executors import tasks

    if __name__ == "__main__":
        folder = sys.argv[2]
        waits = [(f"{folder}/begun{k}", f"{folder}/end{k}") for k in range(6)]
        with open_executor(sys.argv[1]) as executor:
            for one in outcomes(executor, tasks.wait_for, waits):
                print(one.number, flush=True)
"""


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter if it ends between opening and reading
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_no_process_outlives_the_one_that_asked(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    asking = subprocess.Popen(
        [sys.executable, str(program), "processes:2", str(tmp_path)], env=environment, stderr=subprocess.PIPE, text=True
    )
    while len(pids := [int(path.read_text()) for path in tmp_path.glob("begun?")]) < 2:
        assert asking.poll() is None
        time.sleep(0.02)
    asking.send_signal(number)
    _, said = asking.communicate()
    assert asking.returncode in (-number, 130)
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in said.splitlines()[-1]
    while not all(gone(pid) for pid in pids):
        time.sleep(0.02)
    assert len(list(tmp_path.glob("begun?"))) <= 4
