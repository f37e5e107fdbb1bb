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


def products(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 4: Jacobians of a network without bias, a matrix with its eigenvectors, an orthogonal one."""
    T, H = 6, 4
    R, g, x = rng.normal(size=(H, H)), rng.normal(size=(1, H)), rng.normal(size=(T + 1, 1, H))
    eigenvalues, V = np.linalg.eig(R)
    h = [rng.normal(size=(1, H))]
    for t in range(1, T + 1):
        h.append(np.tanh(h[-1] @ R + x[t]))

    def steps(t: int, s: int) -> np.ndarray:
        def later(state: Tensor) -> Tensor:
            for k in range(s + 1, t + 1):
                state = mr.tanh(state @ R + x[k])
            return state

        return mr.jacobian(later, mr.tensor(h[s])).numpy().reshape(H, H)

    world = {
        **{"R": R, "V": V, "g": g, "h": at(h), "Q": np.linalg.qr(R)[0]},
        r"\rho": float(np.abs(eigenvalues).max()),
        r"\kappa": float(np.linalg.cond(V)),
        r"\gamma": lambda t: float((1 - h[t] ** 2).max()),
        "D": lambda t: mr.jacobian(mr.tanh, mr.tensor(h[t - 1] @ R + x[t])).numpy().reshape(H, H),
        r"\partial h/\partial h": steps,
    }
    return world, [{"t": t, "n": n, "T": T} for t in range(1, T) for n in range(1, 5)]


def lstm(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 5: the LSTM in primitives, a batch of one row. d c/d c leaves all but the state before as it is."""
    T, I, H = 4, 3, 4
    gates, of = "ifco", {"i": mr.sigmoid, "f": mr.sigmoid, "c": mr.tanh, "o": mr.sigmoid}
    x = {t: mr.tensor(rng.normal(size=(1, I))) for t in range(1, T + 1)}
    W, R, b = ({g: mr.tensor(0.7 * rng.normal(size=(n, H)), requires_grad=True) for g in gates} for n in (I, H, 1))
    c = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    h = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    z: dict[str, dict[int, Tensor]] = {g: {} for g in gates}
    a: dict[str, dict[int, Tensor]] = {g: {} for g in gates}
    dc, dh, y = {}, {}, {}
    for t in range(1, T + 1):
        dc[t - 1], dh[t - 1] = node(c[t - 1]), node(h[t - 1])
        for g in gates:
            z[g][t] = x[t] @ W[g] + dh[t - 1] @ R[g] + b[g]
            a[g][t] = of[g](z[g][t])
        c[t] = a["f"][t] * dc[t - 1] + a["i"][t] * a["c"][t]
        h[t] = a["o"][t] * mr.tanh(c[t])
        y[t] = node(h[t])
    wanted = {r"\delta h": h, r"\delta c": c, r"\delta h^\leftarrow": dh, r"\delta c^\leftarrow": dc, r"\delta y": y}
    wanted |= {rf"\delta z_{g}": z[g] for g in gates} | {rf"\delta R_{g}": R[g] for g in gates}
    found = grads_of(sum(losses(rng, y).values(), mr.tensor(0.0)), wanted)
    for name in (r"\delta h^\leftarrow", r"\delta c^\leftarrow"):
        found[name] = at({t: found[name](t) for t in dc} | {T: np.zeros((1, H))})

    def jacobian(t: int, s: int) -> np.ndarray:
        def step(before: Tensor) -> Tensor:
            output = a["o"][s].detach() if s else mr.tensor(np.ones((1, H)))
            hidden = output * mr.tanh(before)
            now = {g: of[g](x[t] @ W[g].detach() + hidden @ R[g].detach() + b[g].detach()) for g in gates}
            return now["f"] * before + now["i"] * now["c"]

        if s == 0:
            raise KeyError(s)  # h_0 is given: it does not come from c_0
        return mr.jacobian(step, c[s].detach()).numpy().reshape(H, H)

    values = {"x": x, "c": c, "h": h, "i": a["i"], "f": a["f"], "o": a["o"], r"\tilde c": a["c"]}
    values |= {f"z_{g}": z[g] for g in gates}
    bias = float(rng.uniform(0.5, 3))
    world = {
        **{name: at({t: v.numpy() for t, v in of_steps.items()}) for name, of_steps in values.items()},
        **{f"{letter}_{g}": of_gate[g].numpy() for letter, of_gate in (("W", W), ("R", R), ("b", b)) for g in gates},
        **found,
        "d c/d c": jacobian,
        "S": lambda t: mr.jacobian(lambda v: a["o"][t].detach() * mr.tanh(v), c[t].detach()).numpy().reshape(H, H),
        "b": bias,
        "n_1/2": np.log(0.5) / np.log(1 / (1 + np.exp(-bias))),
    }
    return world, [{"t": t, "T": T} for t in range(1, T + 1)]


WORLDS = {"03_one_step_then_many": rnn, "04_vanish_and_explode": products, "05_the_lstms_highway": lstm}
