"""Finds the mistake behind wrong numbers.

The cheapest explanation is tried first: outputs in another order, a mistake of the catalog, one of the rewrites of the
formula's tree, an output that is rearranged or scaled, one change per output, two changes.
A cause is named only if it gives all the numbers of all the cases exactly. Otherwise the text says where it goes wrong
(`wrong_answer.first_wrong`) and, marked as a guess, names a term that explains most of the difference.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.learn import judge
from minirnn.learn.exercise import Exercise, Inputs
from minirnn.learn.hypotheses.edits import Hypothesis, marked, put
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.judge import Case, alike, equal, is_single
from minirnn.learn.rearranged import other_order, reason
from minirnn.learn.sandbox.patterns import text as text_of
from minirnn.learn.wrong_numbers import GATES, pieces, sizes_of, where

if TYPE_CHECKING:
    from minirnn.learn.by_output import Cause
    from minirnn.learn.hypotheses.search import Maker, Search

MOST_FAR = 9
SINGLE, PAIRS = 5000, 300
"""The number of evaluations of the formula for all single hypotheses, and for pairs. They
are the same on every machine.
"""


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong: a sentence, the text to show, the variables to look for; `exact` if it explains every number.

    `brief` is the sentence without the whole right-hand side of a line, for students who should find that themselves.
    `values` is what each variable of the formula holds with this mistake, for `inputs`, and `wrong` the right-hand side
    of the line with the mistake. `place` is the line of the student's file, if it is known; `final` that nothing could
    be said better, `known` that the sentence is one of the catalog's. `comments` are lines of the student's file, each
    with what is wrong there.
    """

    sentence: str
    lines: tuple[str, ...]
    targets: tuple[str, ...] = ()
    exact: bool = True
    short: str = ""
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    inputs: Inputs = field(default_factory=dict)
    place: str = ""
    final: bool = False
    known: bool = False
    comments: tuple[tuple[int, str], ...] = ()
    wrong: str = ""

    @property
    def brief(self) -> str:
        return self.short or self.sentence

    def replaced(self, **changes: Any) -> Diagnosis:
        return replace(self, **changes)


def diagnose(exercise: Exercise, cases: Sequence[Case]) -> Diagnosis | None:
    """The mistake that gives exactly the numbers of all `cases`, or the closest guess, or None."""
    return at_once(exercise, cases) or searched(exercise, cases)


def at_once(exercise: Exercise, cases: Sequence[Case]) -> Diagnosis | None:
    """What is known without a search: all outputs are zero or in another order, or a mistake of the catalog."""
    cases = told_apart(cases)
    if not any(case.wrong for case in cases):
        return None
    if all_zero(case.got for case in cases):
        what = "gradient" if all(name.startswith(("d", "gradient")) for name in exercise.outputs) else "number"
        return Diagnosis(EVERYTHING_ZERO % what, (EVERYTHING_ZERO % what,))  # the line can still be found
    if order := other_order(cases):
        return Diagnosis(order, ("All numbers are there, but:", "", f"    {order}"), final=True)
    return known_mistake(exercise, cases)


def searched(exercise: Exercise, cases: Sequence[Case], below: int = MOST_FAR) -> Diagnosis | None:
    """A mistake in the formula that gives exactly the numbers, less far-fetched than `below`."""
    cases = told_apart(cases)
    if not any(case.wrong for case in cases):
        return None
    return from_the_tree(exercise, cases, (), below) or (low_precision(cases) if below == MOST_FAR else None)


def told_apart(cases: Sequence[Case]) -> Sequence[Case]:
    """The cases whose numbers tell mistakes apart, wrong and small ones first."""
    cases = [case for case in cases if not says_nothing(case)] or cases
    return sorted(cases, key=lambda case: (not case.wrong, size(case.expected)))


def says_nothing(case: Case) -> bool:
    """Whether an output has no finite number, which any failing formula gives."""
    arrays = [v for v in case.got.values() if isinstance(v, np.ndarray) and v.size and v.dtype.kind in "fc"]
    return any(not np.isfinite(v).any() for v in arrays)


def size(outputs: Mapping[str, Any]) -> int:
    return sum(v.size for v in outputs.values() if isinstance(v, np.ndarray))


EVERYTHING_ZERO = "every %s is zero: does what is returned depend on what comes in?"


def all_zero(outputs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether all outputs are zero, so that no term can be told from another."""
    flat = (v for one in outputs for value in one.values() for v in (value if isinstance(value, list) else [value]))
    return not any(isinstance(value, dict | list) or np.any(value) for value in flat)


def known_mistake(exercise: Exercise, cases: Sequence[Case]) -> Diagnosis | None:
    """A typical mistake of the catalog that gives exactly the numbers."""
    for wrong in exercise.wrong:
        with np.errstate(all="ignore"):
            if all(matches(exercise.named(wrong.function(**case.inputs)), case) for case in cases):
                return Diagnosis(
                    wrong.sentence, ("This gives exactly your numbers:", "", f"    {wrong.sentence}"), known=True
                )
    return None


def wrong_numbers(exercise: Exercise, case: Case, name: str) -> str:
    """Which numbers of an output are wrong, in words; empty if there is nothing to say."""
    want, got = case.expected[name], case.got[name]
    if not isinstance(want, np.ndarray) or not isinstance(got, np.ndarray) or got.shape != want.shape or not want.ndim:
        return ""
    most = tolerance_of(exercise, [case]) * np.abs(want).max(initial=1e-300)
    letters = exercise.outputs[name]
    parts = pieces(letters, sizes_of(exercise.outputs, case.expected), GATES.get(exercise.gates, ()))
    return where(~(np.abs(got - want) <= most), letters, parts)


def matches(outputs: Mapping[str, Any], case: Case) -> bool:
    return all(alike(value, case.got[name]) for name, value in outputs.items())


# ---- in words


def with_values(
    found: Diagnosis, program: Program, changed: Mapping[int, Any] | None, inputs: Inputs, but: Container[str] = ()
) -> Diagnosis:
    """A diagnosis with the values of the formula, as they are with its mistake, except for some variables."""
    values = {name: some for name, some in program.values(inputs, changed or {}).items() if name not in but}
    return found.replaced(values=values, inputs=inputs)


def without(sentence: str, right: str) -> str:
    """A sentence without the whole right-hand side of a line."""
    if not any(c in right for c in " (["):
        return sentence
    return (
        sentence.replace(f": {right}", "")
        .replace(f"({right})", "the term")
        .replace(right, "the term")
        .replace("the term the term", "the term")
    )


Told = tuple[str, list[str], str]
"""A change as a sentence, as lines, and as a sentence without the whole right-hand side."""


def told(changes: Sequence[Told], others: Sequence[str], targets: Iterable[str], digits: str) -> Diagnosis:
    """The diagnosis for one or more changes: sentences, and the lines with marks."""
    changes = list({change[0]: change for change in changes}.values())
    count = {1: "One change", 2: "Two changes"}.get(len(changes), f"{len(changes)} changes")
    lines = [
        f"{count} to the formula {'gives' if len(changes) == 1 else 'give'} exactly your numbers (to {digits}):",
        "",
    ]
    for _, text, _ in changes:
        lines += [f"    {line}" for line in text] + [""]
    if others := [o for o in others if o not in [c[0] for c in changes]]:
        lines += ["Other changes that give the same numbers: " + "; ".join(others[:3]), ""]
    sentence, short = "; ".join(c[0] for c in changes), "; ".join(c[2] for c in changes)
    targets = tuple(dict.fromkeys(filter(None, targets)))
    return Diagnosis(sentence, tuple(lines if lines[-1] else lines[:-1]), targets, short=short)


# ---- the hypotheses about the formula's tree, and outputs that are rearranged


def from_the_tree(
    exercise: Exercise, cases: Sequence[Case], more: tuple[Maker, ...] = (), below: int = MOST_FAR
) -> Diagnosis | None:
    """One hypothesis (`more` makes further ones), a cause for each output, or several hypotheses together."""
    from minirnn.learn.hypotheses.search import Search

    if any(says_nothing(case) or any(map(judge.is_odd, case.got.values())) for case in cases):
        return None  # no formula gives what is not a number
    tolerance = tolerance_of(exercise, cases)
    digits = f"{tolerance:.0e}".replace("e-0", "e-")
    search = None
    try:
        program = Program(exercise.reference, tuple(exercise.outputs))
        search = Search(program, [(fixed(c.inputs), c.expected, c.got) for c in cases], tolerance, SINGLE, more, below)
        if not search.wrong:  # nothing is wrong to the precision of float32
            return None
        ones = search.try_all()
    except (OSError, TypeError, SyntaxError, AssertionError):  # a reference without source
        search, ones = None, []
    if search is not None and ones:
        others = [hypothesis.sentence() for hypothesis in ones[1:]]
        found = told([explained(search.program, ones[0])], others, [ones[0].target], digits)
        found = found.replaced(wrong=wrong_side(search.program, ones[0]))
        return with_values(found, search.program, search.code(ones[0]), cases[0].inputs)
    if below < MOST_FAR:
        return None
    wrong = [n for n in cases[0].expected if any(n in case.wrong for case in cases)]
    reasons = {name: reason(exercise, cases, name) for name in wrong}
    if all(reasons.values()):
        return rearranged(reasons)
    from minirnn.learn.by_output import causes

    if parts := causes(exercise, cases, search, reasons):
        found = told_by_output(search, parts, digits)
        if search is None:
            return found
        changed = {cause.hypothesis.target for cause, _ in parts if cause.hypothesis is not None and not cause.alone}
        return with_values(found, search.program, {}, cases[0].inputs, changed)
    if search is None:
        return None
    pair = search.twos(PAIRS)
    if pair is None:
        return None
    found = told([explained(search.program, h) for h in pair], (), [h.target for h in pair], digits)
    return with_values(found, search.program, search.code(*pair), cases[0].inputs)


def fixed(inputs: Inputs) -> Inputs:
    """Inputs that no formula can change."""
    found = {name: value.view() if isinstance(value, np.ndarray) else value for name, value in inputs.items()}
    for value in found.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return found


def told_by_output(search: Search | None, parts: Sequence[tuple[Cause, list[str]]], digits: str) -> Diagnosis:
    """The text about causes of one or more outputs each."""
    changes, targets = [], []
    for cause, names in parts:
        if cause.hypothesis is None or search is None:
            text = cause.sentence(names)
            changes.append((text, [text], text))
        else:
            full, lines, short = explained(search.program, cause.hypothesis)
            changes.append((cause.sentence(names, full), lines, cause.sentence(names, short)))
            targets += [] if cause.alone else [cause.hypothesis.target]
    return told(changes, (), targets, digits)


def tolerance_of(exercise: Exercise, cases: Sequence[Case]) -> float:
    """The tolerance for the numbers of an answer against a hypothesis, which is larger for float32."""
    single = any(is_single(v) for c in cases for v in c.got.values())
    return max(judge.TOLERANCE[exercise.kind], judge.SINGLE if single else 0.0)


def rearranged(reasons: Mapping[str, str]) -> Diagnosis:
    """The diagnosis of outputs that are right except for their order or scale, grouped by reason."""
    together: dict[str, list[str]] = {}
    for name, why in reasons.items():
        together.setdefault(why, []).append(name)
    sentences = [f"{', '.join(names)}: {why}" for why, names in together.items()]
    return Diagnosis("; ".join(sentences), ("All numbers are there, but:", "", *(f"    {s}" for s in sentences)))


def explained(program: Program, hypothesis: Hypothesis) -> Told:
    """A hypothesis as a sentence, and the marked line of the formula, unless it concerns many lines."""
    sentence = hypothesis.sentence()
    if not hypothesis.target and len(hypothesis.edits) > 1:
        return sentence, [sentence], sentence
    step = program.every[hypothesis.number]
    text, start, width = marked(step.tree, hypothesis.path)
    right = text_of(step.value[0]) if step.value is not None else ""
    lines = [text, " " * start + "^" * width + f" {hypothesis.says}"]
    return sentence, lines, without(sentence, right)


NEUTRAL = r" [+-] 0\.0 \* [\w.]+(\[.*?\])?|[\w.]+(\[.*?\])? \*\* 0 \* |\b1\.0 \* "
"""Terms and factors in place of those that a hypothesis leaves out."""


def wrong_side(program: Program, hypothesis: Hypothesis) -> str:
    """The right-hand side of the line that a hypothesis changes, with the mistake; empty if it changes more."""
    edit = hypothesis.edits[0]
    if len(hypothesis.edits) > 1 or edit.placed is None:
        return ""
    value = getattr(put(program.every[edit.number].tree, edit.path, edit.placed), "value", None)
    return re.sub(NEUTRAL, "", text_of(value)) if value is not None else ""


# ---- causes that are not exact


def low_precision(cases: Sequence[Case]) -> Diagnosis | None:
    """The diagnosis of numbers that are right except for their last digits."""
    pairs = [(c.expected[n], c.got[n]) for c in cases for n in c.expected]
    if not all(isinstance(g, np.ndarray) and g.dtype.kind == "f" and equal(w, g, 1e-3) for w, g in pairs):
        return None
    single = any(is_single(g) for _, g in pairs)
    cut = all(np.array_equal(g, g.astype(np.float32).astype(g.dtype)) for _, g in pairs)
    if not (single or cut):
        return None
    text = "the numbers are right to only a few digits, because they are computed in float32 where float64 is needed"
    return Diagnosis(text, (text,), final=True)
