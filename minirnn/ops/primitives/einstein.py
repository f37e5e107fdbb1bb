"""einsum: sums of products, with letters for the axes. ``einsum("tbi,ih->tbh", x, w)`` is ``x @ w``.

It is composed of transpose, reshape, matmul and sum, so it runs on every device and gets its gradients from these ops.
It reshapes two operands at a time for one batched product:

    a: (batch, left, contracted) @ b: (batch, contracted, right) -> (batch, left, right)

Three or more operands are multiplied in the order that NumPy's `einsum_path` finds.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.engine.operands import as_tensors, same_device
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives.arithmetic import multiply
from minirnn.ops.primitives.declare import op
from minirnn.ops.primitives.products import matmul
from minirnn.ops.primitives.reductions import sum as sum_over
from minirnn.ops.primitives.shapes import broadcast_to, reshape, transpose

__all__ = ["einsum"]

Labels = tuple[str, ...]


@op(transpose, reshape, matmul, sum_over, method="")
def einsum(equation: str, *operands: Any) -> Tensor:
    """The product of `operands`, summed over the letters that are not in the result.

    Parameters
    ----------
    equation : str
        Letters for the axes of each operand, separated by commas, then ``->`` and those of the result. Without ``->``
        the result has the letters that occur once, in alphabetical order. ``...`` means any other axes, which
        broadcast. A letter that occurs twice in one operand selects its diagonal.
    operands : Tensors, or one list of them
        Axes with the same letter must have equal sizes, or size 1.

    Raises
    ------
    TypeError
        If `equation` is not a string.
    ValueError
        If the equation cannot be read or does not fit the shapes.

    Examples
    --------
    >>> import minirnn as mr
    >>> scores = mr.ops.einsum("bqd,bkd->bqk", mr.ones(2, 3, 4), mr.ones(2, 5, 4))
    >>> scores.shape
    (2, 3, 5)
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: equation is {shown(equation)}\n  expected text such as 'ij,jk->ik'")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    tensors = as_tensors(operands)
    inputs, output = _read(equation, tuple(t.shape for t in tensors))
    same_device("einsum", *tensors, names=[f"operand {k}" for k in range(len(tensors))])
    terms = [_diagonal(t, labels) for t, labels in zip(tensors, inputs, strict=True)]
    terms = _of_equal_sizes(equation, terms)
    for chosen in _path(tuple(labels for _, labels in terms), tuple(t.shape for t, _ in terms), output):
        picked = [terms.pop(k) for k in sorted(chosen, reverse=True)][::-1]
        result = picked[0]
        for k, other in enumerate(picked[1:], start=2):
            later = {label for _, labels in [*picked[k:], *terms] for label in labels}
            result = _product(result, other, later | set(output))
        terms.append(result)
    y, found = _summed(*terms[0], set(output))
    return transpose(y, tuple(found.index(label) for label in output)) if found != output else y


@lru_cache(maxsize=1024)
def _read(equation: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of each operand and of the result. Axes of ``...`` are called ".0", ".1", ..., from the last one."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        raise ValueError(
            f"einsum: {shown(equation)} with {len(shapes)} operands\n"
            f"  expected {len(parts)}: as many as there are texts between commas"
        )
    dots = 0
    inputs = []
    for part, shape in zip(parts, shapes, strict=True):
        letters = _letters(equation, part)
        more = len(shape) - len(letters.replace(".", ""))
        if more < 0 or (more and "." not in letters):
            raise ValueError(
                f"einsum: {shown(equation)}: {part!r} for shape {shape}\n"
                f"  expected a letter for each of {len(shape)} axes"
            )
        dots = max(dots, more)
        inputs.append(_labels(letters, more))
    every = [label for labels in inputs for label in labels]
    if arrow:
        output = _labels(_letters(equation, right), dots)
    else:
        once = sorted(label for label in set(every) if every.count(label) == 1 and "." not in label)
        output = (*_labels(".", dots), *once)
    unknown = [label for label in output if label not in every]
    if unknown or len(set(output)) < len(output):
        what = f"{unknown[0]!r} is in no operand" if unknown else "a letter comes twice"
        raise ValueError(
            f"einsum: {shown(equation)}: {what}\n  expected letters of the operands in the result, each once"
        )
    return tuple(inputs), output


def _letters(equation: str, part: str) -> str:
    """The letters of one operand, with one "." for "..."."""
    found = part.replace("...", ".", 1)
    if found.count(".") > part.count("...") or any(c not in ascii_letters + "." for c in found):
        raise ValueError(
            f"einsum: {shown(equation)}: cannot read {part!r}\n"
            "  expected letters, and ... once at most, such as '...ij,jk->...ik'"
        )
    return found


def _labels(letters: str, dots: int) -> Labels:
    if "." not in letters:
        return tuple(letters)
    before, _, after = letters.partition(".")
    return (*before, *[f".{k}" for k in range(dots - 1, -1, -1)], *after)


def _diagonal(t: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """The diagonal of `t`: the elements whose indices agree along axes with the same label."""
    for label in dict.fromkeys(labels):
        axes = [k for k, other in enumerate(labels) if other == label]
        if len(axes) == 1:
            continue
        sizes = [t.shape[k] for k in axes]
        if len(set(sizes)) > 1:
            raise ValueError(f"einsum: {label!r} has the sizes {sizes} in one operand\n  expected equal ones")
        rest = [k for k in range(t.ndim) if k not in axes]
        t = transpose(t, (*axes, *rest))[(np.arange(sizes[0]),) * len(axes)]
        labels = (label, *[labels[k] for k in rest])
    return t, labels


def _of_equal_sizes(equation: str, terms: list[tuple[Tensor, Labels]]) -> list[tuple[Tensor, Labels]]:
    """The operands with axes of size 1 repeated where another operand has more."""
    sizes: dict[str, int] = {}
    for t, labels in terms:
        for label, n in zip(labels, t.shape, strict=True):
            known = sizes.setdefault(label, n)
            if n != known and 1 not in (n, known):
                name = "..." if "." in label else label
                raise ValueError(
                    f"einsum: {shown(equation)}: {name!r} has the sizes {known} and {n}\n  expected equal ones, or 1"
                )
            sizes[label] = n if known == 1 else known
    full = [tuple(sizes[label] for label in labels) for _, labels in terms]
    return [
        (t if t.shape == shape else broadcast_to(t, shape), labels)
        for (t, labels), shape in zip(terms, full, strict=True)
    ]


@lru_cache(maxsize=1024)
def _path(
    inputs: tuple[Labels, ...], shapes: tuple[tuple[int, ...], ...], output: Labels
) -> tuple[tuple[int, ...], ...]:
    """The operands to multiply at each step. The product is appended to the list."""
    if len(inputs) < 3:
        return ((0, 1),) if len(inputs) == 2 else ()
    numbers = {label: k for k, label in enumerate(dict.fromkeys(label for labels in inputs for label in labels))}
    if len(numbers) > len(ascii_letters):  # NumPy has no more letters
        return ((0, 1), *[(0, k) for k in range(len(inputs) - 2, 0, -1)])
    arguments: list[Any] = []
    for labels, shape in zip(inputs, shapes, strict=True):
        arguments += [np.broadcast_to(np.empty(()), shape), [numbers[label] for label in labels]]
    path = np.einsum_path(*arguments, [numbers[label] for label in output], optimize="greedy")[0]
    return tuple(tuple(step) for step in path[1:])


def _summed(t: Tensor, labels: Labels, remaining: set[str]) -> tuple[Tensor, Labels]:
    """`t` without the axes whose labels are not kept."""
    gone = tuple(k for k, label in enumerate(labels) if label not in remaining)
    return (sum_over(t, gone), tuple(label for label in labels if label in remaining)) if gone else (t, labels)


def _product(one: tuple[Tensor, Labels], two: tuple[Tensor, Labels], remaining: set[str]) -> tuple[Tensor, Labels]:
    """The product of two operands, summed over the labels that both have and that are not in `remaining`."""
    a, of_a = _summed(*one, remaining | set(two[1]))
    b, of_b = _summed(*two, remaining | set(one[1]))
    both = [label for label in of_a if label in of_b]
    batch = [label for label in both if label in remaining]
    contracted = [label for label in both if label not in remaining]
    left = [label for label in of_a if label not in both]
    right = [label for label in of_b if label not in both]
    size = {**dict(zip(of_a, a.shape, strict=True)), **dict(zip(of_b, b.shape, strict=True))}

    def matrices(t: Tensor, labels: Labels, *groups: list[str]) -> Tensor:
        order = [labels.index(label) for group in groups for label in group]
        return reshape(transpose(t, order), [prod(size[label] for label in group) for group in groups])

    x = matrices(a, of_a, batch, left, contracted)
    y = matrices(b, of_b, batch, contracted, right)
    z = matmul(x, y) if contracted else multiply(x, y)  # (batch, left, 1) * (batch, 1, right) broadcasts
    labels = (*batch, *left, *right)
    return reshape(z, [size[label] for label in labels]), labels
