"""NumPy's functions of Tensors that require gradients: the op of the same meaning is recorded, others are refused.

``np.stack([p, p])`` is ``mr.stack([p, p])``. Of Tensors without gradients NumPy takes the values and returns arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.engine.tape import mode
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives import elementwise, extremes, norms, products, reductions, scans, shapes, views
from minirnn.ops.primitives.declare import DECLARED, method

SAME: dict[Any, Callable[..., Any]] = {
    np.sum: reductions.sum, np.mean: reductions.mean, np.prod: scans.prod, np.cumsum: scans.cumsum,
    np.cumprod: scans.cumprod, np.amax: extremes.amax, np.amin: extremes.amin, np.stack: shapes.stack,
    np.concatenate: shapes.concat, np.where: elementwise.where, np.reshape: shapes.reshape,
    np.transpose: shapes.transpose, np.squeeze: shapes.squeeze, np.expand_dims: shapes.expand_dims,
    np.broadcast_to: shapes.broadcast_to, np.swapaxes: views.swapaxes, np.moveaxis: views.movedim,
    np.dot: products.matmul, np.outer: products.outer, np.linalg.norm: norms.norm,
}  # fmt: skip
"""Functions whose arguments mean the same there and here."""


_TESTING = str(Path(np.__file__).parent / "testing")


def _values(given: Any) -> Any:
    """Arguments with arrays in the place of Tensors."""
    if isinstance(given, (list, tuple)):
        return type(given)(map(_values, given)) if type(given) in (list, tuple) else given
    if isinstance(given, dict):
        return {name: _values(value) for name, value in given.items()}
    return given.numpy() if isinstance(given, Tensor) else given


def _floats(found: Any) -> bool:
    """Whether a result has floats in it."""
    if isinstance(found, (list, tuple)):
        return any(map(_floats, found))
    return isinstance(found, (np.ndarray, np.generic, float)) and np.asarray(found).dtype.kind == "f"


def _recorded(given: Any) -> bool:
    if isinstance(given, (list, tuple)):
        return any(map(_recorded, given))
    return isinstance(given, Tensor) and given.requires_grad and mode.enabled


def _lost(function: Any) -> TypeError:
    return TypeError(
        f"np.{function.__name__}: got a Tensor that requires gradients, which NumPy would lose\n"
        "  expected an op of minirnn, or t.detach() for the values alone"
    )


@method
def __array__(x: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """What NumPy calls for ``np.asarray(t)``, also of what is in a list: ``np.array([t, t])``.

    Raises
    ------
    TypeError
        If the Tensor requires gradients: they would be lost. `np.testing` may have the values: it computes nothing.
    """
    if _recorded(x) and not sys._getframe(1).f_code.co_filename.startswith(_TESTING):
        raise TypeError(
            f"np.asarray: got a Tensor of shape {x.shape} that requires gradients, which NumPy would lose\n"
            "  expected t.numpy() or t.detach() for the values alone, or mr.stack(list) in place of a list"
        )
    view = x.numpy()
    if dtype is not None and view.dtype != dtype:
        if copy is False:
            raise ValueError(f"a Tensor of dtype {x.dtype} cannot become {np.dtype(dtype)} without a copy")
        return view.astype(dtype)
    return view.copy() if copy else view


@method
def __array_function__(x: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy calls for ``np.sum(t)``.

    Raises
    ------
    TypeError
        If a Tensor requires gradients, the function is none of `SAME` and gives floats: they would lose the gradients.
    """
    if not _recorded(args) and not _recorded(list(kwargs.values())):
        return function(*_values(args), **_values(kwargs))
    if function is np.max or function is np.min:
        function = np.amax if function is np.max else np.amin
    if function not in SAME:
        found = function(*_values(args), **_values(kwargs))
        if not _floats(found):  # what has no gradient
            return found
        raise _lost(function)
    return SAME[function](*args, **kwargs)


@cache
def _of_ufuncs() -> dict[str, Callable[..., Any]]:
    """The ops by their names, which are those of NumPy's functions of single elements."""
    return {function.__name__: function for function in DECLARED}


@method
def __array_ufunc__(x: Tensor, function: np.ufunc, way: str, *inputs: Any, **kwargs: Any) -> Any:
    """What NumPy calls for ``np.exp(t)`` and for ``array * t``, which is a Tensor.

    Raises
    ------
    TypeError
        If a Tensor requires gradients and there is no such op, or it has other arguments.
    """
    op = _of_ufuncs().get(function.__name__) if way == "__call__" and not kwargs else None
    recorded = _recorded(inputs)
    if op is not None and (recorded or function.nin == 2):
        return op(*inputs)
    if recorded:
        raise _lost(function)
    return getattr(function, way)(*_values(inputs), **kwargs)
