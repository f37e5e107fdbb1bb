"""Mistakes in CUDA kernels: indices, row lengths, tiles, types, and incomplete sums."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from minirnn.learn.hypotheses.edits import Hypothesis, Site, nodes
from minirnn.learn.hypotheses.trees import Part, atoms, formed
from minirnn.learn.sandbox.patterns import text as text_of

POWERS = (8, 16, 32, 64, 128, 256, 4, 2)
"""Sizes of tiles and blocks, the usual ones first."""
SHIFTS = {
    "np.roll(a, 1)": "the previous number is read, with k - 1 where k belongs",
    "np.roll(a, -1)": "the next number is read, with k + 1 where k belongs",
    "a[np.maximum(np.arange(len(a)) - 1, 0)]": "the previous number is read, with k - 1 where k belongs",
    "a[np.minimum(np.arange(len(a)) + 1, len(a) - 1)]": "the next number is read, with k + 1 where k belongs",
    "a[0] + 0 * a": "the first number is read by every thread",
}


def of_indices(site: Site) -> Iterator[Hypothesis]:
    """Wrong indices and types: neighbors, other row lengths, rows swapped with columns, the first row for all,
    integers.
    """
    places: dict[str, list[Part]] = {}
    for atom in atoms(site.value, site.path):
        places.setdefault(atom.text, []).append(atom)
    for name, uses in places.items():
        value = site.evaluate(name)
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            continue
        forms = {"np.trunc(a)": f"{name} is cut to whole numbers: is it kept in a variable of type int?"}
        if value.ndim == 1:
            forms |= {code: f"{name}: {text}" for code, text in SHIFTS.items()}
        if value.ndim == 2:
            forms |= of_rows(site, name, value.shape[1])
        for code, says in forms.items():
            yield site.changes({p.path: formed(code, a=p.node) for p in uses}, says, 1, says)


def of_rows(site: Site, name: str, length: int) -> dict[str, str]:
    """A matrix that is read with a wrong row length, column by column, or always in its first row."""
    forms = {
        "a.ravel().reshape(a.shape[::-1]).T": f"{name} is read column by column, but it is stored row by row",
        "a[:1] + 0 * a": f"the first row of {name} is read for every row",
        "a[:, :1] + 0 * a": f"the first column of {name} is read for every column",
        "np.roll(a, 1, 1)": f"{name} is read one column too early",
        "np.roll(a, -1, 1)": f"{name} is read one column too late",
    }
    for size, number in site.env.items():
        if isinstance(number, int | np.integer) and 0 < number != length:
            index = f"np.add.outer(np.arange(a.shape[0]) * {size}, np.arange(a.shape[1]))"
            forms[f"a.ravel()[{index} % a.size]"] = f"{name} is read as if its rows had {size} numbers"
    return forms


def of_tiles(site: Site) -> Iterator[Hypothesis]:
    """A matrix product that uses only some of its tiles, or reads a tile transposed."""
    for node, path in nodes(site.value, site.path):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)):
            continue
        left, right = (site.evaluate(text_of(side)) for side in (node.left, node.right))
        if left is None or right is None or np.ndim(left) != 2 or np.ndim(right) != 2:
            continue
        K = left.shape[1]
        for n in (n for n in POWERS if n < K):
            last = f"(a.shape[1] - 1) // {n} * {n}"
            for code, says in (
                (f"a[:, :{n}] @ b[:{n}]", f"only the first tile of {n} counts"),
                (f"a[:, {last}:] @ b[{last}:]",
                 f"only the last tile of {n} counts: is the sum set to zero for each tile?"),
                (f"a[:, :a.shape[1] // {n} * {n}] @ b[:a.shape[1] // {n} * {n}]",
                 "the last tile, which is only partly filled, is left out"),
                (f"-(-a.shape[1] // {n}) * (a[:, :{n}] @ b[:{n}])", f"the first tile of {n} is read in every round"),
                (f"a[:, {n}:] @ b[{n}:]", f"the first tile of {n} is left out"),
                (f"{padded('a', n, rows=False)} @ {turned('b', n)}[:, :b.shape[1]]",
                 f"the tiles of {text_of(node.right)} are read transposed"),
                (f"{turned('a', n)}[:a.shape[0]] @ {padded('b', n, columns=False)}",
                 f"the tiles of {text_of(node.left)} are read transposed"),
            ):  # fmt: skip
                if n > 2 or "tile" not in says:
                    yield site.change(path, formed(code, a=node.left, b=node.right), says, 1)


def padded(name: str, n: int, rows: bool = True, columns: bool = True) -> str:
    """The code of a matrix padded with zeros to full tiles."""
    widths = [f"(0, -{name}.shape[{axis}] % {n})" if wanted else "(0, 0)" for axis, wanted in ((0, rows), (1, columns))]
    return f"np.pad({name}, ({', '.join(widths)}))"


def turned(name: str, n: int) -> str:
    """The code of a padded matrix in which every tile of n by n is transposed."""
    tiles = [f"-(-{name}.shape[{axis}] // {n})" for axis in (0, 1)]
    inner = f"{padded(name, n)}.reshape({tiles[0]}, {n}, {tiles[1]}, {n}).transpose(0, 3, 2, 1)"
    return f"{inner}.reshape({tiles[0]} * {n}, -1)"


def of_partial_sums(site: Site) -> Iterator[Hypothesis]:
    """A sum along rows or columns that omits some of the numbers, or counts some of them twice."""
    for node, path in nodes(site.value, site.path):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sum"):
            continue
        value = site.evaluate(text_of(node.func.value))
        along = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "axis")]
        if not isinstance(value, np.ndarray) or value.ndim != 2 or not along:
            continue
        axis = {"0": 0, "1": 1, "-1": 1}.get(text_of(along[0]), -1)
        if axis >= 0:
            a = node.func.value if axis else formed("a.T", a=node.func.value)
            for code, says in partial_sums(value.shape[axis], "row" if axis else "column").items():
                summed = formed(code, a=a)
                keeps = any(k.arg == "keepdims" for k in node.keywords)
                turned = "np.expand_dims(s, 1)" if axis else "np.expand_dims(s, 0)"
                if "%" in code and "np.stack" in code:  # a number for each element
                    turned, keeps = ("s", True) if axis else ("s.T", True)
                yield site.change(path, formed(turned, s=summed) if keeps else summed, says, 1)


def partial_sums(length: int, line: str) -> dict[str, str]:
    """The code of incomplete sums along the rows of `a`, with a description of each."""
    forms = {
        "a[:, ::2].sum(1)": "only every other number counts: does the loop end at 2, or do odd threads get lost?",
        "a[:, 1::2].sum(1)": "only the odd numbers count",
        "a[:, :-1].sum(1)": f"the last number of a {line} is left out",
        "a[:, 1:].sum(1)": f"the first number of a {line} is left out",
        "a[:, 0]": f"only the first number of a {line} counts: the shares of the threads are not added up",
        "a[:, -1]": f"only the last number of a {line} counts: = is used where += belongs",
    }
    for n in (n for n in POWERS if n < length):
        forms[f"a[:, :{n}].sum(1)"] = f"only the first {n} numbers of a {line} count: a loop over the rest is missing"
        forms[f"a[:, np.arange(a.shape[1]) % {2 * n} < {n}].sum(1)"] = (
            f"only the shares of the first {n} threads count: does the halving start too low?"
        )
        several = "numbers are counted several times, because the step of each thread is not the number of threads"
        forms[f"(a * np.minimum(np.arange(1, a.shape[1] + 1), {n})).sum(1)"] = several
        forms[f"{n} * a.sum(1)"] = f"each number is counted {n} times, because each of {n} threads adds up all of them"
        forms[f"a[:, {n}:].sum(1)"] = f"the first {n} numbers of a {line} are left out"
        forms.setdefault(f"a[:, ::{n}].sum(1)", f"only one of {n} numbers of a {line} counts: the share of one thread")
        forms[f"a[:, :a.shape[1] // {n} * {n}].sum(1)"] = (
            f"the end of a {line} is left out, where fewer than {n} numbers remain"
        )
        forms[f"np.stack([a[:, k % {n} :: {n}].sum(1) for k in range(a.shape[1])], 1)"] = (
            f"each of {n} threads uses its own share of the sum, not that of all threads"
        )
    return forms


def of_partial_maxima(site: Site) -> Iterator[Hypothesis]:
    """The largest number of a row among those that one thread reads."""
    for node, path in nodes(site.value, site.path):
        func = node.func if isinstance(node, ast.Call) else None
        if not (isinstance(func, ast.Attribute) and func.attr == "max"):
            continue
        value = site.evaluate(text_of(func.value))
        if isinstance(value, np.ndarray) and value.ndim == 2:
            for n in (n for n in POWERS if n < value.shape[1]):
                code = f"np.stack([a[:, k % {n} :: {n}].max(1) for k in range(a.shape[1])], 1)"
                says = f"each of {n} threads subtracts the largest of its own numbers, not of all"
                yield site.change(path, formed(code, a=func.value), says, 1)
