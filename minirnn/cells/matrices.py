"""Products of cells with keys in LaTeX, as papers write them: ``u k^T``, ``S k``, ``S^T u``, ``diag(u) S``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from minirnn.cells.expr import Expr
from minirnn.cells.rules import PRODUCT

ONES, BETWEEN = r"\mathbf{1}", r" \odot "


class Matrices:
    """Writes products and sums.

    Parameters
    ----------
    factor : callable
        The text of a factor, with its power, and with parentheses unless it binds as tightly as a third argument says.
    whole : callable
        Whether an expression is written by its name.
    """

    def __init__(self, factor: Callable[..., str], whole: Callable[[Expr], bool]) -> None:
        self.factor, self.whole = factor, whole

    def factors(self, e: Expr) -> list[Expr]:
        """The factors of a product, split until they have names."""
        return [e] if e.op != "mul" or self.whole(e) else [f for a in e.args for f in self.factors(a)]

    def together(self, factors: Sequence[Expr]) -> str:
        """An elementwise product, in parentheses if it has several factors."""
        found = list(dict.fromkeys(factors))
        texts = [self.factor(f, factors.count(f)) for f in found]
        return texts[0] if len(texts) == 1 else rf"\left({BETWEEN.join(texts)}\right)"

    def of(self, factors: Sequence[Expr], axes: str) -> list[Expr]:
        return [f for f in factors if f.axes == frozenset(axes)]

    def product(self, e: Expr) -> str:
        """A product: numbers first, then that of vectors and matrices."""
        factors = self.factors(e)
        found = [self.factor(f, 1) for f in self.of(factors, "")]
        units, keys, matrices = (self.of(factors, axes) for axes in ("u", "k", "uk"))
        if matrices and not (units or keys):
            found.append(self.together(matrices) if found else self.bare(matrices))
        elif matrices:
            found += [rf"\mathrm{{diag}}({self.bare(units)})"] if units else []
            found.append(self.together(matrices))
            found += [rf"\mathrm{{diag}}({self.bare(keys)})"] if keys else []
        elif units and keys:
            found += [self.together(units), rf"{self.together(keys)}^\top"]
        elif units or keys:
            several = found and len(set(units or keys)) > 1
            found.append(self.together(units or keys) if several else self.bare(units or keys))
        return r" \, ".join(found)

    def bare(self, factors: Sequence[Expr]) -> str:
        """An elementwise product without parentheses around it."""
        if len(set(factors)) == 1:
            return self.factor(factors[0], len(factors), PRODUCT)
        return self.together(factors)[len(r"\left(") : -len(r"\right)")]

    def sum(self, e: Expr) -> str:
        """A sum over keys or units as a product with a vector, perhaps of ones."""
        (a,) = e.args
        factors, axis = self.factors(a), e.op[-1]
        matrices, vectors = self.of(factors, "uk"), self.of(factors, axis)
        before = [f for f in factors if axis not in f.axes]
        if not matrices:
            *left, last = vectors
            found = rf"{self.together(left) if left else ONES}^\top {self.factor(last, 1)}"
        else:
            turned = r"^\top" if axis == "u" else ""
            found = rf"{self.together(matrices)}{turned} \, {self.together(vectors) if vectors else ONES}"
        return r" \, ".join([*[self.factor(f, 1) for f in before], found])
