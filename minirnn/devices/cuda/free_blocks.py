"""Freed device memory that is kept for the next array of its size."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any


class FreeBlocks:
    """Blocks by size. For each size the block with the lowest address is used first.

    So a program whose iterations create and free the same arrays gets them at the same addresses in every iteration, in
    any order of freeing, which `recordings.py` needs. (If the last freed block were used first, each iteration
    would shuffle the addresses of the previous one.)
    """

    def __init__(self) -> None:
        self.nbytes = self.count = 0
        # The address comes first, so blocks are never compared.
        self._by_size: dict[int, list[tuple[int, Any]]] = {}

    def put(self, nbytes: int, ptr: int, block: Any = None) -> None:
        # Each new object may start the garbage collector, which may call this again. This is not a defaultdict, which
        # would replace a list that was made in the meantime.
        entry = ptr, block
        heappush(self._by_size.setdefault(nbytes, []), entry)
        self.nbytes += nbytes  # last, so that a Ctrl-C before it loses no block
        self.count += 1

    def take(self, nbytes: int) -> tuple[int, Any] | None:
        """The address of a block of exactly this size, and the value that was stored with it; None if there is none."""
        found = self._by_size.get(nbytes)
        if not found:
            return None
        self.nbytes -= nbytes
        self.count -= 1
        return heappop(found)

    def take_all(self) -> list[tuple[int, int, Any]]:
        """The size and address of every block, and the value that was stored with it."""
        taken, self._by_size = self._by_size, {}  # blocks that the garbage collector frees meanwhile are in the new one
        found = [(size, *entry) for size, entries in taken.items() for entry in entries]
        nbytes = sum(size for size, _, _ in found)
        self.nbytes -= nbytes
        self.count -= len(found)
        return found
