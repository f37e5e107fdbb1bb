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
    precision : str or None
        How the forward pass multiplied float32 matrices (`use_precision`): the backward pass does so, too. None: the op
        multiplies none.
    """

    arithmetic = False
    broadcasts = False
    reads_inputs = True
    precision: str | None = None

    @property
    def name(self) -> str:
        return type(self).__name__

    backward: Callable[..., Sequence[Any]]
    """``backward(dy, y, *inputs)``: gradients of the inputs, in their order, None where there is none.

    `dy` is the gradient of the output `y`. For an op with several outputs `dy` and `y` are lists, and entries of `dy`
    are None where nothing arrived.
    """


class Freed(Op):
    """Takes the place of an op whose part of the tape was given back."""


FREED = Freed()
