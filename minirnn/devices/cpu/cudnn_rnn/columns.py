"""What the fast recurrent kernels share: the column layout, the order of steps, and the products over all steps.

Column layout: samples are columns. A state is (H, B), a block of gates (G*H, B), so each gate is contiguous and the
product of a step, ``R @ h``, has the weights on the left (OpenBLAS does ``R @ h`` up to twice as fast as ``h @ R.T``).
Users' arrays stay (T, B, width); they are turned once for all steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minirnn.devices.cpu import workspace

Array = np.ndarray
Columns = Any  # an index of samples: a slice or an integer array
V = TypeVar("V")

EVERY = slice(None)
NONE = slice(0, 0)
WIDE_INPUT = 256  # from this width of x on, one product for many steps beats one a step by more than its extra copy
PRODUCT_STEPS = 16
CACHED_CELLS = 1 << 15  # cells (step, unit, sample) whose values, about a dozen, fit the L2 cache of a core


class Piece(NamedTuple):
    """Steps lo..hi-1, visited up or down; which samples start at the first one, which are done after the last."""

    lo: int
    hi: int
    upward: bool
    joining: Columns
    leaving: Columns

    @property
    def first(self) -> int:
        return self.lo if self.upward else self.hi - 1

    @property
    def last(self) -> int:
        return self.hi - 1 if self.upward else self.lo

    def order(self, steps: V) -> V:
        """A list or array of these steps by time in visiting order, or the other way round."""
        return steps if self.upward else steps[::-1]  # type: ignore[index]


class Visit:
    """The order in which a direction visits the steps.

    Sample b lives at steps 0..lengths[b]-1. Going up in time, all samples join at step 0 and each leaves at its own
    end; going down, each joins at its own end and all leave at step 0. So lengths cost nothing inside the loops:
    between two ends they run over all columns, and what happens in columns without a sample is thrown away.
    """

    def __init__(self, T: int, lengths: Array | None, reverse: bool) -> None:
        self.T = T
        self.lengths = lengths
        self.reverse = reverse

    def forward(self, longest: int) -> Iterator[Piece]:
        """All steps in visiting order, in pieces of at most `longest` steps."""
        return self.pieces(not self.reverse, longest)

    def backward(self, longest: int) -> Iterator[Piece]:
        """The same, from the last step visited to the first."""
        return self.pieces(self.reverse, longest)

    def pieces(self, upward: bool, longest: int) -> Iterator[Piece]:
        ends: list[tuple[int, Columns]] = [(self.T, EVERY)]
        if self.lengths is not None:
            ends = [(int(end), np.flatnonzero(self.lengths == end)) for end in np.unique(self.lengths)]
        cuts: list[tuple[int, int, Columns]] = []  # lo, hi, samples that end at hi
        start = 0
        for end, samples in ends:
            for lo in range(start, end, longest):
                hi = min(lo + longest, end)
                cuts.append((lo, hi, samples if hi == end else NONE))
            start = end
        for lo, hi, ending in cuts if upward else reversed(cuts):
            everyone = EVERY if lo == 0 else NONE
            joining, leaving = (everyone, ending) if upward else (ending, everyone)
            yield Piece(lo, hi, upward, joining, leaving)


def steps_at_once(T: int, B: int, H: int, width: int = 0) -> int:
    """Length of the pieces in which steps are visited: all that surrounds the loop is done piece by piece, in cache.

    A wide x asks for more steps, so that its product is a big one.
    """
    n = max(CACHED_CELLS // (H * B), PRODUCT_STEPS if width >= WIDE_INPUT else 1)
    return T if B == 1 else min(T, n)


def project(W: Array, x: Array, Z: Array) -> None:
    """Z[t] = W @ x[t].T        W (rows, in), x (T, B, in), Z (T, rows, B)"""
    T, B, width = x.shape
    rows = len(W)
    if B == 1:
        np.matmul(x[:, 0], W.T, out=Z[:, :, 0])
    elif width < WIDE_INPUT:
        np.matmul(W, x.transpose(0, 2, 1), out=Z)
    else:
        wide = workspace.empty((rows, T * B), x.dtype)
        np.matmul(W, x.reshape(T * B, width).T, out=wide)
        Z[...] = wide.reshape(rows, T, B).transpose(1, 0, 2)


def recurrent_gradient(dA2: Array, y: Array, h0: Array, visit: Visit, dR: Array) -> None:
    """dR = dA2 @ h'        dA2 (rows, T*B), y (T, B, P), h0 (B, P), dR (rows, P)

    h' of a step is y of the step visited before, and h0 where a sample starts. Padding in dA2 and y is 0.
    """
    T, B, P = y.shape
    y = y.reshape(T * B, P)
    start: Columns
    if not visit.reverse:
        np.matmul(dA2[:, B:], y[:-B], out=dR)
        start = slice(0, B)
    else:
        np.matmul(dA2[:, :-B], y[B:], out=dR)
        lengths = visit.lengths
        start = slice((T - 1) * B, T * B) if lengths is None else (lengths - 1) * B + np.arange(B)
    first = dA2[:, start]
    dR += first * h0 if B == 1 else first @ h0  # matmul is slow at a column times a row


def input_gradient(dA: Array, W: Array | None, dx: Array, accumulate: bool) -> None:
    """dx = dA.T @ W, or the sum over the gates if there is no W        dA (G*H, T*B), dx (T, B, in)"""
    T, B, width = dx.shape
    if W is None:
        product = dA.reshape(-1, width, T, B).sum(axis=0).transpose(1, 2, 0)
    elif accumulate:
        product = (dA.T @ W).reshape(dx.shape)
    else:
        np.matmul(dA.T, W, out=dx.reshape(T * B, width))
        return
    if accumulate:
        dx += product
    else:
        dx[...] = product
