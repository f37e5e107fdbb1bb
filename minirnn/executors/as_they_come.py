"""The results of many tasks as they complete: each task once, even if its worker is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import Any, NamedTuple

from minirnn import check
from minirnn.messages import shown

TRIES = 3
"""The largest number of attempts. A task that ends its worker each time is itself the cause."""
AHEAD = 256
"""The largest number of tasks that are handed out at once, because tasks and results are in memory."""


LOOK_EVERY = 1.0
"""Seconds without a result after which the scheduler is checked, because its futures would wait forever."""


class WorkerLost(RuntimeError):
    """Raised if every worker that had this task was lost: killed, out of memory, or disconnected."""


class Outcome(NamedTuple):
    """The outcome of a task."""

    number: int
    """Its index among the tasks: 0, 1, 2, ..."""
    task: Any
    result: Any
    """The function's result; None if it raised."""
    error: Exception | None
    """The function's exception, or `WorkerLost`."""

    def get(self) -> Any:
        """Return the result, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.result


def outcomes(
    executor: Executor,
    function: Callable[[Any], Any],
    tasks: Iterable[Any],
    *,
    tries: int = TRIES,
    ahead: int = AHEAD,
) -> Iterator[Outcome]:
    """Call ``function(task)`` for every task on the workers of an executor; yield the outcome of each once, as soon
    as it is known.

    A task whose worker was lost is restarted on another worker. It is yielded when one has completed it, so nothing is
    counted twice. An exception of the function is a result, and is not tried again. When the caller stops early,
    also by an exception or Ctrl-C, tasks that have not started are canceled.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        From `open_executor`, or any other.
    function : callable
        Found by its name on the workers, unless they are threads: a function of a module, not a lambda.
    tasks : iterable
        They are read when needed, with at most `ahead` unfinished.
    tries : int
        The largest number of attempts; after them the error is `WorkerLost`.

    Raises
    ------
    TypeError, ValueError
        `executor` has no `submit`, `function` cannot be called, `tries` or `ahead` is not a number of 1 or more.
    ConnectionError
        The executor accepts no more tasks because its scheduler has ended. Outcomes yielded before stay valid.
    """
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"outcomes: executor is {shown(executor)}\n  expected one of open_executor, with a method submit"
        )
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
    again: deque[tuple[int, Any, int]] = deque()  # tasks whose worker was lost, and their number of attempts
    begun: dict[Future[Any], tuple[int, Any, int]] = {}
    try:
        while True:
            while len(begun) < ahead:
                if again:
                    number, task, times = again.popleft()
                elif (following := next(tasks, None)) is not None:
                    (number, task), times = following, 0
                else:
                    break
                begun[_submitted(executor, function, task)] = number, task, times + 1
            if not begun:
                return
            done = wait(begun, timeout=LOOK_EVERY, return_when=FIRST_COMPLETED).done
            if not done and getattr(executor, "is_lost", bool)():
                raise ConnectionError(
                    "outcomes: the scheduler has ended, and its tasks are lost\n"
                    "  expected it to run until all tasks are done; results reported earlier stay valid"
                )
            for future in sorted(done, key=lambda one: begun[one][0]):
                number, task, times = begun.pop(future)
                outcome = _outcome(number, task, future)
                if not isinstance(outcome.error, WorkerLost):
                    yield outcome
                elif times < tries:
                    again.append((number, task, times))
                else:
                    error = WorkerLost(f"{times} workers that had this task were lost; last error: {outcome.error}")
                    yield outcome._replace(error=error)
    finally:
        for future in begun:
            future.cancel()


def _outcome(number: int, task: Any, future: Future[Any]) -> Outcome:
    """The outcome of a task that is done."""
    try:
        return Outcome(number, task, future.result(), None)
    except (BrokenExecutor, CancelledError) as error:  # canceled by the scheduler, because this loop never cancels
        return Outcome(number, task, None, WorkerLost(str(error) or type(error).__name__))
    except Exception as error:
        lost = type(error).__name__ == "KilledWorker"  # Dask has already restarted it several times
        return Outcome(number, task, None, WorkerLost(str(error)) if lost else error)


def _submitted(executor: Executor, function: Callable[[Any], Any], task: Any) -> Future[Any]:
    try:
        return executor.submit(function, task)
    except Exception as error:  # each library has its own exception
        raise ConnectionError(
            f"outcomes: the executor takes no more tasks: {type(error).__name__}: {error}\n"
            "  expected workers until all tasks are done; has the scheduler ended?"
        ) from error
