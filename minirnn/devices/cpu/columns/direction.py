"""One direction of a layer in the column layout: the work of the fast recurrent kernels around their loops over the
steps.

Column layout: samples are columns. A state is (H, B), a block of gates (G*H, B), so each gate is contiguous and the
product of a step, ``R @ h``, has the weights on the left (OpenBLAS does ``R @ h`` up to twice as fast as ``h @ R.T``).
Users' arrays stay (T, B, width); they are transposed piece by piece.

In the formulas h' is the state before a step, da is the gradient of a pre-activation on the side of x and da2 on the
side of h'; the two differ only for the GRU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from minirnn.devices.cpu import workspace
from minirnn.devices.cpu.columns.visit import WIDE_INPUT, Array, Columns, Piece, Visit
from minirnn.devices.cpu.columns.zoneout import Keep

UNPACKED = 10**6  # multiply-adds up to which OpenBLAS (AVX-512) reads both factors where they are
TURNED = 64, 1 << 14  # columns copied at once when a matrix of this size is transposed: more would share cache lines


class Weights(NamedTuple):
    """The weights of one direction, or their gradients."""

    W: Array | None  # (G*H, in); None if x enters every gate as it is
    R: Array  # (G*H, P)
    Wp: Array | None  # (P, H), the projection
    bW: Array  # (G*H,)
    bR: Array  # (G*H,)


class Direction(NamedTuple):
    """The inputs of a forward pass, and the array y that it fills."""

    x: Array  # (T, B, in)
    h0: Array  # (B, P)
    c0: Array | None  # (B, H), LSTM only
    weights: Weights
    saved: Array | None  # (T, rows, H, B), values of each step that the backward pass needs; None for inference
    visit: Visit
    y: Array  # (T, B, P)
    keep: Keep | None = None  # zoneout


class Gradients(NamedTuple):
    """Further inputs of a backward pass, and the arrays that it fills."""

    dy: Array  # (T, B, P)
    dh_n: Array  # (B, P)
    dc_n: Array | None  # (B, H), LSTM only
    dweights: Weights
    dx: Array | None  # (T, B, in), if it is wanted
    accumulate: bool  # add to dx rather than set it


class Visited(Protocol):
    """The properties of a direction that a walk over its steps uses."""

    @property
    def h0(self) -> Array: ...
    @property
    def visit(self) -> Visit: ...
    @property
    def y(self) -> Array: ...


def forward_pieces(d: Visited, states: Array, h_n: Array) -> Iterator[tuple[Piece, Array, Array]]:
    """Yield each piece of steps with the columns before and after its steps; between pieces, fill y and h_n.

    `states` (n+1, rows, B) has the columns of n steps in visiting order. Its first P rows are h; those of the columns
    after a step are set by the caller.
    """
    P = d.h0.shape[1]
    for piece in d.visit.pieces(len(states) - 1):
        n = piece.hi - piece.lo
        piece.join(d.h0, states[0, :P])
        h = states[1 : n + 1, :P]
        yield piece, states[:n], h
        piece.leave(h[-1], h_n)
        turn(h, d.y[piece.steps])
        states[0, :P] = h[-1]


def backward_pieces(d: Visited, dh_n: Array, dh: Array, dh0: Array, step_da: Array, da: Array) -> Iterator[Piece]:
    """Yield each piece from the last step to the first; between pieces, add samples to dh and remove them, and fill da.

    `step_da` (n, rows, B) has the gradients that the caller computed for a piece; `da` is what `all_steps` made for it.
    """
    for piece in d.visit.pieces(len(step_da), backward=True):
        piece.join(dh_n, dh)
        yield piece
        piece.leave(dh, dh0)
        if d.visit.lengths is not None:
            dh[:, piece.leaving] = 0  # no gradient flows in columns whose sample is done
        if dh.shape[1] > 1:
            da[:, piece.lo : piece.hi] = step_da[: piece.hi - piece.lo].transpose(1, 0, 2)


def all_steps(step_da: Array, T: int) -> Array:
    """An array (rows, T, B) for the gradients of all steps; `step_da` (n, rows, B) itself if it holds them all."""
    _, rows, B = step_da.shape
    return step_da.transpose(1, 0, 2) if B == 1 else workspace.empty((rows, T, B), step_da.dtype)


def product_of_step(B: int) -> Callable[[Array, Array, Array], Array]:
    """Compute ``R @ h`` for B columns into an existing array.

    ``np.dot`` first fills the result with zeros on one core, which makes a product a tenth slower at H = 256 and
    B = 32. For one column its lower call overhead matters more.
    """
    return np.dot if B == 1 else np.matmul


def left_matrix(rows: int, columns: int, B: int, dtype: np.dtype) -> Array:
    """An empty matrix for `product_of_step`.

    Its rows are whole cache lines apart if OpenBLAS multiplies without packing, which saves a tenth of a layer's time
    at H = 128 and B = 8. ``np.dot`` would copy such a matrix at every step.
    """
    apart = B > 1 and rows * columns * B <= UNPACKED
    line = workspace.ALIGNMENT // dtype.itemsize if apart else 1
    return workspace.empty((rows, -(-columns // line) * line), dtype)[:, :columns]


def turn(a: Array, out: Array) -> None:
    """out[t] = a[t].T for all t"""
    _, rows, columns = out.shape
    n, size = TURNED
    if rows * columns < size:
        out[...] = a.transpose(0, 2, 1)
        return
    for k in range(0, columns, n):
        out[:, :, k : k + n] = a[:, k : k + n].transpose(0, 2, 1)


def transposed(a: Array) -> Array:
    """A copy of a.T, contiguous"""
    out = workspace.empty(a.shape[::-1], a.dtype)
    turn(a[None], out[None])
    return out


def project(W: Array, x: Array, a: Array) -> None:
    """a[t] = W @ x[t].T        W (rows, in), x (T, B, in), a (T, rows, B)"""
    T, B, width = x.shape
    rows = len(W)
    if B == 1:
        np.matmul(x[:, 0], W.T, out=a[:, :, 0])
    elif width < WIDE_INPUT:
        np.matmul(W, x.transpose(0, 2, 1), out=a)
    else:
        wide = workspace.empty((rows, T * B), x.dtype)
        np.matmul(W, x.reshape(T * B, width).T, out=wide)
        a[...] = wide.reshape(rows, T, B).transpose(1, 0, 2)


def product(a: Array, b: Array, out: Array) -> None:
    """out = a @ b"""
    if a.shape[1] == 1:  # np.matmul is slow at a column times a row
        np.multiply(a, b, out)
    else:
        np.matmul(a, b, out=out)


def recurrent_gradient(d: Visited, da2: Array, dR: Array) -> None:
    """dR = da2 @ h'        da2 (rows, T*B), dR (rows, P)

    h' of a step is y of the step visited before, and h0 where a sample starts. Padding in da2 and y is 0.
    """
    T, B, P = d.y.shape
    y = d.y.reshape(T * B, P)
    if B == 1:
        product(da2, np.concatenate((y[1:], d.h0) if d.visit.reverse else (d.h0, y[:-1])), dR)
        return
    start: Columns
    if not d.visit.reverse:
        np.matmul(da2[:, B:], y[:-B], out=dR)
        start = slice(0, B)
    else:
        np.matmul(da2[:, :-B], y[B:], out=dR)
        lengths = d.visit.lengths
        start = slice((T - 1) * B, T * B) if lengths is None else (lengths - 1) * B + np.arange(B)
    if dR.flags.c_contiguous:
        dR += da2[:, start] @ d.h0
    else:  # a sum should read memory in order
        transposed = dR.T
        transposed += d.h0.T @ da2[:, start].T


def input_gradients(d: Direction, g: Gradients, da: Array) -> None:
    """dW = da @ x and dx = da.T @ W, or the sum over the gates if there is no W        da (G*H, T*B)"""
    T, B, width = d.x.shape
    W, dW, dx = d.weights.W, g.dweights.W, g.dx
    if dW is not None:
        product(da, d.x.reshape(T * B, width), dW)
    if dx is None:
        return
    if W is None:
        sums = da.reshape(-1, width, T, B).sum(axis=0).transpose(1, 2, 0)
    elif g.accumulate:
        sums = (da.T @ W).reshape(dx.shape)
    else:
        np.matmul(da.T, W, out=dx.reshape(T * B, width))
        return
    if g.accumulate:
        dx += sums
    else:
        dx[...] = sums


def weight_gradients(d: Direction, g: Gradients, da: Array) -> None:
    """The gradients of x and of all weights but Wp where da2 = da        da (G*H, T*B)"""
    input_gradients(d, g, da)
    recurrent_gradient(d, da, g.dweights.R)
    np.matmul(da, np.ones(da.shape[1], da.dtype), out=g.dweights.bW)
    g.dweights.bR[...] = g.dweights.bW
