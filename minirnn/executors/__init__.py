"""Many independent tasks on many workers, with one interface to threads, processes, Dask clusters and MPI ranks.

::

    from minirnn.executors import open_executor, outcomes

    with open_executor("dask:tcp://head:8786") as executor:       # or "threads:4", "processes:4", "mpi"
        for outcome in outcomes(executor, function, tasks):
            print(outcome.task, outcome.get())                    # each task once, as soon as it is done

The executors are those of `concurrent.futures`. `function` and tasks are pickled, except for threads: use a function of
a module that the workers can import.
"""

from minirnn.executors.as_they_come import Outcome, WorkerLost, outcomes
from minirnn.executors.opening import open_executor

__all__ = ["Outcome", "WorkerLost", "open_executor", "outcomes"]
