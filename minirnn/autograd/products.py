"""Products of a Jacobian or a Hessian with a vector, without ever making the matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minirnn.arguments import check
from minirnn.autograd.separate_tape import (
    filled,
    finish,
    gradients,
    number_of,
    outputs_of,
    reached,
    starts_of,
    varying,
    vectors_of,
)
from minirnn.engine.tape import enable_grad
from minirnn.engine.tensor import Tensor

UNREACHED = "the outputs do not depend on input {k}"
CONSTANT = "the gradient with respect to input {k} does not depend on the inputs"


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """A vector times the Jacobian: ``y, v' J`` with ``J = dy/dx``. One backward pass.

    For several inputs and outputs the gradient of input i is the sum over the outputs k of ``v_k' dy_k/dx_i``. The
    signature and the nesting of the results are those of torch.autograd.functional.vjp. Raises TypeError if `inputs`,
    `v` or what `func` returned are not Tensors, or an input has no floating dtype; ValueError if `v` does not fit, or
    is needed; RuntimeError if `strict` is set and something is independent.

    Parameters
    ----------
    func : callable
        It takes the inputs as its arguments and returns a Tensor or a tuple of Tensors.
    inputs : Tensor or tuple of Tensor
        Floating ones. Whether they require gradients does not matter.
    v : Tensor or tuple of Tensor, optional
        One for each output, of its shape. It may be left out for a single output of one element: 1.
    create_graph : bool
        Record, so that the results can be differentiated again, with respect to `inputs`, `v`, and what `func` uses.
    strict : bool
        Raise an error if the tape has no path between an input and an output. By default the derivative is zeros.

    Returns
    -------
    outputs : Tensor or tuple of Tensor
        What `func` returned; detached unless `create_graph` is set.
    vjp : Tensor or tuple of Tensor
        Like `inputs`.

    Notes
    -----
    ``grad`` of parameters that `func` uses stays as it is.
    """
    create_graph, strict = _flags("vjp", create_graph, strict)
    with enable_grad():
        many_in, xs = starts_of("vjp", inputs, create_graph)
        many_out, ys = outputs_of("vjp", func, xs, strict)
        vs = vectors_of("vjp", v, ys, "output", create_graph)
        found = gradients(ys, xs, vs, create_graph)
    result = reached("vjp", found, xs, strict, UNREACHED)
    if create_graph:
        varying("vjp", result, strict, CONSTANT)
    return _unpacked(ys, many_out, create_graph), _unpacked(result, many_in, create_graph)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The Jacobian times a vector: ``y, J v``, how the outputs change when the inputs move along `v`.

    The tape only goes backward, so this is the gradient of a gradient. For a vector u of the outputs' shapes, the
    backward pass gives ``g(u) = J' u``, which is linear in u. Its own backward pass, with respect to u and with the
    cotangent v, gives ``(dg/du)' v = J v``. The value of u does not matter: it is 0. Raises the errors of `vjp`.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    v : Tensor or tuple of Tensor, optional
        One for each input, of its shape. It may be left out for a single input of one element: 1.

    Returns
    -------
    outputs : Tensor or tuple of Tensor
        What `func` returned.
    jvp : Tensor or tuple of Tensor
        Like `outputs`.
    """
    create_graph, strict = _flags("jvp", create_graph, strict)
    with enable_grad():
        _, xs = starts_of("jvp", inputs, create_graph)
        vs = vectors_of("jvp", v, xs, "input", create_graph)
        many_out, ys = outputs_of("jvp", func, xs, strict)
        us = [filled(0, y, y.requires_grad) for y in ys]
        g = gradients(ys, xs, us, True)
        varying("jvp", g, strict, UNREACHED)
        found = gradients(g, us, vs, create_graph)
    result = reached("jvp", found, ys, strict, "output {k} does not depend on the inputs")
    if create_graph:
        varying("jvp", result, strict, "the derivative of output {k} does not depend on the inputs")
    return _unpacked(ys, many_out, create_graph), _unpacked(result, many_out, create_graph)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The Hessian of a function with one number as its output, times a vector: ``y, H v``.

    The `jvp` of the gradient: with a vector u of the inputs' shapes, ``h(u) = H' u`` is linear in u, and its gradient
    with respect to u with the cotangent v is ``H v``. Three backward passes. If the function is twice continuously
    differentiable, H is symmetric, and the gradient of ``<v, dy/dx>`` gives the same in two. Raises the errors of
    `vjp`, and ValueError if `func` returns more than one number.

    Parameters
    ----------
    func : callable
        It takes the inputs as its arguments and returns one Tensor of one element.
    inputs, create_graph, strict
        As for `vjp`.
    v : Tensor or tuple of Tensor, optional
        One for each input, of its shape. It may be left out for a single input of one element: 1.

    Returns
    -------
    output : Tensor
        What `func` returned.
    hvp : Tensor or tuple of Tensor
        Like `inputs`.
    """
    create_graph, strict = _flags("hvp", create_graph, strict)
    with enable_grad():
        many, xs = starts_of("hvp", inputs, create_graph)
        vs = vectors_of("hvp", v, xs, "input", create_graph)
        y = number_of("hvp", func, xs, strict)
        g = gradients([y], xs, [filled(1, y)], True)
        varying("hvp", g, strict, CONSTANT)
        us = [filled(0, x, True) for x in xs]
        h = gradients(g, xs, us, True)
        found = gradients(h, us, vs, create_graph)
    result = reached("hvp", found, xs, strict, CONSTANT)
    if create_graph:
        varying("hvp", result, strict, "the Hessian does not depend on input {k}")
    return _unpacked([y], False, create_graph), _unpacked(result, many, create_graph)


def _flags(name: str, create_graph: Any, strict: Any) -> tuple[bool, bool]:
    return check.flag(name, "create_graph", create_graph), check.flag(name, "strict", strict)


def _unpacked(found: Any, many: bool, create_graph: bool) -> Tensor | tuple[Tensor, ...]:
    results = finish(found, create_graph)
    return results if many else results[0]
