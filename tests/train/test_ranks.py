"""Which rank prints and writes, errors of one rank that are raised on all, and runs over MPI.

Tests `minirnn/train/ranks.py`, `minirnn/train/run.py` and `minirnn/commands/train.py`.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from minirnn import parallel
from minirnn.arguments.user_error import UserError
from minirnn.io import checkpoint
from minirnn.parallel import World, mpi
from minirnn.train import ranks
from minirnn.train.ranks import check_shards, on_all, on_first, world_of_run
from tests.parallel.test_mpi import LIMIT, environment, mpiexec

OPTIONS = ["--shards", "4", "--hidden", "8", "--batch", "8", "--length", "8", "--quiet"]


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*mpi.SIZES, *mpi.RANKS):
        monkeypatch.delenv(name, raising=False)


def outcomes(size: int, work: Any) -> list[Any]:
    """The result or the exception of ``work(world)`` on each rank."""

    def caught(world: World) -> Any:
        try:
            return work(world)
        except UserError as error:
            return str(error)

    return parallel.simulate(caught, size)


def test_rank_0_works_for_all() -> None:
    def work(world: World) -> Any:
        return on_first(world, lambda: f"done by {world.rank}")

    assert outcomes(3, work) == ["done by 0"] * 3


def test_an_error_of_one_rank_is_an_error_of_all() -> None:
    def fails(world: World, rank: int) -> None:
        if world.rank == rank:
            raise UserError("no such file")

    assert outcomes(3, lambda world: on_first(world, lambda: fails(world, 0))) == ["no such file"] * 3
    assert outcomes(3, lambda world: on_all(world, lambda: fails(world, 0))) == ["no such file"] * 3
    assert outcomes(3, lambda world: on_all(world, lambda: fails(world, 2))) == ["rank 2: no such file"] * 3
    assert outcomes(3, lambda world: on_all(world, lambda: world.rank)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("size", "shards", "batch", "message"),
    [
        (4, 0, 32, "4 processes were started"),
        (1, 5, 32, "--shards 5 must divide --batch 32"),
        (4, 2, 32, "must be a multiple of the 4 ranks"),
        (4, 8, 32, None),
        (1, 0, 7, None),
    ],
)
def test_shards_fit_the_batch_and_the_ranks(size: int, shards: int, batch: int, message: str | None) -> None:
    for found in outcomes(size, lambda world: check_shards(world, shards, batch)):
        assert found is None if message is None else message in found


def test_without_a_launcher_there_is_one_rank_which_speaks() -> None:
    assert world_of_run().size == 1 and ranks.is_first()


def test_a_launcher_without_mpi4py_is_a_mistake_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setattr("minirnn.parallel.world._world", None)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    with pytest.raises(UserError, match=r'pip install "minirnn\[parallel\]"'):
        world_of_run()


# ---- over MPI


def train(count: int, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [mpiexec(), "-n", str(count), sys.executable, "-m", "minirnn", "train", "--out", str(folder), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=environment())


def written(folder: Path) -> list[bytes]:
    return [(folder / name).read_bytes() for name in ("checkpoint.safetensors", "metrics.jsonl")]


def test_processes_write_the_same_files_and_one_of_them_speaks(tmp_path: Path) -> None:
    found = []
    for count in (1, 2, 4):
        done = train(count, tmp_path / str(count), *OPTIONS, "--steps", "10")
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("to continue: ") == 1
        found.append(written(tmp_path / str(count)))
    assert found[0] == found[1] == found[2]
    done = train(2, tmp_path / "4", "--resume", "--steps", "20", "--quiet")
    assert done.returncode == 0, done.stderr
    done = train(1, tmp_path / "1", "--resume", "--steps", "20", "--quiet")
    assert written(tmp_path / "4") == written(tmp_path / "1")


def test_mistakes_are_said_once_and_end_all(tmp_path: Path) -> None:
    done = train(2, tmp_path / "a", "--steps", "3", "--hidden", "8")
    assert done.returncode == 2 and done.stderr.count("2 processes were started") == 1
    done = train(2, tmp_path / "b", "--shards", "2", "--steps", "3", "--text", str(tmp_path / "missing"))
    assert done.returncode == 2 and done.stderr.count("missing") == 1
    assert not (tmp_path / "a").exists() and not (tmp_path / "b").exists()


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_a_killed_rank_and_ctrl_c_leave_a_run_that_goes_on_with_the_same_bits(tmp_path: Path, name: str) -> None:
    """SIGKILL of one rank ends all; SIGINT reaches all, and they stop after the same step, saved."""
    folder = tmp_path / "run"
    command = [mpiexec(), "-n", "2", sys.executable, "-m", "minirnn", "train", "--out", str(folder), *OPTIONS]
    process = subprocess.Popen(
        [*command, "--steps", "100000"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        metrics, until = folder / "metrics.jsonl", time.monotonic() + LIMIT
        while not (metrics.exists() and len(metrics.read_text().splitlines()) > 3):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        if name == "SIGINT":
            process.send_signal(signal.SIGINT)  # mpiexec forwards it
        else:
            os.kill(ranks_of(process.pid)[-1], signal.SIGKILL)
        process.communicate(timeout=LIMIT)
        assert process.returncode != 0
    finally:
        process.kill()
        process.communicate()
    _, metadata = checkpoint.load(folder / "checkpoint.safetensors")
    steps = str(metadata["step"] + 5)
    for count, other, more in ((1, folder, ["--resume", "--quiet"]), (2, tmp_path / "whole", OPTIONS)):
        done = train(count, other, *more, "--steps", steps)
        assert done.returncode == 0, done.stderr
    assert written(folder) == written(tmp_path / "whole")


def ranks_of(pid: int) -> list[int]:
    """The Python processes below mpiexec."""
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        try:
            waiting += [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
            command = Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
        if b"minirnn" in command and parent != pid:
            found.append(parent)
    return sorted(set(found))
