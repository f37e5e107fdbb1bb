"""Where an op is written: its formulas, and the NumPy, CUDA and C++ that compute it, found in the sources by name.

A *part* is one block of formulas: a step forward, a step backward, a loop over steps. The site's pages and
`minirnn explain` show the same places, cut from the files as they are. Which parts there are stands in `parts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from minirnn.explain import cuts, statements
from minirnn.explain.cuts import ROOT, Cut
from minirnn.explain.statements import Aliases, Statement

NATIVE = ROOT / "devices" / "native"


@dataclass(frozen=True)
class Place:
    """A function that computes the formulas of a part."""

    path: str
    name: str
    aliases: Aliases = field(default_factory=dict)
    """What the function calls otherwise than the formulas do."""

    def cut(self) -> Cut:
        return cuts.function(self.path, self.name)

    def statements(self) -> list[Statement]:
        return statements.of(self.cut(), self.aliases)

    def names(self) -> set[str]:
        """All that it sets, under the formulas' names."""
        return {name for s in self.statements() for name in s.names}


@dataclass(frozen=True)
class Part:
    """One block of formulas and the places that compute them."""

    title: str
    formula: tuple[str, int, str]
    """Module, number of the block in its docstring, label of the lines."""
    written: Mapping[str, tuple[Place, ...]]
    """Column -> places; the first shows the formulas, the others what stands around it."""

    def formulas(self) -> Cut:
        return cuts.formulas(*self.formula)

    def columns(self) -> dict[str, tuple[Place, ...]]:
        """The places by what they are written in; in C++, too, where the native device has the op."""
        native = self.native() if "CUDA" in self.written else ()
        return {**self.written, **({"C++": native} if native else {})}

    def native(self) -> tuple[Place, ...]:
        """The function of the native device that sets most of the formulas' names, if it sets at least half of them."""
        wanted = {name for s in statements.of_formula(self.formulas().text) for name in s.names}
        found = [Place(path, name, self.written["CUDA"][0].aliases) for path, name in native_functions()]
        best = max(found, key=lambda place: len(wanted & place.names()), default=None)
        return (best,) if best and 2 * len(wanted & best.names()) >= len(wanted) else ()


@cache
def native_functions() -> tuple[tuple[str, str], ...]:
    """File and name of every function that the C++ of the native device defines."""
    found = []
    for path in sorted(p for suffix in ("cpp", "h", "hpp") for p in NATIVE.rglob(f"*.{suffix}")):
        for name, *_ in cuts.definitions(path.read_text(encoding="utf-8")):
            found.append((path.relative_to(ROOT).as_posix(), name))
    return tuple(dict.fromkeys(found))
