"""The change to a student's own file that makes it right: its line and a description in the student's names.

Trials are counted, never seconds, so an answer gets the same text on every machine. A change counts only if it makes
all outputs right in every case, including one that no student sees.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from minirnn.learn.calls import message_of
from minirnn.learn.exercise import PUBLIC_CASES, Exercise, Inputs, Sizes
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.intermediates import Intermediates
from minirnn.learn.judge import Failed, brought, compare, outputs_of
from minirnn.learn.sandbox.parent import Child
from minirnn.learn.sandbox.replies import Reply

TRIALS, CHUNK = {"near": 1000, "alike": 300, "two": 500, "far": 350, "part": 700}, 40
"""The number of runs with changes per search, and per message."""
SERVED = 0.3
"""The share of the trials that is used if the answer calls functions of the judge, which takes longer."""
CONFIRM = (([3], Sizes(T=5, B=4, I=2, H=3)), ([4], Sizes(T=6, B=3, I=5, H=4)))
"""Seeds and sizes of cases that no student sees. With only one such case, a wrong constant may fit by accident."""
FOLLOWED, PAIRS, MOST = 3, 60, 4
"""The number of changes with a partial effect that are pursued, of pairs of one kind that are tried, and of changes
that are made together.
"""


@dataclass(frozen=True)
class Change:
    """A change to the file: its number in the child, its place, what is wrong there, and how far-fetched it is."""

    number: int
    line: int
    start: int
    end: int
    says: str
    rank: int
    group: str


@dataclass
class Repair:
    """The search for changes to one answer.

    Attributes
    ----------
    start : int
        The number of the first case that is wrong. Changes are tried on it.
    left : int
        The remaining trials of this search.
    reach : dict
        For each line of the answer, the outputs that it can change.
    alone : list of int
        The lines that affect only wrong outputs.
    """

    exercise: Exercise
    child: Child
    start: int = 0
    left: int = 0
    dead: bool = False
    count: int = 0
    tried: dict[tuple[int, ...], frozenset[str] | None] = field(default_factory=dict)
    reach: dict[int, frozenset[str]] = field(default_factory=dict)
    alone: list[int] = field(default_factory=list)

    # ---- running

    @cached_property
    def cases(self) -> list[tuple[Sequence[int], Sizes]]:
        shown: list[tuple[Sequence[int], Sizes]] = [([k], sizes) for k, sizes in PUBLIC_CASES]
        shown = [*shown[self.start :], *shown[: self.start]]
        try:
            for case in CONFIRM:
                self.exercise.expected(self.exercise.case(*case))
        except Exception:  # a reference that stays with the teacher, or inputs that have no such sizes
            return shown
        return [*shown, *CONFIRM]

    @cached_property
    def expected(self) -> list[dict[str, Any]]:
        with np.errstate(all="ignore"):
            return [self.exercise.expected(self.inputs(k)) for k in range(len(self.cases))]

    def inputs(self, case: int) -> Inputs:
        return self.exercise.case(*self.cases[case])

    @cached_property
    def serves(self) -> bool:
        """Whether the answer calls functions of the judge, which record their calls."""
        return bool(message_of(self.inputs(0))[1])

    def ask(self, case: int, trials: Sequence[Sequence[int]], **more: Any) -> Reply:
        """The child's reply; empty if the child is gone."""
        message, served = message_of(self.inputs(case), trials=[list(t) for t in trials], **more)
        reply = self.child.call(message, served)
        self.dead = self.dead or bool(reply.fatal or reply.error)
        return Reply() if self.dead else reply

    def results(self, trials: Sequence[tuple[int, ...]], case: int = 0) -> list[frozenset[str] | None]:
        """For each trial, the outputs that are right; None if it fails."""
        found: list[frozenset[str] | None] = []
        size = 1 if self.serves else CHUNK
        for k in range(0, len(trials), size):
            some = trials[k : k + size]
            if self.dead or self.left < len(some):
                return [*found, *[None] * (len(trials) - len(found))]
            self.left -= len(some)
            values = self.ask(case, some).results
            values = values if len(values) == len(some) else [None] * len(some)
            found += [self.right(value, case) for value in values]
        return found

    def right(self, value: Any, case: int) -> frozenset[str] | None:
        """The outputs of a trial that are right."""
        if value is None:
            return None
        want = self.expected[case]
        try:
            got = brought(self.exercise, outputs_of(self.exercise, value), want)
        except Failed:
            return None
        with np.errstate(all="ignore"):
            return frozenset(part.name for part in compare(self.exercise, want, got) if part.ok)

    def repairs(self, trial: tuple[int, ...]) -> bool:
        """Whether some changes make everything right in every case."""
        return all(self.results([trial], case)[0] == self.everything for case in range(len(self.cases)))

    @cached_property
    def everything(self) -> frozenset[str]:
        return frozenset(self.exercise.outputs)

    @cached_property
    def wrong(self) -> frozenset[str]:
        self.left += 1
        return self.everything - (self.results([()])[0] or frozenset())

    # ---- the changes

    def listed(self, first: int, far: Sequence[int] = ()) -> list[Change]:
        reply = self.ask(0, [], far=list(far))
        names = list(self.exercise.outputs)
        for line, some in reply.reach.items() if not self.reach else ():
            self.reach[line] = frozenset(names[k] for k in some if 0 <= k < len(names))
        self.count += len(reply.changes)
        found = []
        for k, row in enumerate(reply.changes):
            match row:
                case [int(line), int(start), int(end), str(says), int(rank), str(group)]:
                    found.append(Change(first + k, line, start, end, says[:300], rank, group[:100]))
        return found

    @cached_property
    def near(self) -> list[Change]:
        listed = self.listed(0)
        wrong = self.wrong
        order = {line: k for k, line in enumerate(self.suspects())}
        self.alone = [line for line, some in self.reach.items() if some and some <= wrong]
        self.alone.sort(key=lambda line: (order.get(line, len(order)), -line))
        some = [c for c in listed if self.reach.get(c.line, wrong) & wrong]
        # Exchanged sides, or a sum in place of a difference, say more than a wrong sign of the whole.
        place = lambda c: (c.line not in self.alone, order.get(c.line, len(order)))  # noqa: E731
        return sorted(some, key=lambda c: (c.rank, c.group.startswith(("?", "the sign")), *place(c)))

    def suspects(self, trial: Sequence[int] = ()) -> list[int]:
        """The lines that assign values that the reference never computes, in the order in which they run."""
        right = self.known
        if right is None:
            return []
        return list(dict.fromkeys(line for line, value in self.noted(trial) if not right.has(value)))

    def noted(self, trial: Sequence[int]) -> list[tuple[int, np.ndarray]]:
        """The lines that assign something, with the values, in the order in which they run."""
        return self.ask(0, [trial], noted=True).noted

    @cached_property
    def known(self) -> Intermediates | None:
        try:
            program = Program(self.exercise.reference, tuple(self.exercise.outputs))
            return Intermediates(program, self.inputs(0)) if not self.serves else None
        except (OSError, TypeError, SyntaxError, AssertionError, ValueError):
            return None

    # ---- searching

    def near_one(self) -> tuple[Change, ...]:
        """The least far-fetched change that repairs the answer."""
        self.allow("near")
        if self.serves and (found := self.first([t for t in self.together() if "one too" in t[0].group])):
            return found
        for _, some in itertools.groupby(self.near, key=lambda c: c.rank):
            if found := self.first([(change,) for change in some]):
                return found
        return ()

    def alike(self) -> tuple[Change, ...]:
        """The same mistake in several places."""
        self.allow("alike")
        found = self.first(self.together())
        self.allow("alike")
        for change in found:  # one that changes nothing may be among them
            rest = tuple(c for c in found if c is not change)
            if rest and self.repairs(tuple(c.number for c in rest)):
                found = rest
        return found

    def others(self) -> tuple[Change, ...]:
        """Several changes, or one that is far-fetched."""
        return self.two() or self.far_one()

    def part(self) -> tuple[tuple[Change, ...], frozenset[str]]:
        """Changes that each make more outputs right and none wrong, with the outputs that they correct."""
        self.allow("part")
        before = right = [self.results([()], case)[0] or frozenset() for case in range(len(self.cases))]
        chosen: tuple[Change, ...] = ()
        while len(chosen) < MOST and right[0] != self.everything:
            wrong = self.everything - right[0]
            lines = [c.line for c in chosen]
            some = [
                c for c in self.near if c.rank <= 1 and c.line not in lines and self.reach.get(c.line, wrong) & wrong
            ]
            if chosen:
                self.first([(*chosen, c) for c in some])
            keys = [(*(c.number for c in chosen), c.number) for c in some]
            pairs = enumerate(zip(keys, some, strict=True))
            better = [(len(self.tried[key] or ()), -c.rank, -k) for k, (key, c) in pairs
                      if (self.tried.get(key) or frozenset()) > right[0]]  # fmt: skip
            for *_, k in sorted(better, reverse=True)[:FOLLOWED]:
                results = [self.results([keys[-k]], case)[0] or frozenset() for case in range(len(self.cases))]
                if all(result > old for result, old in zip(results, right, strict=True)):
                    chosen, right = (*chosen, some[-k]), results
                    break
            else:
                break
        return chosen, right[0] - before[0]

    def allow(self, search: str) -> None:
        """Set the number of trials that a search may use."""
        self.left = int(TRIALS[search] * (SERVED if self.serves else 1))

    def first(self, trials: Sequence[tuple[Change, ...]]) -> tuple[Change, ...]:
        """The first of some trials that repairs everything. Partial effects of the others are recorded."""
        size = 1 if self.serves else CHUNK
        for k in range(0, len(trials), size):
            some = trials[k : k + size]
            keys = [tuple(c.number for c in t) for t in some]
            for key, result in zip(keys, self.results(keys), strict=True):
                self.tried[key] = result
            for trial, key in zip(some, keys, strict=True):
                if self.tried[key] == self.everything and self.repairs(key):
                    return trial
        return ()

    def together(self) -> list[tuple[Change, ...]]:
        """Changes of one kind at all places, and at every pair of places."""
        groups: dict[str, list[Change]] = {}
        for change in self.near:
            if change.group and change.rank <= 1 and not change.group.startswith("?number"):
                groups.setdefault(change.group, []).append(change)
        found = []
        for some in groups.values():
            if 1 < len(some) <= 12:
                found += [tuple(some)] if len(some) > 2 else []
                found += list(itertools.combinations(some, 2))[:PAIRS]
        return found

    def far_one(self) -> tuple[Change, ...]:
        """A term or factor that is missing on one of the most suspicious lines."""
        self.allow("far")
        suspects = self.suspects()
        alone = [line for line in suspects if line in self.alone]
        lines = list(dict.fromkeys(suspects[:1] + alone[:2] + self.alone[:2]))[:3]
        if not lines or self.dead:
            return ()
        return self.first([(c,) for c in sorted(self.listed(self.count, lines), key=lambda c: c.rank)])

    def two(self) -> tuple[Change, ...]:
        """Two changes, the first of which makes some outputs right, or a line that was wrong."""
        self.allow("two")
        base = self.results([()])[0] or frozenset()
        for first in self.progress(base):
            after = self.suspects([first.number])
            order = {line: k for k, line in enumerate(after)}
            some = [c for c in self.near if c.rank == 0 or c.line in (after[:2] or [first.line])]
            some = [c for c in some if not c.group.startswith("?")]
            some = [c for c in some if not (c.line == first.line and c.start <= first.start and c.end >= first.end)]
            some.sort(key=lambda c: (order.get(c.line, len(order)), c.rank))
            if found := self.first([(first, c) for c in some[:400]]):
                return found
        for line in self.alone[:2]:
            some = [c for c in self.near if c.line == line and (c.rank == 0 or " for " not in c.group)]
            indices = sorted(itertools.combinations(range(len(some)), 2), key=sum)  # likely ones with likely ones first
            pairs = [(some[i], some[k]) for i, k in indices]
            pairs = [p for p in pairs if p[0].start != p[1].start or p[0].end != p[1].end]
            if found := self.first(pairs[:400]):
                return found
        return ()

    def progress(self, base: frozenset[str]) -> Iterator[Change]:
        """Changes that make more outputs right, or otherwise those that make the first suspected line right."""
        by_number = {c.number: c for c in self.near}
        for number in self.better(base)[:FOLLOWED]:
            yield by_number[number]
        before = self.suspects()
        if not before:
            return
        found = 0
        for change in [c for c in self.near if c.line == before[0] and self.tried.get((c.number,)) is not None]:
            if self.left < 1 or found == FOLLOWED:
                return
            self.left -= 1
            if self.becomes_right(change, before[0]):
                found += 1
                yield change

    def better(self, base: frozenset[str]) -> list[int]:
        """The changes tried alone that make more outputs right than `base`: first those that make most right."""
        ranks = {c.number: c.rank for c in self.near}
        found = [(len(result), -ranks[key[0]], key[0]) for key, result in self.tried.items()
                 if len(key) == 1 and key[0] in ranks and result is not None and result > base]  # fmt: skip
        return [number for _, _, number in sorted(found, reverse=True)]

    def becomes_right(self, change: Change, line: int) -> bool:
        """Whether a changed line assigns a value that the reference computes and no other line has assigned."""
        assert self.known is not None
        values = self.noted([change.number])
        mine = [v for n, v in values if n == line]
        others = [v for n, v in values if n != line]
        return bool(mine) and all(self.known.has(v) and np.ptp(v) > 0 for v in mine) and not any(
            v.shape == o.shape and np.allclose(np.abs(v), np.abs(o)) for v in mine[:1] for o in others)  # fmt: skip
