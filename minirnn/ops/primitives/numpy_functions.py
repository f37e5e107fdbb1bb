"""NumPy's functions called with Tensors that require gradients. The matching op is recorded; other functions raise.

``np.stack([p, p])`` is ``mr.stack([p, p])``. For Tensors without gradients, NumPy uses the values and returns arrays.
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
"""NumPy's functions whose arguments have the same meaning here, and the matching ops."""


_TESTING = str(Path(np.__file__).parent / "testing")


def _values(given: Any) -> Any:
    """The arguments with each Tensor replaced by its array."""
    if isinstance(given, (list, tuple)):
        return type(given)(map(_values, given)) if type(given) in (list, tuple) else given
    if isinstance(given, dict):
        return {name: _values(value) for name, value in given.items()}
    return given.numpy() if isinstance(given, Tensor) else given


def _floats(found: Any) -> bool:
    """Whether a result contains floats."""
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
        "  expected an op of minirnn, or t.detach() for only the values"
    )


@method
def __array__(x: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    """The values as a NumPy array. NumPy calls this for ``np.asarray(t)``, and twice for ``np.array([t, t])``.

    Raises
    ------
    TypeError
        If the Tensor requires gradients, because they would be lost. `np.testing` is exempt, because it only compares
        values.
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

    Raises
    ------
    TypeError
        If a Tensor requires gradients, and the function is not in `SAME` and returns floats, because the gradients
        would be lost.
    """
    if not _recorded(args) and not _recorded(list(kwargs.values())):
        return function(*_values(args), **_values(kwargs))
    if function is np.max or function is np.min:
        function = np.amax if function is np.max else np.amin
    if function not in SAME:
        found = function(*_values(args), **_values(kwargs))
        if not _floats(found):  # the result has no gradient
            return found
        raise _lost(function)
    return SAME[function](*args, **kwargs)


@cache
def _of_ufuncs() -> dict[str, Callable[..., Any]]:
    """The ops by name. These are the names of NumPy's elementwise functions."""
    return {function.__name__: function for function in DECLARED}


@method
def __array_ufunc__(x: Tensor, function: np.ufunc, way: str, *inputs: Any, **kwargs: Any) -> Any:
    """The Tensor that a NumPy ufunc returns. NumPy calls this for ``np.exp(t)`` and for ``array * t``.

    Raises
    ------
    TypeError
        If a Tensor requires gradients, and there is no matching op or its arguments differ.
    """
    op = _of_ufuncs().get(function.__name__) if way == "__call__" and not kwargs else None
    recorded = _recorded(inputs)
    if op is not None and (recorded or function.nin == 2):
        return op(*inputs)
    if recorded:
        raise _lost(function)
    return getattr(function, way)(*_values(inputs), **kwargs)
