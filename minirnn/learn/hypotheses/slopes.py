"""Slopes of tanh and sigmoid: of the wrong function, of the wrong value, applied twice, or missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from minirnn.learn.hypotheses.edits import Hypothesis, Site, expression, text_of
from minirnn.learn.hypotheses.scope import alike, pool
from minirnn.learn.hypotheses.trees import PRODUCT, Slope, chains, factors, formed
from minirnn.learn.hypotheses.trees import slopes as slopes_among

RIGHT = {"tanh": "1 - y * y", "sigmoid": "y * (1 - y)"}
OTHER = {"tanh": "sigmoid", "sigmoid": "tanh"}
SIGMOID = "(1 / (1 + np.exp(-y)))"
WRONG = {
    "tanh": {
        "1 - y": ("{right}: the square is missing", 0),
        "1 - np.tanh(y) ** 2": ("tanh is applied again: {y} is already the output of tanh, its slope is {right}", 0),
        "(1 - y) ** 2": ("(1 - {y}) is squared, but in the slope {right} only {y} is", 0),
        "1 + y * y": ("the sign in {right} is wrong", 1),
        "y * y - 1": ("the sign of the slope {right} is wrong", 0),
        "1 / (1 - y * y)": ("it is divided by the slope {right}, but should be multiplied", 1),
        "y * y": ("1 minus is missing in the slope {right}", 1),
        "(1 - y * y) ** 2": ("the slope {right} is multiplied twice", 1),
        "1 - np.arctanh(y) ** 2": ("the slope {right} takes the output of tanh, not its argument", 1),
        "np.tanh(y)": ("tanh of {y} is taken, not its slope {right}", 2),
        "np.sqrt(1 - y * y)": ("a root is taken of the slope {right}", 1),
        "1 - y * y * y": ("the slope {right} has a wrong power", 2),
    },
    "sigmoid": {
        "y": ("the factor (1 - {y}) of the slope {right} is missing", 0),
        "1 - y": ("the factor {y} of the slope {right} is missing", 0),
        "1.0 + 0 * y": ("the slope {right} is missing", 0),
        f"{SIGMOID} * (1 - {SIGMOID})": (
            "the sigmoid is applied again: {y} is already its output, its slope is {right}", 0),
        "y * (y - 1)": ("the sign of the slope {right} is wrong", 0),
        "y * (1 + y)": ("the sign in {right} is wrong", 1),
        "y * y": ("1 minus is missing in the slope {right}", 1),
        "(1 - y) ** 2": ("the slope {right} has 1 - {y} twice", 1),
        "(y * (1 - y)) ** 2": ("the slope {right} is multiplied twice", 1),
        "1 / (y * (1 - y))": ("it is divided by the slope {right}, but should be multiplied", 1),
        SIGMOID: ("the sigmoid of {y} is taken, not its slope {right}", 2),
        "1 - y * y": ("the slope of tanh, 1 - {y} * {y}, is used where that of the sigmoid, {right}, belongs", 0),
    },
}  # fmt: skip


def of_slopes(site: Site) -> Iterator[Hypothesis]:
    """Every slope in a statement, with every way to get it wrong."""
    for node, path in chains(site.value, site.path, PRODUCT):
        for slope in slopes_among(factors(node, path)):
            yield from wrong_slopes(site, slope)


def wrong_slopes(site: Site, slope: Slope) -> Iterator[Hypothesis]:
    name = text_of(slope.of)
    right = RIGHT[slope.kind].replace("y", name)

    def instead(new: ast.expr, says: str, rank: int, kind: str = "") -> Hypothesis:
        """The slope replaced by `new`. For a sigmoid, `new` replaces the first factor, and the second becomes 1."""
        places = dict.fromkeys(slope.places, expression("1.0"))
        places[slope.places[-1]] = new
        return site.changes(dict(reversed(places.items())), says, f"the slope of {slope.kind} is {right}", rank, kind)

    for code, (says, rank) in WRONG[slope.kind].items():
        kind = says.format(right=RIGHT[slope.kind], y="y")
        yield instead(formed(code, y=slope.of), says.format(right=right, y=name), rank, kind)
    if slope.kind == "tanh":
        says = f"the slope of the sigmoid, {name} * (1 - {name}), is used where that of tanh, {right}, belongs"
        yield instead(formed("y * (1 - y)", y=slope.of), says, 0)
        yield instead(formed("1.0 + 0 * y", y=slope.of), f"the factor ({right}) is missing", 0)
    for other in alike(site, slope.of, pool(site)):
        tree = expression(other)
        for kind in (slope.kind, OTHER[slope.kind]):
            taken = RIGHT[kind].replace("y", other)
            says = f"the slope is that of {other}, {taken}, but it must be that of {name}, {right}"
            yield instead(formed(RIGHT[kind], y=tree), says, 1 + (kind != slope.kind))
        says = f"tanh is applied again to {other} for the slope, which must be that of {name}, {right}"
        yield instead(formed("1 - np.tanh(y) ** 2", y=tree), says, 2)
