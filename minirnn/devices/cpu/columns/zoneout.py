"""Zoneout around the cells of the column layout. The formulas: `minirnn/ops/cudnn_rnn/zoneout.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from minirnn.devices.cpu.columns.visit import Array, Piece

Mask = tuple[Array, Array]
"""z and 1 - z of one step, (rows, B) each."""


class Keep(NamedTuple):
    """The share of the old state that is kept at each step, (T, B, P) and for the LSTM also (T, B, H)."""

    zh: Array
    zc: Array | None


def masks(z: Array, piece: Piece) -> list[Mask]:
    """The `Mask` of each step of a piece, in visiting order."""
    keep = np.ascontiguousarray(z[piece.steps].transpose(0, 2, 1))
    return list(zip(keep, 1 - keep, strict=True))


def mix(mask: Mask, old: Array, new: Array, out: Array) -> None:
    """out = z * old + (1 - z) * new"""
    z, one_minus_z = mask
    np.multiply(z, old, out)
    np.add(out, one_minus_z * new, out)


def split(mask: Mask, g: Array) -> tuple[Array, Array]:
    """The gradients of `new`, (1 - z) * g, and of `old`, z * g, from the gradient of the result of `mix`."""
    z, one_minus_z = mask
    return one_minus_z * g, z * g
