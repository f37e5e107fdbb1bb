"""Wrong calls of executors: texts that name none, and functions that cannot be called."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from minirnn.parallel.executors import open_executor
from tests.hostile.table import rows

POOL = ThreadPoolExecutor(1)


def entered(text: Any, **options: Any) -> None:
    """Errors come when the block is entered."""
    with open_executor(text, **options):
        raise AssertionError("entered")


entered.__name__ = "open_executor"

ROWS = rows(
    globals(),
    r"""
entered(4) -> got 4 & threads[:N]
entered("threds:4") -> 'threds:4' & likely 'threads' is meant
entered("distributed:h:1") -> 'distributed:h:1' & likely 'dask' is meant
entered("MPI") -> likely 'mpi' is meant
entered("threads:0") -> 1 .. 4096
entered("processes:-2") -> 'processes:-2' & 1 .. 4096
entered("threads:99999") -> 1 .. 4096
entered("threads:" + "9" * 10000) -> 1 .. 4096
entered("threads:\u0664") -> 1 .. 4096
entered("dask") -> an address & dask:tcp://head:8786
entered("dask:") -> an address & dask:tcp://head:8786
entered("mpi:4") -> just mpi & mpiexec -n N
entered("threads", patience=0) -> patience is 0 & more than 0
entered("threads", patience="long") -> patience is 'long' & seconds
outcomes("threads:4", abs, []) -> executor is 'threads:4' & open_executor
outcomes(POOL, 3, []) -> function is 3 & of one task
outcomes(POOL, abs, 3) -> tasks is 3 & iterable
outcomes(POOL, abs, [], tries=0) -> tries is 0 & 1 or more
outcomes(POOL, abs, [], ahead=0.5) -> ahead is 0.5 & an integer
""",
)
