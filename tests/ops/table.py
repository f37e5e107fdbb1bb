"""All primitive ops, one row each. `tests/ops/test_table.py` makes their tests. To add an op, add its row.

    Op("softsign", lambda x: x / (1 + np.abs(x)), [C(A)], roundings=3, corners=(corner([0.0], [0.0], [1.0]),))

is all that an op of one operand needs: values in three dtypes, gradients, second derivatives, empty inputs, layouts,
devices, names, copies and the usual wrong calls follow. `In` draws an input, `C` is a call, `corner` a result by hand.
"""

import math
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np

from tests.ops.row import Call as C
from tests.ops.row import In, Op, corner

ACTIVATION, SUM = 8, 780
X, A, P = In((2, 3, 4)), In((2, 3, 4), away=True), In((2, 3, 4), 0.2, 2.2)
SMALL, UNIT = In((2, 3)), In((2, 3, 4), -0.8, 0.9)
V = In((3,))
AXES = [None, 0, 1, -1, (0, 2), (-1, 0), (1,), (0, 1, 2), ()]
TIES = [[1.0, 3, 3, 2], [2, 2, 2, 2], [-1, 0, -1, 0]]

SHAPES = [
    ((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((3, 1), (2, 3, 4)), ((2, 1, 4), (3, 1)), ((1, 3, 1), (2, 1, 4)),
    ((), (2, 3)), ((2, 3), ()), ((), ()), ((1,), (1, 1)),
]  # fmt: skip


def pairs(low: float = -2, high: float = 2, away: bool = False, second: Any = None) -> list[C]:
    """Two operands of all shapes that broadcast, of which each in turn is the smaller one."""
    of = {"low": low, "high": high, "away": away}
    return [C(In(a, **of), In(b, **(second or of))) for a, b in SHAPES]


def reduced(x: In, axes: Any = AXES, **named: Any) -> list[C]:
    return [C(x, axis=a, keepdims=k, **named) for a in axes for k in (False, True)]


WIDE = [*reduced(In((3, 70, 2)), [1, (0, 2)]), *reduced(In((2, 3, 130)), [-1, None])]
"""Sizes that several threads of a GPU share."""


def along(x: In, *args: Any, **named: Any) -> list[C]:
    return [C(x, *args, axis=a, **named) for a in (0, 1, -1)]


def every(x: In) -> list[C]:
    """A function of each element."""
    return [C(x), *(C(In(s, x.low, x.high, x.away)) for s in ((), (5,), (1, 4, 1)))]


def of_bytes(f: Any) -> Any:
    """The function of NumPy whose result for uint8 is uint8, as torch has it."""
    return lambda x, *args, **named: np.asarray(f(x, *args, **named), np.uint8 if x.dtype == np.uint8 else bool)


def one(name: str, numpy: Any, x: In = A, **more: Any) -> Op:
    return Op(name, numpy, every(x), **more)


def two(name: str, numpy: Any, calls: Any = None, **more: Any) -> Op:
    return Op(name, numpy, calls or pairs(), **more)


def compare(name: str, numpy: Any, short: str, sign: str) -> Op:
    whole = In((2, 3, 4), kind="i"), In((3, 1), kind="i")
    nans = corner(([nan, 1.0], [nan, 1.0]), numpy(np.array([nan, 1.0]), np.array([nan, 1.0])))
    return Op(name, numpy, [*pairs(), C(*whole)], "fib", order=0, names=short, sign=sign, corners=(nans,))


erf = np.vectorize(math.erf, otypes=["f8"])
BIG = [-inf, -6e4, -8.0, 0.0, 8.0, 6e4, inf, nan]
E8 = math.exp(-8)

ELEMENTWISE = [
    one("exp", np.exp, roundings=ACTIVATION),
    one("log", np.log, P, roundings=ACTIVATION),
    one("sqrt", np.sqrt, P),
    one("tanh", np.tanh, roundings=ACTIVATION,
        corners=(corner([-inf, -60000.0, 40, inf], [-1, -1, 1, 1], [0, 0, 0, 0]),)),
    one("sigmoid", lambda x: 1 / (1 + np.exp(-x)), roundings=ACTIVATION, corners=(
        corner(BIG[:-1], [0, 0, E8 / (1 + E8), 0.5, 1 / (1 + E8), 1, 1],
               [0, 0, E8 / (1 + E8) ** 2, 0.25, E8 / (1 + E8) ** 2, 0, 0]),)),
    one("relu", lambda x: x * (x > 0), roundings=0,
        corners=(corner([-2.0, -0.0, 0, 3, inf], [0, 0, 0, 3, inf], [0, 0, 0, 1, 1]), corner([nan], [nan]))),
    one("absolute", np.abs, dtypes="fib", roundings=0, names="abs",
        corners=(corner([-2.0, 0, 3], [2, 0, 3], [-1, 0, 1]),)),
    one("sign", np.sign, dtypes="fi", order=-1, roundings=0, corners=(corner([-2.0, 0, nan], [-1, 0, nan], [0, 0, 0]),
        )),
    one("sin", np.sin, dtypes="fib", whole="float32", roundings=ACTIVATION),
    one("cos", np.cos, dtypes="fib", whole="float32", roundings=ACTIVATION),
    one("tan", np.tan, UNIT, dtypes="fib", whole="float32", roundings=ACTIVATION),
    one("erf", erf, dtypes="fib", whole="float32", roundings=ACTIVATION),
    one("log1p", np.log1p, UNIT, dtypes="fib", whole="float32", roundings=ACTIVATION,
        corners=(corner([1e-300], [1e-300], [1.0]),)),
    one("expm1", np.expm1, UNIT, dtypes="fib", whole="float32", roundings=ACTIVATION,
        corners=(corner([1e-300], [1e-300], [1.0]),)),
    one("reciprocal", lambda x: 1 / x, P, dtypes="fib", whole="float32"),
    one("rsqrt", lambda x: 1 / np.sqrt(x), P, dtypes="fib", whole="float32", roundings=2),
    one("square", np.square, dtypes="fi?", corners=(corner(np.array([True, False]), np.array([1, 0])),)),
    one("identity", lambda x: x, dtypes="fib", roundings=0, names="clone"),
    one("negative", np.negative, dtypes="fi", roundings=0, names="neg", sign="-x"),
    *(one(name, f, In((2, 3, 4), -2.4, 2.3), dtypes="fi", order=-1, roundings=0,
          corners=(corner([-2.5, -0.5, 0.5, 1.5, inf, nan], f(np.array([-2.5, -0.5, 0.5, 1.5, inf, nan]))),),
          wrong=f"ops.{name}(BOOLS) -> {name} & bool")
      for name, f in (("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc))),
    Op("round", np.round, [*every(X), C(In((3, 4), -20, 20), decimals=2), C(In((3, 4), -300, 300), decimals=-1)],
       dtypes="fi", order=-1, roundings=2, corners=(corner([-2.5, -0.5, 0.5, 1.5], [-2, -0.0, 0, 2]),),
       wrong='ops.round(X, "two") -> round & decimals & \'two\' & integer\nops.round(BOOLS) -> round & bool'),
    one("isnan", np.isnan, dtypes="fib", order=0, corners=(corner(BIG, [*7 * [False], True]),)),
    one("isinf", np.isinf, dtypes="fib", order=0, corners=(corner(BIG, [True, *5 * [False], True, False]),)),
    one("isfinite", np.isfinite, dtypes="fib", order=0, corners=(corner(BIG, [False, *5 * [True], False, False]),)),
    one("logical_not", np.logical_not, dtypes="fib", order=0, corners=(corner([0.0, nan], [True, False]),)),
    one("bitwise_not", np.invert, In((2, 3)), dtypes="ib", order=0, sign="~x",
        wrong="X.bitwise_not() -> bitwise_not & float32 & bools or integers"),
]  # fmt: skip

ZEROS, POWERS = [0.0, 0.0, 0.0, 0.0, 3.0], [0.0, 1.0, 2.0, 3.5, 0.0]
ARITHMETIC = [
    two("add", np.add, dtypes="fib", sign="+"),
    two("subtract", np.subtract, dtypes="fi", names="sub", sign="-",
        wrong="ops.subtract(BOOLS, BOOLS) -> subtract & bool"),
    two("multiply", np.multiply, dtypes="fib", names="mul", sign="*"),
    two("divide", np.divide, pairs(away=True), dtypes="fib", whole="float32", names="div", sign="/"),
    two("power", np.power, [
        *pairs(0.3, 2.2, second={"low": -2, "high": 2}), *(C(P, p) for p in (3, 2, 1, 0, -1, -2, 0.5, -1.5, 2.5)),
        *(C(A, p) for p in (2, 3, -1, -2)), C(A, In((), kind="i")),
    ], dtypes="f?", roundings=3 * ACTIVATION, names="pow", sign="**", corners=(
        corner(([0.0, 2.0], 0), [1, 1], [0, 0]), corner(([0.0, 2.0], 0.0), [1, 1], [0, 0]),
        corner((ZEROS, POWERS), [1, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, math.log(3)]),
        corner((np.array([-2, 7]), 5), [-32, 16807]), corner((np.array([2, 3]), np.array([0, 3])), [1, 27]),
    ), wrong="INTS.__pow__(-1) -> power & int64 to the power -1 & floats\n"
             "INTS.__pow__(INTS - INTS - 1) -> power & int64 to the power -1 & floats"),
    *(two(name, f, roundings=0, dtypes="fib", corners=(
        corner(([1.0, 2, -0.0, inf], [1.0, 3, 0.0, inf]), f([1.0, 2, 0, inf], [1.0, 3, 0, inf]),
               [0.5, float(name == "minimum"), 0.5, 0.5], [0.5, float(name == "maximum"), 0.5, 0.5]),
        corner(([nan, 1.0], [1.0, nan]), [nan, nan])))
      for name, f in (("maximum", np.maximum), ("minimum", np.minimum))),
    compare("equal", np.equal, "eq", "=="),
    compare("not_equal", np.not_equal, "ne", "!="),
    compare("less", np.less, "lt", "<"),
    compare("less_equal", np.less_equal, "le", "<="),
    compare("greater", np.greater, "gt", ">"),
    compare("greater_equal", np.greater_equal, "ge", ">="),
    *(two(name, f, pairs(away=True, second={"low": 1, "high": 2.9}), dtypes="fi", order=order, sign=sign, roundings=4,
          corners=(corner((np.array([-5, 7]), 3), f(np.array([-5, 7]), 3)), zero),
          wrong=f"INTS.{name}(0) -> {name} & integers & 0 & without zeros\n"
                f"INTS.{name}(INTS * 0) -> {name} & integers & 0 & without zeros\n"
                f"BOOLS.{name}(BOOLS) -> {name} & bool & numbers")
      for name, f, order, sign, zero in (
          ("floor_divide", np.floor_divide, -1, "//", corner(([5.0, -5, 0], 0), [inf, -inf, nan])),
          ("remainder", np.remainder, 2, "%", corner(([5.0], 0), [nan])))),
    *(two(f"bitwise_{name}", f, dtypes="ib", order=0, sign=sign,
          wrong=f"INTS.bitwise_{name}(INTS[:, 0]) -> bitwise_{name} & (2, 3) & (2,) & broadcast\n"
                f"X.bitwise_{name}(INTS) -> bitwise_{name} & float32 & bools or integers")
      for name, f, sign in (("and", np.bitwise_and, "&"), ("or", np.bitwise_or, "|"), ("xor", np.bitwise_xor, "^"))),
    *(two(f"logical_{name}", f, dtypes="fib", order=0, corners=(
        corner(([0.0, 0, 2.5, nan], np.array([0, 3, 0, 1])), f([0.0, 0, 2.5, nan], [0, 3, 0, 1])),))
      for name, f in (("and", np.logical_and), ("or", np.logical_or), ("xor", np.logical_xor))),
    Op("where", np.where, [C(In(c, kind="b"), In(a), In(b)) for c, a, b in (
        ((2, 3), (2, 3), (2, 3)), ((3,), (2, 1), (2, 3)), ((2, 3), (), (3,)), ((2, 1, 4), (3, 1), (4,)), ((), (2,),
            ()))],
       "fib", roundings=0, corners=(corner((np.array([True, False]), [1.0, 2.0], inf), [1, inf], [1, 0]),), wrong="""
ops.where(X, X, X) -> where & float32 & bool
ops.where(mr.tensor([1, 0]), 1.0, 2.0) -> where & int64 & expected bool
ops.where(X > 0, X, W) -> where & (2, 3) & (4, 5)
ops.where(np.ones(3, bool), np.ones(2), np.ones(2)) -> where (condition (3,)): operands have shapes (2,) and (2,)
ops.where(X > 0, X, ELSEWHERE) -> where & condition is on cpu, a on cpu, b on cpu-composed"""),
    Op("masked_fill", lambda x, mask, v: np.where(mask, np.asarray(v).astype(x.dtype), x), [
        C(In(s), In(m, kind="b"), v) for s, m in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), ()))
        for v in (-7, In((), 0.4, 0.9))], "fib", roundings=0, corners=(
            corner((np.zeros(2, np.int64), [False, True], 1.5), [0, 1]),), wrong="""
X.masked_fill(X, 0.0) -> masked_fill & float32 & bool
X.masked_fill(W > 0, 0.0) -> masked_fill & (4, 5) & (2, 3) & broadcast
X.masked_fill(X > 0, tensor(3)) -> masked_fill & (3,) & number
X.masked_fill(ELSEWHERE > 0, 0.0) -> x is on cpu, mask on cpu-composed"""),
    *(Op(name, lambda x, low=None, high=None, **named: np.clip(x, named.get("min", low), named.get("max", high)),
         [C(In((3, 4), away=True), *b) for b in ((-0.5, 0.5), (None, 0.3), (-0.3, None), (0.2, 0.2))] + more,
             "f?" if more else "f",
         roundings=0, corners=(
             corner(([-0.5, 0.5, -9, 9, nan], -0.5, 0.5), [-0.5, 0.5, -0.5, 0.5, nan], [1, 1, 0, 0, 0]),
             *[corner((np.array([3, -1, 2]), 0, 2), [2, 0, 2]), corner(([1.0, nan, 5], [0.0, 0, nan], [2.0, 2, 9]), [1,
                 nan, nan]),
               corner(([1.0], [0.0], [nan]), [nan]), corner(([2.0, 0, 3], [0.0, 0, 0], [2.0, 2, 2]), [2, 0, 2], [1, 1,
                   0], [0, 0, 0], [0, 0, 1]),
               corner(([1.0], [nan]), [nan]), corner(([1.0], None, [nan]), [nan]),
               corner((np.array([3, -1, 2]), 0.5, 2), np.float32([2, 0.5, 2])),
               corner(([1.0, 3], [2.0, 2]), [2, 3], [0, 1], [1, 0])] * bool(more)), wrong=wrong)
      for name, more, wrong in (("clip", [], """
ops.clip(X, 2, 1) -> clip & 2 & 1 & low <= high
X.clip(float("nan"), 1.0) -> NaN
X.clip(True, 2.0) -> True & number"""), ("clamp", [
          C(X, min=0.1), C(X, max=0.3), C(X, In((3, 4), -0.3, 0.1), In((4,), 0.2, 0.7)), C(X, 0.4, -0.5)], """
ops.clamp(X) -> clamp & no bound & min, max or both
ops.clamp(X, "low") -> clamp & min & 'low' & number
ops.clamp(X, None, "nan") -> clamp & max is
ops.clamp(BOOLS, 0, 1) -> clamp & bool"""))),
    *(Op(name, lambda x, b, f=f: f(x, b), [C(X, 0.1)], "f?", roundings=0,
         corners=(corner((np.array([-1, 2]), 0.5), np.float32(f([-1, 2], 0.5))),),
             wrong=f'ops.{name}(X, "a") -> clamp & {name[-3:]} & \'a\' & number')
      for name, f in (("clamp_min", np.maximum), ("clamp_max", np.minimum))),
]  # fmt: skip


def lse(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def var(x: Any, axis: Any = None, unbiased: Any = None, keepdims: Any = False, correction: Any = None) -> Any:
    ddof = correction if correction is not None else int(unbiased is not False)
    return np.var(x, axis=axis, ddof=ddof, keepdims=bool(keepdims))


def norm(x: Any, p: Any = "fro", axis: Any = None, keepdims: bool = False) -> Any:
    x = np.abs(x)
    if p in (inf, -inf):
        return (np.max if p > 0 else np.min)(x, axis=axis, keepdims=keepdims)
    p = 2 if p == "fro" else p
    return (
        np.sum(x != 0.0, axis=axis, keepdims=keepdims, dtype=float)
        if p == 0
        else np.sum(x**p, axis=axis, keepdims=keepdims) ** (1 / p)
    )


def topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> Any:
    at = np.take(order(x, axis, largest), np.arange(k), axis)
    return np.take_along_axis(x, at, axis), at


def order(x: Any, axis: int = -1, descending: bool = False) -> Any:
    key = np.where(np.isnan(x), 99, x).astype(float)
    return np.argsort(-key if descending else key, axis, kind="stable")


def extreme(f: Any, at: Any) -> Any:
    def of(
        x: Any, other: Any = None, keepdims: bool = False, axis: Any = None, dim: Any = None, keepdim: Any = 0
    ) -> Any:
        if isinstance(other, np.ndarray):
            return (np.maximum if f is np.max else np.minimum)(x, other)
        dim = other if dim is None and not isinstance(other, tuple) else dim
        found = f(x, axis=(other if axis is None else axis) if dim is None else dim, keepdims=bool(keepdims or keepdim))
        return found if dim is None else (found, at(x, axis=dim, keepdims=bool(keepdims or keepdim)))

    return of


MOST = [None, 0, -1, (0, 2)]
AXIS = "ops.{0}(X, 2) -> {0} & axis 2 & -2 .. 1"
REDUCTIONS = [
    Op("sum", np.sum, [*reduced(X), *WIDE, C(In(())), C(In((2, 3)), dtype=np.float64)], "fib", "int64", roundings=SUM,
       wrong=AXIS.format("sum")),
    Op("mean", np.mean, [*reduced(X), *WIDE, C(In(())), C(In((2, 3)), dtype=np.float64)], "fib", "float32",
        roundings=SUM,
       wrong="X.mean(-3) -> axis -3"),
    *(Op(f"a{name}", f, [*reduced(X), *WIDE, C(In(()))], "fib", roundings=0, corners=(
        corner((TIES, 1), [3, 2, 0], [[0, 0.5, 0.5, 0], 4 * [0.25], [0, 0.5, 0, 0.5]]) if name == "max" else
        corner((TIES, 1), [1, 2, -1], [[1, 0, 0, 0], 4 * [0.25], [0.5, 0, 0.5, 0]]), corner(([1.0, nan],), nan),
            corner(([[1.0, nan, nan, 5]], 1), [nan], [[0, 0.5, 0.5, 0]])),
        wrong=AXIS.format(f"a{name}") + f"\nops.a{name}(NOTHING, 1) -> a{name} & (2, 0) & at least one")
      for name, f in (("max", np.max), ("min", np.min))),
    *(Op(name, extreme(f, at), [
        *reduced(X, MOST), *WIDE, C(X, dim=1), C(X, 0, keepdim=True), C(X, 1), C(X, -1), C(X, 1, True), C(X, (0, 2)),
            C(X, (0, 2), True), C(X, None, False), C(X, In((3, 1))), C(In((4,)),
            X)], "fib", roundings=0,
        corners=(corner((TIES,), f(TIES), *[np.where(np.array(TIES) == f(TIES), 0.5, 0)]),
                 corner(([[1.0, nan, 5, nan]], 1), ([nan], [1]))), wrong=AXIS.format(name) + f"""
ops.{name}(NOTHING, 1) -> {name} & (2, 0) & at least one
ops.{name}(X, dim=(0, 1)) -> {name} & (0, 1) & integer & a{name}
ops.{name}(X, X, dim=1) -> {name} & by position
ops.{name}(X, 0, True, 1) -> {name} & 4 arguments
ops.{name}(X, 0, axis=1) -> {name} & axis=1
ops.{name}(X, W) -> (2, 3) & (4, 5) & broadcast""")
      for name, f, at in (("max", np.max, np.argmax), ("min", np.min, np.argmin))),
    *(Op(f"arg{name}", f, [*reduced(X, [None, 0, 1, -1]), C(In((3, 70, 2)), 1), C(In((2, 3, 130)), -1)], "fib", order=0,
         corners=(corner((TIES, 1), f(TIES, 1)), corner(([[1.0, nan, 5, nan]], 1), [1])),
         wrong=AXIS.format(f"arg{name}") + f"\nops.arg{name}(NOTHING, 1) -> arg{name} & (2, 0)\n"
               f"X.arg{name}((0, 1)) -> arg{name} & (0, 1)")
      for name, f in (("max", np.argmax), ("min", np.argmin))),
    Op("prod", np.prod, [*reduced(P), *reduced(In((3, 70, 2), 0.9, 1.1), [1, (0, 2)])], "fib", "int64", roundings=SUM,
        wrong=AXIS.format("prod"), corners=(
        corner([1.5, 0, -2, 0.7], 0.0, [0, 1.5 * -2 * 0.7, 0, 0]), corner([1.5, 0, 0, 2], 0.0, [0, 0, 0, 0]))),
    *(Op(name, f, reduced(X, MOST), "fib", order=0, wrong=AXIS.format(name)) for name, f in (
        ("any", of_bytes(np.any)), ("all", of_bytes(np.all)), ("count_nonzero", np.count_nonzero))),
    Op("logsumexp", lse, reduced(X, [0, 1, -1, (0, 1)]), "fib", "float32", roundings=2 * ACTIVATION + SUM,
        wrong=AXIS.format("logsumexp"),
       corners=(corner(([[-inf, -inf], [0.0, -inf]], 1), [-inf, 0], [[0, 0], [1, 0]]), corner(([900.0, 900], 0),
           900 + math.log(2), [0.5, 0.5]))),
    *(Op(name, f, [*reduced(X, MOST), C(X, (0, 2), correction=2), C(X, 1, False), C(X, unbiased=False)],
        roundings=2 * SUM, corners=corners,
         wrong=AXIS.format(name)
         + f"\nops.{name}(X, unbiased=True, correction=0) -> {name} & unbiased=True & one of the two\n"
               f'ops.{name}(X, correction="one") -> {name} & \'one\' & number')
      for name, f, corners in (
          ("var", var, (corner([1.0, 1, 1], 0.0, [0, 0, 0]),)),
          ("std", lambda *a, **k: np.sqrt(var(*a, **k)), ()),
          ("var_mean", lambda x, axis=None, unbiased=None, keepdims=False, correction=None: (
              var(x, axis, unbiased, keepdims, correction), np.mean(x, axis=axis, keepdims=bool(keepdims))), ()))),
    Op("norm", norm, [C(A), *(C(A, p, axis=a) for p in (2, 1, 0, 3, 4, 1.5, 0.5, -1, inf, -inf, "fro") for a in (None,
        1)),
                      C(A, 2, axis=(0, 2)), C(A, 3, axis=0, keepdims=True)], roundings=3 * ACTIVATION + SUM,
       corners=(corner([0.0, 0, 0], 0.0, [0, 0, 0]), corner(([0.0, 2, -2], 1), 4.0, [0, 1, -1]),
               *(corner(([0.0, 0, 0], p), 0.0, [0, 0, 0]) for p in (2, 1, 0, 3, 4, 1.5, 0.5, inf)),
               *(corner(([0.0, 2, -2], p), 2 ** (1 + 1 / p), [0, 2 ** (1 / p - 1), -(2 ** (1 / p - 1))])
                 for p in (1.5, 2, 3, 4, 0.5)), corner(([0.0, 2, -2], 0), 2.0, [0, 0, 0]),
               corner(([0.0, 2, -2], -1), 0.0), corner(([0.0, 2, -2], inf), 2.0, [0, 0.5, -0.5]),
               corner(([0.0, 2, -2], -inf), 0.0, [0, 0, 0])),
       wrong='ops.norm(X, "nuc") -> norm & \'nuc\' & singular\nops.norm(X, [2]) -> norm & [2] & number'),
    *(Op(name, f, [*along(X), C(In((3, 99, 2)), 1), C(In((5, 2, 300)), -1)], roundings=2 * ACTIVATION + SUM,
        wrong=AXIS.format(name), corners=corners) for name, f, corners in (
        ("softmax", softmax, (corner([1e4, -1e4, 0.0], [1, 0, 0]),)),
        ("log_softmax", lambda x, axis=-1: np.log(softmax(x, axis)), (corner([-1e4, 0.0], [-1e4, 0]),)))),
    Op("cumsum", np.cumsum, [*along(X), C(In((3, 37, 5)), 1)], "fib", "int64", roundings=37,
        wrong=AXIS.format("cumsum") + "\nops.cumsum(X) -> cumsum & no axis & dim=0"),
    Op("cumprod", np.cumprod, [*along(P), C(In((3, 37, 5), -1.1, 1.1, True), 1)], "fib", "int64", roundings=37,
        wrong=AXIS.format("cumprod"), corners=(
        corner(([2.0, 0, 3, 0, 5], 0), [2, 0, 0, 0, 0], [1, 2 + 6, 0, 0, 0]),)),
    Op("diff", lambda x, n=1, axis=-1, **ends: np.diff(x, n, axis, **{k: v for k, v in ends.items() if v is not None}),
        [
        C(X), C(X, 2, 1), C(X, 0), C(In((3, 4)), prepend=In((3, 2)), append=In((3, 1)))], "fib", roundings=2, wrong="""
ops.diff(X, -1) -> diff & -1 & 0 or more
ops.diff(X, 1, 0, W) -> (2, 3) & (4, 5)"""),
    Op("argsort", order, [C(X, a, d) for a in (0, 1, -1) for d in (False, True)] + [C(In((2, 67, 3)), 1)], "fib",
        order=0, wrong=AXIS.format("argsort"),
       corners=(corner((TIES, 1, True), order(np.array(TIES), 1, True)), corner(([2.0, nan, 1, nan], 0), [2, 0, 1,
           3]))),
    Op("sort", lambda x, axis=-1, descending=False: (np.take_along_axis(x, order(x, axis, descending), axis), order(x,
        axis, descending)),
       [C(In((3, n, 2)), 1, d) for n in (1, 2, 7, 64, 129) for d in (False, True)] + along(X), "fib", roundings=0,
           wrong=AXIS.format("sort"),
       corners=(corner((TIES, 1, True), (-np.sort(-np.array(TIES), 1), order(np.array(TIES), 1, True))),)),
    Op("topk", topk, [C(X, 2, largest=True), C(X, 3, 1, False), C(X, 0), C(X, 1, 0)], "fib", roundings=0, wrong="""
ops.topk(X, 4) -> topk & 4 & 0 .. 3 & (2, 3)
ops.topk(X, 1.5) -> topk & 1.5 & integer
ops.topk(X, 1, 2) -> topk & axis 2"""),
]  # fmt: skip


def added(shape: Any, index: Any, values: Any) -> Any:
    z = np.zeros(shape, np.asarray(values).dtype)
    np.add.at(z, index, values)
    return z


def part(x: Any, dim: int, index: Any) -> Any:
    """The places of an index that may be shorter than `x` along the other axes."""
    return tuple(i if k == dim % x.ndim else np.indices(index.shape)[k] for k, i in enumerate([index] * x.ndim))


def scattered(add: bool) -> Any:
    def of(x: Any, dim: int, index: Any, src: Any) -> Any:
        x, index = x.copy(), np.asarray(index)
        src = src[tuple(map(slice, index.shape))] if np.ndim(src) else src
        if add:
            np.add.at(x, part(x, dim, index), src)
        else:
            x[part(x, dim, index)] = src
        return x

    return of


INDEX = np.array([[[0, 2, 1], [1, 1, 0], [2, 0, 2]], [[2, 2, 2], [0, 1, 0], [1, 1, 1]]])  # for axis 1 of X
ONCE = np.array([[[1, 0, 2, 2], [0, 2, 1, 0]]])
INDICES: list[Any] = [
    1, -1, (1, -2, 3), slice(1, None), (slice(None), slice(None, None, 2)), (slice(None, None, -1), slice(2, 0, -1)),
        (..., 2), (), ...,
    (None, slice(None), None, 1), slice(5, 9), np.array([1, 0, 1, 1]), (slice(None), np.array([2, 2, 0, 2])),
    (0, np.array([-1, -1, 1])), (np.array([0, 1, 0]), np.array([2, 2, 2])), (np.array([[0], [1]]), slice(None),
        np.array([3, 3, 0])),
    np.array([[1, 1], [0, 1]]), ([1, 1, 0],), np.array([], np.int64), ([],), np.array([[True, False, True], [False,
        False,
        True]]),
    (slice(None), np.array([True, False, True])), np.zeros((2, 3, 4), bool), np.array([1, 0, 1], np.uint8),
        (np.array([1, 1]), None, 2),
]  # fmt: skip
TAKEN = "ops.{0}(X, 0, [[0, 7]], X) -> raises IndexError: {0} & 0 to 7 & 0 .. 1"
EQUATIONS: dict[str, Any] = {
    "ij,jk->ik": [(2, 3), (3, 4)], "bij,bkj->bik": [(2, 3, 4), (2, 5, 4)], "ij,kj": [(2, 3), (4, 3)], "ii": [(3, 3)],
        "ii->i": [(3, 3)],
    "iji->j": [(3, 2, 3)], "...ij,...jk->...ik": [(2, 1, 3, 4), (5, 4, 2)], "i...->...i": [(2, 3, 4)],
        "b...,b->...": [(3, 2, 4), (3,)],
    "i,j->ji": [(2,), (3,)], "i,i": [(3,), (3,)], "ij->": [(2, 3)], "ij,ij->ij": [(2, 3), (2, 3)], "ij,jk,kl->il": [(2,
        3), (3, 4), (4, 5)],
    "i,ij,j,j->": [(2,), (2, 3), (3,), (3,)], "ab,cd,ef->ace": [(2, 3), (4, 2), (3, 2)], "bqhd,bkhd->bhqk": [(2, 3, 2,
        4), (2, 5, 2, 4)],
    "ij, jk -> ki": [(2, 4), (4, 3)], "bA": [(2, 3)], "ijk,jl,kl->il": [(2, 3, 4), (3, 5), (4, 5)],
    "abc,cd,ef,bde->af": [(2, 3, 4), (4, 5), (2, 3), (3, 5, 2)], "...i,i,...j->...j": [(2, 3), (3,), (2, 4)],
}  # fmt: skip
MATRICES = [
    ((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2,
        3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((6, 5, 2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)),
        ((1, 1), (1, 1)),
    ((33, 40), (40, 18)),
]  # fmt: skip
PLACES = [
    Op("getitem", lambda x, i: x[i], [C(X, i) for i in INDICES], "fib", roundings=0,
        wrong="ops.getitem(X, 0.5) -> 0.5 & integers"),
    Op("put_add", added, [C((2, 3, 4), i, In(np.empty((2, 3, 4))[i].shape)) for i in INDICES] + [
        C((2, 3), (slice(None),), In((2, 1))), C((2, 3), [1, 1, 0], In(())), C((2, 3), [1, 1, 0], In((3,)))], "fib",
            roundings=8, wrong="""
ops.put_add((2, 3), (np.array([7]),), array(1, 3)) -> raises IndexError: put_add & (2, 3) & 7
ops.put_add((2, 3), (np.array([0, 1]),), W) -> put_add & (4, 5) & (2, 3)
ops.put_add((2.0, 3), (np.array([0]),), array(1, 3)) -> put_add & 2.0"""),
    Op("embedding", lambda w, ids: w[np.asarray(ids)], [
        C(In((5, 4)), ids) for ids in ([2, 0, 2], np.array([[1, 1, 0]], np.uint8), 3, np.zeros(0, int))], "fib",
            roundings=0, wrong="""
ops.embedding(W, [0.0, 1.0]) -> embedding & float64 & integers
ops.embedding(tensor(4), [0]) -> embedding & (4,) & (V, I)"""),
    Op("gather", lambda x, dim, i: x[part(x, dim, i)], [
        C(X, 1, INDEX), C(X, -1, np.array([[[3], [0], [3]]])), C(X, 1, np.zeros((2, 0, 4), int))], "fib", roundings=0,
            wrong="""
ops.gather(X, 0, [[0.5]]) -> gather & float64 & integers
ops.gather(X, 1, [0, 1]) -> gather & (2,) & 2 axes & unsqueeze
ops.gather(X, 1, [[0], [0], [0]]) -> gather & (3, 1) & (2, 3) & axis 0
ops.gather(X, 1, [[-1]]) -> raises IndexError: gather & -1 & 0 .. 2
ops.gather(X, 2, I) -> gather & axis 2"""),
    *(Op(name, lambda x, i, axis: np.take_along_axis(x, i, axis), [C(In((2, 3, 3)), INDEX, 1)], "fib", roundings=0,
         wrong=f"ops.{name}(X, [[0, 3]], 1) -> raises IndexError: 0 to 3 & 0 .. 2") for name in ("take_along_axis",
             "take_along_dim")),
    Op("index_select", lambda x, dim, i: np.take(x, i, dim), [C(X, 1, np.array([2, 0, 2, 1])), C(X, -1,
        np.array([3]))], "fib",
       roundings=0, wrong="""
ops.index_select(X, 0, I) -> index_select & (2, 3) & one axis
ops.index_select(X, 1, [3]) -> raises IndexError: index_select & 3 & 0 .. 2
ops.index_select(tensor(), 0, [1]) -> raises IndexError: index_select & 1 & 0 .. 0
ops.index_select(X, 1, [0.0]) -> index_select & float64 & integers"""),
    Op("scatter", scattered(False), [C(X, 1, ONCE, In((1, 2, 4))), C(X, 1, ONCE, 2), C(X, -1, ONCE, In((2, 4, 4)))],
        "fib", roundings=0,
       corners=(corner(([0.0, 1, 2], 0, [1, 2, 1, 1], [10.0, 20, 30, 40]), [0, 40, 20], [1, 0, 0], [0, 1, 0, 1]),),
       wrong=TAKEN.format("scatter") + """
ops.scatter(X, 0, I, ELSEWHERE) -> scatter & different devices
ops.scatter(X, 0, I, tensor(2, 2)) -> scatter & src & (2, 2) & (2, 3)
ops.scatter(X, 0, I, array(2, 3, dtype=np.float64)) -> scatter & float64 & float32"""),
    Op("scatter_add", scattered(True), [C(X, 1, INDEX, In((2, 3, 3))), C(X, 0, ONCE % 2, In((5, 2, 4)))], "fib",
        roundings=4,
       wrong=TAKEN.format("scatter_add") + """
ops.scatter_add(X, 0, I, tensor(2, 2)) -> scatter_add & src & (2, 2) & (2, 3)
ops.scatter_add(X, 0, I, array(2, 3, dtype=np.float64)) -> scatter_add & float64 & float32
ops.scatter_add((2, 3), (np.array([0]),), array(1, 3), array(1, 3)) -> scatter_add & dim & (x, dim, index, src)"""),
    Op("matmul", np.matmul, [C(In(a), In(b)) for a, b in MATRICES], "fib", roundings=64, sign="@", wrong="""
ops.matmul(X, X) -> matmul & (2, 3) & likely the second operand is transposed
ops.matmul(X, 2.0) -> matmul & () & one axis
ops.matmul(tensor(2, 3, 4), tensor(5, 4, 2)) -> matmul & (2, 3, 4) & (5, 4, 2)
ops.matmul(XT, ELSEWHERE) -> matmul & a is on
ops.matmul(X, array(4)) -> matmul & (4,) & 3 and 4
ops.matmul(X, "w") -> tensor & <U1"""),
    Op("dot", np.dot, [C(In((4,)), In((4,)))], "fib", roundings=4,
        wrong="ops.dot(X, V) -> dot & (2, 3) & (3,) & two vectors"),
    Op("mv", np.matmul, [C(In((2, 3)), V)], "fib", roundings=4, wrong="ops.mv(V, V) -> mv & (3,) & a matrix"),
    Op("mm", np.matmul, [C(In((2, 3)), In((3, 4)))], "fib", roundings=4,
        wrong="ops.mm(X, V) -> mm & (2, 3) & (3,) & two matrices"),
    Op("bmm", np.matmul, [C(In((2, 3, 4)), In((2, 4, 5)))], "fib", roundings=4, wrong="""
ops.bmm(X, X) -> bmm & (2, 3) & batches
ops.bmm(tensor(2, 3, 4), tensor(1, 4, 3)) -> bmm & (2, 3, 4) & (1, 4, 3) & one size"""),
    Op("outer", np.outer, [C(In((2,)), V)], "fib", wrong="ops.outer(X, V) -> outer & (2, 3) & two vectors"),
    Op("einsum", np.einsum, [C(e, *map(In, shapes)) for e, shapes in EQUATIONS.items()], "f?", roundings=SUM, wrong="""
ops.einsum(3, X) -> einsum & 3 & text
ops.einsum("ij,jk->ik", X) -> einsum & 1 operands & expected 2
ops.einsum("ijk->i", X) -> einsum & 'ijk' & (2, 3) & 2 axes
ops.einsum("i->i", X) -> einsum & 'i' & (2, 3)
ops.einsum("ij,jk->ik", X, W) -> einsum & 'j' & 3 and 4 & equal
ops.einsum("ii", X) -> einsum & 'i' & [2, 3] & equal
ops.einsum("ij->k", X) -> einsum & 'k' & no operand
ops.einsum("ij->ii", X) -> einsum & twice
ops.einsum("i*->i", X) -> einsum & 'i*' & letters
ops.einsum("ij,ij->i", X, ELSEWHERE) -> einsum & different devices & operand 1"""),
]  # fmt: skip


def moved(
    name: str,
    numpy: Any,
    *args: Any,
    wrong: str = "",
    x: In = X,
    names: str = "",
    **named: Any,
) -> Op:
    """An op that only moves elements: a call for each of some arguments after `x`."""
    return Op(name, numpy, [C(x, *(a if type(a) is tuple else (a,)), **named) for a in args], "fib", roundings=0,
              wrong=wrong, names=names)  # fmt: skip


def pieces(x: Any, sizes: Any, axis: int = 0) -> Any:
    n = x.shape[axis]
    at = np.cumsum(sizes)[:-1] if type(sizes) is list else np.arange(sizes, n, sizes)
    return tuple(np.split(x, at, axis))


ONES = In((1, 24, 1))
MOVES = [
    moved("reshape", np.reshape, ((4, 6),), ((3, -1),), (-1,), ((2, 1, 3, 4),), wrong="""
ops.reshape(X, ["a"]) -> reshape & 'a'
ops.reshape(X, (10**30, 10**30)) -> reshape & 6 elements
X.reshape(4, -1) -> (4, -1) & 6
X.reshape((2.5, 2)) -> 2.5
X.reshape(None) -> reshape"""),
    moved("view", lambda x, *s: x.reshape(*s), (4, 6), ((3, -1),), wrong="""
X.view(np.float64) -> view & float64 & sizes & likely astype
X.view(4, 2) -> reshape & (4, 2) & 6"""),
    moved("transpose", lambda x, axes=None, other=None: x.transpose(axes) if other is None else x.swapaxes(axes,
        other), (), ((1, 2, 0),),
          ((-1, 0, 1),), (0, 2), (-1, 0), wrong="""
ops.transpose(X, "T") -> transpose & 'T'
ops.transpose(X, 1) -> transpose & 1
X.transpose(dim0=0) -> transpose & (0,) & 2 axes
X.transpose(dim1=0) -> transpose & None & integer"""),
    moved("permute", lambda x, *d: x.transpose(*d), (2, 0, 1), ((-1, 1, 0),), wrong="""
X.permute(1) -> transpose & (1,) & 2 axes
X.permute(0, 0) -> transpose & (0, 0) & once"""),
    moved("swapaxes", np.swapaxes, (0, -1), (1, 2), names="swapdims", wrong="""
X.swapaxes(0, 2) -> transpose & axis 2
X.swapdims(0, "a") -> transpose & 'a' & integer"""),
    moved("movedim", np.moveaxis, (0, 2), (-1, 0), ((0, 1), (2, 0)), names="moveaxis", wrong="""
X.movedim((0, 1), 0) -> movedim & (0, 1) & as many places
X.moveaxis(5, 0) -> movedim & axis 5"""),
    moved("matrix_transpose", lambda x: x.swapaxes(-1, -2), (),
        wrong="ops.matrix_transpose(tensor(3)) -> mT & (3,) & matrix"),
    Op("t", lambda x: x.T, [C(SMALL), C(V), C(In(()))], "fib", roundings=0,
        wrong="CUBE.t() -> t: & (2, 3, 4) & two axes"),
    moved("broadcast_to", np.broadcast_to, ((5, 2, 3, 4),), ((2, 3, 4),), wrong="""
X.broadcast_to((3,)) -> (2, 3) & (3,)
ops.broadcast_to(X, (10**12, 10**12, 10**12, 2, 3)) -> broadcast_to & (2, 3)"""),
    Op("expand", lambda x, *s: np.broadcast_to(x, [n if n >= 0 else x.shape[k - len(s)] for k, n in enumerate(s)]), [
        C(In((2, 1, 4)), 2, 5, 4), C(In((2, 1, 4)), 5, -1, 3, -1)], "fib", roundings=0,
       wrong="X.expand(-1, 2, 3) -> broadcast_to & (-1, 2, 3)"),
    Op("expand_as", lambda x, o: np.broadcast_to(x, o.shape), [C(In((3, 1)), np.zeros((2, 3, 4)))], "fib", roundings=0,
       wrong="X.expand_as(W) -> broadcast_to & (2, 3) & (4, 5)"),
    moved("repeat", np.tile, ((1, 3, 2),), ((2, 1, 1, 3),), ((1, 0, 2),), wrong="""
X.repeat(2) -> repeat & (2,) & (2, 3) & 2 or more
X.repeat(1.5, 1) -> repeat & 1.5 & integers"""),
    moved("tile", np.tile, ((2, 3),), wrong="X.tile(-1) -> repeat & (1, -1) & none negative"),
    moved("expand_dims", np.expand_dims, 1, -1, 0, wrong="ops.expand_dims(X, 3) -> expand_dims & axis 3"),
    moved("unsqueeze", np.expand_dims, 1, -1, wrong="""
X.unsqueeze() -> expand_dims & None & integer
X.unsqueeze(1, axis=0) -> unsqueeze & axis=0 & dim=1"""),
    moved("squeeze", lambda x, axis=None: x.reshape([n for k,
        n in enumerate(x.shape) if n != 1 or axis is not None and k not in np.ravel(axis) % x.ndim]),
          (), 0, -1, ((0, 1),), ((0, 2),), x=ONES, wrong="ops.squeeze(X, 2) -> squeeze & axis 2 & -2 .. 1"),
    moved("flatten", lambda x, a=0, b=-1: x.reshape(*x.shape[:a], -1, *x.shape[b % x.ndim + 1:]), (), 1, (0, -2), (0,
        1),
          names="", wrong="""
X.flatten(1, 0) -> flatten & start_dim 1 & end_dim 0 & (2, 3)
X.flatten("a") -> flatten & 'a' & integer
X.ravel(7) -> flatten & axis 7"""),
    moved("unflatten", lambda x, d, s: x.reshape(*x.shape[: d % x.ndim], *s, *x.shape[d % x.ndim + 1:]), (-1, (2, 2)),
        (2, (-1, 1, 2)), wrong="""
X.unflatten(1, (2, 2)) -> unflatten & (2, 2) & (2, 3) & product is 3
X.unflatten(1, (-1, -1)) -> unflatten & (-1, -1)"""),
    moved("flip", np.flip, 0, -1, ((0, 2),), wrong="""
ops.flip(X, (0, -2)) -> flip & (0, -2) & at most once
X.flip() -> flip & None & integer
ops.flip(X, 0, dims=1) -> flip & axis=0 & dim=1"""),
    moved("roll", np.roll, (1, 2), ((-1, 5), (0, 1)), 7, wrong="""
X.roll((1, 2)) -> roll & (1, 2) & one shift
X.roll((1, 2), 0) -> roll & (1, 2) & as many"""),
    moved("narrow", lambda x, d, a, n: x.take(np.arange(a % x.shape[d], a % x.shape[d] + n), d), (2, 1, 2), (-1, -3,
        2), (0, 0, 1), wrong="""
X.narrow(1, 1, 3) -> narrow & start 1, length 3 & (2, 3) & 0 .. 3
X.narrow(1, 1.5, 1) -> narrow & start is 1.5 & an integer"""),
    *(moved(name, f, *[(d,) for d in (-9, -2, -1, 0, 1, 3, 9)],
            wrong=f"ops.{name}(tensor(3)) -> {name} & (3,) & matrix\nX.{name}(0.5) -> {name} & 0.5 & integer")
      for name, f in (("tril", np.tril), ("triu", np.triu))),
    Op("concat", np.concatenate, [C([In((2, 3)), In((1, 3)), In((4, 3))]), C([In((2, 3)), In((2, 1))], -1), C([X, X],
        1), C([X])], "fib",
       roundings=0, names="cat", wrong="""
ops.concat([X], X) -> concat & integer
ops.concat([X, ELSEWHERE]) -> concat & tensor 0 is on cpu, tensor 1 on
ops.concat([X, "a"]) -> <U1
ops.cat([]) -> concat & empty
ops.concatenate(X) -> concat & Tensor & list"""),
    Op("stack", np.stack, [C([SMALL, SMALL, SMALL], a) for a in (0, 1, -1)] + [C([In(()), In(())])], "fib",
        roundings=0, wrong="""
ops.stack([X, XT]) -> stack & (2, 3) & (3, 2) & equal
ops.stack([X, X], 3) -> stack & axis 3
ops.stack([X, ELSEWHERE]) -> different devices"""),
    moved("split", pieces, (2, 2), (3, 2), 7, ([1, 0, 3], -1), wrong="""
ops.split(X, 1.5) -> split & 1.5
X.split(-1, 1) -> axis 1 & (2, 3) & pieces of -1
X.split(0) -> pieces of 0
X.split([-1, 3]) -> [-1, 3]
X.split(True) -> True
X.split([1.0, 1.0]) -> [1.0, 1.0]
X.split(1, 2) -> axis 2"""),
    moved("chunk", lambda x, n, axis=0: pieces(x, -(-x.shape[axis] // n), axis), (2, 2), (3, 2), (9, 1),
          wrong="X.chunk(0) -> chunk & 0 & 1 or more"),
    moved("unbind", lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)), (), 1, -1,
          wrong="X.unbind(2) -> unbind & axis 2\ntensor().unbind() -> unbind & 0 axes"),
    Op("astype", lambda x, d: x.astype(d), [C(X, d) for d in ("float64", "float32")], "fib", wrong="""
ops.astype(X, None) -> astype & None
X.astype(np.complex64) -> complex64 & float16/32/64"""),
    Op("to", lambda x, d: x.astype(d), [C(X, np.float64)], "fib", wrong="""
ops.to(X, "nowhere") -> 'nowhere' & known
X.to() -> to: got nothing & a device, a dtype
X.to(np.float64, np.float32) -> to: got the dtypes & one
X.to(np.complex64) -> complex64 & float16/32/64"""),
]  # fmt: skip

SAME = ("sum", "mean", "prod", "amax", "amin", "cumsum", "cumprod", "logsumexp", "squeeze", "flip")
AXIS_0 = dict.fromkeys(SAME, 1.5)
AXIS_0 |= {
    "softmax": 1.0,
    "log_softmax": 0.0,
    "any": True,
    "all": True,
    "count_nonzero": 1,
    "argmax": 0,
    "argmin": 0,
    "argsort": 0,
    "sort": (1.5, 0),
    "max": (1.5, 0),
    "min": (1.5, 0),
}
"""What ops give for 1.5 along axis 0, which a number has in torch."""
ROWS = [
    replace(row, corners=(*row.corners, corner((np.array(1.5), 0), AXIS_0[row.name]))) if row.name in AXIS_0 else row
    for row in (*ELEMENTWISE, *ARITHMETIC, *REDUCTIONS, *PLACES, *MOVES)
]
OPS = {row.name: row for row in ROWS}
