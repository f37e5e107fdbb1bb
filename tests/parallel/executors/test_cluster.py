"""The same tasks on the workers of a Dask cluster and on ranks of MPI, also when a worker is killed.

Tests `minirnn/parallel/executors.py`.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minirnn.parallel.executors import open_executor, outcomes
from tests.parallel.executors import tasks
from tests.parallel.executors.dask_cluster import two_workers

ROOT = Path(__file__).parents[3]


@pytest.fixture
def cluster() -> Iterator[Any]:
    with two_workers() as started:
        yield started


def test_dask_does_each_task_and_raises_what_it_raises(cluster: Any, tmp_path: Path) -> None:
    assert hasattr(pytest.importorskip("distributed"), "KilledWorker")  # the name by which its error is known
    with open_executor(f"dask:{cluster.scheduler_address}") as executor:
        found = sorted(outcomes(executor, tasks.refuse_odd, range(20)), key=lambda one: one.number)
        assert [one.result for one in found] == [None if k % 2 else k for k in range(20)]
        assert str(found[3].error) == "3 is odd"
        folder = tmp_path / "begun"
        folder.mkdir()  # by default Dask merges calls with equal arguments
        assert len(list(outcomes(executor, tasks.die_once, [(5, str(folder))] * 7))) == 7
        assert len(list(folder.iterdir())) >= 2
    (tmp_path / "scheduler.json").write_text(json.dumps({"address": cluster.scheduler_address}))
    with open_executor(f"dask:{tmp_path / 'scheduler.json'}") as executor:
        assert sorted(one.get() for one in outcomes(executor, tasks.square, [3, 4])) == [9, 16]


def test_a_killed_worker_of_dask_loses_nothing_and_nothing_is_told_twice(cluster: Any, tmp_path: Path) -> None:
    waits = [(str(tmp_path / f"begun{k}"), str(tmp_path / "end")) for k in range(12)]

    def kill_one() -> None:
        """Kill one worker as soon as both are working on a task."""
        while len(begun := list(tmp_path.glob("begun*[0-9]"))) < 2:
            time.sleep(0.02)
        os.kill(int(begun[0].read_text()), signal.SIGKILL)
        (tmp_path / "end").touch()

    killer = threading.Thread(target=kill_one)
    killer.start()
    with open_executor(f"dask:{cluster.scheduler_address}") as executor:
        told = sorted((one.number, one.get()) for one in outcomes(executor, tasks.wait_for, waits))
    killer.join()
    assert told == [(k, f"begun{k}") for k in range(12)]


def test_a_scheduler_that_ends_is_told_instead_of_waited_for(cluster: Any, tmp_path: Path) -> None:
    def end() -> None:
        while not list(tmp_path.glob("begun*[0-9]")):
            time.sleep(0.02)
        cluster.close()

    ending = threading.Thread(target=end)
    ending.start()
    with (
        pytest.raises(ConnectionError, match="scheduler has ended|takes no more tasks"),
        open_executor(f"dask:{cluster.scheduler_address}") as executor,
    ):
        list(outcomes(executor, tasks.wait_for, [(str(tmp_path / "begun0"), str(tmp_path / "end"))]))
    (tmp_path / "end").touch()
    ending.join()


PROGRAM = """
    from minirnn.parallel.executors import open_executor, outcomes
    from tests.parallel.executors import tasks

    if __name__ == "__main__":
        with open_executor("mpi") as executor:
            found = sorted(outcomes(executor, tasks.refuse_odd, range(40)), key=lambda one: one.number)
        print(sum(one.result or 0 for one in found), sum(one.error is not None for one in found))
"""


@pytest.mark.parametrize("module", [[], ["-m", "mpi4py.futures"]])
def test_ranks_of_mpi_are_workers(tmp_path: Path, module: list[str]) -> None:
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if mpiexec is None:
        pytest.skip("mpiexec is not installed")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [mpiexec, "-n", "3", sys.executable, *module, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stdout) == (0, f"{sum(range(0, 40, 2))} 20\n"), done.stderr
