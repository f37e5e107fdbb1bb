"""A run in shards: the same bits on any number of ranks, also after it is resumed on another number.

Ranks are threads here. Tests `minirnn/train/shards.py`, `minirnn/train/training.py` and `minirnn/engine/random.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import parallel
from minirnn.engine import random
from minirnn.io import checkpoint
from minirnn.parallel import World
from minirnn.train.run import begun, continued
from minirnn.train.training import Training
from tests.slow import slow_unless

SMALL = {"hidden": 8, "batch": 8, "length": 6, "shards": 4, "device": "cpu"}
KINDS: dict[str, dict[str, Any]] = {
    "lstm, dropout": {"layers": 2, "dropout": 0.3},
    "gru, both directions": {"cell": "gru", "bidirectional": True},
    "rnn, sgd": {"cell": "rnn", "optimizer": "sgd", "input_dropout": 0.2, "shards": 8},
}


def steps(training: Training, world: World, count: int) -> list[float]:
    training.share(world)
    for _ in range(count):
        training.advance()
    return training.losses


def everything(training: Training, path: Path) -> tuple[bytes, list[float]]:
    """The checkpoint as rank 0 writes it, and the losses."""
    training.save(path)
    training.world.barrier()
    return path.read_bytes(), training.losses


@pytest.mark.parametrize("kind", slow_unless(["lstm, dropout"], KINDS))
def test_any_number_of_ranks_writes_the_same_checkpoint(tmp_path: Path, kind: str) -> None:
    def work(world: World) -> tuple[bytes, list[float]]:
        training = begun(SMALL | KINDS[kind], world)
        steps(training, world, 3)
        return everything(training, tmp_path / f"{world.size}")

    found = [parallel.simulate(work, ranks) for ranks in (1, 2, 4)]
    assert len({value[0] for values in found for value in values}) == 1
    assert len({tuple(value[1]) for values in found for value in values}) == 1


@pytest.mark.slow
def test_a_run_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    given = SMALL | KINDS["lstm, dropout"]

    def go(world: World, path: Path | None, count: int, to: Path) -> tuple[bytes, list[float]]:
        training = begun(given, world) if path is None else continued(path, *checkpoint.load(path), {}, world)
        steps(training, world, count)
        return everything(training, to)

    paths = [tmp_path / name for name in ("one", "two", "three")]
    parallel.simulate(lambda world: go(world, None, 2, paths[0]), 4)
    parallel.simulate(lambda world: go(world, paths[0], 2, paths[1]), 2)
    (resumed,) = parallel.simulate(lambda world: go(world, paths[1], 1, paths[2]), 1)
    (whole,) = parallel.simulate(lambda world: go(world, None, 5, tmp_path / "whole"), 1)
    assert resumed == whole


def test_without_dropout_the_shards_learn_what_the_whole_batch_learns() -> None:
    plain = {k: v for k, v in SMALL.items() if k != "shards"}
    whole, parts = begun(plain), begun(SMALL)
    losses = steps(whole, World(), 6), steps(parts, World(), 6)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)


def test_a_batch_is_in_shards_also_without_asking_to_share(tmp_path: Path) -> None:
    training, shared = begun(SMALL), begun(SMALL)
    training.advance()
    steps(shared, World(), 1)
    assert training.losses == shared.losses and training.shards is not None


def test_all_ranks_stop_after_the_same_step() -> None:
    def work(world: World) -> int:
        training = begun(SMALL, world)
        training.share(world)
        while not training.stopping(world.rank == 1 and training.step >= 2):
            training.advance()
        return training.step

    assert parallel.simulate(work, 2) == [3, 3]
    assert parallel.simulate(work, 4) == [3] * 4


def test_random_numbers_belong_to_seed_shard_and_step() -> None:
    def numbers(*key: int) -> list[float]:
        with random.replayed(random.stream(*key)):
            return mr.random.generator().random(3).tolist()

    keys = [(0,), (1,), (0, 1), (0, 0, 1), (0, 1, 0), (2**70, 3, 5)]
    assert len({tuple(numbers(*key)) for key in keys}) == len(keys)
    assert numbers(5, 1, 2) == numbers(5, 1, 2)
