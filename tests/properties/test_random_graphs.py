"""Random graphs of primitives: values, first and second derivatives, against torch and against differences."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import minirnn as mr
from tests.compare import assert_close
from tests.examples import examples
from tests.ops.derivatives import DIFFERENCES, along, dot
from tests.properties.graphs import PRIMITIVES, Program, programs

SEEDS = st.integers(0, 2**16)


def draw(program: Program, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs, and a direction in their space."""
    rng = np.random.default_rng(seed)
    values = [rng.standard_normal(shape) for shape in program.shapes]
    return values, [rng.standard_normal(shape) for shape in program.shapes]


def ours(program: Program, device: str, values: Any, direction: Any) -> tuple[np.ndarray, list[Any], list[Any]]:
    """Value, gradient, and the gradient of <gradient, direction>."""
    inputs = [mr.tensor(v, True, device) for v in values]
    y = program.run(inputs, mr)
    gs = mr.grad(y, inputs, create_graph=True)
    product = dot(gs, [mr.tensor(d, device=device) for d in direction])
    second = mr.grad(product, inputs) if product.requires_grad else [mr.tensor(np.zeros(v.shape)) for v in values]
    return y.numpy(), [g.numpy() for g in gs], [g.numpy() for g in second]


@pytest.mark.slow_elsewhere
@examples(60)
@hypothesis.given(program=programs(smooth=False), seed=SEEDS)
def test_values_and_derivatives_are_torchs(program: Program, seed: int, device: str) -> None:
    torch = pytest.importorskip("torch")
    values, direction = draw(program, seed)
    y, first, second = ours(program, device, values, direction)
    inputs = [torch.tensor(v, requires_grad=True) for v in values]
    u = program.run(inputs, torch)
    gs = torch.autograd.grad(u, inputs, create_graph=True, materialize_grads=True)
    product = dot(gs, [torch.tensor(d) for d in direction])
    assert_close(y, u.detach().numpy(), 1e-10, "float64, magnified by up to 8 ops in a row", what="value")
    for k, (g, h) in enumerate(zip(first, gs, strict=True)):
        assert_close(g, h.detach().numpy(), 1e-10, "float64, magnified by up to 8 ops in a row", what=f"gradient {k}")
    if product.requires_grad:
        expected = torch.autograd.grad(product, inputs, materialize_grads=True)
        for k, (g, h) in enumerate(zip(second, expected, strict=True)):
            assert_close(g, h.numpy(), 1e-8, "another factor of 100", what=f"second derivative {k}")


@pytest.mark.slow_elsewhere
@examples(25)
@hypothesis.given(program=programs(smooth=True, longest=5), seed=SEEDS)
def test_first_and_second_derivatives_are_differences(program: Program, seed: int, device: str) -> None:
    values, direction = draw(program, seed)
    _, first, second = ours(program, device, values, direction)

    def gradient(at: Any) -> list[np.ndarray]:
        inputs = [mr.tensor(v, True, device) for v in at]
        return [g.numpy() for g in mr.grad(program.run(inputs, mr), inputs)]

    def value(at: Any) -> list[np.ndarray]:
        return [program.run([mr.tensor(v, device=device) for v in at], mr).numpy()]

    slope = np.array(sum(float((g * d).sum()) for g, d in zip(first, direction, strict=True)))
    scale = max(1.0, *(float(np.abs(g).max()) for g in second if g.size), 1.0)  # roughly that of the next derivatives
    tolerance, why = DIFFERENCES
    assert_close(slope, along(value, values, direction)[0], tolerance * scale, why, what="slope")
    for k, (g, e) in enumerate(zip(second, along(gradient, values, direction), strict=True)):
        assert_close(g, e, tolerance * scale, why, what=f"second derivative {k}")


@pytest.mark.parametrize("name", PRIMITIVES)
def test_random_graphs_reach_every_primitive(name: str) -> None:
    primitive = PRIMITIVES[name]
    shapes = hypothesis.find(
        st.tuples(*[st.lists(st.integers(0, 3), max_size=3).map(tuple)] * primitive.operands),
        lambda shapes: primitive.fits(*shapes) and all(shapes) and all(0 not in s for s in shapes),
        settings=hypothesis.settings(max_examples=2000),
    )
    inputs = [mr.tensor(np.full(s, 0.3), True) for s in shapes]
    assert primitive.call(mr, *inputs, 1).requires_grad
