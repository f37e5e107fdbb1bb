"""The ops that are also available directly from `minirnn`, as in torch: ``mr.exp`` is ``mr.ops.exp``."""

# ruff: noqa: F403, F405
from minirnn.ops.primitives import *

__all__ = ["abs", "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "bmm", "broadcast_to", "cat", "ceil"]
__all__ += ["chunk", "clamp", "clip", "concat", "cos", "count_nonzero", "cumprod", "cumsum", "diff", "dot", "einsum"]
__all__ += ["erf", "exp", "expm1", "flatten", "flip", "floor", "gather", "index_select", "isfinite", "isinf", "isnan"]
__all__ += ["log", "log1p", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp"]
__all__ += ["masked_fill", "matmul", "max", "maximum", "mean", "min", "minimum", "mm", "movedim", "mv", "narrow"]
__all__ += ["norm", "outer", "permute", "pow", "prod", "reciprocal", "relu", "reshape", "roll", "round", "rsqrt"]
__all__ += ["scatter", "scatter_add", "sigmoid", "sign", "sin", "softmax", "sort", "split", "sqrt", "square"]
__all__ += ["squeeze", "stack", "std", "sum", "swapaxes", "tan", "tanh", "tile", "topk", "transpose", "tril", "triu"]
__all__ += [
    "eq",
    "ge",
    "gt",
    "le",
    "lt",
    "ne",
    "neg",
    "take_along_dim",
    "trunc",
    "unbind",
    "unflatten",
    "unsqueeze",
    "var",
    "var_mean",
    "where",
]
__all__ += ["eq", "ge", "gt", "le", "lt", "ne", "neg", "take_along_dim"]
