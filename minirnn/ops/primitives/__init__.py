"""Primitive ops: the vocabulary in which every backward formula is written."""

from minirnn.ops.primitives import operators as _operators  # noqa: F401  (attaches the operators to Tensor)
from minirnn.ops.primitives.arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    multiply,
    negative,
    not_equal,
    power,
    subtract,
)
from minirnn.ops.primitives.clamps import clamp, clamp_max, clamp_min
from minirnn.ops.primitives.conversions import to
from minirnn.ops.primitives.division import floor_divide, remainder
from minirnn.ops.primitives.einstein import einsum
from minirnn.ops.primitives.elementwise import (
    absolute,
    astype,
    clip,
    exp,
    identity,
    log,
    maximum,
    minimum,
    relu,
    sigmoid,
    sign,
    sqrt,
    tanh,
    where,
)
from minirnn.ops.primitives.extremes import amax, amin, argmax, argmin, max, min
from minirnn.ops.primitives.functions import cos, erf, expm1, log1p, reciprocal, rsqrt, sin, square, tan
from minirnn.ops.primitives.gathering import gather, index_select, scatter, scatter_add, take_along_axis, take_along_dim
from minirnn.ops.primitives.indexing import embedding, getitem, put_add
from minirnn.ops.primitives.logic import (
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    masked_fill,
)
from minirnn.ops.primitives.norms import norm
from minirnn.ops.primitives.pieces import chunk, unbind
from minirnn.ops.primitives.products import bmm, dot, matmul, mm, mv, outer
from minirnn.ops.primitives.reductions import mean, sum
from minirnn.ops.primitives.scans import cumprod, cumsum, diff, prod
from minirnn.ops.primitives.shapes import (
    broadcast_to,
    concat,
    expand_dims,
    flip,
    reshape,
    split,
    squeeze,
    stack,
    transpose,
)
from minirnn.ops.primitives.softmaxes import log_softmax, softmax
from minirnn.ops.primitives.sorting import argsort, sort, topk
from minirnn.ops.primitives.statistics import logsumexp, std, var, var_mean
from minirnn.ops.primitives.steps import ceil, floor, round, trunc
from minirnn.ops.primitives.triangles import tril, triu
from minirnn.ops.primitives.truths import all, any, count_nonzero, isfinite, isinf, isnan
from minirnn.ops.primitives.views import (
    expand,
    expand_as,
    flatten,
    matrix_transpose,
    movedim,
    narrow,
    permute,
    repeat,
    roll,
    swapaxes,
    t,
    tile,
    unflatten,
    unsqueeze,
    view,
)

# torch's names of the same functions
abs = absolute
cat = concat
clone = identity
concatenate = concat
div = divide
eq = equal
ge = greater_equal
gt = greater
le = less_equal
lt = less
moveaxis = movedim
mul = multiply
ne = not_equal
neg = negative
pow = power
sub = subtract
swapdims = swapaxes

__all__ = [
    "abs",
    "absolute",
    "add",
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "astype",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "bmm",
    "broadcast_to",
    "cat",
    "ceil",
    "chunk",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "concat",
    "concatenate",
    "cos",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "diff",
    "div",
    "divide",
    "dot",
    "einsum",
    "embedding",
    "eq",
    "equal",
    "erf",
    "exp",
    "expand",
    "expand_as",
    "expand_dims",
    "expm1",
    "flatten",
    "flip",
    "floor",
    "floor_divide",
    "gather",
    "ge",
    "getitem",
    "greater",
    "greater_equal",
    "gt",
    "identity",
    "index_select",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log_softmax",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "lt",
    "masked_fill",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mm",
    "moveaxis",
    "movedim",
    "mul",
    "multiply",
    "mv",
    "narrow",
    "ne",
    "neg",
    "negative",
    "norm",
    "not_equal",
    "outer",
    "permute",
    "pow",
    "power",
    "prod",
    "put_add",
    "reciprocal",
    "relu",
    "remainder",
    "repeat",
    "reshape",
    "roll",
    "round",
    "rsqrt",
    "scatter",
    "scatter_add",
    "sigmoid",
    "sign",
    "sin",
    "softmax",
    "sort",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "sub",
    "subtract",
    "sum",
    "swapaxes",
    "swapdims",
    "t",
    "take_along_axis",
    "take_along_dim",
    "tan",
    "tanh",
    "tile",
    "to",
    "topk",
    "transpose",
    "tril",
    "triu",
    "trunc",
    "unbind",
    "unflatten",
    "unsqueeze",
    "var",
    "var_mean",
    "view",
    "where",
]
