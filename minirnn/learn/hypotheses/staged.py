"""Several mistakes at once, found one after the other on increasingly hard cases.

With only one step, or with a gradient into only one output, often only one of several mistakes has an effect. The
explanation of the first case that fails is kept for the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from minirnn.learn.hypotheses.edits import Hypothesis
from minirnn.learn.hypotheses.search import Search

Numbers = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]
MOST_CHANGES, MOST_CHOICES = 3, 4
"""The largest number of mistakes, and the number of explanations of one case that are pursued further."""


def staged(search: Search, stages: Sequence[Numbers], most: int) -> tuple[Hypothesis, ...] | None:
    """The changes that explain all `stages` (inputs, expected, got) and all cases of `search`, or None."""
    order = [t.hypothesis for t in sorted(search.tried, key=lambda t: t.hypothesis.rank)]
    cases = [Search(search.program, [numbers], search.tolerance) for numbers in [*stages, *search.cases]]

    def further(chosen: tuple[Hypothesis, ...], k: int) -> tuple[Hypothesis, ...] | None:
        while k < len(cases) and explains(cases[k], chosen):
            k += 1
        if k == len(cases):
            return chosen if len(chosen) > 1 else None
        if len(chosen) == MOST_CHANGES:
            return None
        choices = 0
        for hypothesis in candidates():
            if explains(cases[k], (*chosen, hypothesis)):
                found = further((*chosen, hypothesis), k + 1)
                choices += 1
                if found is not None or choices == MOST_CHOICES:
                    return found
        return None

    def candidates() -> Iterator[Hypothesis]:
        for hypothesis in order:
            if sum(case.evaluations for case in cases) > most:
                return
            yield hypothesis

    return further((), 0)


def explains(search: Search, chosen: tuple[Hypothesis, ...]) -> bool:
    """Whether the formula with some changes gives the numbers of a search's only case."""
    changed = search.code(*chosen)
    return changed is not None and search.confirmed(changed)
