"""Wrong calls of functions of functions: jacobian and its relatives, vmap, checkpoint; and of custom ops."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

X, Y, INTS = tensor(2, 3), tensor(4), tensor(2, 3, dtype=np.int64)
ONE = tensor()


def cube(x: Any) -> Any:
    return x**3


def loss(x: Any) -> Any:
    return (x**3).sum()


def loss_of_two(x: Any, y: Any) -> Any:
    return (x**3).sum() * (y**3).sum()


BY_INPUT = ("jvp", "hvp")
OF_SEVERAL = ("jacobian", "vjp", "jvp")
OF_NUMBERS = ("hessian", "hvp")

EACH = rows(
    globals(),
    r"""
for NAME in OF_SEVERAL OF_NUMBERS:
    mr.NAME(3.0, ONE) -> NAME: func is a float
    mr.NAME(loss, ()) -> NAME: inputs is an empty tuple
    mr.NAME(loss_of_two, (X, array(2))) -> NAME: entry 1 of inputs
    mr.NAME(loss, INTS) -> NAME: input 0 has dtype int64 & lambda
    mr.NAME(mr.Tensor.numpy, ONE) -> NAME: what the function returned
    mr.NAME(loss, ONE, create_graph="yes") -> NAME: create_graph is 'yes'
    mr.NAME(loss, ONE, strict=1) -> NAME: strict is 1
    mr.NAME(lambda x: x.detach(), ONE, strict=True) -> raises RuntimeError: NAME: output 0 & not recorded
for NAME in jacobian hessian vjp:
    mr.NAME(lambda x, y: loss(x), (ONE, tensor()), strict=True) -> raises RuntimeError: input 1 & strict=True
for NAME in BY_INPUT:
    mr.NAME(lambda x, y: loss(x), (ONE, tensor()), (ONE, ONE), strict=True) ->
        raises RuntimeError: input 1 & strict=True
    mr.NAME(loss, X) -> NAME: v is None & (2, 3)
    mr.NAME(loss_of_two, (ONE, ONE)) -> NAME: v is None
for NAME in vjp/cube jvp/cube hvp/loss:
    mr.NAME(WORD, X, Y) -> v has shape (4,) & (2, 3)
    mr.NAME(WORD, X, (X, X)) -> NAME: v has 2 Tensors for 1
    mr.NAME(WORD, X, array(2, 3)) -> NAME: v is & ndarray
mr.hessian(cube, X) -> hessian: the function returned shape (2, 3)
mr.hessian(lambda x: (loss(x), loss(x)), X) -> hessian: the function returned 2 Tensors
mr.jacobian(cube, X, strategy="forward") -> strategy is 'forward' & likely 'forward-mode'
mr.jacobian(cube, X, vectorize=4) -> vectorize is 4
mr.hessian(loss, X, outer_jacobian_strategy="both") -> outer_jacobian_strategy is 'both'
""",
)
TWICE = mr.vmap(lambda x: x * 2)

MAPPING = rows(
    globals(),
    r"""
mr.vmap(X) -> vmap: func is a Tensor
mr.vmap(cube, None) -> in_dims is None
mr.vmap(cube, 0, (0, None)) -> out_dims is (0, None)
mr.vmap(cube, randomness="same") -> got randomness & only func & random
mr.vmap(cube, chunk_size=2) -> got chunk_size & draws its own
TWICE() -> vmap: got no samples & one or more
TWICE(tensor(0, 3)) -> vmap: got 0 samples & one or more
TWICE(array(2, 3)) -> vmap: in_dims has the axis 0 & ndarray
TWICE(ONE) -> shape () & None
mr.vmap(lambda x: 3.0)(X) -> result 0 is 3.0
""",
)


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


RECOMPUTATION = rows(
    globals(),
    r"""
mr.checkpoint(X) -> checkpoint: function is a Tensor
mr.checkpoint(cube, X, use_reentrant="no") -> use_reentrant is 'no'
mr.checkpoint(cube, X, preserve_rng_state=1) -> preserve_rng_state is 1
used_up().backward() -> raises RuntimeError: freed & retain_graph
forgetful().backward(retain_graph=True) -> raises RuntimeError: (1, 3) & (2, 3) & state
""",
)

OWN_OPS = rows(
    globals(),
    r"""
mr.autograd.Function() -> cannot be instantiated & Function.apply
mr.autograd.set_detect_anomaly(1) -> set_detect_anomaly: mode is 1
mr.autograd.detect_anomaly(3) -> check_nan is 3
mr.autograd.once_differentiable(3) -> once_differentiable: got a int & the method
mr.devices.CppSource(3) -> CppSource: text is a int
mr.devices.CudaSource(None) -> CudaSource: text is a NoneType
""",
)

ROWS = [*EACH, *MAPPING, *RECOMPUTATION, *OWN_OPS]
