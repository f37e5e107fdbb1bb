"""Units of a trained model whose states follow a visible property of the text.

A unit tells a property of the text if its state c_t says what the property is at step t. How much it says is the mutual
information of the two, in bits:

    I = sum_ab p(a, b) log2( p(a, b) / (p(a) p(b)) )        a: eighth of the unit's values, b: value of the property

It is 0 if they are independent, and at most the entropy of the property: in that case the unit determines the property.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import minirnn as mr
from minirnn.train.model import CharModel

BINS = 8
"""The number of classes, with equally many values each, into which the values of a unit are sorted."""
LEAST = 0.05
"""In bits. A property with less entropy hardly changes in the text."""
QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb", "\u201e": "\u201c"}
"""What opens a quotation, and what closes it."""


class Telling(NamedTuple):
    """A unit, and the property about which it is informative."""

    unit: int
    """The index among the units of all layers and directions, in their order."""
    what: str
    bits: float
    """The mutual information."""
    of: float
    """The entropy of the property, which is the most that a unit can tell."""


def indentation(text: str) -> np.ndarray:
    """The white space at the beginning of the line, as far as the line has been read; (T,) int."""
    depths = [len(m) for line in re.findall(r".*\n|.+", text) for m in _beginnings(line)]
    return np.minimum(depths, 16)


def _beginnings(line: str) -> list[str]:
    lead = re.match(r"[ \t]*", line)
    assert lead is not None
    return [lead[0][: k + 1] for k in range(len(line))]


def inside_quotes(text: str) -> np.ndarray:
    """1 where a quotation is open after the character, else 0; (T,) int.

    An apostrophe after a letter opens nothing. A quotation ends at the end of its line, and a typographic one at the
    end of its paragraph. Three marks in a row are skipped, because a piece that begins inside a docstring would be read
    inside out.
    """
    found, close, k = [], "", 0
    while k < len(text):
        character = text[k]
        step = 3 if character in "\"'" and text.startswith(3 * character, k) else 1
        if step == 3:
            close = ""
        elif close:
            if character == close or text.startswith("\n" if close in "\"'" else "\n\n", k):
                close = ""
            elif character == "\\":
                step = 2
        elif character in QUOTES and not (character in "'\u2018" and k and text[k - 1].isalnum()):
            close = QUOTES[character]
        found += [int(bool(close))] * step
        k += step
    return np.array(found[: len(text)])


def position_in_line(text: str) -> np.ndarray:
    """How many characters of the line have been read, in tens; (T,) int."""
    columns = [k for line in re.findall(r".*\n|.+", text) for k in range(len(line))]
    return np.minimum(columns, 99) // 10


def character_read(text: str) -> np.ndarray:
    """The number of the character; (T,) int."""
    return np.array([ord(character) for character in text])


PROPERTIES: dict[str, Callable[[str], np.ndarray]] = {
    "the indentation": indentation,
    "whether a quotation is open": inside_quotes,
    "the position in the line": position_in_line,
}


def entropy(values: np.ndarray) -> float:
    """The entropy of integers, in bits."""
    p = np.unique(values, return_counts=True)[1] / values.size
    return float(-(p * np.log2(p)).sum()) + 0.0


def eighths(states: np.ndarray) -> np.ndarray:
    """The eighth of its unit's values that contains each value of `states` (N, U): 0 .. 7, (N, U)."""
    found = np.empty(states.shape, np.intp)
    for u, values in enumerate(states.T):
        limits = np.unique(np.quantile(values, np.arange(1, BINS) / BINS))
        found[:, u] = np.searchsorted(limits, values, side="right")
    return found


def information(states: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mutual information of each column of `states` with `values`, in bits; (U,).

    By chance the estimate is too large by about ``(a - 1) (b - 1) / (2 N)`` nats for a and b classes (Miller 1955);
    this amount is subtracted.

    Parameters
    ----------
    states : (N, U)
        Whole numbers 0 .. 7, from `eighths`.
    values : (N,)
        Whole numbers.
    """
    names, b = np.unique(values, return_inverse=True)
    N, B = len(values), len(names)
    p_b = np.bincount(b, minlength=B) / N
    found = np.zeros(states.shape[1])
    for u, a in enumerate(states.T):
        p = np.bincount(a * B + b, minlength=BINS * B).reshape(BINS, B) / N
        p_a = p.sum(axis=1)
        seen = p > 0
        chance = (np.count_nonzero(p_a) - 1) * (B - 1) / (2 * N * np.log(2))
        found[u] = (p[seen] * np.log2(p[seen] / np.outer(p_a, p_b)[seen])).sum() - chance
    return np.maximum(found, 0.0)


def most_telling(states: np.ndarray, text: list[str]) -> list[Telling]:
    """For each property that changes in the text, the unit that tells the largest part of it; no unit twice.

    Parameters
    ----------
    states : (T, B, U)
        After each character of B pieces of text.
    text : list of str
        The B pieces, T characters each.
    """
    flat = eighths(states.transpose(1, 0, 2).reshape(-1, states.shape[2]))  # piece after piece
    values = {name: np.concatenate([of(piece) for piece in text]) for name, of in PROPERTIES.items()}
    known = {name: entropy(v) for name, v in values.items()}
    wanted = [name for name in values if known[name] >= LEAST]
    if not wanted:  # a text without lines
        values = {"the character read": np.concatenate([character_read(piece) for piece in text])}
        known = {name: entropy(v) for name, v in values.items()}
        wanted = [name for name in values if known[name] > 0]
    bits = {name: information(flat, values[name]) for name in wanted}
    found: list[Telling] = []
    for name in sorted(wanted, key=lambda name: -bits[name].max() / known[name]):
        free = [u for u in range(flat.shape[1]) if u not in {one.unit for one in found}]
        if free:
            unit = max(free, key=lambda u: float(bits[name][u]))
            found.append(Telling(unit, name, float(bits[name][unit]), known[name]))
    return found or [Telling(0, "", 0.0, 0.0)]


def states_of(model: CharModel, ids: np.ndarray) -> np.ndarray:
    """The states of all units after each character of ids (T, B): c of an LSTM, h of GRU and RNN, the memory of a
    custom cell (`Opened.memory`); (T, B, U) float32.

    The units of a layer are neighbors; with two directions those of the reverse one follow, whose state at step t comes
    from the characters after t.
    """
    state, memory = model.zero_state(ids.shape[1]), model.opened.memory
    with mr.no_grad():
        if model.bidirectional:
            seen = model.trace(ids, state)
            layers = [np.stack([values.states[memory].numpy() for values in steps]) for steps in seen.steps]
            return np.concatenate(layers, axis=-1)
        found = []
        for row in ids:
            _, state = model(row[None], state)
            layers = list(state[model.state_names.index(memory)].numpy())
            found.append(np.concatenate(layers, axis=-1))  # (L, B, H) -> (B, L*H)
    return np.stack(found)


def name_of(model: CharModel, unit: int) -> str:
    """Unit, layer and direction in words."""
    one = model.opened
    p, k = divmod(unit, one.width(one.memory))
    layer = f" of layer {p // one.D}" if one.L > 1 else ""
    return f"unit {k}{layer}" + (f", reading {('forward', 'backward')[p % one.D]}" if one.D > 1 else "")
