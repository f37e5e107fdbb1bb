"""Whole matrices of derivatives: the Jacobian of a function, and the Hessian of one whose output is a number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.autograd.separate_tape import (
    filled,
    finish,
    gradients,
    independent,
    number_of,
    outputs_of,
    starts_of,
    tensors_of,
    varying,
)
from minirnn.engine.tape import enable_grad
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.fused import zeros
from minirnn.ops.primitives.elementwise import astype
from minirnn.ops.primitives.shapes import reshape, stack

STRATEGIES = ("reverse-mode", "forward-mode")

Blocks = list[list[Tensor]]
"""``blocks[k][i]``: the derivative of output k with respect to input i."""


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All derivatives of all outputs: ``J[a, b] = dy[a] / dx[b]`` with indices a of the output and b of the input.

    The signature and the nesting of the result are those of torch.autograd.functional.jacobian. Raises TypeError if
    `inputs` or what `func` returned are not Tensors, or an input has no floating dtype; ValueError for another
    strategy; RuntimeError if `strict` is set and something is independent.

    Parameters
    ----------
    func : callable
        It takes the inputs as its arguments and returns a Tensor or a tuple of Tensors.
    inputs : Tensor or tuple of Tensor
        Floating ones. Whether they require gradients does not matter.
    create_graph : bool
        Record, so that the Jacobian can be differentiated again.
    strict : bool
        An output that does not depend on an input is an error. By default its derivative is zeros.
    vectorize : bool
        Accepted for torch's sake: the passes run one after the other in any case.
    strategy : {"reverse-mode", "forward-mode"}
        A backward pass for each element of the outputs, which gives rows; or, for each element of the inputs, one
        through the backward pass (see `jvp`), which gives columns. The values are the same; take the smaller number.

    Returns
    -------
    Tensor, or tuple of Tensor, or tuple of tuples
        A block has the shape ``output.shape + input.shape`` and the dtype of the input. ``J[k][i]`` belongs to output
        k and input i; the index k is there if `func` returns a tuple, the index i if `inputs` is one.

    Notes
    -----
    ``grad`` of parameters that `func` uses stays as it is.
    """
    return _jacobian("jacobian", func, inputs, create_graph, strict, vectorize, "strategy", strategy)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of a function with one number as its output: ``H[a, b] = d2y / dx[a] dx[b]``.

    It is the `jacobian` of the gradient; signature and nesting are those of torch.autograd.functional.hessian. Raises
    the errors of `jacobian`, and ValueError if `func` returns more than one number.

    Parameters
    ----------
    func : callable
        It takes the inputs as its arguments and returns one Tensor of one element.
    inputs, create_graph, strict, vectorize, outer_jacobian_strategy
        As for `jacobian`.

    Returns
    -------
    Tensor or tuple of tuples of Tensor
        A block has the shape ``input_i.shape + input_j.shape``; ``H[i][j]`` if `inputs` is a tuple.
    """
    many, given = tensors_of("hessian", "inputs", inputs)

    def gradient(*xs: Tensor) -> tuple[Tensor, ...]:
        y = number_of("hessian", func, xs, strict)
        g = gradients([y], xs, [filled(1, y)], True)
        varying("hessian", g, strict, "the gradient with respect to input {k} does not depend on the inputs")
        return tuple(filled(0, x) if d is None else d for d, x in zip(g, xs, strict=True))

    what = "outer_jacobian_strategy"
    found = _jacobian("hessian", gradient, given, create_graph, strict, vectorize, what, outer_jacobian_strategy)
    return found if many else found[0][0]


def _jacobian(
    name: str, func: Any, inputs: Any, create_graph: Any, strict: Any, vectorize: Any, what: str, strategy: str
) -> Any:
    create_graph, strict = check.flag(name, "create_graph", create_graph), check.flag(name, "strict", strict)
    check.flag(name, "vectorize", vectorize)
    check.choice(name, what, strategy, STRATEGIES)
    blocks_of = by_rows if strategy == "reverse-mode" else by_columns
    with enable_grad():
        many_in, xs = starts_of(name, inputs, create_graph)
        many_out, ys = outputs_of(name, func, xs, strict)
        blocks = blocks_of(name, ys, xs, create_graph, strict)
    rows = [finish(row, create_graph) for row in blocks]
    results = tuple(row if many_in else row[0] for row in rows)
    return results if many_out else results[0]


def by_rows(name: str, ys: Sequence[Tensor], xs: Sequence[Tensor], create_graph: bool, strict: bool) -> Blocks:
    """A backward pass for each element of the outputs."""
    blocks = []
    for k, y in enumerate(ys):
        rows: list[list[Tensor]] = [[] for _ in xs]
        for v in units(y):
            found = gradients([y], xs, [v], create_graph, retain_graph=True)
            for i, (g, x) in enumerate(zip(found, xs, strict=True)):
                _check_dependence(name, g, k, i, create_graph, strict)
                rows[i].append(filled(0, x) if g is None else g)
        blocks.append([_side_by_side(row, 0, y.shape + x.shape, x) for row, x in zip(rows, xs, strict=True)])
    return blocks


def by_columns(name: str, ys: Sequence[Tensor], xs: Sequence[Tensor], create_graph: bool, strict: bool) -> Blocks:
    """A pass through the backward pass for each element of the inputs: the trick of `jvp`."""
    us = [filled(0, y, y.requires_grad) for y in ys]
    columns: list[list[list[Tensor]]] = [[[] for _ in xs] for _ in ys]
    for i, (g, x) in enumerate(zip(gradients(ys, xs, us, True), xs, strict=True)):
        for v in units(x):
            found = gradients([g], us, [v], create_graph, retain_graph=True)
            for k, (d, y) in enumerate(zip(found, ys, strict=True)):
                _check_dependence(name, d, k, i, create_graph, strict)
                columns[k][i].append(filled(0, y) if d is None else d)
    return [
        [_side_by_side(column, y.ndim, y.shape + x.shape, x) for column, x in zip(row, xs, strict=True)]
        for row, y in zip(columns, ys, strict=True)
    ]


def units(like: Tensor) -> Iterator[Tensor]:
    """For each element of `like`: zeros with a 1 in its place."""
    for k in range(like.size):
        unit = np.zeros(like.shape, like.dtype)
        unit.flat[k] = 1
        yield leaf(like.device, like.device.asarray(unit))


def _side_by_side(parts: Sequence[Tensor], axis: int, shape: tuple[int, ...], x: Tensor) -> Tensor:
    if not prod(shape):
        return zeros(shape, x)
    return astype(reshape(stack(parts, axis), shape), x.dtype)


def _check_dependence(name: str, g: Tensor | None, k: int, i: int, create_graph: bool, strict: bool) -> None:
    if strict and g is None:
        raise independent(name, f"output {k} does not depend on input {i}")
    if strict and create_graph and g is not None and not g.requires_grad:
        raise independent(name, f"the derivative of output {k} with respect to input {i} is a constant")
