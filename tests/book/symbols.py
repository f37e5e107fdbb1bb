"""Helpers of the worlds of the book: separate nodes, indices, gradients by name."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.engine.tensor import Tensor

Indices = list[dict[str, int]]


def node(a: Any) -> Tensor:
    """A separate node with the same value, which sees only the gradient that flows through it."""
    return a + 0.0


def at(values: dict[int, Any] | Sequence[Any]) -> Any:
    """A symbol with one index; an index that the book does not use is an error."""
    table = dict(enumerate(values)) if isinstance(values, Sequence) else values
    return lambda t: table[t]


def grads_of(loss: Tensor, wanted: dict[str, dict[int, Tensor] | Tensor]) -> dict[str, Any]:
    """The gradients of a loss with respect to each of the nodes, by the names of the nodes."""
    flat = [a for found in wanted.values() for a in (found.values() if isinstance(found, dict) else [found])]
    grads = iter(g.numpy() for g in mr.grad(loss, flat, retain_graph=True))
    return {
        name: at({t: next(grads) for t in found}) if isinstance(found, dict) else next(grads)
        for name, found in wanted.items()
    }


def losses(rng: np.random.Generator, y: dict[int, Tensor]) -> dict[int, Tensor]:
    """A loss for each step with a gradient that is different everywhere."""
    return {t: (mr.tensor(rng.normal(size=v.shape)) * mr.sin(1.3 * v)).sum() for t, v in y.items()}


def over_steps(R: np.ndarray, x: Any, h: Any) -> Callable[[int, int], np.ndarray]:
    """The Jacobian of h_t with respect to h_s in a plain network, as a function of t and s."""

    def jacobian(t: int, s: int) -> np.ndarray:
        def later(state: Tensor) -> Tensor:
            for k in range(s + 1, t + 1):
                state = mr.tanh(state @ R + x[k])
            return state

        return mr.jacobian(later, mr.tensor(h[s])).numpy().reshape(R.shape)

    return jacobian
