"""Op: what a node of the tape means.

Every op has a ``backward``: given the gradient of what it made, it returns the gradients of what went in. The formula
is written once and read in two ways: on Tensors, so that gradients can be differentiated again
(``create_graph=True``), or, for ops marked ``arithmetic``, on the bare arrays, which is several times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Op:
    """What a node of the tape means. One instance may serve many nodes; attributes (an axis, say) live on the instance.

    Class attributes
    ----------------
    arithmetic : bool
        ``backward`` uses nothing but ``+ - * / **`` and unary ``-``, so it may be given bare arrays.
    broadcasts : bool
        Inputs were broadcast against each other: their gradients are summed back to their shapes (and cast to their
        dtypes) after ``backward``.
    reads_inputs : bool
        ``backward`` uses the values of the inputs: changing one of them before the backward pass is an error.
    only_others : bool
        The value of an input is used for the gradients of the other inputs alone.
    saves : bool
        ``backward`` uses values at all. They are let go after a pass; a node without any may be walked again.
    view : bool
        The output is a part of the only input, or all of it in another shape: writing into it writes into the input.
    precision : str or None
        How the forward pass multiplied float32 matrices (`use_precision`); the backward pass does the same. None: the
        op multiplies none.
    """

    arithmetic = False
    broadcasts = False
    reads_inputs = True
    only_others = False
    saves = True
    view = False
    precision: str | None = None

    @property
    def name(self) -> str:
        return type(self).__name__

    backward: Callable[..., Sequence[Any]]
    """``backward(dy, y, *inputs)``: gradients of the inputs, in their order, None where there is none.

    `dy` is the gradient of the output `y`. For an op with several outputs `dy` and `y` are lists, and entries of `dy`
    are None where nothing arrived.
    """

    whole: Callable[..., Any]
    """Of a view: ``whole(x, y)`` is the input `x`, a version that nobody else has, with `y` written into its place."""


class Freed(Op):
    """Takes the place of an op whose part of the tape was given back."""


FREED = Freed()
