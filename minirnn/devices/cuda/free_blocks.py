"""Freed device memory that is kept for the next array of its size."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any


class FreeBlocks:
    """Blocks by size; of each size the one with the lowest address is taken first.

    So a program whose iterations make and drop the same arrays finds them at the same addresses in every iteration, in
    whatever order it dropped them: `recordings.py` lives on that. (If the last freed block came first, each iteration
    would shuffle the addresses of the one before.)
    """

    def __init__(self) -> None:
        self.nbytes = self.count = 0
        # The address comes first, so blocks are never compared.
        self._by_size: dict[int, list[tuple[int, Any]]] = {}

    def put(self, nbytes: int, ptr: int, block: Any = None) -> None:
        # Each new object may start the garbage collector, which may come here again. So not a defaultdict: it would
        # put its new list in the place of one that was made meanwhile.
        entry = ptr, block
        heappush(self._by_size.setdefault(nbytes, []), entry)
        self.nbytes += nbytes  # at last: a Ctrl-C before this loses no block
        self.count += 1

    def take(self, nbytes: int) -> tuple[int, Any] | None:
        """The address of a block of exactly this size, and what was put there with it; None if there is none."""
        found = self._by_size.get(nbytes)
        if not found:
            return None
        self.nbytes -= nbytes
        self.count -= 1
        return heappop(found)

    def take_all(self) -> list[tuple[int, int, Any]]:
        """The size and address of every block, and what was put there with it."""
        taken, self._by_size = self._by_size, {}  # what the garbage collector brings meanwhile is in the new one
        found = [(size, *entry) for size, entries in taken.items() for entry in entries]
        nbytes = sum(size for size, _, _ in found)
        self.nbytes -= nbytes
        self.count -= len(found)
        return found
