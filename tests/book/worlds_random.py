"""Symbols of the chapters on random Jacobians and on linear recurrences, and of the derivations that belong to them."""

import itertools
import math
from typing import Any

import numpy as np
from numpy.polynomial import Legendre

import minirnn as mr
from minirnn.engine.tensor import Tensor
from tests.book.symbols import Indices, at, grads_of, losses, node
from tests.book.tex import World


def random(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 22: the critical bias by bisection, w_n by Legendre's polynomials, new signs by counting."""
    rho, b = float(rng.uniform(0.3, 1.5)), float(rng.uniform(-1, 3))
    g, f = (float(value) for value in np.sort(rng.uniform(0.1, 1, 2)))
    low, high = -9.0, 9.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 / (1 + np.exp(-middle)) + rho / 4 < 1 else (low, middle)

    def same(n: int) -> float:
        return math.sqrt((f * f - g * g) ** n * Legendre.basis(n)((f * f + g * g) / (f * f - g * g)))

    def new(n: int) -> float:
        return math.sqrt(
            np.mean([math.prod(f + g * s for s in signs) ** 2 for signs in itertools.product((-1, 1), repeat=n)])
        )

    R = np.diag([rho, -rho, rho / 2])  # its eigenvalues are on the diagonal; one step of an LSTM at zero states
    step = np.block([[np.eye(3) / (1 + np.exp(-b)), R / 2], [np.eye(3) / (2 + 2 * np.exp(-b)), R / 4]])
    world = {
        **{r"\rho": rho, "b": b, "f": f, "g": g, "L": float(np.linalg.eigvals(step).real.max())},
        **{r"b^\star": low, r"\bar w": same, r"\bar v": new, "C": lambda n, k: float(math.comb(n, k))},
    }
    return world, [{"n": n} for n in range(1, 6)]


def random_cuts(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 8: rows carried back through random cuts, and the variance of a factor over all patterns of cuts."""
    T, H, p = 5, 3, float(rng.uniform(0.5, 0.95))
    J, arriving = rng.normal(size=(T + 1, H, H)), rng.normal(size=(T + 1, 1, H))
    w = (rng.random(T + 1) < 0.7).astype(float)

    def carried(t: int, s: int, cut: bool) -> np.ndarray:
        row = arriving[s]
        for k in range(s, t, -1):
            row = row @ J[k] * (w[k] / p if cut else 1.0)
        return row

    def variance(n: int) -> float:
        patterns = np.array(list(itertools.product((0.0, 1.0), repeat=n)))
        chances = np.prod(np.where(patterns, p, 1 - p), axis=1)
        factors = np.prod(patterns / p, axis=1)
        return float(chances @ (factors - 1) ** 2)

    world = {"v": lambda t, s: carried(t, s, False), r"\hat v": lambda t, s: carried(t, s, True)}
    world |= {"w": at({k: float(w[k]) for k in range(1, T + 1)}), "p": p, "V": variance}
    return world, [{"t": t, "s": s, "n": s - t} for s in range(1, T + 1) for t in range(1, s + 1)]


def linear(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 23: gradients from the tape, memories, and a linear step, for which Newton needs one iteration."""
    T, H, V = 5, 4, 3
    a, b = ({t: mr.tensor(rng.normal(size=(1, H)), requires_grad=True) for t in range(1, T + 1)} for _ in range(2))
    h, y = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}, {}
    for t in range(1, T + 1):
        h[t] = a[t] * h[t - 1] + b[t]
        y[t] = node(h[t])
    wanted = {r"\delta h": h, r"\delta y": y, r"\delta a": a, r"\delta b": b}
    found = grads_of(sum(losses(rng, y).values(), mr.tensor(0.0)), wanted)
    q, k = ({t: rng.normal(size=(1, H)) for t in range(1, T + 1)} for _ in range(2))
    v, beta = {t: rng.normal(size=(1, V)) for t in k}, {t: float(rng.uniform(0, 2)) for t in k}
    S = {t: sum((np.outer(k[s], v[s]) for s in range(1, t + 1)), np.zeros((H, V))) for t in range(T + 1)}
    read, delta = {t: q[t] @ S[t] for t in q}, {0: rng.normal(size=(H, V))}
    for t in k:  # a step of gradient descent on the error of reading
        memory = mr.tensor(delta[t - 1], requires_grad=True)
        delta[t] = delta[t - 1] - beta[t] * mr.grad(((k[t] @ memory - v[t]) ** 2).sum() / 2, memory).numpy()

    A, x = rng.normal(size=(H, H)), {t: rng.normal(size=(1, H)) for t in k}
    right, guess = {0: rng.normal(size=(1, H))}, {t: rng.normal(size=(1, H)) for t in range(T + 1)}
    guess[0] = right[0]
    for t in k:
        right[t] = right[t - 1] @ A + x[t]
    jacobian = mr.jacobian(lambda s: s @ A, mr.tensor(guess[1])).numpy().reshape(H, H)
    world = {
        **{name: at({t: value.numpy() for t, value in of.items()}) for name, of in (("h", h), ("a", a), ("b", b))},
        **found,
        **{"q": at(q), "k": at(k), "v": at(v), "y": at(read), r"\beta": at(beta), "S": at(S), r"\hat S": at(delta)},
        **{r"\mathbf{I}": np.eye(H), "I": np.eye(H), "J": at(dict.fromkeys(k, jacobian))},
        **{"e": at({t: right[t] - guess[t] for t in right})},
        **{"r": at({t: guess[t - 1] @ A + x[t] - guess[t] for t in k})},
    }
    return world, [{"t": t} for t in range(1, T)]


def adjoints(rng: np.random.Generator) -> tuple[World, Indices]:
    """`adjoints.md`: Euler steps of a rate tanh(h A), and the sum of a geometric series of Jacobians."""
    T, H, epsilon = 6, 4, float(rng.uniform(0.1, 0.5))
    A = rng.normal(size=(H, H))
    h, f = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}, {}
    for t in range(T):
        f[t] = mr.tanh(h[t] @ A)
        h[t + 1] = h[t] + epsilon * f[t]
    found = grads_of((mr.sin(h[T]) * rng.normal(size=(1, H))).sum(), {"delta": h})["delta"]
    J = 0.3 * rng.normal(size=(H, H)) / np.sqrt(H)
    arrives = rng.normal(size=(1, H))
    u = sum((arrives @ np.linalg.matrix_power(J, k) for k in range(200)), np.zeros((1, H)))

    def jacobian(*t: int) -> np.ndarray:
        return mr.jacobian(lambda s: mr.tanh(s @ A), h[t[0]].detach()).numpy().reshape(H, H) if t else J

    world = {
        **{"h": at({t: value.numpy() for t, value in h.items()}), "f": at({t: rate.numpy() for t, rate in f.items()})},
        **{r"\delta h": lambda *t: found(t[0]) if t else arrives, "J": jacobian, "u": u, r"\epsilon": epsilon},
    }
    return world, [{"t": t} for t in range(T)]


def warped(rng: np.random.Generator) -> tuple[World, Indices]:
    """`adjoints.md`: a network whose inputs last 1 / w steps each, computed with the times at which they end."""
    T, H, epsilon = 6, 4, float(rng.uniform(0.05, 0.2))
    A, x, w = rng.normal(size=(H, H)), rng.normal(size=(T, 1, H)), rng.uniform(0.5, 3, size=T)
    times = np.concatenate([[0], np.cumsum(epsilon * w)])
    h = [rng.normal(size=(1, H))]
    for t in range(T):
        h.append(h[t] + (times[t + 1] - times[t]) * (np.tanh(x[t] + h[t] @ A) - h[t]))
    kept = [float(((h[t + 1] - np.tanh(x[t] + h[t] @ A)) / (h[t] - np.tanh(x[t] + h[t] @ A))).mean()) for t in range(T)]
    world = {"h": at(h), r"\tilde h": at([np.tanh(x[t] + h[t] @ A) for t in range(T)]), "w": at(w.tolist())}
    return world | {r"\epsilon": epsilon, "g": at([1 - share for share in kept])}, [{"t": t} for t in range(T)]


def cayley(rng: np.random.Generator) -> tuple[World, Indices]:
    """The Cayley transform of A - A^T, and the gradient of A by complex steps."""
    H = 4
    A, G = rng.normal(size=(2, H, H))

    def transform(A: np.ndarray) -> np.ndarray:
        K = A - A.T
        return np.linalg.solve((np.eye(H) + K).T, (np.eye(H) - K).T).T

    def slope(j: int, k: int) -> float:
        changed = A.astype(complex)
        changed[j, k] += 1e-30j
        return float((G * transform(changed)).sum().imag / 1e-30)

    Q, K = transform(A), A - A.T
    F = np.linalg.solve((np.eye(H) - K).T, ((np.eye(H) + Q.T) @ G).T).T
    world = {"Q": Q, "K": K, "F": F, "I": np.eye(H), r"\delta Q": G}
    return world | {r"\delta A": np.array([[slope(j, k) for k in range(H)] for j in range(H)])}, [{}, {}]


def spectrum(rng: np.random.Generator) -> tuple[World, Indices]:
    """Rows that are made orthogonal at each step; the exponents are those of one factorization of the product."""
    T, H = 5, 4
    J = {t: rng.normal(size=(H, H)) / 2 for t in range(1, T + 1)}
    X, Z = {T: np.linalg.qr(rng.normal(size=(H, H)))[0][:3]}, {}
    for t in range(T, 0, -1):
        Q, U = np.linalg.qr((X[t] @ J[t]).T)
        X[t - 1], Z[t] = Q.T, U.T
    product = X[T]
    for t in range(T, 0, -1):
        product = product @ J[t]
    exponents = np.log(np.abs(np.diag(np.linalg.qr(product.T)[1]))) / T
    world = {"X": at(X), "J": at(J), "Z": at(Z), r"\lambda": lambda k: float(exponents[k - 1])}
    world |= {r"\zeta": lambda t, k: float(Z[t][k - 1, k - 1])}
    return world, [{"t": t, "k": k, "T": T} for t in range(1, T + 1) for k in range(1, 4)]


def selective(rng: np.random.Generator) -> tuple[World, Indices]:
    """S6 on the tape, with a separate node for each exponent and output."""
    T, H, N = 4, 3, 5

    def drawn(*shape: int) -> dict[int, Tensor]:
        return {t: mr.tensor(rng.normal(size=shape), requires_grad=True) for t in range(1, T + 1)}

    A, x, B, C, step = mr.tensor(-rng.uniform(size=(N, H)), requires_grad=True), *map(drawn, (1,) * 4, (H, N, N, H))
    S, E, y = {0: mr.tensor(rng.normal(size=(N, H)), requires_grad=True)}, {}, {}
    for t in x:
        E[t] = node(A * step[t])
        S[t] = mr.exp(E[t]) * S[t - 1] + B[t].reshape(N, 1) * (step[t] * x[t])
        y[t] = node(C[t] @ S[t])
    tables = {"S": S, "E": E, "x": x, "B": B, "C": C, r"\Delta": step, "y": y}
    wanted: dict[str, Any] = {rf"\delta {name}": of for name, of in tables.items()}
    found = grads_of(sum(losses(rng, y).values(), mr.tensor(0.0)), wanted | {r"\delta A": A})
    world = {name: at({t: value.numpy() for t, value in of.items()}) for name, of in tables.items()}
    return world | found | {"A": A.numpy(), "e": np.ones((1, N))}, [{"t": t, "T": T} for t in range(1, T + 1)]


def hippo(rng: np.random.Generator) -> tuple[World, Indices]:
    """Coefficients of the past of a wave, and their derivatives, by numerical integration."""
    N, t, r0 = 5, float(rng.uniform(1, 3)), float(rng.uniform())
    a, b = rng.uniform(1, 2, 2)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    r, weights = (nodes + 1) / 2, weights / 2

    def p(n: int, at: Any) -> Any:
        return math.sqrt(2 * n + 1) * Legendre.basis(n)(2 * at - 1)

    roots = np.sqrt(2 * np.arange(N) + 1)[None]
    A = -np.triu(roots.T @ roots, 1) - np.diag(np.arange(1.0, N + 1))
    world = {
        **{"t": t, "x": math.sin(a * t + b), "A": A, "B": roots, "I": np.eye(N)},
        **{"p": lambda n: float(p(n, r0)), "c": lambda n: float(weights @ (np.sin(a * r * t + b) * p(n, r)))},
        "d": lambda n: 2 * r0 * math.sqrt(2 * n + 1) * float(Legendre.basis(n).deriv()(2 * r0 - 1)),
        "d c/d t": lambda n: float(weights @ (a * r * np.cos(a * r * t + b) * p(n, r))),
    }
    return world, [{"n": n} for n in range(N)]


def chunk(rng: np.random.Generator) -> tuple[World, Indices]:
    """A chunk of DeltaNet on the tape, step by step."""
    C, N, V = 5, 4, 3
    Q, K, values = (rng.normal(size=(C, n)) for n in (N, N, V))
    beta = rng.uniform(0, 2, size=C)
    v = {t: mr.tensor(values[t - 1 : t], requires_grad=True) for t in range(1, C + 1)}
    S, u, y = {0: mr.tensor(rng.normal(size=(N, V)), requires_grad=True)}, {}, {}
    for t in v:
        k = K[t - 1 : t]
        u[t] = beta[t - 1] * (v[t] - k @ S[t - 1])
        S[t] = S[t - 1] + k.T @ u[t]
        y[t] = node(Q[t - 1 : t] @ S[t])
    last = node(S[C])  # the next chunk reads it
    loss = sum(losses(rng, y).values(), (mr.cos(last) * rng.normal(size=(N, V))).sum())
    of_steps = grads_of(loss, {"u": u, "v": v, "y": y, "S": {0: S[0], C: last}})

    def stacked(of: Any) -> np.ndarray:
        return np.concatenate([of(t) for t in range(1, C + 1)])

    M, Us = np.tril(beta[:, None] * (K @ K.T), -1), {t: a.numpy() for t, a in u.items()}
    world = {
        **{"Q": Q, "K": K, "V": values, "M": M, "P": np.tril(Q @ K.T), "I": lambda n: np.eye(n)},
        **{"u": at(Us), "U": stacked(at(Us)), "Y": stacked(at({t: a.numpy() for t, a in y.items()}))},
        **{"W": np.linalg.solve(np.eye(C) + M, beta[:, None] * K), "k": lambda t: K[t - 1 : t]},
        **{"v": at({t: a.numpy() for t, a in v.items()}), r"\hat S": at({t: a.numpy() for t, a in S.items()})},
        r"\beta": lambda *t: float(beta[t[0] - 1]) if t else beta[None],
        **{rf"\delta {name.upper()}": stacked(of_steps[name]) for name in "uvy"},
        r"\delta \hat S^\leftarrow": of_steps["S"],
    }
    return world, [{"t": t, "C": C, "N": N} for t in range(1, C + 1)]
