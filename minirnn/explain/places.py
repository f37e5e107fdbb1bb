"""The places of an op: its formulas, and the NumPy, CUDA and C++ code that computes it, found in the sources by name.

A *part* is one block of formulas: a step forward, a step backward, a loop over steps. The site's pages and
`minirnn explain` show the same places, cut from the files. `parts` lists all parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from minirnn.explain import cuts, statements
from minirnn.explain.cuts import ROOT, Cut
from minirnn.explain.statements import Aliases, Statement


@dataclass(frozen=True)
class Place:
    """A function that computes the formulas of a part."""

    path: str
    name: str
    aliases: Aliases = field(default_factory=dict)
    """Names in the function that differ from those in the formulas."""

    def cut(self) -> Cut:
        return cuts.function(self.path, self.name)

    def statements(self) -> list[Statement]:
        return statements.of(self.cut(), self.aliases)

    def names(self) -> set[str]:
        """All names that it sets, as the formulas call them."""
        return {name for s in self.statements() for name in s.names}


@dataclass(frozen=True)
class Part:
    """One block of formulas and the places that compute them."""

    title: str
    formula: tuple[str, int, str]
    """Module, number of the block in its docstring, label of the lines."""
    written: Mapping[str, tuple[Place, ...]]
    """Column -> places; the first shows the formulas, the others their surroundings."""

    def formulas(self) -> Cut:
        return cuts.formulas(*self.formula)

    def columns(self) -> dict[str, tuple[Place, ...]]:
        """The places by language, if their files exist."""
        found = {
            column: tuple(p for p in places if (ROOT / p.path).exists()) for column, places in self.written.items()
        }
        return {column: places for column, places in found.items() if places}
