"""The accesses of one launch to memory, as NumPy arrays: the data for pictures of coalescing and bank conflicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from minirnn.devices.cuda.sim.report import Place

WARP, SECTOR, BANKS, BANK_BYTES = 32, 32, 32, 4


@dataclass
class Trace:
    """Every access of a launch, in the order in which it happened.

    Attributes
    ----------
    accesses : numpy.ndarray
        Fields ``address`` (bytes from the start of the array, or of the block's shared memory), ``allocation`` (number
        of the array, -1 for shared memory, -2 for a variable of the module,
        of which only writes are kept), ``block``, ``thread``, ``size`` (bytes), ``write``, ``atomic``, ``pc``,
        ``order``.
    place_of : callable
        The source line of a ``pc``.
    """

    accesses: np.ndarray
    place_of: Callable[[int], Place]

    def __len__(self) -> int:
        return len(self.accesses)

    def places(self) -> dict[int, Place]:
        """The source line of each ``pc`` that occurs."""
        return {int(pc): self.place_of(int(pc)) for pc in np.unique(self.accesses["pc"])}

    def of_line(self, line: int) -> np.ndarray:
        """The accesses that a source line makes."""
        wanted = [pc for pc, place in self.places().items() if place.line == line]
        return self.accesses[np.isin(self.accesses["pc"], wanted)]

    def warp_accesses(self, accesses: np.ndarray | None = None) -> Iterator[np.ndarray]:
        """The joint accesses of a warp: one instruction, one block, 32 threads, the same iteration."""
        a = self.accesses if accesses is None else accesses
        if not len(a):
            return
        # How often this thread has executed this instruction, because loops repeat.
        by_thread = np.lexsort((a["order"], a["thread"], a["block"], a["pc"]))
        s = a[by_thread]
        same = (
            (s["pc"][1:] == s["pc"][:-1]) & (s["block"][1:] == s["block"][:-1]) & (s["thread"][1:] == s["thread"][:-1])
        )
        starts = np.flatnonzero(np.concatenate([[True], ~same]))
        times = np.arange(len(s)) - np.repeat(starts, np.diff(np.append(starts, len(s))))
        key = np.lexsort((s["thread"], times, s["thread"] // WARP, s["block"], s["pc"]))
        s, times = s[key], times[key]
        together = np.stack([s["pc"], s["block"], s["thread"] // WARP, times.astype(np.uint64)])
        cuts = np.flatnonzero((together[:, 1:] != together[:, :-1]).any(axis=0)) + 1
        yield from np.split(s, cuts)

    def sectors(self, line: int) -> list[int]:
        """The number of 32-byte sectors of device memory that a warp touches each time it executes a source line.

        32 neighboring floats are 4 sectors; 32 floats far apart are 32, eight times the traffic.
        """
        counts = []
        for group in self.warp_accesses(self.of_line(line)):
            device = group[group["allocation"] >= 0]
            if len(device):
                first, last = device["address"] // SECTOR, (device["address"] + device["size"] - 1) // SECTOR
                touched = {
                    (int(a), s)
                    for a, f, e in zip(device["allocation"], first, last, strict=True)
                    for s in range(f, e + 1)
                }
                counts.append(len(touched))
        return counts

    def sectors_in_all(self, atomic: bool = False) -> int:
        """The number of 32-byte sectors of device memory that the whole launch touches, counted for each access of a
        warp.

        It counts plain accesses or, with `atomic`, atomic and volatile ones. No access here is wider than a sector.
        """
        a = self.accesses[(self.accesses["allocation"] >= 0) & (self.accesses["atomic"] == atomic)]
        place = a["allocation"].astype(np.int64) << 40 | (a["address"] // SECTOR).astype(np.int64)
        a = a.copy()
        a["address"] = place
        return sum(len(np.unique(group["address"])) for group in self.warp_accesses(a))

    def bank_conflicts(self, line: int) -> list[int]:
        """The number of rounds of a warp's shared-memory access each time it executes a source line.

        Shared memory has 32 banks of 4 bytes; different words of one bank must wait for each other. 1 is best.
        """
        rounds = []
        for group in self.warp_accesses(self.of_line(line)):
            shared = group[group["allocation"] == -1]
            if len(shared):
                words = np.unique(shared["address"] // BANK_BYTES)
                rounds.append(int(np.bincount((words % BANKS).astype(np.int64)).max()))
        return rounds
