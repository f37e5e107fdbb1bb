"""Agreement between the ranks of a run: rank 0 prints and writes, and an error on one rank is raised on all."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.parallel import World, init
from minirnn.parallel.mpi import launched, launched_size

T = TypeVar("T")

VISIBLE = "CUDA_VISIBLE_DEVICES"


def world_of_run() -> World:
    """All ranks that mpiexec or srun started, or this process alone. Each rank sees one GPU of its machine.

    Raises UserError if a launcher started several processes, and there is no mpi4py.
    """
    if not launched() or launched_size() == 1:
        return World()
    try:
        world = init()
    except ImportError as error:
        raise UserError(str(error).partition(": ")[2]) from None
    if world.size > 1 and VISIBLE not in os.environ:
        os.environ[VISIBLE] = str(world.local_rank)
    return world


def is_first() -> bool:
    """Whether this process prints: it is rank 0, or the only one."""
    return not launched() or launched_size() == 1 or init().rank == 0


def check_shards(world: World, shards: int, batch: int) -> None:
    """Raise UserError unless a batch can be cut into `shards` parts that the ranks can share."""
    if world.size > 1 and not shards:
        raise UserError(
            f"{world.size} processes were started, and each would train the same model: use --shards N, a multiple of"
            f" {world.size}, to share a batch among them"
        )
    if shards and batch % shards:
        raise UserError(
            f"--shards {shards} must divide --batch {batch}: every shard has the same number of text streams"
        )
    if shards % world.size:
        raise UserError(f"--shards {shards} must be a multiple of the {world.size} ranks")


def on_first(world: World, work: Callable[[], T]) -> T:
    """Do `work` on rank 0; all ranks get its result, or raise its UserError."""
    result: Any = None
    failed: str | None = None
    if world.rank == 0:
        try:
            result = work()
        except UserError as error:
            failed = str(error)
    result, failed = world.broadcast((result, failed))
    if failed is not None:
        raise UserError(failed)
    return result


def on_all(world: World, work: Callable[[], T]) -> T:
    """Do `work`, which sends nothing, on all ranks; if it raises a UserError on one, all raise one."""
    result: Any = None
    failed: str | None = None
    try:
        with user_mistakes():
            result = work()
    except UserError as error:
        failed = str(error)
    every = world.all_gather(failed)
    for rank, message in enumerate(every):
        if message is not None:
            raise UserError(message if rank == 0 else f"rank {rank}: {message}")
    return result
