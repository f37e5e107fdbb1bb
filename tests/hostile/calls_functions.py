"""Wrong calls of functions of functions: jacobian and its relatives, vmap, checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from tests.hostile.wrong_call import Wrong, array, tensor, wrong

X, Y, INTS = tensor(2, 3), tensor(4), tensor(2, 3, dtype=np.int64)
ONE = tensor()


def cube(x: Any) -> Any:
    return x**3


def loss(x: Any) -> Any:
    return (x**3).sum()


def loss_of_two(x: Any, y: Any) -> Any:
    return (x**3).sum() * (y**3).sum()


ALL: dict[str, Any] = {
    "jacobian": mr.jacobian,
    "hessian": mr.hessian,
    "vjp": mr.vjp,
    "jvp": mr.jvp,
    "vhp": mr.vhp,
    "hvp": mr.hvp,
}
PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
BY_INPUT = ("jvp", "vhp", "hvp")
OF_NUMBERS = ("hessian", "vhp", "hvp")

EACH: list[Wrong] = [
    row
    for name, f in ALL.items()
    for row in (
        wrong(f"{name}: no function", f"{name}: func is a float", f, 3.0, ONE),
        wrong(f"{name}: an array for the inputs", f"{name}: inputs is & ndarray", f, loss, array(2, 3)),
        wrong(f"{name}: a list of inputs", f"{name}: inputs is & list & tuple", f, loss, [X]),
        wrong(f"{name}: no inputs", f"{name}: inputs is an empty tuple", f, loss, ()),
        wrong(f"{name}: an array among the inputs", f"{name}: entry 1 of inputs", f, loss_of_two, (X, array(2))),
        wrong(f"{name}: integers", f"{name}: input 0 has dtype int64 & lambda", f, loss, INTS),
        wrong(f"{name}: a function that returns an array", f"{name}: what the function returned", f, np.asarray, ONE),
        wrong(f"{name}: a function that returns a list", "what the function returned & list", f, lambda x: [x], ONE),
        wrong(f"{name}: a function that returns nothing", "returned is None", f, lambda x: None, ONE),
        wrong(f"{name}: create_graph of text", f"{name}: create_graph is 'yes'", f, loss, ONE, create_graph="yes"),
        wrong(f"{name}: strict of a number", f"{name}: strict is 1", f, loss, ONE, strict=1),
        wrong(
            f"{name}: strict and an input without influence",
            "input 1 & strict=True",
            f,
            lambda x, y: loss(x),
            (ONE, tensor()),
            *([] if name not in BY_INPUT else [(ONE, ONE)]),
            strict=True,
        ).raises(RuntimeError),
        wrong(
            f"{name}: strict and an output that was not recorded",
            f"{name}: output 0 & not recorded",
            f,
            lambda x: x.detach(),
            ONE,
            strict=True,
        ).raises(RuntimeError),
    )
]

VECTORS: list[Wrong] = [
    wrong("vjp: no vector for several numbers", "vjp: v is None & (2, 3)", mr.vjp, cube, X),
    *[
        row
        for name in BY_INPUT
        for row in (
            wrong(f"{name}: no vector for several numbers", f"{name}: v is None & (2, 3)", ALL[name], loss, X),
            wrong(f"{name}: no vector for two inputs", f"{name}: v is None", ALL[name], loss_of_two, (ONE, ONE)),
        )
    ],
    *[
        row
        for name in PRODUCTS
        for f in (ALL[name],)
        for func in ((cube,) if name in ("vjp", "jvp") else (loss,))
        for row in (
            wrong(f"{name}: a vector of another shape", "v has shape (4,) & (2, 3)", f, func, X, Y),
            wrong(f"{name}: a transposed vector", "v has shape (3, 2) & (2, 3)", f, func, X, tensor(3, 2)),
            wrong(f"{name}: two vectors", f"{name}: v has 2 Tensors for 1", f, func, X, (X, X)),
            wrong(f"{name}: an array for a vector", f"{name}: v is & ndarray", f, func, X, array(2, 3)),
            wrong(f"{name}: a list for a vector", f"{name}: v is & list", f, func, X, [X]),
        )
    ],
    *[
        row
        for name in OF_NUMBERS
        for row in (
            wrong(f"{name}: a function of several numbers", f"{name}: the function returned shape (2, 3)", ALL[name],
                  cube, X, *([] if name == "hessian" else [X])),
            wrong(f"{name}: a function with two results", f"{name}: the function returned 2 Tensors", ALL[name],
                  lambda x: (loss(x), loss(x)), X, *([] if name == "hessian" else [X])),
        )
    ],
]  # fmt: skip

SETTINGS: list[Wrong] = [
    wrong("jacobian: another strategy", "strategy is 'forward' & likely 'forward-mode'", mr.jacobian, cube, X,
          strategy="forward"),
    wrong("jacobian: no strategy", "strategy is None", mr.jacobian, cube, X, strategy=None),
    wrong("jacobian: vectorize of a number", "vectorize is 4", mr.jacobian, cube, X, vectorize=4),
    wrong("hessian: another strategy", "outer_jacobian_strategy is 'both'", mr.hessian, loss, X,
          outer_jacobian_strategy="both"),
]  # fmt: skip

TWICE = mr.vmap(lambda x: x * 2)

MAPPING: list[Wrong] = [
    wrong("vmap: no function", "vmap: func is a Tensor", mr.vmap, X),
    wrong("vmap: in_dims of text", "in_dims is 'batch'", mr.vmap, cube, "batch"),
    wrong("vmap: in_dims None", "in_dims is None", mr.vmap, cube, None),
    wrong("vmap: a list of in_dims", "in_dims is [0]", mr.vmap, cube, [0]),
    wrong("vmap: a nest of in_dims", "in_dims is ((0, None),)", mr.vmap, cube, ((0, None),)),
    wrong("vmap: an axis of one half", "in_dims is (0, 0.5) & or None", mr.vmap, cube, (0, 0.5)),
    wrong("vmap: an axis of True", "in_dims is (True,)", mr.vmap, cube, (True,)),
    wrong("vmap: out_dims of text", "out_dims is 'batch'", mr.vmap, cube, 0, "batch"),
    wrong("vmap: out_dims None", "out_dims is None", mr.vmap, cube, 0, None),
    wrong("vmap: one out_dims None", "out_dims is (0, None)", mr.vmap, cube, 0, (0, None)),
    wrong("vmap: randomness", "got randomness & in_dims and out_dims alone & random", mr.vmap, cube,
          randomness="same"),
    wrong("vmap: chunks", "got chunk_size & a loop", mr.vmap, cube, chunk_size=2),
    wrong("vmap: called without arguments", "vmap: got no samples & one or more", TWICE),
    wrong("vmap: called with an empty batch", "vmap: got 0 samples & one or more", TWICE, tensor(0, 3)),
    wrong("vmap: called with an array", "vmap: in_dims has the axis 0 & ndarray", TWICE, array(2, 3)),
    wrong("vmap: called with a number for all", "shape () & None", TWICE, ONE),
    wrong("vmap: called with different numbers of samples", "2 and 4 samples & (2, 3), (4,)", mr.vmap(loss_of_two), X,
          Y),
    wrong("vmap: a function that returns a number", "result 0 is 3.0", mr.vmap(lambda x: 3.0), X),
]  # fmt: skip


def used_up() -> mr.Tensor:
    y = mr.checkpoint(loss, X)
    y.backward()
    X.grad = None
    return y


def forgetful() -> mr.Tensor:
    """A checkpoint whose function returns another shape from its second call on."""
    calls: list[int] = []

    def f(x: mr.Tensor) -> mr.Tensor:
        calls.append(1)
        return x[:1] * 2 if len(calls) > 1 else x * 2

    return mr.checkpoint(f, X).sum()


CHAIN = [cube, cube]

RECOMPUTATION: list[Wrong] = [
    wrong("checkpoint: no function", "checkpoint: function is a Tensor", mr.checkpoint, X),
    wrong("checkpoint: the reentrant way", "use_reentrant is True & False", mr.checkpoint, cube, X,
          use_reentrant=True),
    wrong("checkpoint: use_reentrant of text", "use_reentrant is 'no'", mr.checkpoint, cube, X, use_reentrant="no"),
    wrong("checkpoint: preserve_rng_state of a number", "preserve_rng_state is 1", mr.checkpoint, cube, X,
          preserve_rng_state=1),
    wrong("checkpoint: backward twice", "freed & retain_graph", used_up().backward).raises(RuntimeError),
    wrong("checkpoint: a function that returns something else", "(1, 3) & (2, 3) & state", forgetful().backward,
          retain_graph=True).raises(RuntimeError),
    wrong("checkpoint_sequential: no chain", "functions is a float", mr.checkpoint_sequential, 3.0, 1, X),
    wrong("checkpoint_sequential: a link that cannot be called", "function 1 is a Tensor", mr.checkpoint_sequential,
          [cube, X], 1, X),
    wrong("checkpoint_sequential: no segments", "segments is 0 & 1 .. 2", mr.checkpoint_sequential, CHAIN, 0, X),
    wrong("checkpoint_sequential: more segments than functions", "segments is 3 & 1 .. 2", mr.checkpoint_sequential,
          CHAIN, 3, X),
    wrong("checkpoint_sequential: half a segment", "segments is 0.5", mr.checkpoint_sequential, CHAIN, 0.5, X),
    wrong("checkpoint_sequential: the reentrant way", "use_reentrant is True", mr.checkpoint_sequential, CHAIN, 2, X,
          use_reentrant=True),
]  # fmt: skip

ROWS: list[Wrong] = [*EACH, *VECTORS, *SETTINGS, *MAPPING, *RECOMPUTATION]
