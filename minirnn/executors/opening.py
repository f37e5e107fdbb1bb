"""Opening the executor that a string names, such as ``threads:4``."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minirnn.executors.processes import Processes
from minirnn.messages import meant, shown

KINDS = ("threads", "processes", "dask", "mpi")
OTHER_WORDS = {"thread": "threads", "process": "processes", "distributed": "dask", "cluster": "dask", "mpi4py": "mpi"}
EXPECTED = "threads[:N], processes[:N], dask:ADDRESS or mpi"
MOST = 4096
"""The largest number of threads or processes; more are probably a typing mistake."""
PATIENCE = 10.0
"""Seconds within which a Dask scheduler must answer."""


@contextmanager
def open_executor(text: str, *, patience: float = PATIENCE) -> Iterator[Executor]:
    """Open the executor that `text` names; at the end of the block its workers finish or are told to stop.

    ===================  ==============================================================================================
    ``threads[:N]``      N threads of this process (default: one per available processor)
    ``processes[:N]``    N processes; one that dies is replaced, and only its own task is lost
    ``dask:ADDRESS``     the workers of the Dask scheduler there (``tcp://head:8786``, or a scheduler file ``F.json``);
                         needs ``pip install "minirnn[cluster]"`` here and on the workers
    ``mpi``              the other ranks of ``mpiexec -n 5 python program.py``; needs ``minirnn[parallel]``
    ===================  ==============================================================================================

    With ``mpi`` only rank 0 enters the block. On all other ranks the call works on tasks until rank 0 has left it, and
    then ends the process (SystemExit with status 0): call it before anything is printed or written.

    Parameters
    ----------
    text : str
        See above.
    patience : float
        Seconds to wait for the Dask scheduler.

    Raises
    ------
    TypeError, ValueError
        `text` names no executor, or ``mpi`` finds no other rank.
    ImportError
        The package that it needs is missing; the message names the extra.
    ConnectionError
        There is no answer at the address.
    """
    kind, given = read(text)
    if not isinstance(patience, int | float) or not patience > 0:
        raise ValueError(f"open_executor: patience is {shown(patience)}\n  expected seconds, more than 0")
    if kind == "threads":
        executor: Executor = ThreadPoolExecutor(given)
        try:
            yield executor
        finally:
            executor.shutdown(cancel_futures=True)
    elif kind == "processes":
        processes = Processes(given)
        try:
            yield processes
        except BaseException:
            processes.kill()
            raise
        finally:
            processes.shutdown(cancel_futures=True)
    elif kind == "dask":
        client = connect(given, patience)
        dask: Any = client.get_executor(pure=False)
        dask.is_lost = lambda: client.status in ("closing", "closed")  # it has tried to reconnect for a while
        try:
            yield dask
        finally:
            client.close(timeout=patience)
    else:
        with ranks() as executor:
            yield executor


def read(text: str) -> tuple[str, Any]:
    """The kind of executor that a string names, and the number or the address of its workers.

    Raises
    ------
    TypeError, ValueError
        As `open_executor`, which is named in the message.
    """
    if not isinstance(text, str):
        raise TypeError(f"open_executor: got {shown(text)}\n  expected a string: {EXPECTED}")
    kind, colon, rest = text.partition(":")
    if kind not in KINDS:
        hint = meant(kind, KINDS, OTHER_WORDS)
        raise ValueError(f"open_executor: got {shown(text)}\n  expected {EXPECTED}{hint}")
    if kind in ("threads", "processes"):
        return kind, workers(text, rest) if colon else processors()
    if kind == "dask" and not rest.strip():
        raise ValueError(
            f"open_executor: {shown(text)} has no address\n  expected dask:ADDRESS, such as dask:tcp://head:8786"
            "\n  `dask scheduler` and LocalCluster().scheduler_address say where they are"
        )
    if kind == "mpi" and colon:
        raise ValueError(
            f"open_executor: got {shown(text)}\n  expected just mpi: `mpiexec -n N` says how many ranks there are"
        )
    return kind, rest


def workers(text: str, rest: str) -> int:
    """The number of workers in a text."""
    if not (rest.isascii() and rest.isdigit() and len(rest) < 10 and 1 <= int(rest) <= MOST):
        raise ValueError(f"open_executor: got {shown(text)}\n  expected a whole number of workers, 1 .. {MOST}")
    return int(rest)


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def connect(address: str, patience: float) -> Any:
    """A client of the Dask scheduler at `address`."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            f"open_executor: dask:{address} needs Dask distributed: {error}\n"
            '  install it here and on the workers: pip install "minirnn[cluster]"'
        ) from error
    try:
        scheduler = json.loads(Path(address).read_text("utf-8"))["address"] if address.endswith(".json") else address
        with ThreadPoolExecutor(1) as apart:  # a notebook has its own event loop in this thread
            apart.submit(asyncio.run, answers(scheduler, patience)).result()
        return Client(scheduler, timeout=patience, set_as_default=False)
    except Exception as error:  # another program at this address may have sent anything
        raise ConnectionError(
            f"open_executor: no Dask scheduler answers at {address} within {patience:g} s\n"
            "  expected the address that `dask scheduler` printed, such as dask:tcp://head:8786\n"
            f"  {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        ) from error


async def answers(address: str, patience: float) -> None:
    """Raise unless a Dask process answers in time, because a client would wait forever for a silent one."""
    from distributed.comm.core import connect
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    comm = await asyncio.wait_for(connect(address, timeout=patience, **arguments), patience)
    await comm.close()


@contextmanager
def ranks() -> Iterator[Executor]:
    """The executor of rank 0; the other ranks are its workers, and end here."""
    try:
        from mpi4py import MPI
        from mpi4py.futures import MPICommExecutor
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            f"open_executor: mpi needs mpi4py: {error}\n"
            '  install it, and an MPI with it: pip install "minirnn[parallel]"'
        ) from error
    if MPI.COMM_WORLD.size < 2:
        raise ValueError(
            "open_executor: mpi has no workers: this is the only process"
            "\n  expected several ranks: mpiexec -n 5 minirnn ... has rank 0, which hands out tasks, and four workers"
        )
    if MPI.COMM_WORLD.rank:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all ranks; rank 0 decides what to do
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as found:
        if found is not None:
            executor: Any = found
            yield executor
            return
    raise SystemExit(0)  # on a worker, when rank 0 has no more tasks
