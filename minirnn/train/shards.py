"""A batch in shards: parts that are computed one by one, here or on other ranks, and added in a fixed order.

Everything that affects the results belongs to the shards and not to the ranks: which streams of text a shard has, its
random numbers, which follow from the seed, the shard and the step, and the order in which gradients are added. So a
run has the same bits on any number of ranks that divides the shards, and may be resumed on another number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import minirnn as mr
from minirnn.engine import random
from minirnn.parallel import DistributedDataParallel, World, tree_sum
from minirnn.train.model import CharModel, State, detached
from minirnn.train.options import Options

Loss = Callable[[np.ndarray, np.ndarray, State, np.random.Generator], tuple[mr.Tensor, State, int]]
"""Maps x, y, a state and random numbers to the mean loss, the state after it and the number of terms in the mean."""


class Shards:
    """How a training run computes gradients of a batch in shards; `parallel` tells all ranks when to stop."""

    def __init__(self, model: CharModel, loss: Loss, options: Options, world: World) -> None:
        self.model, self.loss, self.options, self.world = model, loss, options, world
        self.parallel = DistributedDataParallel(model, world, order="tree", shards=options.shards)
        self.unit = options.batch // options.shards
        self.states: list[State] = []
        self.forget()

    def forget(self) -> None:
        """Start all streams of text again."""
        self.states = [self.model.zero_state(self.unit) for _ in self.parallel.own]

    def rows(self, shard: int) -> slice:
        """The streams of text of a shard."""
        return slice(shard * self.unit, (shard + 1) * self.unit)

    def backward(self, x: np.ndarray, y: np.ndarray, step: int) -> float:
        """Put the gradient of the mean loss of the batch (T, B) into ``p.grad`` of every rank; return the loss."""
        found = []
        for k, shard in enumerate(self.parallel.own):
            rows = self.rows(shard)
            with random.replayed(random.stream(self.options.seed, shard, step)):
                loss, state, n = self.loss(x[:, rows], y[:, rows], self.states[k], random.generator())
                self.parallel.weight = n
                loss.backward()
            self.states[k] = detached(state)
            found.append((loss.item() * n, float(n)))
        every = [pair for part in self.world.all_gather(found) for pair in part]
        total, count = (tree_sum(list(values)) for values in zip(*every, strict=True))
        return float(total / count)

    def whole_state(self) -> tuple[np.ndarray, ...]:
        """The states of all shards side by side, (L*D, B, width) each, on every rank."""
        own = [tuple(t.numpy() for t in state) for state in self.states]
        every = [state for part in self.world.all_gather(own) for state in part]
        return tuple(np.concatenate(parts, axis=1) for parts in zip(*every, strict=True))

    def take_state(self, arrays: Sequence[np.ndarray], device: str) -> None:
        """The reverse of `whole_state`."""
        self.states = [
            tuple(mr.tensor(a[:, self.rows(shard)], device=device) for a in arrays) for shard in self.parallel.own
        ]
