"""Brackets that are left out or closed too late."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from minirnn.learn.hypotheses.edits import Hypothesis, Site
from minirnn.learn.hypotheses.program import Path
from minirnn.learn.hypotheses.terms import bracketed, is_numeric, values
from minirnn.learn.hypotheses.trees import PRODUCT, SUM, Part, chains, factors, formed, is_operation, summands


def of_brackets(site: Site) -> Iterator[Hypothesis]:
    """Omitted brackets around a sum in a product, and factors of one summand that also multiply another."""
    if isinstance(site.step.tree, ast.For | ast.If):
        return
    for node, path in values(site):
        if is_numeric(site, node):
            yield from late(site, summands(node, path))
    for node, path in chains(site.value, site.path, PRODUCT):
        yield from left_out(site, factors(node, path), path)


def left_out(site: Site, product: list[Part], path: Path) -> Iterator[Hypothesis]:
    """``a * 1 - u`` for ``a * (1 - u)``, and ``1 - u * a`` for ``(1 - u) * a``."""
    for part in product:
        others = [p for p in product if p is not part]
        if not others or part.inverse or not is_operation(part.node, SUM):
            continue
        assert isinstance(part.node, ast.BinOp)
        before = "".join(f" {'/' if p.inverse else '*'} {bracketed(p.node)}" for p in others)
        rest = f"1.0{before}" if others[0].inverse else before.removeprefix(" * ")
        sign = "+" if isinstance(part.node.op, ast.Add) else "-"
        left, right = part.node.left, part.node.right
        says = f"the brackets around {part.text} are missing"
        for code in (f"({rest}) * a {sign} b", f"a {sign} b * ({rest})"):
            yield site.change(path, formed(code, a=left, b=right), says, f"({part.text}) is one factor", 1)


def late(site: Site, parts: list[Part]) -> Iterator[Hypothesis]:
    """Factors of one summand that also multiply another one, as if a bracket closed too late."""
    if len(parts) < 2:
        return
    for other in parts:
        product = factors(other.node, other.path)
        if len(product) < 2:
            continue
        for start in range(len(product)):
            for end in range(start + 1, len(product) + 1):
                some = product[start:end]
                if len(some) == len(product) or any(f.inverse for f in some):
                    continue
                extra = " * ".join(bracketed(f.node) for f in some)
                for part in parts:
                    if part is not other:
                        new = formed(f"term * ({extra})", term=part.node)
                        says = (
                            f"the term {part.text} is multiplied by {extra} as well, but {extra} belongs to "
                            f"{other.text} only"
                        )
                        yield site.change(part.path, new, says, f"this term gets no factor {extra}", 2)
