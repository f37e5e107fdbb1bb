"""The order in which a direction visits its steps, for any lengths: in pieces short enough for the cache."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

Array = np.ndarray
Columns = Any  # an index of samples: a slice or an integer array
V = TypeVar("V")

EVERY = slice(None)
NONE = slice(0, 0)
WIDE_INPUT = 256  # from this width of x on, one product for many steps saves more than its extra copy costs
PRODUCT_STEPS = 16
CACHED_CELLS = 1 << 15  # cells (step, unit, sample) whose values, about a dozen each, fit the L2 cache of a core


class Piece(NamedTuple):
    """Steps lo..hi-1, visited up or down; samples join at the first one visited, and leave after the last."""

    lo: int
    hi: int
    first: int
    last: int
    steps: slice  # selects these steps from a list or array of all steps, in visiting order
    upward: bool
    joining: Columns
    leaving: Columns

    def order(self, steps: V) -> V:
        """Reorder a list or array of these steps from time order to visiting order, or back."""
        return steps if self.upward else steps[::-1]  # type: ignore[index]


class Visit:
    """The order in which a direction visits the steps.

    Sample b lives at steps 0..lengths[b]-1. Going up in time, all samples join at step 0 and each leaves at its own
    end; going down, each joins at its own end and all leave at step 0. So lengths cost nothing inside the loops:
    between two ends they run over all columns, and the results in columns without a sample are discarded.
    """

    def __init__(self, T: int, lengths: Array | None = None, reverse: bool = False) -> None:
        self.T = T
        self.lengths = lengths
        self.reverse = reverse

    def pieces(self, longest: int, backward: bool = False) -> list[Piece]:
        """All steps in visiting order, in pieces of at most `longest` steps; backward, from the last one visited on."""
        upward = self.reverse == backward
        ends: list[tuple[int, Columns]] = [(self.T, EVERY)]
        if self.lengths is not None:
            ends = [(int(end), np.flatnonzero(self.lengths == end)) for end in np.unique(self.lengths)]
        pieces = []
        start = 0
        for end, samples in ends:
            for lo in range(start, end, longest):
                hi = min(lo + longest, end)
                below, above = EVERY if lo == 0 else NONE, samples if hi == end else NONE
                if upward:
                    pieces.append(Piece(lo, hi, lo, hi - 1, slice(lo, hi), True, joining=below, leaving=above))
                else:
                    down = slice(hi - 1, lo - 1 if lo else None, -1)
                    pieces.append(Piece(lo, hi, hi - 1, lo, down, False, joining=above, leaving=below))
            start = end
        return pieces if upward else pieces[::-1]


def steps_at_once(T: int, B: int, H: int, width: int = 0) -> int:
    """The length of the pieces in which steps are visited, so that the data around the loop stays in cache.

    A wide x needs more steps, so that its product is large.
    """
    n = max(CACHED_CELLS // (H * B), PRODUCT_STEPS if width >= WIDE_INPUT else 1)
    return T if B == 1 else min(T, n)


def padding(lengths: Array | None, T: int) -> tuple[Array | None, Array | None, int]:
    """The valid steps, (last, B, 1); the lengths; the longest. The first two are None if all steps are valid."""
    if lengths is None:
        return None, None, T
    lengths = np.asarray(lengths)
    last = int(lengths.max())
    if lengths.min() == T:
        return None, None, T
    valid = (np.arange(last)[:, None] < lengths)[:, :, None]
    return valid, None if lengths.min() == last else lengths, last
