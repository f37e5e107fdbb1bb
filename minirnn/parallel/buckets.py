"""Gradients that travel together: a few large messages instead of many small ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minirnn.engine.tensor import Tensor
from minirnn.parallel.communicator import Wait
from minirnn.parallel.sums import Node, finish, nodes_of, partial
from minirnn.parallel.world import World


class Bucket:
    """Some parameters, by index, and the position of each gradient in a flat array.

    Attributes
    ----------
    members : list of int
    begins : dict of int
        The position of a member's first value.
    size : int
        The total number of values.
    dtype : dtype
        The dtype of the messages: float32 for float16, which MPI does not have.
    """

    def __init__(self, members: Sequence[int], parameters: Sequence[Tensor]) -> None:
        self.members = list(members)
        ends = np.cumsum([parameters[k].size for k in members]).tolist()
        self.begins = dict(zip(members, [0, *ends[:-1]], strict=True))
        self.shapes = {k: parameters[k].shape for k in members}
        self.size = int(ends[-1])
        self.dtype = np.promote_types(parameters[self.members[0]].dtype, np.float32)

    def new(self) -> np.ndarray:
        """Zeros for all members."""
        return np.zeros(self.size, self.dtype)

    def part(self, flat: np.ndarray, k: int) -> np.ndarray:
        """The values of member k, in its shape, as a view of `flat`."""
        begin = self.begins[k]
        return flat[begin : begin + int(np.prod(self.shapes[k]))].reshape(self.shapes[k])


def in_buckets(parameters: Sequence[Tensor], nbytes: int) -> list[Bucket]:
    """Buckets of at least `nbytes` bytes, from the last parameter to the first, because gradients are computed in
    that order.
    """
    groups: list[list[int]] = []
    filled = 0
    for k in reversed(range(len(parameters))):
        p = parameters[k]
        if not groups or filled >= nbytes or parameters[groups[-1][0]].dtype != p.dtype:
            groups.append([])
            filled = 0
        groups[-1].append(k)
        filled += p.size * p.dtype.itemsize
    return [Bucket(group, parameters) for group in groups]


def start_fast(world: World, own: dict[int, np.ndarray], shards: int) -> tuple[np.ndarray, Wait]:
    """Start the sum over all shards in the communicator's order; the array holds it after the wait."""
    flat = finish(len(own), {(0, k): part for k, part in enumerate(own.values())})
    return flat, world.communicator.start_sum(flat)


def start_tree(world: World, own: dict[int, np.ndarray], shards: int) -> tuple[np.ndarray, Wait]:
    """The same in the order of the tree. Every rank finishes the tree for its share of the values and sends the
    result.
    """
    P, lists = world.size, [nodes_of_rank(world, r, shards) for r in range(world.size)]
    nodes = np.stack([partial(shards, own, node) for node in lists[world.rank]])  # (nodes, numbers)
    cuts = [nodes.shape[1] * r // P for r in range(P + 1)]
    columns = [slice(cuts[r], cuts[r + 1]) for r in range(P)]
    mine = cuts[world.rank + 1] - cuts[world.rank]
    received = [np.empty((len(theirs), mine), nodes.dtype) for theirs in lists]
    wait = world.communicator.start_exchange([np.ascontiguousarray(nodes[:, part]) for part in columns], received)
    flat = np.empty(nodes.shape[1], nodes.dtype)

    def finished() -> None:
        wait()
        known: dict[Node, np.ndarray] = {}
        for theirs, rows in zip(lists, received, strict=True):
            known.update(zip(theirs, rows, strict=True))
        world.communicator.join(np.ascontiguousarray(finish(shards, known)), [flat[part] for part in columns])

    return flat, finished


def nodes_of_rank(world: World, rank: int, shards: int) -> list[Node]:
    """The nodes of the tree that a rank can add by itself."""
    own = shards // world.size
    return nodes_of(shards, rank * own, (rank + 1) * own)


ORDERS = {"fast": start_fast, "tree": start_tree}
"""Which of the two adds gradients in its order: the communicator, or the tree of `minirnn.parallel.sums`."""
