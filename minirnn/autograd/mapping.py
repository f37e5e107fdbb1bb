"""vmap: a function of one sample becomes a function of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.autograd.trees import leaves_of, mapped, same_shape
from minirnn.engine.tensor import Tensor
from minirnn.ops.primitives.pieces import unbind
from minirnn.ops.primitives.shapes import stack


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, **settings: Any) -> Callable[..., Any]:
    """The function that applies `func` to each sample of a batch: ``y[b] = func(x[b])`` for each b.

    This is the plain case of torch.func.vmap. `func` is called once per sample, with `unbind` before and `stack` after
    it, so it takes the time of the loop, and each sample draws its own random numbers. Raises TypeError or ValueError
    for settings that do not exist here or are out of range. The returned function raises ValueError if the settings do
    not fit the arguments or results, if there are no samples, if arguments have different numbers of samples, or if
    `func` returns different structures for different samples.

    Parameters
    ----------
    func : callable
        It takes samples and returns Tensors, also inside tuples, named tuples, lists and dicts.
    in_dims : int, None, or tuple of these
        The axis of the samples in each argument, or None for an argument that is the same for all samples. A single
        number applies to all arguments. Keyword arguments are the same for all samples.
    out_dims : int or tuple of int
        The position of that axis in each result. A single number applies to all results.
    **settings
        torch's `randomness` and `chunk_size`, and any other setting, are refused.

    Returns
    -------
    callable
        It takes the arguments of `func` with the axis of the samples, and returns its results with that axis.

    Examples
    --------
    The gradient of each sample's loss with respect to the same weights (w requires gradients)::

        def gradient(w, x, y):
            return mr.grad(((x @ w - y) ** 2).sum(), w)

        mr.vmap(gradient, in_dims=(None, 0, 0))(w, x, y)  # (B, *w.shape)
    """
    if not callable(func):
        raise TypeError(f"vmap: func is a {type(func).__name__}\n  expected a callable")
    if settings:
        raise TypeError(
            f"vmap: got {', '.join(settings)}\n  expected only func, in_dims and out_dims: each sample"
            " draws its own random numbers"
        )
    for what, dims, none in (("in_dims", in_dims, " or None"), ("out_dims", out_dims, "")):
        for dim in dims if isinstance(dims, tuple) else (dims,):
            is_none = dim is None and what == "in_dims" and isinstance(dims, tuple)
            if not is_none and not check.is_integer(dim):
                raise ValueError(f"vmap: {what} is {shown(dims)}\n  expected an axis, or a tuple of an axis{none} each")

    @wraps(func, updated=())
    def over_a_batch(*args: Any, **kwargs: Any) -> Any:
        return _joined([func(*sample, **kwargs) for sample in _samples(args, in_dims)], out_dims)

    return over_a_batch


def _dims_of_leaves(what: str, dims: Any, values: tuple[Any, ...]) -> list[int | None]:
    """The axis of each Tensor inside the arguments or results."""
    entries = dims if isinstance(dims, tuple) else (dims,) * len(values)
    if len(entries) != len(values):
        raise ValueError(
            f"vmap: {what} is {shown(dims)} for {len(values)} values\n  expected an axis for each, or one for all"
        )
    return [dim for dim, value in zip(entries, values, strict=True) for _ in leaves_of(value)]


def _samples(args: tuple[Any, ...], in_dims: Any) -> list[Any]:
    """The arguments of each call. All samples of a Tensor are cut in one op: its backward is linear in their number.

    Raises ValueError if arguments and `in_dims` do not fit.
    """
    leaves, dims = list(leaves_of(args)), _dims_of_leaves("in_dims", in_dims, args)
    sizes = {}
    for value, dim in zip(leaves, dims, strict=True):
        if dim is not None and not (isinstance(value, Tensor) and -value.ndim <= dim < value.ndim):
            got = f"shape {value.shape}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise ValueError(
                f"vmap: in_dims has the axis {dim} for {shown(value)}, {got}\n"
                "  expected a Tensor with that axis, or None in in_dims for values that all samples share"
            )
        if dim is not None:
            sizes[value.shape[dim]] = value.shape
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            f"vmap: got {' and '.join(map(str, sizes)) or 'no'} samples, in arguments of shapes"
            f" {', '.join(map(str, sizes.values()))}\n  expected one or more, as many in each argument; see in_dims"
        )
    (count,) = sizes
    columns = [[t] * count if dim is None else unbind(t, int(dim)) for t, dim in zip(leaves, dims, strict=True)]
    return [_rebuilt(args, sample) for sample in zip(*columns, strict=True)]


def _rebuilt(nest: Any, leaves: Sequence[Any]) -> Any:
    """`nest` with its leaves replaced."""
    given = iter(leaves)
    return mapped(lambda _: next(given), nest)


def _joined(results: list[Any], out_dims: Any) -> Any:
    """The results of all samples as one, stacked along `out_dims`."""
    first = results[0]
    dims = _dims_of_leaves("out_dims", out_dims, first if isinstance(first, tuple) else (first,))
    for b, result in enumerate(results):
        for k, part in enumerate(leaves_of(result)):
            if not isinstance(part, Tensor):
                raise ValueError(f"vmap: result {k} is {shown(part)}, a {type(part).__name__}\n  expected a Tensor")
        if not same_shape(first, result):
            raise ValueError(
                f"vmap: the result for sample {b}, a {type(result).__name__}, differs in structure from sample 0\n"
                "  expected the same nest of Tensors for each"
            )
    columns = zip(*map(leaves_of, results), strict=True)
    return _rebuilt(first, [_stacked(k, *each) for k, each in enumerate(zip(columns, dims, strict=True))])


def _stacked(k: int, parts: Sequence[Tensor], dim: Any) -> Tensor:
    """Result number `k` of all samples."""
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        raise ValueError(f"vmap: result {k} has the shapes {shown(sorted(shapes))}\n  expected one for all samples")
    ndim = parts[0].ndim
    if not -ndim - 1 <= dim <= ndim:
        raise ValueError(
            f"vmap: out_dims has the axis {dim} for a result of shape {parts[0].shape}\n"
            f"  expected one of {ndim + 1} places"
        )
    return stack(parts, int(dim))
