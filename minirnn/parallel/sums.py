"""Addition in a fixed order, wherever the values are: the sum of S shards is a binary tree.

Floating-point addition is not associative: (a + b) + c and a + (b + c) round in different places, so a sum over ranks
changes its last bits with their number. Here the order belongs to the *shards*, the parts of a batch that are computed
one by one: neighbors are added in pairs, then the pairs, then the fours, ...; the last one waits if a level is odd::

    S = 6      ((0 + 1) + (2 + 3)) + (4 + 5)

A node of the tree is (level, k): the sum of shards k * 2**level up to (k+1) * 2**level, or up to S. A rank adds its own
shards and sends the remaining nodes, and another rank finishes the tree. The additions are the same for any number of
ranks, and so are the bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Node = tuple[int, int]


def tree_sum(parts: Sequence[Any]) -> Any:
    """The sum of the shards 0, 1, ..., of which there is at least one, in the order of the tree."""
    return finish(len(parts), {(0, k): part for k, part in enumerate(parts)})


def nodes_of(shards: int, lo: int, hi: int) -> list[Node]:
    """The largest nodes of the tree of all `shards` that are sums of only shards lo .. hi-1, in their order."""
    found: list[Node] = []
    k = lo
    while k < hi:
        level = 0
        while k % (2 << level) == 0 and (end_of(shards, level + 1, k)) <= hi and (1 << level) < shards:
            level += 1
        found.append((level, k >> level))
        k = end_of(shards, level, k)
    return found


def end_of(shards: int, level: int, first: int) -> int:
    """The shard after those of a node whose first shard is `first`."""
    return min(shards, first + (1 << level))


def finish(shards: int, known: dict[Node, Any]) -> Any:
    """The root of the tree, from nodes that together have every shard once."""
    top = (shards - 1).bit_length()
    return _value(shards, known, top, 0)


def partial(shards: int, parts: dict[int, Any], node: Node) -> Any:
    """The value of a node, from the shards below it."""
    return _value(shards, {(0, k): part for k, part in parts.items()}, *node)


def _value(shards: int, known: dict[Node, Any], level: int, k: int) -> Any:
    value = known.get((level, k))
    if value is not None:
        return value
    left = _value(shards, known, level - 1, 2 * k)
    if (2 * k + 1) << (level - 1) >= shards:  # no neighbor: it waits for the next level
        return left
    return left + _value(shards, known, level - 1, 2 * k + 1)
