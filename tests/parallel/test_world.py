"""A world of one, and worlds of threads: rows, shards, collectives, and what happens when a rank fails.

Tests `minirnn/parallel/world.py`, `minirnn/parallel/threads.py` and `minirnn/parallel/communicator.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import parallel
from minirnn.parallel import World


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minirnn.parallel.world._world", None)
    for name in ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_launcher_there_is_one_rank_and_it_shares_with_nobody() -> None:
    world = parallel.init()
    assert world is parallel.init() and (world.rank, world.size) == (0, 1)
    assert world.rows(7) == slice(0, 7) and world.shards(3) == range(3)
    for op in ("sum", "mean", "max", "min"):
        assert world.all_reduce([1.0, 2.0], op).tolist() == [1, 2]
    assert world.all_gather("a") == ["a"] and world.broadcast("a") == "a"
    world.barrier()
    assert repr(world) == "World(rank=0, size=1)" and 0 <= world.now() <= world.now()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_rows_are_neighbors_as_equal_as_can_be(size: int) -> None:
    for B, unit in ((0, 1), (1, 1), (7, 1), (12, 3), (13, 3), (20, 4)):
        parts = parallel.simulate(lambda world, B=B, unit=unit: world.rows(B, unit), size)
        assert [k for part in parts for k in range(part.start, part.stop)] == list(range(B))
        units = [(part.stop - part.start) // unit for part in parts]
        assert max(units) - min(units) <= 1


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_collectives(size: int) -> None:
    def work(world: World) -> Any:
        own = np.array([world.rank + 1.0, -world.rank])
        reduced = {op: world.all_reduce(own, op).tolist() for op in ("sum", "mean", "max", "min")}
        return reduced, world.all_gather(world.rank), world.broadcast(f"from {world.rank}", size - 1)

    ranks = range(size)
    expected = {
        "sum": [sum(r + 1.0 for r in ranks), -sum(ranks)],
        "mean": [sum(r + 1.0 for r in ranks) / size, -sum(ranks) / size],
        "max": [size, 0],
        "min": [1, 1 - size],
    }
    assert parallel.simulate(work, size) == [(expected, list(ranks), f"from {size - 1}")] * size


@pytest.mark.parametrize("size", [1, 2, 3])
def test_what_was_started_may_be_waited_for_later_and_in_any_order(size: int) -> None:
    def work(world: World) -> Any:
        one, two = np.full(3, world.rank + 1.0), np.full(2, 10.0 * world.rank)
        first, second = world.communicator.start_sum(one), world.communicator.start_sum(two)
        parts = [np.full(2, 100.0 * world.rank + r) for r in range(size)]
        received = [np.zeros(2) for _ in range(size)]
        third = world.communicator.start_exchange(parts, received)
        parts[0][:] = -1  # it was already sent
        for wait in (third, second, first):
            wait()
        return one[0], two[0], [r[0] for r in received]

    total = size * (size + 1) / 2
    expected = [(total, 10 * size * (size - 1) / 2, [100 * s + r for s in range(size)]) for r in range(size)]
    assert parallel.simulate(work, size) == expected


def test_the_error_of_a_rank_ends_all() -> None:
    def work(world: World) -> None:
        if world.rank == 1:
            raise KeyError("rank 1")
        world.barrier()
        wait = world.communicator.start_sum(np.ones(1))
        wait()

    with pytest.raises(KeyError, match="rank 1"):
        parallel.simulate(work, 3)


def test_a_rank_that_aborts_ends_all() -> None:
    with pytest.raises(RuntimeError, match="ended all ranks with status 3"):
        parallel.simulate(lambda world: world.communicator.abort(3) if world.rank == 2 else world.barrier(), 3)


def test_every_rank_has_a_random_stream_of_its_own() -> None:
    def work(world: World) -> float:
        mr.manual_seed(5 + world.rank)
        world.barrier()
        return float(mr.random.generator().random())

    assert len(set(parallel.simulate(work, 4))) == 4


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda w: w.rows(-1), ValueError, "rows: B is -1"),
        (lambda w: w.shards(0), ValueError, "shards: count is 0"),
        (lambda w: w.all_reduce([1.0], "product"), ValueError, "expected one of 'sum', 'mean', 'max', 'min'"),
        (lambda w: w.broadcast(1, 1), ValueError, r"root is 1\n  expected a rank, 0 .. 0"),
        (lambda w: parallel.simulate(3, 2), TypeError, "function is 3"),
        (lambda w: parallel.simulate(print, 0), ValueError, "size is 0"),
    ],
)
def test_wrong_calls_say_what_came_and_what_was_expected(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call(World())


def test_shards_must_be_divided_evenly_and_arrays_be_alike() -> None:
    with pytest.raises(
        ValueError, match=r"4 shards on 3 ranks\n  expected the same number on every rank: a multiple of 3"
    ):
        parallel.simulate(lambda world: world.shards(4), 3)
    with pytest.raises(ValueError, match=r"rank 0: float64 \(1,\), rank 1: float64 \(2,\)"):
        parallel.simulate(lambda world: world.all_reduce(np.ones(1 + world.rank)), 2)
