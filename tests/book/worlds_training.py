"""Symbols of the chapters on checking gradients and on training, each with a separate tape."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.engine.tensor import Tensor
from tests.book.tex import World

Indices = list[dict[str, int]]


def training(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 10: a plain network with and without cuts, a clipped gradient, a softmax; each independent."""
    K = int(rng.integers(1, 4))
    T, I, H, V = 6, 3, 4, 5
    x = [mr.tensor(rng.normal(size=(1, I))) for _ in range(T + 1)]
    W = mr.tensor(rng.normal(size=(I, H)))
    R = mr.tensor(0.7 * rng.normal(size=(H, H)), requires_grad=True)
    weigh = [mr.tensor(rng.normal(size=(1, H))) for _ in range(T + 1)]
    first = mr.tensor(rng.normal(size=(1, H)), requires_grad=True)

    def run(cut: bool) -> tuple[list[Tensor], list[Tensor]]:
        h = [first]
        for t in range(1, T + 1):
            before = h[-1].detach() if cut and t > 1 and (t - 1) % K == 0 else h[-1]
            h.append(mr.tanh(x[t] @ W + before @ R))
        return h, [(weigh[t] * mr.sin(1.3 * h[t])).sum() for t in range(1, T + 1)]

    def gradient(cut: bool) -> np.ndarray:
        return mr.grad(sum(run(cut)[1], mr.tensor(0.0)), R).numpy()

    h, of_steps = run(cut=False)
    sent = {
        (t, s): mr.grad(of_steps[s - 1], h[t], retain_graph=True).numpy() for s in range(1, T + 1) for t in range(s + 1)
    }

    def jacobian(t: int, s: int) -> np.ndarray:
        assert t == s + 1
        if t > T:
            raise KeyError(t)
        return mr.jacobian(lambda before: mr.tanh(x[t] @ W + before @ R.detach()), h[s].detach()).numpy().reshape(H, H)

    long, m, eta = rng.normal(size=(1, 9)), float(rng.uniform(0.1, 1)), float(rng.uniform(0.01, 1))
    weight = mr.tensor(np.zeros((1, 9)), requires_grad=True)
    (weight * long).sum().backward()
    mr.nn.utils.clip_grad_norm_([weight], m)
    clipped = weight.grad.numpy()
    if np.linalg.norm(long) > m:  # the function divides by the norm + 1e-6
        clipped = clipped * (m / np.linalg.norm(clipped))
    other = mr.tensor(np.zeros((1, 9)), requires_grad=True)
    (other * long).sum().backward()
    mr.nn.utils.clip_grad_value_([other], m)
    by_value = other.grad.numpy()

    y, tau = int(rng.integers(1, V + 1)), float(rng.uniform(0.3, 2))
    z = mr.tensor(2 * rng.normal(size=(1, V)), requires_grad=True)
    loss = mr.ops.cross_entropy(z, np.array([y - 1]), "sum")
    p, q = mr.softmax(z, dim=1).numpy(), mr.softmax(z / tau, dim=1).numpy()

    def entries(row: np.ndarray) -> Callable[..., Any]:
        return lambda *j: row[0, j[0] - 1] if j else row

    world = {
        **{"h": lambda t: h[t].numpy(), "v": lambda t, s: sent[t, s], r"\delta y": lambda s: sent[s, s]},
        **{r"\partial h/\partial h": jacobian, r"\delta R": gradient(False), r"\delta R_K": gradient(True)},
        **{"K": float(K), "C": lambda t, s: float((t - 1) // K == (s - 1) // K)},
        **{"a": entries(long), r"\hat a": clipped, r"\bar a": entries(by_value), "m": m, r"\eta": eta, r"\tau": tau},
        **{"p": entries(p), "q": entries(q), "z": entries(z.numpy()), "e": lambda k: np.eye(V)[k - 1 : k]},
        **{r"\ell": loss.item(), r"\delta z": mr.grad(loss, z).numpy()},
    }
    return world, [
        {"t": t, "s": s, "d": d, "T": T // K * K, "j": j, "y": y, "V": V}
        for t in range(1, T + 1)
        for s in range(t, T + 1)
        for d, j in [(int(rng.integers(0, K + 1)), int(rng.integers(1, V + 1)))]
    ]


def padded(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 9: a sequence of n steps in a rectangle of T."""
    T, n, I, H = 6, int(rng.integers(3, 6)), 3, 4
    x = {t: mr.tensor(rng.normal(size=(1, I))) for t in range(1, T + 1)}
    W, b = mr.tensor(rng.normal(size=(I, H))), mr.tensor(rng.normal(size=(1, H)))
    R = mr.tensor(rng.normal(size=(H, H)), requires_grad=True)
    h = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    z, new, carried, y = {}, {}, {}, {}
    for t in range(1, T + 1):
        valid = np.full((1, H), t <= n)
        carried[t - 1] = h[t - 1] + 0.0
        z[t] = x[t] @ W + carried[t - 1] @ R + b
        new[t] = mr.tanh(z[t])
        h[t] = mr.where(valid, new[t], carried[t - 1])
        y[t] = mr.where(valid, h[t], mr.tensor(np.zeros((1, H)))) + 0.0
    loss = sum((mr.sin(1.3 * v * rng.normal(size=(1, H))).sum() for v in y.values()), mr.tensor(0.0))
    loss = loss + (h[T] * rng.normal(size=(1, H))).sum()  # arrives at the last state, as if from a step T + 1
    nodes = {r"\delta h": h, r"\delta h^\leftarrow": carried, r"\delta y": y, r"\delta z": z}
    flat = [v for of in nodes.values() for v in of.values()]
    found = iter(g.numpy() for g in mr.grad(loss, [*flat, R]))
    world: dict[str, Any] = {name: {t: next(found) for t in of}.__getitem__ for name, of in nodes.items()}
    world |= {r"\delta R": next(found), "W": W.numpy(), "R": R.numpy(), "b": b.numpy(), "m": lambda t: float(t <= n)}
    for name, of in {"x": x, "h": h, r"\hat h": new, "y": y}.items():
        world[name] = {t: v.numpy() for t, v in of.items()}.__getitem__
    return world, [{"t": t, "n": n, "T": T} for t in range(1, T + 1)]


def two_directions(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 9: the states a and b of both directions over n steps."""
    n, I, H = 5, 3, 4
    x = {t: mr.tensor(rng.normal(size=(1, I))) for t in range(1, n + 1)}
    W, R = ({d: mr.tensor(rng.normal(size=(rows, H))) for d in "ab"} for rows in (I, H))
    a, b = ({end: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)} for end in (0, n + 1))
    for t in range(1, n + 1):
        a[t] = mr.tanh(x[t] @ W["a"] + a[t - 1] @ R["a"])
    for t in range(n, 0, -1):
        b[t] = mr.tanh(x[t] @ W["b"] + b[t + 1] @ R["b"])
    y = {t: mr.cat([a[t], b[t]], dim=1) for t in x}
    loss = sum((mr.sin(1.3 * v * rng.normal(size=(1, 2 * H))).sum() for v in y.values()), mr.tensor(0.0))
    nodes = {r"\delta a": a, r"\delta b": b, "y": y}
    found = iter(g.numpy() for g in mr.grad(loss, [v for of in nodes.values() for v in of.values()]))
    grads = {name: {t: next(found) for t in of} for name, of in nodes.items()}
    world: dict[str, Any] = {name: grads[name].__getitem__ for name in (r"\delta a", r"\delta b")}
    world |= {r"\delta y_a": lambda t: grads["y"][t][:, :H], r"\delta y_b": lambda t: grads["y"][t][:, H:]}
    world |= {f"{name}_{d}": of[d].numpy() for name, of in (("W", W), ("R", R)) for d in "ab"}
    for name, of in {"x": x, "a": a, "b": b, "y": y}.items():
        world[name] = {t: v.numpy() for t, v in of.items()}.__getitem__
    return world, [{"t": t, "n": n} for t in range(1, n + 1)]


def neuron(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 1: the neuron, a matrix product, and a row v that is used n times."""

    def draw(*shape: int) -> Tensor:
        return mr.tensor(rng.normal(size=shape), requires_grad=True)

    x, w, b, a, M, v = draw(1, 1), draw(1, 1), draw(1, 1), draw(2, 3), draw(3, 4), draw(1, 3)
    z = x * w + b
    h = mr.tanh(z)
    loss = (h * h + h).sum()
    wanted = {"z": z, "h": h, "x": x, "w": w, "b": b}
    found = dict(zip(wanted, mr.grad(loss, list(wanted.values())), strict=True))
    y = a @ M
    found |= zip(("a", "M", "y"), mr.grad((mr.sin(y) * rng.normal(size=(2, 4))).sum(), [a, M, y]), strict=True)
    W = mr.tensor(rng.normal(size=(3, 3)))
    uses = [mr.sin, mr.exp, lambda row: mr.tanh(row @ W)]
    u = [use(v) for use in uses]
    of_v, *of_u = mr.grad((mr.sin(u[0]) * u[1] * u[2]).sum(), [v, *u])
    jacobians = [mr.jacobian(use, v.detach()).numpy().reshape(3, 3) for use in uses]
    world: dict[str, Any] = {name: value.numpy() for name, value in (wanted | {"a": a, "M": M, "y": y}).items()}
    world |= {rf"\delta {name}": grad.numpy() for name, grad in (found | {"v": of_v}).items()} | {"L": loss.item()}
    world |= {r"\delta u": lambda k: of_u[k - 1].numpy(), r"\partial u/\partial v": lambda k: jacobians[k - 1]}
    return world, [{"n": 3}, {"n": 3}]


def differences(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 2: the loss is a polynomial, so that Taylor's series ends with the fifth derivative."""
    loss = np.polynomial.Polynomial(rng.normal(size=6))
    w, s, epsilon = rng.normal(), float(rng.uniform(0.1, 0.5)), 1e-3
    near = np.linspace(w - s, w + s, 1001)
    M, Q = float(np.abs(loss(near)).max()), float(np.abs(loss.deriv(3)(near)).max())
    above, below = loss(w + s), loss(w - s)
    rounded = [value + epsilon * M * rng.uniform(-1, 1) for value in (above, below)]
    smallest = np.roots([Q / 3, 0, 0, -epsilon * M])  # where the derivative of the bound is zero, times s ** 2
    tape = mr.tensor(w, requires_grad=True, dtype=np.float64)
    powers = sum((float(c) * tape**k for k, c in enumerate(loss.coef) if k), mr.tensor(0.0))
    world = {
        **{"L_w+s": above, "L_w-s": below, "s": s, "M": M, "Q": Q, r"\epsilon": epsilon},
        **{"L^(1)": mr.grad(powers, tape).item(), "L^(3)": loss.deriv(3)(w), "L^(5)": loss.deriv(5)(w)},
        **{"D_s": (above - below) / (2 * s), "D_s/2": (loss(w + s / 2) - loss(w - s / 2)) / s},
        **{r"\hat D_s": (rounded[0] - rounded[1]) / (2 * s)},
        r"s_\star": float(next(root.real for root in smallest if abs(root.imag) < 1e-12)),
    }
    return world, [{}, {}]


WORLDS: dict[str, Callable[[np.random.Generator], tuple[World, Indices]]] = {
    "01_the_tape": neuron,
    "02_trust_but_difference": differences,
    "09_real_batches": padded,
    "09_real_batches:padded": padded,
    "09_real_batches:two": two_directions,
    "10_from_beginning_to_end": training,
    "08_what_a_cut_loses": training,
}
