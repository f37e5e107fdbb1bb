"""The ops that are also available directly from `minirnn`, as in torch: ``mr.exp`` is ``mr.ops.exp``."""

# ruff: noqa: F403
from typing import TYPE_CHECKING

from minirnn.ops import primitives
from minirnn.ops.primitives import *

ONLY_BELOW = {
    "absolute", "add", "astype", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clamp_max",
    "clamp_min", "clone", "concatenate", "div", "divide", "embedding", "equal", "expand", "expand_as",
    "expand_dims", "floor_divide", "getitem", "greater", "greater_equal", "identity", "less", "less_equal",
    "matrix_transpose", "moveaxis", "mul", "multiply", "negative", "not_equal", "power", "put_add", "remainder",
    "repeat", "sub", "subtract", "swapdims", "t", "take_along_axis", "to", "view",
}  # fmt: skip
"""Ops that are not at the top: other spellings, methods of a Tensor, and those of `lookup.at_the_top`."""

if not TYPE_CHECKING:  # a type checker reads the `__all__` lists of the modules
    __all__ = [name for name in primitives.__all__ if name not in ONLY_BELOW]
