"""NumPy's functions called with Tensors that require gradients. The matching op is recorded; other functions raise.

``np.stack([p, p])`` is ``mr.stack([p, p])``. `SAME` has the functions whose arguments and meaning an op also has. For
Tensors without gradients, NumPy uses the values and returns arrays.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import einstein, extremes, norms, products, reductions, shapes, statistics
from minirnn.ops.primitives.combined import logaddexp
from minirnn.ops.primitives.declare import DECLARED, method
from minirnn.ops.primitives.elementwise import absolute, where

WRITES = {np.copyto, np.put, np.putmask, np.place, np.put_along_axis, np.fill_diagonal}
"""Functions that write into an array, where gradients cannot follow."""


def _dot(a: Any, b: Any) -> Tensor:
    if np.ndim(b) > 2:
        raise TypeError("dot has no axes of a batch, and matmul has")
    return products.matmul(a, b)


SAME: dict[Any, Callable[..., Any]] = {
    np.sum: lambda a, axis=None, dtype=None, keepdims=False: reductions.sum(a, axis, keepdims, dtype=dtype),
    np.mean: lambda a, axis=None, dtype=None, keepdims=False: reductions.mean(a, axis, keepdims, dtype=dtype),
    np.max: lambda a, axis=None, keepdims=False: extremes.amax(a, axis, keepdims),
    np.min: lambda a, axis=None, keepdims=False: extremes.amin(a, axis, keepdims),
    np.var: lambda a, axis=None, ddof=0, keepdims=False: statistics.var(a, axis, correction=ddof, keepdims=keepdims),
    np.std: lambda a, axis=None, ddof=0, keepdims=False: statistics.std(a, axis, correction=ddof, keepdims=keepdims),
    np.where: where,
    np.reshape: lambda a, shape: shapes.reshape(a, shape),
    np.transpose: lambda a, axes=None: shapes.transpose(a, axes) if axes is not None else shapes.transpose(a),
    np.squeeze: lambda a, axis=None: shapes.squeeze(a, axis),
    np.broadcast_to: lambda array, shape: shapes.broadcast_to(array, shape),
    np.concatenate: lambda arrays, axis=0: shapes.concat(arrays, axis),
    np.stack: lambda arrays, axis=0: shapes.stack(arrays, axis),
    np.dot: _dot,
    np.linalg.norm: lambda x, axis=None, keepdims=False: norms.norm(x, "fro", axis, keepdims),
    np.einsum: lambda equation, *operands: einstein.einsum(equation, *operands),
}
"""Maps a function of NumPy to an op, with the arguments that mean the same. Other arguments raise."""
SAME[np.amax], SAME[np.amin] = SAME[np.max], SAME[np.min]

_TESTING = str(Path(np.__file__).parent / "testing")


def _values(given: Any) -> Any:
    """The arguments with each Tensor replaced by its array."""
    if isinstance(given, (list, tuple)):
        return type(given)(map(_values, given)) if type(given) in (list, tuple) else given
    if isinstance(given, dict):
        return {name: _values(value) for name, value in given.items()}
    return given.numpy() if isinstance(given, Tensor) else given


def _floats(found: Any) -> bool:
    """Whether a result contains floats or complex numbers."""
    if isinstance(found, (list, tuple)):
        return any(map(_floats, found))
    return isinstance(found, (np.ndarray, np.generic, float, complex)) and np.asarray(found).dtype.kind in "fc"


def _recorded(given: Any) -> bool:
    if isinstance(given, (list, tuple)):
        return any(map(_recorded, given))
    return isinstance(given, Tensor) and given.requires_grad and mode.enabled


NO_OUT = "no out=: NumPy would write into it, and results are new Tensors"


def _lost(function: Any, expected: str = "") -> TypeError:
    name = function.__name__
    op = f"t.{name}(...)" if hasattr(Tensor, name) else "an op of minirnn"
    expected = expected or f"{op}, or t.detach() for only the values"
    return TypeError(f"np.{name}: got a Tensor that requires gradients, which NumPy would lose\n  expected {expected}")


def _array_as_out(function: Any, out: Any) -> None:
    """Raise TypeError if NumPy is asked to write into a Tensor."""
    if any(isinstance(o, Tensor) for o in (out if isinstance(out, tuple) else (out,))):
        raise TypeError(f"np.{function.__name__}: out is a Tensor\n  expected an array; t.copy_(...) writes into t")


@method
def __array__(x: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The values as a NumPy array. NumPy calls this for ``np.asarray(t)``, and twice for ``np.array([t, t])``.

    Raises TypeError if the Tensor requires gradients, because they would be lost. `np.testing` is exempt, because it
    only compares values.
    """
    if _recorded(x) and not sys._getframe(1).f_code.co_filename.startswith(_TESTING):
        raise TypeError(
            f"np.asarray: got a Tensor of shape {x.shape} that requires gradients, which NumPy would lose\n"
            "  expected t.numpy() or t.detach() for only the values, or mr.stack(list) in place of a list"
        )
    view = x.numpy()
    if dtype is not None and view.dtype != dtype:
        if copy is False:
            raise ValueError(f"a Tensor of dtype {x.dtype} cannot become {np.dtype(dtype)} without a copy")
        return view.astype(dtype)
    return view.copy() if copy else view


@method
def __array_function__(x: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """The result of a NumPy function of Tensors. NumPy calls this for ``np.sum(t)``.

    Raises TypeError if a Tensor requires gradients, and the function is not in `SAME` and returns floats or
    writes into an array, because the gradients would be lost.
    """
    _array_as_out(function, kwargs.get("out"))
    if not _recorded([*args, *kwargs.values()]):
        return function(*_values(args), **_values(kwargs))
    if kwargs.get("out") is not None:
        raise _lost(function, NO_OUT)
    if function in WRITES:
        raise _lost(function)
    found = function(*_values(args), **_values(kwargs))  # raises NumPy's own errors
    recorded = SAME.get(function)
    if recorded is None:
        if not _floats(found):  # the result has no gradient
            return found
        raise _lost(function)
    given = {name: value for name, value in kwargs.items() if name != "out"}
    try:
        result = recorded(*args, **given)
    except (TypeError, ValueError) as error:  # NumPy accepted these arguments
        if isinstance(error, TypeError) and "\n" in str(error):  # a sentence of minirnn
            raise
        raise _lost(function, "only its arguments with a gradient; the others are not recorded") from None
    if isinstance(result, Tensor) and result.shape != np.shape(found):
        raise _lost(function)
    return result


@method
def __float__(x: Tensor) -> float:
    """The only element as a float.

    Raises TypeError if NumPy takes it to store it in an array, and the Tensor requires gradients: they would be lost.
    """
    if x._requires_grad and mode.enabled and (name := _stored_by(sys._getframe(1))):
        raise TypeError(
            f"{name}: got a Tensor that requires gradients, which NumPy would lose\n"
            "  expected t.item() or t.detach() for only the value"
        )
    return float(x.item())


def _stored_by(frame: Any) -> str:
    """The function of NumPy, or the assignment to an element, for which the running instruction takes a number."""
    code = frame.f_code
    if dis.opname[code.co_code[frame.f_lasti]] == "STORE_SUBSCR":
        return "a[k] = t"
    for name in {"fromiter", "array", "fill", "__setitem__"}.intersection(code.co_names):
        lines = list(code.co_positions())
        start = lines[frame.f_lasti // 2][::2]  # line and column where the call begins, as its function's name does
        for instruction in dis.get_instructions(code):
            position = instruction.positions
            if instruction.argval == name and position and (position.lineno, position.col_offset) == start:
                return {"fromiter": "np.fromiter", "array": "np.array", "fill": "a.fill"}.get(name, "a[k] = t")
    return ""


@cache
def _of_ufuncs() -> dict[str, Callable[..., Any]]:
    """The ops by name. These are the names of NumPy's elementwise functions."""
    return {function.__name__: function for function in DECLARED} | {"logaddexp": logaddexp, "fabs": absolute}


@method
def __array_ufunc__(x: Tensor, function: np.ufunc, way: str, *inputs: Any, **kwargs: Any) -> Any:
    """The Tensor that a NumPy ufunc returns. NumPy calls this for ``np.exp(t)`` and for ``array * t``.

    Raises TypeError if a Tensor requires gradients, and there is no matching op or its arguments differ.
    """
    _array_as_out(function, kwargs.get("out"))
    op = _of_ufuncs().get(function.__name__) if way == "__call__" and not kwargs else None
    recorded = _recorded(inputs)
    if op is not None and (recorded or function.nin == 2):
        return op(*inputs)
    if recorded:
        raise _lost(function, NO_OUT) if "out" in kwargs else _lost(function)
    return getattr(function, way)(*_values(inputs), **kwargs)
