"""One cause for each wrong output, because people often compute an intermediate value again for each gradient.

An output can be wrong as if some line were wrong, although the other outputs that use the line are right. The smallest
set of causes that explains all wrong outputs is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minirnn.learn.exercise import Exercise
from minirnn.learn.hypotheses.edits import Hypothesis
from minirnn.learn.hypotheses.search import Search
from minirnn.learn.judge import SINGLE, Case, alike


@dataclass(frozen=True)
class Cause:
    """An explanation of some of the wrong outputs: a sentence, or a hypothesis about the formula.

    `alone` means that in the formula the same mistake would also make outputs wrong that are right.
    """

    outputs: frozenset[str]
    says: str = ""
    hypothesis: Hypothesis | None = None
    alone: bool = False

    def sentence(self, outputs: Sequence[str], says: str = "") -> str:
        """The cause in words, with the outputs that show it unless it names them itself."""
        text = says or self.says
        whole = self.hypothesis is not None and not self.alone
        named = whole or any(text.startswith(f"{name}:") for name in outputs)
        return text if named else f"{', '.join(outputs)}: {text}"


def causes(
    exercise: Exercise, cases: Sequence[Case], search: Search | None, reasons: Mapping[str, str]
) -> list[tuple[Cause, list[str]]]:
    """The fewest causes of all wrong outputs, each with its outputs; empty if an output has no cause."""
    left = [n for n in cases[0].expected if any(n in case.wrong for case in cases)]
    together: dict[str, list[str]] = {}
    for name, why in reasons.items():
        if why:
            together.setdefault(why, []).append(name)
    candidates = [Cause(frozenset(names), why) for why, names in together.items()]
    candidates += from_the_catalog(exercise, cases, left)
    lines = [] if search is None else from_the_search(search, set(left))
    covers = fewest([c for c in lines if not c.alone], left, search), fewest([*candidates, *lines], left, search)
    return min((cover for cover in covers if cover), key=len, default=[])


def fewest(candidates: Sequence[Cause], wrong: Sequence[str], search: Search | None) -> list[tuple[Cause, list[str]]]:
    """Causes that explain all `wrong` outputs, chosen greedily; empty if an output has no cause."""
    candidates, left = list(candidates), list(wrong)
    chosen: list[tuple[Cause, list[str]]] = []
    while left:
        best = max(candidates, key=lambda c: (len(c.outputs & set(left)), not c.alone), default=None)
        shown = [n for n in left if best is not None and n in best.outputs]
        if best is None or not shown:
            return []
        candidates.remove(best)
        if best.hypothesis is not None and search is not None:
            code = search.code(best.hypothesis)
            if code is None or not search.confirmed(code, set(shown)):
                continue
        chosen.append((best, shown))
        left = [n for n in left if n not in shown]
    return sorted(chosen, key=lambda one: -1 if one[0].hypothesis is None else one[0].hypothesis.number)


def from_the_catalog(exercise: Exercise, cases: Sequence[Case], wrong: Sequence[str]) -> list[Cause]:
    """Typical mistakes that give some of the wrong outputs."""
    found, close = [], SINGLE if exercise.kind == "cuda" else 1e-9
    for mistake in exercise.wrong:
        with np.errstate(all="ignore"):
            outputs = [exercise.named(mistake.function(**case.inputs)) for case in cases]
        pairs = list(zip(outputs, cases, strict=True))
        same = [n for n in wrong if all(alike(out[n], case.got[n], close) for out, case in pairs)]
        if same:
            right = [n for n in exercise.outputs if n not in wrong]
            others = any(not alike(out[n], case.expected[n], close) for n in right for out, case in pairs)
            found.append(Cause(frozenset(same), mistake.sentence, alone=others))
    return found


def from_the_search(search: Search, wrong: set[str]) -> list[Cause]:
    """Hypotheses that were tried and give some of the wrong outputs, the least far-fetched first."""
    found = []
    near = set().union(*(search.program.used_for(name) for name in wrong))
    order = lambda t: (t.hypothesis.rank, t.hypothesis.target not in near, -t.hypothesis.number)  # noqa: E731
    for tried in sorted(search.tried, key=order):
        misses, differs = search.outputs_with(tried.misses), search.outputs_with(tried.differs)
        explained = frozenset(n for n in wrong & differs if n not in misses)
        if explained:
            found.append(Cause(explained, hypothesis=tried.hypothesis, alone=not differs <= explained))
    return found
