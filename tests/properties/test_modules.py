"""Second derivatives through whole models: modules of nn, by every parameter, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.compare import assert_close
from tests.ops.derivatives import DIFFERENCES, dot

T, B, I, H = 4, 2, 3, 4

MODULES = {
    "LSTM": {"num_layers": 2, "bidirectional": True},
    "LSTM-projected": {"proj_size": 2},
    "GRU": {"num_layers": 2, "bias": False},
    "RNN": {"bidirectional": True},
}


def loss(outputs: Any) -> Any:
    return (outputs * outputs * outputs).sum()


@pytest.mark.slow_elsewhere
@pytest.mark.parametrize("name", MODULES)
def test_products_with_the_hessian_of_all_parameters_are_torchs(
    name: str, rng: np.random.Generator, device: str
) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    kind, options = name.partition("-")[0], MODULES[name]
    theirs = getattr(torch.nn, kind)(I, H, dtype=torch.float64, **options)
    ours = getattr(mr.nn, kind)(I, H, device=device, dtype=np.float64, **options)
    ours.load_state_dict({key: t.detach().numpy() for key, t in theirs.state_dict().items()})
    x = rng.standard_normal((T, B, I))
    direction = {key: rng.standard_normal(t.shape) for key, t in ours.state_dict().items()}

    named = dict(ours.named_parameters())
    gs = mr.grad(loss(ours(mr.tensor(x, device=device))[0]), list(named.values()), create_graph=True)
    product = dot(gs, [mr.tensor(direction[key], device=device) for key in named])
    second = mr.grad(product, list(named.values()))

    parameters = dict(theirs.named_parameters())
    hs = torch.autograd.grad(loss(theirs(torch.tensor(x))[0]), list(parameters.values()), create_graph=True)
    product = dot(hs, [torch.tensor(direction[key]) for key in parameters])
    expected = dict(zip(parameters, torch.autograd.grad(product, list(parameters.values())), strict=True))
    for key, g in zip(named, second, strict=True):
        assert_close(g.numpy(), expected[key].numpy(), 1e-8, "float64 through a second derivative", what=key)


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
