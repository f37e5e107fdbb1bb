"""Finds one or two changes to a formula that give an answer's numbers.

Every hypothesis is evaluated once, on one case. Pairs need no further evaluation at first: where only one of two
changes affects a number, this change alone must explain it. Few pairs pass this test.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import CodeType
from typing import Any

import numpy as np

from minirnn.learn.hypotheses import names, rewritten, terms
from minirnn.learn.hypotheses.edits import Hypothesis, Site, alike, compiled, sites
from minirnn.learn.hypotheses.program import Program

Maker = Callable[[Site], Iterator[Hypothesis]]
MOST_PAIRS = 20_000
"""The number of pairs of changes that are compared by their separate effects."""


@dataclass
class Tried:
    """A hypothesis and its outputs on the first case, in one row."""

    hypothesis: Hypothesis
    changed: dict[int, CodeType | None]
    gives: np.ndarray
    misses: np.ndarray
    differs: np.ndarray


@dataclass
class Search:
    """The hypotheses about a program, tried on one answer.

    Parameters
    ----------
    program : Program
    cases : sequence of (inputs, expected, got)
        By the names of the outputs. The search uses the first case, and the others confirm the result.
    tolerance : float
        The largest relative error.
    most : int
        The largest number of evaluations of the formula.
    more : tuple of functions
        Functions that make further hypotheses, which are tried together with the likeliest ones.
    below : int
        Only hypotheses of a lower rank are tried.
    """

    program: Program
    cases: Sequence[tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]]
    tolerance: float = 1e-9
    most: int = 5000
    more: tuple[Maker, ...] = ()
    below: int = 9
    evaluations: int = 0
    tried: list[Tried] = field(default_factory=list)
    known: dict[Hypothesis, Tried | None] = field(default_factory=dict)
    compared: dict[int, tuple[Any, np.ndarray, np.ndarray]] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """The outputs that can be compared: those whose shape is right."""
        _, expected, got = self.cases[0]
        return [n for n in self.program.outputs if fits(got[n], expected[n])]

    @cached_property
    def wrong(self) -> frozenset[str]:
        _, expected, got = self.cases[0]
        return frozenset(n for n in self.program.outputs if n not in self.names or not self.same(got[n], expected[n]))

    def same(self, value: Any, like: Any) -> bool:
        """Whether a value is `like`, one of the outputs in `cases`, up to rounding."""
        if not fits(value, like):
            return False
        if id(like) not in self.compared:  # kept, so that its id stays unique
            self.compared[id(like)] = like, row([like]), self.tolerance * scale([like])
        _, numbers, most = self.compared[id(like)]
        return bool(np.all(close(row([value]), numbers, most)))

    @cached_property
    def sites(self) -> list[Site]:
        with np.errstate(all="ignore"):
            return sites(self.program, self.cases[0][0])

    @cached_property
    def few(self) -> list[Hypothesis]:
        """The hypotheses of which any formula has only a few."""
        if self.below < 4:
            return []
        with np.errstate(all="ignore"):
            found = [h for site in self.sites for h in terms.of_inner_terms(site)]
            return [*found, *alike(found, self.program), *terms.of_late_terms(self.sites)]

    def groups(self) -> Iterator[list[Hypothesis]]:
        """The hypotheses about the program, the least far-fetched first. Those in one group are equally likely.

        Hypotheses about correct outputs come last. Within a rank, those that can explain all errors come first.
        """
        reach, wrong, later = self.program.reach, self.wrong, []

        def grouped(found: list[Hypothesis], key: Callable[[Hypothesis], Any]) -> Iterator[list[Hypothesis]]:
            for _, group in itertools.groupby(sorted(found, key=key), key=key):
                yield list(group)

        for found in self.stages():
            reached = {id(h): frozenset().union(*(reach[e.number] for e in h.edits)) for h in found}
            keys = {n: (h.rank, not wrong <= reached[n]) for h in found for n in [id(h)]}
            key = lambda h, keys=keys: keys[id(h)]  # noqa: E731
            yield from grouped([h for h in found if reached[id(h)] <= wrong], key)
            later.append(([h for h in found if not reached[id(h)] <= wrong], key))
        for found, key in later:
            yield from grouped(found, key)

    def stages(self) -> Iterator[list[Hypothesis]]:
        """All hypotheses: the likeliest, less likely ones, those about several lines, and those of `more`."""
        with np.errstate(all="ignore"):
            found = [h for site in self.sites for h in rewritten.of_rewrites(site, range(self.below))]
            if self.below < 4:
                yield [h for h in found if not h.kind.startswith("?")]
                return
            found += [
                h
                for site in self.sites
                for make in (rewritten.of_statements, terms.of_old_values, *self.more)
                for h in make(site)
            ]
            yield [*found, *alike(found, self.program)]
            yield self.few
            yield [*names.across_lines(self.sites), *names.everywhere(self.sites)] if self.sites else []

    def gives(self, changed: Mapping[int, CodeType | None], case: int) -> dict[str, Any] | None:
        """The outputs of the changed program, or None if it cannot run."""
        self.evaluations += 1
        try:
            with np.errstate(all="ignore"):
                return self.program.from_snapshot(self.cases[case][0], changed)
        except Exception:  # shapes that do not fit, or an index out of range: no student can have meant this
            return None

    def try_all(self) -> list[Hypothesis]:
        """Evaluate hypotheses on the first case, at most `most`, and return those that alone give the answer's numbers.

        The search ends after the first group with an explanation. Rare hypotheses are tried first, but reported only
        when their group is reached, or when the others are too many.
        """
        end = self.evaluations + self.most
        waiting = [h for h in self.few if self.explains(h)]
        for group in self.groups():
            ones = []
            for hypothesis in group:
                if self.evaluations > end:
                    break
                if self.explains(hypothesis):
                    ones.append(hypothesis)
            if ones or self.evaluations > end:
                return sorted(ones or waiting, key=lambda h: -h.number)
        return []

    def explains(self, hypothesis: Hypothesis) -> bool:
        """Whether one hypothesis alone gives all numbers of the answer in all cases."""
        if hypothesis not in self.known:
            self.known[hypothesis] = self.try_one(hypothesis)
        tried = self.known[hypothesis]
        return tried is not None and not tried.misses.any() and self.confirmed(tried.changed)

    def try_one(self, hypothesis: Hypothesis) -> Tried | None:
        """Evaluate one hypothesis. Returns None if it cannot run or changes nothing."""
        changed = self.code(hypothesis)
        tried = None if changed is None else self.evaluated(hypothesis, changed)
        self.tried += [] if tried is None else [tried]
        return tried

    def evaluated(self, hypothesis: Hypothesis, changed: dict[int, CodeType | None]) -> Tried | None:
        """The outputs of a changed program on the first case, or None if it cannot run or changes nothing."""
        outputs = self.gives(changed, 0)
        expected = self.cases[0][1]
        if outputs is None or not all(fits(outputs[n], expected[n]) for n in self.names):
            return None
        right, mine, most = self.rows
        theirs = row(outputs[n] for n in self.names)
        differs = ~close(theirs, right, most)
        others = (n for n in self.program.outputs if n not in self.names)
        if not differs.any() and all(self.same(outputs[n], expected[n]) for n in others):
            return None
        return Tried(hypothesis, changed, theirs, ~close(theirs, mine, most), differs)

    @cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The expected and the returned numbers, each in one row, and their tolerance."""
        _, expected, got = self.cases[0]
        most = self.tolerance * scale(expected[n] for n in self.names)
        return row(expected[n] for n in self.names), row(got[n] for n in self.names), most

    def code(self, *hypotheses: Hypothesis) -> dict[int, CodeType | None] | None:
        try:
            return compiled(self.program, hypotheses)
        except (SyntaxError, ValueError, TypeError, AttributeError):  # not a tree that Python accepts
            return None

    def confirmed(self, changed: Mapping[int, CodeType | None], names: set[str] | None = None) -> bool:
        """Whether the changed program gives every output (or those in `names`) of every case, including its shape."""
        for case, (_, _, got) in enumerate(self.cases):
            outputs = self.gives(changed, case)
            if outputs is None or not all(self.same(outputs[n], got[n]) for n in names or self.program.outputs):
                return False
        return True

    def twos(self, times: int = 300) -> tuple[Hypothesis, ...] | None:
        """The first two changes that together give the answer's numbers. At most `times` pairs are evaluated.

        Pairs that explain most of the wrong numbers without an evaluation come first (see `explained_by`).
        """
        if not self.tried:
            return None
        end = self.evaluations + times
        misses = np.array([t.misses for t in self.tried], np.float32)
        differs = np.array([t.differs for t in self.tried], np.float32)
        alone = misses @ (1 - differs).T < 0.5  # [a, b]: the wrong numbers that a leaves unexplained and b changes
        pairs = np.argwhere(np.triu(alone & alone.T, 1))
        if not len(pairs):
            return None
        ranks = np.array([t.hypothesis.rank for t in self.tried])
        numbers = np.array([t.hypothesis.number for t in self.tried])
        far = ranks[pairs].sum(1) + 0.5 * (numbers[pairs[:, 0]] != numbers[pairs[:, 1]])
        gives_some = ((1 - misses) @ self.wrong_numbers > 0)[pairs].sum(1)
        best = np.argsort(far - 10 * gives_some, kind="stable")[:MOST_PAIRS]
        pairs, far = pairs[best], far[best]
        unlikely = far - 100 * self.explained_by(pairs)
        for a, b in pairs[np.argsort(unlikely, kind="stable")]:
            if self.evaluations > end:
                return None
            first, second = self.tried[a], self.tried[b]
            changed = self.both(first, second)
            if changed is not None and self.confirmed(changed):
                return first.hypothesis, second.hypothesis
        return None

    @cached_property
    def wrong_numbers(self) -> np.ndarray:
        """Whether each number of the answer is wrong."""
        right, mine, most = self.rows
        return ~close(mine, right, most)

    def explained_by(self, pairs: np.ndarray) -> np.ndarray:
        """For each pair, the share of the wrong numbers that follow from the separate effects of the two changes.

        A number follows if it is that of one change, the sum of both differences (neither change passes through the
        other), or the product of both ratios (one change scales the other). If one change already gives a number, the
        other should not alter it, and each such number counts against the pair.
        """
        right, mine, most = self.rows
        wrong = self.wrong_numbers
        gives = np.array([t.gives for t in self.tried])
        misses = np.array([t.misses for t in self.tried])
        differs = np.array([t.differs for t in self.tried])
        found = []
        for k in range(0, len(pairs), 1000):
            a, b = pairs[k : k + 1000].T
            with np.errstate(all="ignore"):
                added = np.abs(gives[a] + gives[b] - right - mine) <= 4 * most
                scaled = np.abs(gives[a] * gives[b] - mine * right) <= 4 * most * np.abs(right)
            explained = ~misses[a] | ~misses[b] | added | scaled
            spoilt = (~misses[a] & differs[b]) | (~misses[b] & differs[a])
            found.append((explained & wrong).sum(1) - 0.25 * (spoilt & wrong).sum(1))
        return np.concatenate(found) / max(wrong.sum(), 1)

    def both(self, first: Tried, second: Tried) -> dict[int, CodeType | None] | None:
        """The code of two hypotheses together. Lines that only one of them changes are already compiled."""
        if first.changed.keys().isdisjoint(second.changed):
            return {**first.changed, **second.changed}
        return self.code(first.hypothesis, second.hypothesis)

    def outputs_with(self, marked: np.ndarray) -> set[str]:
        """The outputs that contain any of the `marked` numbers."""
        return {name for name, part in self.places.items() if marked[part].any()}

    @cached_property
    def places(self) -> dict[str, slice]:
        """The position of each output in the row of all numbers."""
        found, start = {}, 0
        for name in self.names:
            size = row([self.cases[0][1][name]]).size
            found[name] = slice(start, start + size)
            start += size
        return found


def fits(value: Any, like: Any) -> bool:
    """Whether two outputs have the same shape. They can be lists of arrays."""
    if isinstance(like, list | tuple):
        return isinstance(value, list | tuple) and len(value) == len(like) and all(map(fits, value, like))
    if any(isinstance(v, list | tuple | dict) or np.asarray(v).dtype.kind not in "biuf" for v in (value, like)):
        return False
    return np.shape(value) == np.shape(like)


def row(values: Any) -> np.ndarray:
    """All numbers of the outputs in one row."""
    parts = [np.ravel(np.asarray(a, float)) for a in arrays(values)]
    return np.concatenate(parts) if parts else np.zeros(0)


def scale(values: Any) -> np.ndarray:
    """For each number, the largest number of its output, to which errors are relative."""
    parts = [np.full(np.size(a), np.abs(a[np.isfinite(a)]).max(initial=1e-300)) for a in arrays(values)]
    return np.concatenate(parts) if parts else np.zeros(0)


def arrays(values: Any) -> Iterator[np.ndarray]:
    for value in values:
        yield from (np.asarray(v) for v in value) if isinstance(value, list | tuple) else [np.asarray(value)]


def close(a: np.ndarray, b: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Which numbers differ only by rounding. Infinities and NaN are equal to themselves."""
    with np.errstate(all="ignore"):
        same: np.ndarray = np.abs(a - b) <= most
        if not np.isfinite(a.sum()):
            same |= (a == b) | (np.isnan(a) & np.isnan(b))
    return same
