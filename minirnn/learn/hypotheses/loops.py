"""Loops that run in the wrong direction or are too short, wrong initial values, and values carried between steps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from minirnn.learn.hypotheses.edits import Edit, Hypothesis, Site, expression, nodes, text_of
from minirnn.learn.hypotheses.scope import alike, pool
from minirnn.learn.hypotheses.trees import formed


def of_loops(site: Site) -> Iterator[Hypothesis]:
    """Loops that run in the opposite order, or omit the first or last step."""
    if not isinstance(site.step.tree, ast.For):
        return
    over = site.value
    text, steps = text_of(over), "steps" if "range" in text_of(over) else "entries"
    if isinstance(over, ast.Call) and text_of(over.func) == "reversed":
        says = f"the loop goes from the first to the last of the {steps}, but gradients flow from the last to the first"
        yield site.change(site.path, over.args[0], says, "from the last to the first", 0)
    elif "range" in text:
        yield site.change(site.path, formed("reversed(o)", o=over), "the loop goes backwards", "from the first on", 1)
    backwards = "reversed" in text
    for code, end in (("list(o)[1:]", "last" if backwards else "first"),
                      ("list(o)[:-1]", "first" if backwards else "last")):  # fmt: skip
        says = f"the {end} of the {steps} is left out of the loop"
        yield site.change(site.path, formed(code, o=over), says, f"the {end} one is needed", 1)
    yield site.change(site.path, formed("list(o)[:1]", o=over), "the loop ends after its first round", "all of them", 2)


def of_conditions(site: Site) -> Iterator[Hypothesis]:
    """A condition that is always true, always false, or negated; at t = 0, an index of -1, which is the last step."""
    for node, path in nodes(site.value, site.path):
        if not isinstance(node, ast.IfExp):
            continue
        wraps = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in ast.walk(node.body))
        body, other = text_of(node.body), text_of(node.orelse)
        if wraps:
            index = next(text_of(n.slice) for n in ast.walk(node.body) if isinstance(n, ast.Subscript))
            says = (
                f"at the first step the index {index} is -1, so {body} is the last step's value, but {other} "
                "belongs there"
            )
            kind = f"at the first step the index {index} is -1, the last step, but the initial value belongs there"
            yield site.change(path, node.body, says, f"{other} at the first step", 0, kind)
            says = f"at the first step zeros are used where {other} belongs"
            zero = formed("a if c else 0.0 * b", a=node.body, b=node.orelse, c=node.test)
            yield site.change(path, zero, says, f"{other} at the first step", 1)
            first = formed("a if c else b[0]", a=node.body, b=base_of(node.body), c=node.test)
            says = f"at the first step {text_of(base_of(node.body))}[0] is used where {other} belongs"
            yield site.change(path, first, says, f"{other} at the first step", 1)
        else:
            yield site.change(path, node.body, f"{body} is always used, not only if {text_of(node.test)}", "", 1)
        says = (
            f"{other} is used at every step, but belongs to the first one only" if wraps else f"{other} is always used"
        )
        yield site.change(path, node.orelse, says, f"{other} only at the first step", 1)
        if wraps:
            for array in alike(site, node.orelse, pool(site)):
                says = f"at the first step {array} is used where {other} belongs"
                new = formed("a if c else b", a=node.body, b=expression(array), c=node.test)
                yield site.change(path, new, says, f"{other} at the first step", 2)
            for t in site.step.loops:
                now = f"{text_of(base_of(node.body))}[{t}]"
                why = "it is taken from the wrong step (this one, not the one before)"
                says = f"{now} is used where {body} belongs: {why}"
                yield site.change(path, expression(now), says, "that of the step before", 0)


def base_of(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Subscript) else node


def of_comparisons(site: Site) -> Iterator[Hypothesis]:
    """A comparison that is off by one or reversed."""
    turned = {ast.Lt: (ast.LtE, ast.Gt, ast.GtE), ast.LtE: (ast.Lt, ast.Gt, ast.GtE),
              ast.Gt: (ast.GtE, ast.Lt, ast.LtE), ast.GtE: (ast.Gt, ast.Lt, ast.LtE)}  # fmt: skip
    choices = {(*path, ("test", -1)) for node, path in nodes(site.value, site.path) if isinstance(node, ast.IfExp)}
    for node, path in nodes(site.value, site.path):
        if not (isinstance(node, ast.Compare) and len(node.ops) == 1) or path in choices:
            continue
        text = text_of(node)
        for operator in turned.get(type(node.ops[0]), ()):
            new = ast.Compare(node.left, [operator()], node.comparators)
            taken = text_of(new)
            off = "off by one: " if len(taken) != len(text) and taken[:3] == text[:3] else ""
            yield site.change(path, new, f"{off}{taken} is used where {text} belongs", f"not {taken}", 0)
        for shift in (-1, 1):
            new = ast.Compare(
                node.left, node.ops, [formed(f"c + {shift}" if shift > 0 else "c - 1", c=node.comparators[0])]
            )
            taken = text_of(new)
            yield site.change(path, new, f"off by one: {taken} is used where {text} belongs", f"not {taken}", 1)


def of_assignments(site: Site) -> Iterator[Hypothesis]:
    """A missing statement, one that overwrites where it should add, or one that adds where it should overwrite."""
    tree, number = site.step.tree, site.step.number
    if isinstance(tree, ast.AugAssign):
        target = text_of(tree.target)
        once = ast.Assign([tree.target], tree.value)
        says = f"only the last contribution is kept, because = is used where += belongs ({target})"
        kind = "only the last contribution is kept, because = is used where += belongs"
        yield Hypothesis(
            (Edit(number, (), once),), site.step.target, says, "with +=: contributions add up", 0, (), kind
        )
        text = f"{target} += {text_of(tree.value)}"
        yield Hypothesis((Edit(number, (), None),), site.step.target, f"the line {text} is missing", "missing", 0, ())
    if isinstance(tree, ast.Assign) and site.step.loops and isinstance(tree.targets[0], ast.Name | ast.Tuple):
        for k, name in enumerate(site.step.target.split(", ")):
            if name not in site.env:  # first defined here, so nothing is carried
                continue
            yield from of_carried(site, tree, name, k)


def of_carried(site: Site, tree: ast.Assign, name: str, k: int) -> Iterator[Hypothesis]:
    """A value carried to the next iteration of a loop that is never updated, or is added to the old value."""
    number, target = site.step.number, tree.targets[0]
    if isinstance(target, ast.Name):
        says = f"{name} is never updated for the next round of the loop"
        yield Hypothesis((Edit(number, (), None),), name, says, "missing", 0, ())
        added = ast.Assign([target], formed("a + b", a=expression(name), b=tree.value))
        says = f"{name} is added to its old value, but it must replace it in every round"
        yield Hypothesis((Edit(number, (), added),), name, says, "= and not +=", 0, ())
    elif (
        isinstance(target, ast.Tuple) and isinstance(tree.value, ast.Tuple) and len(target.elts) == len(tree.value.elts)
    ):
        path = (*site.path, ("elts", k))
        kept, part = expression(name), tree.value.elts[k]
        says = f"{name} is never updated for the next round of the loop"
        yield Hypothesis((Edit(number, path, kept),), name, says, "missing", 0)
        says = f"{name} is added to its old value, but it must replace it in every round"
        yield Hypothesis((Edit(number, path, formed("a + b", a=kept, b=part)),), name, says, "= and not +=", 0)


def of_elements(site: Site) -> Iterator[Hypothesis]:
    """A value that belongs to only the first or last element, but is added to all elements or at the other end."""
    tree = site.step.tree
    target = tree.target if isinstance(tree, ast.AugAssign) else None
    if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
            and text_of(target.slice) in ("0", "-1")):  # fmt: skip
        return
    which, base = ("first", "last") if text_of(target.slice) == "0" else ("last", "first"), text_of(target.value)
    every = f"it is added to every element, not to the {which[0]} alone"
    yield site.change((("target", -1),), ast.Name(base, ast.Store()), f"{every}: {text_of(target)}", "", 1, every)
    other = ast.Subscript(target.value, expression("-1" if which[0] == "first" else "0"), ast.Store())
    says = f"it is added to the {which[1]} element, not to the {which[0]}"
    yield site.change((("target", -1),), other, f"{says}: {text_of(target)}", "", 1, says)


def of_places(site: Site) -> Iterator[Hypothesis]:
    """A value stored one step too early, or in the opposite order of time."""
    tree = site.step.tree
    if not isinstance(tree, ast.Assign):
        return
    targets = tree.targets[0].elts if isinstance(tree.targets[0], ast.Tuple) else [tree.targets[0]]
    for k, target in enumerate(targets):
        if isinstance(target, ast.Subscript) and text_of(target.slice) in site.step.loops:
            t, base = text_of(target.slice), text_of(target.value)
            for code, says in ((f"{t} - 1", f"{base} is stored one step too early, at {t} - 1"),
                               (f"({t} + 1) % len({base})", f"{base} is stored one step too late"),
                               (f"len({base}) - 1 - {t}",
                                f"{base} is stored in reversed order of time")):  # fmt: skip
                inner = (("targets", 0), *((("elts", k),) if len(targets) > 1 else ()), ("slice", -1))
                yield Hypothesis((Edit(site.step.number, inner, expression(code)),), base, says, f"at {t}", 1)


def of_starts(site: Site) -> Iterator[Hypothesis]:
    """A variable that starts a loop with a wrong value."""
    tree = site.step.tree
    if site.step.loops or not isinstance(tree, ast.Assign) or not isinstance(tree.targets[0], ast.Name):
        return
    zero = isinstance(tree.value, ast.Call) and text_of(tree.value.func) in ("np.zeros_like", "np.zeros")
    if zero:
        around = pool(site)
        if isinstance(tree.value, ast.Call) and text_of(tree.value.func) == "np.zeros_like":
            like = tree.value.args[0]
            says = f"it is {text_of(like)}, but must be zero"
            yield site.change(site.path, formed("1.0 * a", a=like), says, "zero", 1)
        for array in alike(site, tree.value, around):
            says = f"it starts with {array}, but must start at zero"
            yield site.change(site.path, formed("1.0 * a", a=expression(array)), says, "zero at first", 2)
        for name, value in around.items():
            if np.ndim(value) and np.shape(value)[1:] == np.shape(site.evaluate(text_of(tree.value))):
                for end in (-1, 0):
                    says = f"it starts with {name}[{end}], but must start at zero"
                    yield site.change(site.path, expression(f"1.0 * {name}[{end}]"), says, "zero at first", 2)
