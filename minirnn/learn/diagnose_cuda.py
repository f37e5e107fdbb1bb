"""Finds the mistake behind the wrong numbers of a CUDA kernel, mostly from which elements are wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minirnn.learn.diagnose import Diagnosis, from_the_tree
from minirnn.learn.exercise import Exercise
from minirnn.learn.hypotheses import kernels
from minirnn.learn.judge import SINGLE, Case, equal
from minirnn.learn.rearranged import other_order
from minirnn.learn.wrong_numbers import axes, where

MORE = (kernels.of_indices, kernels.of_tiles, kernels.of_partial_sums, kernels.of_partial_maxima)


@dataclass(frozen=True)
class KernelCase(Case):
    """A case of a CUDA kernel.

    Attributes
    ----------
    primed : dict
        The results when the outputs held ones before the launch; empty if that was not tried.
    grid, block : tuple of int
        How the CUDA kernel was launched.
    """

    primed: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (1,)


def diagnose_kernel(exercise: Exercise, results: Sequence[Case]) -> Diagnosis | None:
    """The mistake that gives exactly the numbers of all results, or which numbers are wrong; None if all are right."""
    cases = [case for case in results if case.wrong and isinstance(case, KernelCase)]
    if not cases:
        return None
    if order := other_order(cases):
        return said([order])
    stored = {name: storing(case, name, exercise.outputs[name]) for case in cases[:1] for name in case.wrong}
    if any(stored.values()):
        together: dict[str, list[str]] = {}
        for name in exercise.outputs:
            if stored.get(name):
                together.setdefault(stored[name], []).append(name)
        return said([f"{', '.join(names)}: {text}" for text, names in together.items()])
    found = from_the_tree(exercise, cases, MORE)
    if found is not None:
        return in_c(found)
    places = [
        f"{name}: {text}" for name in exercise.outputs if (text := wrong_place(cases[0], name, exercise.outputs[name]))
    ]
    return said(places, exact=False) if places else None


def in_c(found: Diagnosis) -> Diagnosis:
    """A diagnosis without the lines of the formula, which are Python, and with words that fit a kernel."""

    def words(text: str) -> str:
        text = re.sub(r"\bnp\.(exp|log|sqrt|tanh)\b", r"\1f", text)
        for line, axis in (("column", 0), ("row", 1)):
            for what, name in (("sum", "sum"), ("largest number", "max")):
                total = rf"(\w+|\([^()]*\))\.{name}\((?:axis=)?{axis}(?:, keepdims=True)?\)"
                text = re.sub(total, rf"the {what} of each {line} of \1", text)
        return re.sub(r"\bthe (term|factor) the\b", "the", text)

    sentence = words(found.sentence)
    others = [words(line) for line in found.lines[1:] if line.startswith("Other changes")]
    lines = (found.lines[0], "", *(f"    {text}" for text in sentence.split("; ")), *("" for _ in others), *others)
    return found.replaced(sentence=sentence, short=words(found.short), lines=lines)


def said(sentences: Sequence[str], exact: bool = True) -> Diagnosis:
    return Diagnosis("; ".join(sentences), tuple(sentences), exact=exact)


def close(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        near: np.ndarray = np.abs(got - want) <= SINGLE * np.abs(want).max(initial=1e-300)
    return near


def storing(case: KernelCase, name: str, letters: str) -> str:
    """The mistake in how an output is stored: added to old memory, not everywhere, or in the wrong places."""
    want, got, primed = case.expected[name], case.got[name], case.primed.get(name)
    if not isinstance(got, np.ndarray) or got.shape != want.shape:
        return ""
    if (np.abs(got) > 1e37).any():  # what check mode puts into a local variable that nobody set
        return "it is huge: a variable is read before it is set, as in float sum; sum += .."
    if not np.isnan(got).any():
        if want.ndim == 2 and equal(want.T.ravel().reshape(want.shape), got, SINGLE):
            return "it is stored column by column: the index must count rows times the length of a row"
        return other_layout(want, got, letters)
    if isinstance(primed, np.ndarray) and np.isnan(got).all():
        if close(primed, want + 1).all():
            return "it is added, with +=, to what was in memory before, which was never set"
        if (primed == 1).all():
            return "it is never written"
    written = ~np.isnan(got) if primed is None else primed != 1
    if says := one_a_thread(written, case):
        return says
    text = unwritten(written, case, letters)
    if close(got, want)[written].all():
        return f"{text}; what is written is right"
    shifts = [s for s in (1, -1) if want.ndim == 1 and close(got[written], np.roll(want, s)[written]).all()]
    if shifts:
        return f"{text}; the numbers are stored one place too {'late' if shifts[0] > 0 else 'early'}"
    return ""


def other_layout(want: np.ndarray, got: np.ndarray, letters: str) -> str:
    """Rows of several parts, such as (B, 4H), that are stored part by part, or with the parts' numbers interleaved."""
    match = re.fullmatch(r"(\d+)[A-Z]", (axes(letters) or [""])[-1])
    if want.ndim != 2 or match is None:
        return ""
    parts = want.reshape(len(want), int(match[1]), -1)
    rows = "the numbers of a row lie side by side, part by part"
    for order, says in (
        ((1, 0, 2), f"all rows of the first part are stored before those of the next: {rows}"),
        ((0, 2, 1), f"the {match[1]} parts take turns, number by number: {rows}"),
        ((1, 2, 0), f"each part is stored by itself, and column by column: {rows}"),
        ((2, 1, 0), f"it is stored column by column: {rows}"),
        ((2, 0, 1), f"the parts take turns, and it is stored column by column: {rows}"),
    ):
        if equal(parts.transpose(order).ravel(), got.ravel(), SINGLE):
            return says
    return ""


INDICES = (
    ("b + D * t", "the index is blockIdx.x + blockDim.x * threadIdx.x: the two are exchanged"),
    ("b + t", "the index is blockIdx.x + threadIdx.x: blockIdx.x must be multiplied by blockDim.x"),
    ("b * t", "the index is blockIdx.x * threadIdx.x: it must be blockIdx.x * blockDim.x + threadIdx.x"),
    ("b * D", "the index is blockIdx.x * blockDim.x, without threadIdx.x"),
    ("t * G", "the index is threadIdx.x * gridDim.x, without blockIdx.x"),
    ("b * G + t", "blockIdx.x is multiplied by gridDim.x, but it must be blockDim.x"),
    ("b * 2 * D + t", "blockIdx.x is multiplied by twice the number of threads of a block"),
    ("(b + 1) * D + t", "the index begins with the second block: blockIdx.x + 1"),
    ("b * D + t + 1", "the index is one too large: threads count from 0"),
    ("b * 1024 + t", "blockIdx.x is multiplied by a number other than blockDim.x"),
    ("b * 512 + t", "blockIdx.x is multiplied by a number other than blockDim.x"),
    ("b * 256 + t", "blockIdx.x is multiplied by a number other than blockDim.x"),
    ("b * 128 + t", "blockIdx.x is multiplied by a number other than blockDim.x"),
)
"""Wrong indices of threads in one dimension: of blocks b of D threads t, G blocks."""


def other_index(written: np.ndarray, case: KernelCase) -> str:
    """The wrong index that reaches exactly the elements that were written; empty if there is none."""
    G, D = case.grid[0], case.block[0]
    if written.ndim != 1 or len(case.block) > 1 and case.block[1] > 1:
        return ""
    b, t = np.divmod(np.arange(G * D), D)
    for code, says in INDICES:
        index = eval(code, {"b": b, "t": t, "D": D, "G": G})
        reached = np.zeros(written.size, bool)
        reached[index[index < written.size]] = True
        if np.array_equal(reached, written):
            return says
    return ""


def one_a_thread(written: np.ndarray, case: KernelCase) -> str:
    """The complaint if each block has one row but each thread stores only one number; otherwise empty."""
    threads = int(np.prod(case.block))
    if written.ndim != 2 or case.grid[0] != len(written) or written.shape[1] <= threads:
        return ""
    if not np.array_equal(written, np.broadcast_to(np.arange(written.shape[1]) < threads, written.shape)):
        return ""
    first = f"only the first {threads} numbers of each row are written"
    return f"{first}, one by each thread: a row is longer, so each thread must take every {threads}th number of it"


def unwritten(written: np.ndarray, case: KernelCase, letters: str) -> str:
    """Which elements no thread writes."""
    first = np.zeros(written.shape, bool)
    first[tuple(slice(0, n) for n in case.block[: written.ndim][::-1])] = True
    block = " x ".join(map(str, case.block))
    if np.array_equal(written, first) and written.size > first.sum():
        return (
            f"only the first {first.sum()} elements are written, those of block 0 ({block} threads): the index lacks"
            " blockIdx"
        )
    if written.ndim == 1 and np.array_equal(written, np.arange(written.size) < case.grid[0]):
        return f"only {case.grid[0]} elements are written, one per block: the index lacks threadIdx"
    if says := other_index(written, case):
        return f"{int((~written).sum())} of {written.size} elements are never written: {says}"
    missing = np.flatnonzero(~written)
    if written.ndim == 1 and len(missing) == 1 and missing[0] == written.size - 1:
        return "the last element is never written: a bound is off by one"
    if written.ndim == 1 and len(missing) == 1 and missing[0] == 0:
        return "the first element is never written: the index is off by one"
    place = where(~written, letters)
    return f"never written: {place or f'{len(missing)} of {written.size} elements'}"


def wrong_place(case: KernelCase, name: str, letters: str) -> str:
    """Which elements are wrong, if it is not all of them."""
    want, got = case.expected[name], case.got[name]
    if name not in case.wrong or not isinstance(got, np.ndarray) or got.shape != want.shape:
        return ""
    wrong = ~close(got, want)
    in_time = axes(letters)[:1] == ["T"]
    steps = np.flatnonzero(wrong.any(axis=tuple(range(1, wrong.ndim))) & in_time)
    if len(steps) and steps[0] > 0:
        return (
            f"right up to step {steps[0] - 1}, wrong from step {steps[0]} on: does a barrier that worked once also"
            " work in the next round?"
        )
    place = where(wrong, letters)
    if place:
        return f"wrong in {place} only"
    tiles = [case.block[k] for k in range(len(axes(letters)))][::-1] if len(case.block) >= len(axes(letters)) else []
    if tiles and not wrong.all():
        inside = tuple(slice(0, n) for n in tiles)
        if not wrong[inside].any():
            return "right in the first block, wrong beyond it"
    return f"{int(wrong.sum())} of {wrong.size} elements are wrong" if not wrong.all() else ""
