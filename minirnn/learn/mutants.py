"""A formula with one thing wrong: a term missing, doubled or of the wrong sign, a factor, a square, a gate, a step.

They are the likeliest hypotheses about the formula's tree, sorted by kind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from minirnn.learn.hypotheses.edits import Hypothesis, compiled, sites
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.hypotheses.rewritten import of_rewrites

KINDS = (
    ("missing", r"^the term .* is missing$"),
    ("doubled", r" is counted twice$"),
    ("sign", r"^the sign of "),
    ("factor", r"^the factor .* is missing$"),
    ("square", r"the square is missing$"),
    ("complement", r"the gate and 1 minus it are exchanged$"),
    ("step", r"wrong step|^(\w+) is used where \1_prev belongs"),
)
"""The name of a mutant, and its description."""


NOTHING = r"^the (term|factor) (np\.(zeros|empty|ones)(_like)?\(.*\)|[\d.]+) is missing$"
"""Terms that only allocate an array, or are a number. Nobody omits these."""


@dataclass(frozen=True)
class Mutant:
    """A hypothesis, its kind, and the code that makes it."""

    kind: str
    hypothesis: Hypothesis
    changed: Mapping[int, CodeType | None]

    def sentence(self) -> str:
        return self.hypothesis.sentence()


def mutants(program: Program, inputs: Mapping[str, Any]) -> Iterator[Mutant]:
    """All mutants of a formula whose kind is in `KINDS`, without duplicates."""
    with np.errstate(all="ignore"):
        places = sites(program, inputs)
    for site in (place for place in places if not isinstance(place.step.tree, ast.Return)):
        for hypothesis in of_rewrites(site):
            kind = next((kind for kind, says in KINDS if re.search(says, hypothesis.says)), "")
            if re.search(NOTHING, hypothesis.says):
                continue
            try:
                changed = compiled(program, (hypothesis,)) if kind else None
            except (SyntaxError, ValueError, TypeError, AttributeError):  # Python rejects this tree
                continue
            if changed is not None:
                yield Mutant(kind, hypothesis, changed)
