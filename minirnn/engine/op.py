"""Op: the operation of a node of the tape.

Every op has a ``backward``, which computes the gradients of the inputs from the gradient of the output. The formula is
written once and runs in two ways. It runs on Tensors, so that gradients can be differentiated again
(``create_graph=True``). For ops marked ``arithmetic`` it also runs on bare arrays, which is several times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Op:
    """The operation of a node of the tape. Many nodes may share one instance, which holds attributes such as an axis.

    Class attributes
    ----------------
    arithmetic : bool
        ``backward`` uses nothing but ``+ - * / **`` and unary ``-``, so it may be given bare arrays.
    broadcasts : bool
        Inputs were broadcast against each other. After ``backward``, their gradients are summed back to their shapes
        (and cast to their dtypes).
    reads_inputs : bool
        ``backward`` uses the values of the inputs. Changing one of them before the backward pass is an error.
    only_others : bool
        The value of an input is used only for the gradients of the other inputs.
    saves : bool
        ``backward`` uses saved values. They are freed after a pass. A node without any can take part in another pass.
    view : bool
        The output is a part of the only input, or all of it in another shape. Writing into it writes into the input.
    precision : str or None
        How the forward pass multiplied float32 matrices (`use_precision`); the backward pass does the same. None if the
        op multiplies no matrices.
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
    """``backward(dy, y, *inputs)`` returns the gradients of the inputs, in their order, None where there is none.

    `dy` is the gradient of the output `y`. For an op with several outputs `dy` and `y` are lists, and entries of `dy`
    are None where nothing arrived.
    """

    whole: Callable[..., Any]
    """For a view, ``whole(x, y)`` is a new version of the input `x` in which `y` replaces the viewed part."""


class Freed(Op):
    """Replaces an op whose part of the tape was freed."""


FREED = Freed()
