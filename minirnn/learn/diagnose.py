"""From wrong numbers to the mistake that makes them.

The cheapest explanation is tried first: a mistake of the catalog, one changed term, outputs in another order or scale,
two changed terms. A cause is named only if it gives all the numbers of all the cases exactly. Otherwise what is said is
where it goes wrong (`check.first_wrong_stage`) and which term is closest, marked as a guess.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise, Inputs
from minirnn.learn.formula import KINDS, Formula, Mutant
from minirnn.learn.judge import equal

GATES = {4: ("i", "ci", "f", "o"), 3: ("r", "z", "n"), 2: ("r", "u")}
PAIR_SECONDS = 0.15
"""Seconds of the processor for the search for two changes."""


@dataclass(frozen=True)
class Case:
    """Inputs, what is expected, and what the answer returned, by the names of the outputs."""

    inputs: Inputs
    expected: Mapping[str, Any]
    got: Mapping[str, Any]

    @property
    def wrong(self) -> frozenset[str]:
        return frozenset(name for name, want in self.expected.items() if not equal(want, self.got[name]))


@dataclass(frozen=True)
class Diagnosis:
    """What is wrong: a sentence, the text to show, the variable to look for; `exact` if it explains every number."""

    sentence: str
    lines: tuple[str, ...]
    target: str = ""
    exact: bool = True


def diagnose(exercise: Exercise, cases: Sequence[Case]) -> Diagnosis | None:
    """The mistake that gives exactly the numbers of all `cases`, or the closest guess, or None."""
    cases = [case for case in cases if case.wrong]
    if not cases:
        return None
    search = min(cases, key=lambda case: sum(v.size for v in case.expected.values() if isinstance(v, np.ndarray)))
    if all_zero(case.got for case in cases):
        return Diagnosis(EVERYTHING_ZERO, (EVERYTHING_ZERO,))
    found = known_mistake(exercise, cases)
    if found is None and exercise.formula is not None:
        found = one_change(exercise.formula, search, cases)
    if found is None:
        found = rearranged(exercise, cases)
    if found is None and exercise.formula is not None:
        found = two_changes(exercise.formula, search, cases) or closest(exercise.formula, search)
    return found


EVERYTHING_ZERO = "every gradient is zero: does anything of what comes in reach what is returned?"


def all_zero(outputs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether nothing but zeros came out: then no term can be told from another."""
    flat = (v for one in outputs for value in one.values() for v in (value if isinstance(value, list) else [value]))
    return not any(np.any(value) for value in flat)


def known_mistake(exercise: Exercise, cases: Sequence[Case]) -> Diagnosis | None:
    """A typical mistake of the catalog that gives exactly the numbers."""
    for wrong in exercise.wrong:
        with np.errstate(all="ignore"):
            if all(matches(exercise.named(wrong.function(**case.inputs)), case) for case in cases):
                return Diagnosis(wrong.sentence, ("This gives exactly your numbers:", "", f"    {wrong.sentence}"))
    return None


def matches(outputs: Mapping[str, Any], case: Case) -> bool:
    return all(equal(value, case.got[name]) for name, value in outputs.items())


# ---- terms


def evaluate(formula: Formula, case: Case, changed: Mapping[int, str]) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        return formula.evaluate(case.inputs, changed)


def one_change(formula: Formula, search: Case, cases: Sequence[Case]) -> Diagnosis | None:
    """All single changes that give the answer's numbers."""
    wrong = search.wrong
    found = []
    for mutant in formula.mutants:
        if wrong <= formula.reach[mutant.line.number]:
            changed = {mutant.line.number: mutant.code}
            if all(matches(evaluate(formula, case, changed), case) for case in (search, *cases)):
                found.append(mutant)
    return say([found[0]], formula, wrong, found[1:]) if found else None


def two_changes(formula: Formula, search: Case, cases: Sequence[Case]) -> Diagnosis | None:
    """The first pair of changes that gives the answer's numbers, as far as there is time to search.

    An output that the second change does not reach must be explained by the first alone, and the other way round: that
    leaves few pairs to try.
    """
    end = time.thread_time() + PAIR_SECONDS
    bit = {name: 1 << k for k, name in enumerate(formula.outputs)}
    every = sum(bit.values())
    wrong = sum(bit[name] for name in search.wrong)
    reach = {number: sum(bit[name] for name in names) for number, names in formula.reach.items()}
    mutants, right = [], []
    for mutant in sorted(formula.mutants, key=lambda m: list(KINDS).index(m.kind)):
        outputs = evaluate(formula, search, {mutant.line.number: mutant.code})
        mutants.append(mutant)
        right.append(sum(bit[name] for name, value in outputs.items() if equal(value, search.got[name])))
    for (a, ra), (b, rb) in itertools.combinations(zip(mutants, right, strict=True), 2):
        reach_a, reach_b = reach[a.line.number], reach[b.line.number]
        if a.line.number == b.line.number and (a.term == b.term or -1 in (a.term, b.term)):
            continue
        if wrong & ~(reach_a | reach_b) or every & ~reach_b & ~ra or every & ~reach_a & ~rb:
            continue
        if time.thread_time() > end:
            return None
        changed = formula.both(a, b)
        if all(matches(evaluate(formula, case, changed), case) for case in (search, *cases)):
            return say([a, b], formula, search.wrong, [])
    return None


def say(mutants: Sequence[Mutant], formula: Formula, wrong: frozenset[str], others: Sequence[Mutant]) -> Diagnosis:
    """The text about changed terms, with the place in the line marked."""
    count = "One change" if len(mutants) == 1 else "Two changes"
    lines = [f"{count} to the formula {'gives' if len(mutants) == 1 else 'give'} exactly your numbers (to 1e-9):", ""]
    for mutant in mutants:
        lines += [f"    {line}" for line in marked(mutant)] + [""]
    if others:
        lines += ["or, which gives the same numbers: " + "; ".join(m.sentence() for m in others[:3]), ""]
    first = mutants[0].line
    users = [name for name in formula.outputs if name in wrong and name != first.name]
    if len(mutants) == 1 and users and first.name not in formula.outputs:
        verb = "is" if len(users) == 1 else "are"
        lines.append(f"{', '.join(users)} {verb} wrong because of {first.name}. Fix this line.")
    elif len(mutants) == 1 and users:
        lines.append(f"The other gradients are wrong because they use {first.name}. Fix this line first.")
    return Diagnosis("; ".join(m.sentence() for m in mutants), tuple(trimmed(lines)), first.name)


def trimmed(lines: list[str]) -> list[str]:
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def marked(mutant: Mutant) -> Iterator[str]:
    """The right line of the formula, and under it marks with what the answer did to that part."""
    line = mutant.line
    yield line.text
    start = len(f"{line.target} {line.operator} ")
    width = len(line.text) - start
    if mutant.term >= 0:
        from_here = start
        for k, term in enumerate(line.terms):
            lead = 3 if k else (1 if term.sign < 0 else 0)  # " + ", or the sign of the first term
            if k == mutant.term:
                start, width = from_here + lead, len(term.text)
                break
            from_here += lead + len(term.text)
        if mutant.kind in ("factor", "square", "transpose", "step") and (at := line.text.find(mutant.part, start)) >= 0:
            start, width = at, len(mutant.part)
    what = {
        "missing": "this term is missing",
        "doubled": "this term is counted twice",
        "sign": "this term has the wrong sign",
        "factor": "this factor is missing",
        "square": "the square is missing here",
        "complement": "1 minus the gate and the gate are exchanged here",
        "transpose": "this must be transposed",
        "step": "this is taken from the wrong step",
        "overwritten": "contributions of earlier steps are lost: = stands where += belongs",
    }[mutant.kind]
    yield " " * start + "^" * width + f" {what}"


def closest(formula: Formula, case: Case) -> Diagnosis | None:
    """The single term whose absence (or excess) is most like the error: a guess, marked as one."""
    names = [n for n in formula.outputs if np.shape(case.got[n]) == np.shape(case.expected[n])]
    flat = lambda outputs: np.concatenate([np.ravel(np.asarray(outputs[n], float)) for n in names])  # noqa: E731
    if not names:
        return None
    right = flat(case.expected)
    error = flat(case.got) - right
    if not np.isfinite(error).all():
        return None
    best: tuple[float, float, Mutant] | None = None
    for mutant in formula.mutants:
        if mutant.kind == "missing":
            without = flat(evaluate(formula, case, {mutant.line.number: mutant.code})) - right
            if (length := float(without @ without)) > 0:
                share = float(error @ without) / length
                rest = float(np.linalg.norm(error - share * without) / np.linalg.norm(error))
                if best is None or rest < best[0]:
                    best = rest, share, mutant
    if best is None or best[0] > 0.5:
        return None
    rest, share, mutant = best
    part = f"{abs(share):.0%} of {mutant.part} {'is missing' if share > 0 else 'is too much'} in {mutant.line.name}"
    text = (
        f"No single change explains your numbers. Closest (a guess): {part}; {rest:.0%} of the error stays unexplained."
    )
    return Diagnosis(f"closest: {part}", (text,), mutant.line.name, exact=False)


# ---- outputs in another order or scale


def rearranged(exercise: Exercise, cases: Sequence[Case]) -> Diagnosis | None:
    """The reasons why outputs are right but for their order, direction or scale."""
    wrong = sorted(frozenset.union(*(case.wrong for case in cases)), key=list(cases[0].expected).index)
    reasons: dict[str, list[str]] = {}
    for name in wrong:
        pairs = [(case.expected[name], case.got[name], case) for case in cases]
        if any(not isinstance(g, np.ndarray) or not isinstance(w, np.ndarray) for w, g, _ in pairs):
            return None
        reason = next((text for text in rearrangements(exercise, pairs)), None)
        if reason is None:
            return None
        reasons.setdefault(reason, []).append(name)
    sentences = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
    return Diagnosis("; ".join(sentences), ("All numbers are there, but:", "", *(f"    {s}" for s in sentences)))


def rearrangements(exercise: Exercise, pairs: Sequence[tuple[Any, Any, Case]]) -> Iterator[str]:
    """Every change, as a sentence, that makes what was returned out of what is expected, in all cases."""
    want = pairs[0][0]

    def always(transform: Any) -> bool:
        try:
            return all(equal(transform(w, case), g) for w, g, case in pairs)
        except ValueError:
            return False

    names = GATES.get(exercise.gates, ())
    for axis in range(want.ndim):
        if names and all(w.shape[axis] % len(names) == 0 for w, _, _ in pairs):
            for order in itertools.permutations(range(len(names))):
                if list(order) != sorted(order) and always(lambda w, c, o=order, a=axis: reordered(w, o, a)):
                    came = ", ".join(names[k] for k in order)
                    yield f"the gates come in the order {came}; expected {', '.join(names)}"
    for text, change in SIMPLE_MISTAKES.items():
        if always(lambda w, c, f=change: f(w)):
            yield f"it {text}"
    if want.ndim >= 2 and always(lambda w, c: w[:, ::-1]):
        yield "its second axis is reversed"
    for scale, text in scales():
        if always(lambda w, c, f=scale: w * f(c)):
            yield text


def only(ndim: int, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A change that only arrays of `ndim` axes have; of others it makes nothing that could equal an output."""
    return lambda want: change(want) if want.ndim == ndim else np.full(want.shape, np.nan)


SIMPLE_MISTAKES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "is transposed": only(2, np.transpose),
    "is reversed in time": only(3, lambda want: want[::-1]),
    "has the wrong sign": lambda want: -want,
    "is twice too large": lambda want: 2 * want,
    "is half of what is expected": lambda want: want / 2,
}
"""What an output may have become, and how it is made of the right one."""


def scales() -> Iterator[tuple[Callable[[Case], float], str]]:
    """Factors that follow from the sizes of a case."""

    def size(case: Case, axis: int, least: int) -> int:
        x = np.asarray(case.inputs.get("x", 0))
        return int(x.shape[axis]) if x.ndim >= least else 1

    mean = "a gradient is the sum over the batch, not the mean"
    yield lambda c: 1.0 / size(c, -2, 2), f"it is divided by the batch size: {mean}"
    yield lambda c: 1.0 / size(c, 0, 3), "it is divided by the number of steps"
    yield lambda c: 0.0, "it is zero"


def reordered(a: np.ndarray, order: Sequence[int], axis: int) -> np.ndarray:
    parts = np.split(a, len(order), axis=axis)
    return np.concatenate([parts[k] for k in order], axis=axis)
