"""What the symbols of the book's equations are: values and gradients from the tape, in random sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.engine.tensor import Tensor
from tests.book.tex import World

Indices = list[dict[str, int]]


def node(a: Any) -> Tensor:
    """A node of its own with the same value: it sees only what flows through it."""
    return a + 0.0


def at(values: dict[int, Any] | Sequence[Any]) -> Any:
    """A symbol with one index; an index that the book does not use is an error."""
    table = dict(enumerate(values)) if isinstance(values, Sequence) else values
    return lambda t: table[t]


def grads_of(loss: Tensor, wanted: dict[str, dict[int, Tensor] | Tensor]) -> dict[str, Any]:
    """The gradients of a loss with respect to each of the nodes, by the names of the nodes."""
    flat = [a for found in wanted.values() for a in (found.values() if isinstance(found, dict) else [found])]
    grads = iter(g.numpy() for g in mr.grad(loss, flat))
    return {
        name: at({t: next(grads) for t in found}) if isinstance(found, dict) else next(grads)
        for name, found in wanted.items()
    }


def losses(rng: np.random.Generator, y: dict[int, Tensor]) -> dict[int, Tensor]:
    """A loss for each step with a gradient that is different everywhere."""
    return {t: (mr.tensor(rng.normal(size=v.shape)) * mr.sin(1.3 * v)).sum() for t, v in y.items()}


def rnn(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 3: z_t, h_t of a plain network. A batch of one row, so that Jacobians are matrices."""
    T, I, H = 5, 3, 4
    x = {t: mr.tensor(rng.normal(size=(1, I)), requires_grad=True) for t in range(1, T + 1)}
    W, R = (mr.tensor(0.6 * rng.normal(size=(n, H)), requires_grad=True) for n in (I, H))
    b = mr.tensor(rng.normal(size=(1, H)), requires_grad=True)
    h = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    z, carried, y = {}, {}, {}
    for t in range(1, T + 1):
        carried[t - 1] = node(h[t - 1])
        z[t] = x[t] @ W + carried[t - 1] @ R + b
        h[t] = mr.tanh(z[t])
        y[t] = node(h[t])
    of_steps = losses(rng, y)
    loss = sum(of_steps.values(), mr.tensor(0.0))
    found = grads_of(
        loss,
        {r"\delta h": h, r"\delta h^\leftarrow": carried, r"\delta y": y, r"\delta z": z, r"\delta x": x}
        | {r"\delta W": W, r"\delta R": R, r"\delta b": b},
    )
    found[r"\delta h^\leftarrow"] = at({t: found[r"\delta h^\leftarrow"](t) for t in carried} | {T: np.zeros((1, H))})
    found[r"\delta y"] = at({t: found[r"\delta y"](t) for t in y} | {0: np.zeros((1, H))})  # h_0 has no loss of its own

    def jacobian(t: int, s: int) -> np.ndarray:
        def later(before: Tensor) -> Tensor:
            for k in range(s + 1, t + 1):
                before = mr.tanh(x[k].detach() @ W.detach() + before @ R.detach() + b.detach())
            return before

        return mr.jacobian(later, h[s].detach()).numpy().reshape(H, H)

    world = {
        **{name: at({t: a.numpy() for t, a in of.items()}) for name, of in {"x": x, "z": z, "h": h}.items()},
        **{"W": W.numpy(), "R": R.numpy(), "b": b.numpy(), "L": loss.item()},
        **found,
        r"\ell": at({t: a.item() for t, a in of_steps.items()}),
        "d L/d h": found[r"\delta h"],
        r"\partial L/\partial h": found[r"\delta y"],
        r"\partial h/\partial h": jacobian,
    }
    return world, [{"t": t, "k": t, "s": s, "T": T} for t in range(1, T + 1) for s in range(t)]


WORLDS = {"03_one_step_then_many": rnn}
