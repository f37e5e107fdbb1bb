"""Many independent tasks on many workers, with one interface to threads, processes, Dask clusters and MPI ranks.

`docs/executors.md` shows a program. The executors are those of `concurrent.futures`. `function` and tasks are pickled,
except for threads: use a function of a module that the workers can import.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.thread import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from minirnn.arguments import check
from minirnn.arguments.messages import meant, shown

__all__ = ["Outcome", "WorkerLost", "open_executor", "outcomes"]

KINDS = ("threads", "processes", "dask", "mpi")
WORDS = {"thread": "threads", "process": "processes", "distributed": "dask", "cluster": "dask", "mpi4py": "mpi"}


class WorkerLost(RuntimeError):
    """Raised if every worker that had this task was lost: killed, out of memory, or disconnected."""


class Outcome(NamedTuple):
    """A task, its index, and its result, or the error that the function raised (or `WorkerLost`)."""

    number: int
    task: Any
    result: Any
    error: BaseException | None

    def get(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


def outcomes(
    executor: Executor, function: Callable[[Any], Any], tasks: Iterable[Any], *, tries: int = 3, ahead: int = 256
) -> Iterator[Outcome]:
    """Call ``function(task)`` for each task on the workers of an executor; yield its outcome once, as soon as known.

    A task whose worker was lost is restarted on another worker, `tries` times at most; then its error is `WorkerLost`.
    An exception of the function is a result, and is not tried again. Tasks are read when needed, with at most `ahead`
    unfinished. When the caller stops early, also by an exception or Ctrl-C, tasks that have not started are canceled.
    ConnectionError is raised if the scheduler has ended. Outcomes yielded before stay valid.
    """
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(f"outcomes: executor is {shown(executor)}\n  expected one of open_executor")
    if not callable(function):
        raise TypeError(f"outcomes: function is {shown(function)}\n  expected a function of one task")
    if not isinstance(tasks, Iterable):
        raise TypeError(f"outcomes: tasks is {shown(tasks)}\n  expected an iterable, such as a list")
    for name, value in (("tries", tries), ("ahead", ahead)):
        check.integer("outcomes", name, value, 1)
    return _as_they_come(executor, function, enumerate(tasks), tries, ahead)


def _as_they_come(
    executor: Executor, function: Callable[[Any], Any], tasks: Iterator[tuple[int, Any]], tries: int, ahead: int
) -> Iterator[Outcome]:
    begun: dict[Future[Any], tuple[int, Any, int]] = {}  # number, task, attempts
    waiting = ((number, task, 1) for number, task in tasks)
    again: list[tuple[int, Any, int]] = []  # tasks whose worker was lost
    try:
        while True:
            while len(begun) < ahead and (following := again.pop() if again else next(waiting, None)):
                try:
                    begun[executor.submit(function, following[1])] = following
                except Exception as refused:  # each library has its own exception
                    raise ConnectionError(f"outcomes: the executor takes no more tasks: {refused!r}") from refused
            if not begun:
                return
            done = wait(begun, timeout=1, return_when="FIRST_COMPLETED").done
            if not done and getattr(executor, "is_lost", bool)():  # its futures would wait forever
                raise ConnectionError("outcomes: the scheduler has ended\n  expected it until all tasks are done")
            for future in sorted(done, key=lambda one: begun[one][0]):
                number, task, times = begun.pop(future)
                error = CancelledError("by the scheduler") if future.cancelled() else future.exception()
                lost = isinstance(error, BrokenExecutor | CancelledError)
                if not lost and type(error).__name__ != "KilledWorker":  # Dask's word after several attempts
                    yield Outcome(number, task, None if error else future.result(), error)
                elif times < tries:
                    again.append((number, task, times + 1))
                else:
                    yield Outcome(number, task, None, WorkerLost(f"{times} workers were lost; last error: {error}"))
    finally:
        for future in begun:
            future.cancel()


@contextmanager
def open_executor(text: str, *, patience: float = 10.0) -> Iterator[Executor]:
    """Open ``threads[:N]``, ``processes[:N]``, ``dask:ADDRESS`` or ``mpi``; at the end of the block the workers finish
    or are told to stop. ConnectionError is raised if no Dask scheduler answers within `patience` seconds.

    With ``mpi`` only rank 0 enters the block. On all other ranks the call works on tasks until rank 0 has left it, and
    then ends the process (SystemExit with status 0): call it before anything is printed or written.
    """
    kind, given = read(text)
    if not isinstance(patience, int | float) or not patience > 0:
        raise ValueError(f"open_executor: patience is {shown(patience)}\n  expected seconds, more than 0")
    extra, library = {"dask": ("cluster", "distributed"), "mpi": ("parallel", "mpi4py.MPI")}.get(kind, ("", "os"))
    try:
        import_module(library)
    except (ImportError, RuntimeError) as error:
        hint = f'to install it here and on the workers: pip install "minirnn[{extra}]"'
        raise ImportError(f"open_executor: {text} needs {library}: {error}\n  {hint}") from error
    if kind == "mpi":
        yield from ranks()
    elif kind == "dask":
        client = connect(given, patience)
        dask: Any = client.get_executor(pure=False)
        dask.is_lost = lambda: client.status in ("closing", "closed")  # it has tried to reconnect for a while
        try:
            yield dask
        finally:
            client.close(timeout=patience)
    else:
        executor = ThreadPoolExecutor(given) if kind == "threads" else Processes(given)
        try:
            yield executor
        except BaseException:
            getattr(executor, "kill", bool)()
            raise
        finally:
            executor.shutdown(cancel_futures=True)


def read(text: str) -> tuple[str, Any]:
    """The kind of executor that a string names, and the number or the address of its workers."""
    if not isinstance(text, str):
        raise TypeError(f"open_executor: got {shown(text)}\n  expected a string: threads[:N], dask:ADDRESS, ...")
    kind, colon, rest = text.partition(":")
    if kind in ("threads", "processes"):
        if not colon:
            return kind, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if rest.isascii() and rest.isdigit() and len(rest) < 10 and 1 <= int(rest) <= 4096:
            return kind, int(rest)
        expected = "a whole number of workers, 1 .. 4096"
    elif kind == "dask":
        expected = "" if rest.strip() else "an address, such as dask:tcp://head:8786, which `dask scheduler` prints"
    elif kind == "mpi":
        expected = "just mpi: `mpiexec -n N` says how many ranks there are" if colon else ""
    else:
        expected = f"threads[:N], processes[:N], dask:ADDRESS or mpi{meant(kind, KINDS, WORDS)}"
    if expected:
        raise ValueError(f"open_executor: got {shown(text)}\n  expected {expected}")
    return kind, rest


def connect(address: str, patience: float) -> Any:
    """A client of the Dask scheduler at `address`, which must answer first: a client waits forever for a silent one."""
    from distributed import Client
    from distributed.comm.core import connect
    from distributed.security import Security

    async def answers(address: str) -> None:
        options = Security().get_connection_args("client")
        await (await asyncio.wait_for(connect(address, timeout=patience, **options), patience)).close()

    try:
        scheduler = json.loads(Path(address).read_text("utf-8"))["address"] if address.endswith(".json") else address
        with ThreadPoolExecutor(1) as apart:  # a notebook has its own event loop in this thread
            apart.submit(asyncio.run, answers(scheduler)).result()
        return Client(scheduler, timeout=patience, set_as_default=False)
    except Exception as error:  # another program at this address may have sent anything
        nobody = f"open_executor: no Dask scheduler answers at {address} within {patience:g} s"
        expected = "expected the address that `dask scheduler` printed, such as dask:tcp://head:8786"
        cause = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise ConnectionError(f"{nobody}\n  {expected}\n  {cause}") from error


def ranks() -> Iterator[Executor]:
    """The executor of rank 0; the other ranks are its workers, and end here."""
    from mpi4py import MPI
    from mpi4py.futures import MPICommExecutor

    if MPI.COMM_WORLD.size < 2:
        expected = "several ranks: mpiexec -n 5 has rank 0, which hands out tasks, and 4 workers"
        raise ValueError(f"open_executor: mpi has no workers: this is the only process\n  expected {expected}")
    if MPI.COMM_WORLD.rank:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all ranks; rank 0 decides what to do
    with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
        if executor is not None:
            yield cast(Any, executor)
            return
    raise SystemExit(0)  # on a worker, when rank 0 has no more tasks


class Processes(ThreadPoolExecutor):
    """An executor of processes. Each thread feeds its own pool of one, because one that dies breaks its whole pool."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.of_thread = threading.local()
        self.pools: dict[int, ProcessPoolExecutor] = {}  # by the id of the process
        self.ended = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(self._do, function, args, kwargs)

    def _do(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        pid = getattr(self.of_thread, "pid", None)
        if pid is None:
            pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), begin)
            if hasattr(signal, "pthread_sigmask"):  # the process inherits that Ctrl-C is left to the main thread
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            pid = self.of_thread.pid = pool.submit(os.getpid).result()
            self.pools[pid] = pool
        try:
            if self.ended:  # while this process was being started
                raise BrokenExecutor("the process was ended")
            return self.pools[pid].submit(function, *args, **kwargs).result()
        except BrokenExecutor:
            self.of_thread.pid = None
            self.pools.pop(pid).shutdown(wait=False)
            raise

    def kill(self) -> None:
        """End all processes at once, whatever they are doing. Their tasks fail with BrokenExecutor."""
        self.ended = True
        for pid in list(self.pools):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        for pool in list(self.pools.values()):
            pool.shutdown(wait)


def begin() -> None:
    """The start of each process: it leaves Ctrl-C to its parent, and ends when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=lambda: parent.join() or os._exit(1), daemon=True).start()
