"""A second derivative through a whole model. `tests/peers` compares those of each module with torch."""

from typing import Any

import numpy as np

import minirnn as mr
from tests.compare import assert_close
from tests.ops.derivatives import DIFFERENCES, dot

T, B, I, H = 4, 2, 3, 4


def test_a_second_derivative_through_a_language_model_is_a_difference_of_gradients(rng: np.random.Generator) -> None:
    """Embedding, GRU, linear layer and cross-entropy: gathers, scatters and softmax among the fused ops."""
    mr.manual_seed(3)
    embedding = mr.nn.Embedding(7, I, dtype=np.float64)
    gru = mr.nn.GRU(I, H, dtype=np.float64)
    linear = mr.nn.Linear(H, 7, dtype=np.float64)
    parameters = [*embedding.parameters(), *gru.parameters(), *linear.parameters()]
    text, target = rng.integers(0, 7, (T, B)), rng.integers(0, 7, (T, B))
    start = [p.numpy().copy() for p in parameters]
    direction = [rng.standard_normal(p.shape) for p in parameters]

    def gradient(step: float, create_graph: bool = False) -> Any:
        for p, value, d in zip(parameters, start, direction, strict=True):
            p.assign(value + step * d)
        scores = linear(gru(embedding(text))[0])
        return mr.grad(mr.ops.cross_entropy(scores, target), parameters, create_graph=create_graph)

    second = mr.grad(dot(gradient(0.0, create_graph=True), direction), parameters)

    def central(h: float) -> list[np.ndarray]:
        return [(a.numpy() - b.numpy()) / (2 * h) for a, b in zip(gradient(h), gradient(-h), strict=True)]

    expected = [(4 * fine - coarse) / 3 for fine, coarse in zip(central(1e-4), central(2e-4), strict=True)]
    for k, (g, e) in enumerate(zip(second, expected, strict=True)):
        assert_close(g.numpy(), e, *DIFFERENCES, what=f"parameter {k}")
