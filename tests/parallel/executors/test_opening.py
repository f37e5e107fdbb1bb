"""A string names an executor; a wrong one raises an error, and nothing waits forever.

Tests `minirnn/parallel/executors.py`.
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minirnn.parallel import executors
from minirnn.parallel.executors import Processes, open_executor, outcomes, read
from tests.parallel.executors import tasks

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("threads:3", ("threads", 3)),
        ("processes:12", ("processes", 12)),
        ("dask:tcp://head:8786", ("dask", "tcp://head:8786")),
        ("dask:/home/me/cluster.json", ("dask", "/home/me/cluster.json")),
        ("mpi", ("mpi", "")),
    ],
)
def test_a_text_names_an_executor(text: str, means: tuple[str, object]) -> None:
    assert read(text) == means


@pytest.mark.parametrize("text", ["threads:2", "processes:2"])
def test_it_does_tasks(text: str) -> None:
    with open_executor(text) as executor:
        assert sorted(one.get() for one in outcomes(executor, tasks.square, range(10))) == [k * k for k in range(10)]
        assert executor.submit(tasks.square, 12).result() == 144
    with pytest.raises(RuntimeError):
        executor.submit(tasks.square, 12)


def test_the_processors_are_those_of_the_machine_where_a_process_cannot_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert read("threads") == ("threads", 7)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert read("processes") == ("processes", 1)


def test_a_process_that_was_never_needed_is_closed_like_any() -> None:
    Processes(2).shutdown()


def test_threads_are_those_of_the_standard_library() -> None:
    with open_executor("threads:1", patience=0.5) as executor:
        assert isinstance(executor, ThreadPoolExecutor)


def without(library: str, text: str) -> subprocess.CompletedProcess[str]:
    script = (
        f"import sys; sys.modules[{library!r}] = None\n"
        f"from minirnn.parallel.executors import open_executor\nwith open_executor({text!r}): pass"
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("library", "text", "extra"), [("distributed", "dask:h:1", "cluster"), ("mpi4py", "mpi", "parallel")]
)
def test_a_missing_package_is_told_with_its_extra(library: str, text: str, extra: str) -> None:
    said = without(library, text).stderr
    assert "ImportError" in said and f'pip install "minirnn[{extra}]"' in said


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address without answers: a socket that accepts connections and sends nothing."""
    with socket.socket() as listens:
        listens.bind(("127.0.0.1", 0))
        listens.listen()
        yield f"tcp://127.0.0.1:{listens.getsockname()[1]}"


def test_an_address_without_an_answer_is_reported(nobody: str) -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(ConnectionError, match="no Dask scheduler answers at tcp://127"),
        open_executor(f"dask:{nobody}", patience=0.5),
    ):
        raise AssertionError


@pytest.mark.parametrize("address", ["head", "tcp://127.0.0.1:1", "no-such-scheme://a:1", "/no/such/file.json"])
def test_an_address_that_is_none_is_told(address: str) -> None:
    pytest.importorskip("distributed")
    with (
        pytest.raises(ConnectionError, match=r"(?s)no Dask scheduler answers.*expected the address"),
        open_executor(f"dask:{address}", patience=0.5),
    ):
        raise AssertionError


def test_mpi_without_other_ranks_is_told() -> None:
    pytest.importorskip("mpi4py")
    with pytest.raises(ValueError, match="this is the only process"), open_executor("mpi"):
        raise AssertionError


def test_rank_0_has_the_executor_and_the_other_ranks_end_after_their_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI is played by a stand-in here; `test_cluster.py` starts real ranks."""
    world, ignored = SimpleNamespace(size=2, rank=0), []

    @contextmanager
    def executor_of(comm: Any, root: int = 0) -> Iterator[Any]:
        yield "the executor" if comm.rank == root else None

    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=SimpleNamespace(COMM_WORLD=world)))
    monkeypatch.setitem(sys.modules, "mpi4py.futures", SimpleNamespace(MPICommExecutor=executor_of))
    monkeypatch.setattr(signal, "signal", lambda *what: ignored.append(what))
    assert list(executors.ranks()) == ["the executor"] and ignored == []
    world.rank = 1
    with pytest.raises(SystemExit) as end:
        list(executors.ranks())
    assert end.value.code == 0 and ignored == [(signal.SIGINT, signal.SIG_IGN)]
    world.size = 1
    with pytest.raises(ValueError, match="mpi has no workers: this is the only process"):
        list(executors.ranks())
