"""All readings of some unlabeled arrays as the weights of one recurrent layer: what the finder searches.

A reading is made of choices, in this order:

* which array is W and which R (or one holds both, or one holds the gates r and z and another n), and whether their rows
  or their columns are units: `Storage`;
* the order of the gates, 24 of an LSTM, 6 of a GRU, and the variants of the cell: `readings`;
* whether time or batch comes first in input and output, and in which direction time runs: `arrangements`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import NamedTuple

import numpy as np

from minirnn.io.layouts.gates import CUDNN_GATES, gate, reorder
from minirnn.io.layouts.hub import LayerWeights, halves

GATE_COUNTS = {4: ("lstm",), 3: ("gru",), 1: ("rnn_tanh", "rnn_relu")}


@dataclass(frozen=True, eq=False)
class Storage:
    """Arrays with their roles; the gates of W, R and the biases are still in an unknown order.

    `form` is one of those of `Layout.form`, or a mixture of them; `text` says which array is what.
    """

    form: str
    text: str
    gates: int
    W: np.ndarray  # (G*H, I)
    R: np.ndarray  # (G*H, H)
    biases: dict[str, np.ndarray]  # none, one (G*H,), or two


@dataclass(frozen=True, eq=False)
class Reading:
    """One interpretation of the arrays as a cell."""

    storage: Storage
    rnn_mode: str
    order: str  # the gates, in the letters of the hub
    gru: str | None = None
    forget_bias: float = 0.0
    update_is_new: bool = False
    swapped_biases: bool = False

    def layer(self) -> LayerWeights:
        """The weights in the common layout. They are not stored, because hundreds of readings share large arrays."""
        s, hub = self.storage, CUDNN_GATES[self.rnn_mode]
        W, R, *biases = (reorder(a, self.order, hub) for a in (s.W, s.R, *s.biases.values()))
        if self.gru == "reset_after":
            bW, bR = (*biases, *[np.zeros(W.shape[0])] * 2)[:2]
            if self.swapped_biases:
                bW, bR = bR, bW
        else:
            b = sum(biases, np.zeros(W.shape[0]))
            if self.forget_bias:
                b[gate(b, "f", hub)] += self.forget_bias
            bW, bR = halves(b)
        if self.update_is_new:
            W, R, bW, bR = (_negated_z(a) for a in (W, R, bW, bR))
        return LayerWeights(W, R, bW, bR)


class Arrangement(NamedTuple):
    """Input (T, B, I) and output (T, B, H), or the last output (B, H), in the order in which a cell sees them."""

    text: str
    x: np.ndarray
    y: np.ndarray


def storages(arrays: dict[str, np.ndarray], I: int, H: int) -> Iterator[Storage]:
    """All assignments of roles to the arrays that their shapes allow."""
    arrays = {name: a[0] if a.ndim == 3 and len(a) == 1 else a for name, a in arrays.items()}  # ONNX: one direction
    names = [name for name, a in arrays.items() if a.ndim == 2]
    for G in GATE_COUNTS:
        for w, r in permutations(names, 2):
            for biases in _biases(_all_but(arrays, w, r), G * H):
                for W, w_form in _oriented(arrays[w], G * H, I):
                    for R, r_form in _oriented(arrays[r], G * H, H):
                        form = w_form if w_form == r_form else f"{w_form}/{r_form}"
                        text = f"W is {w} as {w_form}, R is {r} as {r_form}"
                        yield Storage(form, text, G, W, R, biases)
        for w in names:
            for biases in _biases(_all_but(arrays, w), G * H):
                for WR, form in _oriented(arrays[w], G * H, I + H):
                    yield from _fused(f"{w} as {form}", "fused", G, WR, I, H, biases)
    for ru, c in permutations(names, 2):
        for biases in _split_biases(_all_but(arrays, ru, c), H):
            for two, form in _oriented(arrays[ru], 2 * H, I + H):
                for one, c_form in _oriented(arrays[c], H, I + H):
                    if form == c_form:
                        text = f"{ru} (two gates) and {c} (the third) as {form}"
                        yield from _fused(text, "split", 3, np.concatenate([two, one]), I, H, biases)


def _fused(
    text: str, form: str, G: int, WR: np.ndarray, I: int, H: int, biases: dict[str, np.ndarray]
) -> Iterator[Storage]:
    yield Storage(form, f"[x, h] in {text}", G, WR[:, :I], WR[:, I:], biases)
    yield Storage(f"{form}, h first", f"[h, x] in {text}", G, WR[:, H:], WR[:, :H], biases)


def _all_but(arrays: dict[str, np.ndarray], *names: str) -> dict[str, np.ndarray]:
    """The arrays that are left for biases; one of shape (1, n) counts as (n,)."""
    left = {name: a for name, a in arrays.items() if name not in names}
    return {name: a[0] if a.ndim == 2 and len(a) == 1 else a for name, a in left.items()}


def _oriented(a: np.ndarray, rows: int, columns: int) -> Iterator[tuple[np.ndarray, str]]:
    if a.shape == (rows, columns):
        yield a, "rows"
    if a.shape == (columns, rows):
        yield a.T, "columns"


def _biases(rest: dict[str, np.ndarray], GH: int) -> Iterator[dict[str, np.ndarray]]:
    """The other arrays, if they are zero, one or two biases (G*H,); two may be stacked in one array."""
    shapes = [a.shape for a in rest.values()]
    if shapes in ([], [(GH,)], [(GH,), (GH,)]):
        yield rest
    elif shapes in ([(2, GH)], [(2 * GH,)]):
        ((name, both),) = rest.items()
        yield {f"{name}[{k}]": b for k, b in enumerate(both.reshape(2, GH))}


def _split_biases(rest: dict[str, np.ndarray], H: int) -> Iterator[dict[str, np.ndarray]]:
    """The other arrays, if they are not biases, or b_ru (2H,) and b_c (H,), which are joined."""
    found = sorted(rest.items(), key=lambda item: -item[1].size)
    if not found:
        yield {}
    elif [a.shape for _, a in found] == [(2 * H,), (H,)]:
        yield {", ".join(name for name, _ in found): np.concatenate([a for _, a in found])}


def readings(storage: Storage) -> Iterator[Reading]:
    """All orders of the gates, each with all variants of the cell.

    An LSTM may add 1 to its forget gate. A GRU is of one kind or the other, its z keeps the old state or takes the
    new one, and where two biases are not simply added, either may be the recurrent one.
    """
    for rnn_mode in GATE_COUNTS[storage.gates]:
        for gates in permutations(CUDNN_GATES[rnn_mode]):
            plain = Reading(storage, rnn_mode, "".join(gates))
            if rnn_mode == "lstm":
                yield plain
                yield replace(plain, forget_bias=1.0)
            elif rnn_mode != "gru":
                yield plain
            elif not storage.form.startswith("split") or gates[-1] == "n":
                for new in (False, True):
                    yield replace(plain, gru="reset_after", update_is_new=new)
                    yield replace(plain, gru="reset_before", update_is_new=new)
                    if len(storage.biases) == 2:
                        yield replace(plain, gru="reset_after", update_is_new=new, swapped_biases=True)


def _negated_z(a: np.ndarray) -> np.ndarray:
    """1 - sigmoid(z) = sigmoid(-z): a cell whose z takes the new value is one with -z that keeps the old."""
    a = a.copy()
    a[gate(a, "z", "rzn")] *= -1
    return a


def arrangements(x: np.ndarray, y: np.ndarray, batched: bool = True) -> Iterator[Arrangement]:
    """Time or batch first, time forward or backward. y is (., ., H), or (B, H) if it is that of the last time step."""
    for first in ("time first", "batch first") if batched else ("one sequence",):
        xs, ys = x, y
        if first == "batch first":
            xs, ys = np.swapaxes(x, 0, 1), np.swapaxes(y, 0, 1) if y.ndim == 3 else y
        if ys.ndim == 2 and ys.shape[0] != xs.shape[1]:
            continue
        yield Arrangement(first, xs, ys)
        if ys.ndim == 2:
            yield Arrangement(f"{first}, reverse direction", xs[::-1], ys)
        else:
            yield Arrangement(f"{first}, reverse direction", xs[::-1], ys[::-1])
            yield Arrangement(f"{first}, reverse direction, outputs in the order of computing", xs[::-1], ys)
