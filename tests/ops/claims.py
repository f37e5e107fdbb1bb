"""What is claimed of every fused op, whatever it computes. The files of the ops say for which cases.

A claim raises AssertionError if it is false. That an op computes the right thing is claimed elsewhere: by stored
values, and by comparisons with torch in `tests/proof/test_any_order.py`. Wrong calls are in the tables of
`tests/hostile/`, random sizes and values in `tests/proof/test_properties.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import minirnn as mr
from tests.compare import assert_close
from tests.ops.derivatives import DIFFERENCES, along, derivatives
from tests.ops.fused_cases import Case

COMPOSED = "cpu-composed"
"""The device without fused kernels, on which every op is its composition from primitives."""


def kernels_equal_the_composition(case: Case, rng: np.random.Generator, device: str) -> None:
    """In outputs, first and second gradients; recording the backward pass changes no bit; the kernels are used."""
    place = mr.devices.get(device)
    before = place.fallbacks.copy()
    values = case.draw(rng)
    outputs = case.ours(*[mr.tensor(v) for v in values])
    cotangents = [rng.standard_normal(y.shape) for y in outputs]
    second = [rng.standard_normal(v.shape) for v in values]
    results = []
    for name in (device, COMPOSED):
        inputs = [mr.tensor(v, True, name) for v in values]
        upstream = [mr.tensor(g, device=name) for g in cotangents]
        outputs = case.ours(*inputs)
        plain = mr.grad(outputs, inputs, upstream, retain_graph=True)
        first = mr.grad(outputs, inputs, upstream, create_graph=True)
        again = mr.grad(first, inputs, [mr.tensor(s, device=name) for s in second])
        for a, b in zip(plain, first, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
        results.append([t.numpy() for t in (*outputs, *first, *again)])
    if place.kernels:  # a device of somebody else may have none
        assert place.fallbacks == before, "compositions were computed"
    for k, (fused, plain) in enumerate(zip(*results, strict=True)):
        # float64, sums over T * B * H products of size 1, some of them squared
        np.testing.assert_allclose(fused, plain, rtol=1e-10, atol=1e-11, err_msg=f"result {k}")


def each_output_alone_carries_gradient(case: Case, rng: np.random.Generator, device: str) -> None:
    """The gradients by one output, whether or not others are used, are those of the composition."""
    values = case.draw(rng)
    for k, y in enumerate(case.ours(*[mr.tensor(v) for v in values])):
        cotangent = rng.standard_normal(y.shape)
        found = []
        for name in (device, COMPOSED):
            inputs = [mr.tensor(v, True, name) for v in values]
            seed = mr.tensor(cotangent, device=name)
            found.append([g.numpy() for g in mr.grad(case.ours(*inputs)[k], inputs, seed)])
        assert any(np.abs(g).max() > 0 for g in found[0]), f"output {k}"
        for fused, plain in zip(*found, strict=True):
            np.testing.assert_allclose(fused, plain, rtol=1e-11, atol=1e-12, err_msg=f"output {k}")


def low_precision_follows_float64(case: Case, rng: np.random.Generator, device: str) -> None:
    """In outputs and gradients, which have the dtype of the inputs."""
    values = case.draw(rng)
    # half: 2^-11 a rounding, of inputs of the Grad kernel that are themselves rounded; single: 2^-24 a product
    for dtype, tolerance in (("f2", 1e-2), ("f4", 5e-6)):
        low = [v.astype(dtype) for v in values]
        found = []
        for chosen in (low, [v.astype("f8") for v in low]):
            inputs = [mr.tensor(v, True, device) for v in chosen]
            y = case.ours(*inputs)
            seeds = [np.cos(np.arange(t.size)).reshape(t.shape).astype(t.dtype) for t in y]
            found.append([t.numpy() for t in (*y, *mr.grad(y, inputs, seeds))])
            assert all(t.dtype == chosen[0].dtype for t in found[-1])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(a.astype("f8"), b, rtol=0, atol=tolerance * max(1, np.abs(b).max()))


def float16_is_computed_in_float32_and_rounded_once(case: Case, rng: np.random.Generator, device: str) -> None:
    """To the last bit; only LSTMBlockCell has its own kernels for float16, on a GPU."""
    half = [mr.tensor(v.astype("f2"), device=device) for v in case.draw(rng)]
    for got, exact in zip(case.ours(*half), case.ours(*[t.astype("f4") for t in half]), strict=True):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got.numpy(), exact.numpy().astype("f2"))


def derivatives_are_differences(case: Case, rng: np.random.Generator, device: str) -> None:
    """The gradient of a loss in a random direction, and the product of its Hessian with it."""
    values = case.draw(rng)
    outputs = case.ours(*[mr.tensor(v) for v in values])
    weights = [rng.standard_normal(y.shape) for y in outputs]
    directions = [[rng.standard_normal(v.shape) for v in values]]

    def at(arrays: list[np.ndarray], order: int) -> list[np.ndarray]:
        return derivatives(case.ours, device, arrays, weights, directions, order)

    slope = sum(float((g * d).sum()) for g, d in zip(at(values, 1), directions[0], strict=True))
    assert_close(np.array(slope), along(lambda vs: at(vs, 0), values, directions[0])[0], *DIFFERENCES, what="slope")
    # Gradients by the fused kernels, as training computes them, against the second derivative of the composition.
    expected = along(lambda vs: at(vs, 1), values, directions[0])
    for k, (g, e) in enumerate(zip(at(values, 2), expected, strict=True)):
        assert_close(g, e, *DIFFERENCES, what=f"second derivative by input {k}")


def name_of(claim: Callable[..., None]) -> str:
    """How a claim is called in the id of a test."""
    return claim.__name__


OF_EVERY_OP = (kernels_equal_the_composition, each_output_alone_carries_gradient, low_precision_follows_float64)
