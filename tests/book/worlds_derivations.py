"""Symbols of `docs/derivations.md` and of two examples in the chapters: the cost of a row, a network of one unit."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.engine.tensor import Tensor
from tests.book.symbols import Indices, at, grads_of, losses, node, over_steps
from tests.book.tex import World
from tests.book.worlds_machines import counted


def chain(rng: np.random.Generator) -> tuple[World, Indices]:
    """Multiplications of a row with n matrices, from either end, as the counting device counts them."""
    H = int(rng.integers(3, 9))

    def multiplications(n: int, from_left: bool) -> float:
        def op(row: Tensor, *matrices: Tensor) -> Tensor:
            if from_left:
                for one in matrices:
                    row = row @ one
                return row
            product = matrices[-1]
            for one in matrices[-2::-1]:
                product = one @ product
            return row @ product

        return counted(op, (1, H), *[(H, H)] * n)[0] / 2  # each has an addition

    world = {"H": float(H), "p": lambda n: multiplications(n, True), "q": lambda n: multiplications(n, False)}
    return world, [{"n": n} for n in range(1, 6)]


def through_time(rng: np.random.Generator) -> tuple[World, Indices]:
    """A plain network whose R changes in the direction E: p is the total derivative of h_t, q the partial one."""
    T, I, H = 5, 3, 4
    x = [rng.normal(size=(1, I)) for _ in range(T + 1)]
    W, E, first = rng.normal(size=(I, H)), rng.normal(size=(H, H)), rng.normal(size=(1, H))
    R = mr.tensor(0.6 * rng.normal(size=(H, H)), requires_grad=True)

    def step(t: int, before: Any, R: Any) -> Tensor:
        return mr.tanh(x[t] @ W + before @ R)

    h: dict[int, Tensor] = {0: mr.tensor(first, requires_grad=True)}
    z: dict[int, Tensor] = {}
    y: dict[int, Tensor] = {}
    for t in range(1, T + 1):
        z[t] = h[t - 1] @ R + x[t] @ W
        h[t] = mr.tanh(z[t])
        y[t] = node(h[t])
    loss = sum(losses(rng, y).values(), mr.tensor(0.0))
    found = grads_of(loss, {r"\delta h": h, r"\delta y": y, r"\delta z": z})
    values = {t: state.numpy() for t, state in h.items()}

    def total(t: int) -> np.ndarray:
        def state(change: Tensor) -> Tensor:
            last = mr.tensor(first)
            for k in range(1, t + 1):
                last = step(k, last, R.detach() + change * E)
            return last

        return mr.jacobian(state, mr.tensor(np.zeros(1))).numpy().reshape(1, H) if t else np.zeros((1, H))

    def partial(t: int) -> np.ndarray:
        change = mr.tensor(np.zeros(1))
        return mr.jacobian(lambda c: step(t, values[t - 1], R.detach() + c * E), change).numpy().reshape(1, H)

    def of_step(t: int, s: int) -> np.ndarray:
        if t != s + 1:
            raise ValueError(f"no Jacobian of step {t} with respect to step {s}")
        if t > T:
            raise KeyError(t)
        return mr.jacobian(lambda a: step(t, a, R.detach()), mr.tensor(values[s])).numpy().reshape(H, H)

    world = {"h": at(values), "R": R.numpy(), "E": E, "p": total, "q": partial, r"\partial h/\partial h": of_step}
    return world | found, [{"t": t, "T": T} for t in range(1, T + 1)]


def norms(rng: np.random.Generator) -> tuple[World, Indices]:
    """Matrices, slopes of tanh, an orthogonal matrix, and a random one whose entries are two numbers."""
    T, H = 6, 4
    R, A, B = (rng.normal(size=(H, H)) for _ in range(3))
    g, x = rng.normal(size=(1, H)), rng.normal(size=(T + 1, 1, H))
    eigenvalues = rng.normal(size=H)
    V = rng.normal(size=(H, H))
    C, which = np.linalg.inv(V) @ np.diag(eigenvalues) @ V, int(rng.integers(H))
    Q = np.linalg.qr(R)[0]
    h = [rng.normal(size=(1, H))]
    for t in range(1, T + 1):
        h.append(np.tanh(h[-1] @ R + x[t]))

    def slope(t: int) -> np.ndarray:
        return mr.jacobian(mr.tanh, mr.tensor(h[t - 1] @ R + x[t])).numpy().reshape(H, H)

    def mean_of_shifts(t: int) -> float:
        return float(np.mean([np.linalg.norm(np.roll(g, k) @ slope(t) @ Q.T) ** 2 for k in range(H)]))

    v, few = float(rng.uniform(0.1, 2)), g[:, :3]
    signs = (np.reshape(s, (3, 3)) for s in itertools.product((-1, 1), repeat=9))
    mean_of_signs = np.mean([np.linalg.norm(few @ (np.sqrt(v) * s).T) ** 2 for s in signs])
    world = {
        **{"A": A, "B": B, "C": C, "w": V[which : which + 1], r"\lambda": eigenvalues[which], "R": R, "Q": Q},
        **{"g": lambda *j: g[0, j[0] - 1] if j else g, "h": lambda t, *j: h[t][0, j[0] - 1] if j else h[t]},
        **{"D": slope, "d": lambda t, j: slope(t)[j - 1, j - 1], r"\gamma": lambda t: slope(t).max()},
        **{"m": lambda t: np.diag(slope(t)).min(), "s": np.linalg.svd(R, compute_uv=False)[-1]},
        **{r"\partial h/\partial h": over_steps(R, x, h), r"\bar n": mean_of_shifts},
        "a": lambda t: np.diag(slope(t))[None],
        **{"v": v, r"\bar m": mean_of_signs, "f": few},
    }
    return world, [{"t": t, "n": n, "T": T, "H": H, "K": 3} for t in range(1, T) for n in range(1, 4)]


def loose(rng: np.random.Generator) -> tuple[World, Indices]:
    """Two networks whose norms bound a product that is far smaller: two units that swap, or that saturate in turn."""
    a, e = float(rng.uniform(1.5, 3)), float(rng.uniform(0.1, 0.5))
    slopes = [np.diag([1, e]), np.diag([e, 1])]
    world = {"a": a, "e": e, "S": np.array([[0, a], [1 / a, 0]]), "I": np.eye(2)}
    world |= {"D": lambda k: slopes[k % 2], r"\gamma": lambda k: slopes[k % 2].max()}
    return world, [{"n": n} for n in (2, 4, 6)]


def clipped(rng: np.random.Generator) -> tuple[World, Indices]:
    """A row clipped by value at m, some of whose entries are above; N rows clipped by norm."""
    n, N = 9, 5
    row = rng.normal(size=(1, n))
    m = float(np.median(np.abs(row)))
    far = np.abs(row) > m
    weight = mr.tensor(np.zeros((1, n)), requires_grad=True)
    (weight * row).sum().backward()
    mr.nn.utils.clip_grad_value_([weight], m)
    rows = rng.normal(size=(N, 1, n))
    limit = 1.01 * float(np.median(np.linalg.norm(rows, axis=(1, 2))))

    def by_norm(b: int) -> np.ndarray:
        leaf = mr.tensor(np.zeros((1, n)), requires_grad=True)
        (leaf * rows[b - 1]).sum().backward()
        norm = float(mr.nn.utils.clip_grad_norm_([leaf], limit))
        # the function divides by the norm + 1e-6
        return np.asarray(leaf.grad) * (1 + 1e-6 / norm if norm > limit else 1.0)

    world = {
        **{"a": lambda *b: rows[b[0] - 1] if b else row, r"\bar a": np.asarray(weight.grad), r"\hat a": by_norm},
        **{"m": m, r"\tau": limit, "n": float(n), "u": float((row[~far] ** 2).sum())},
        "c": lambda b: 1 - np.linalg.norm(by_norm(b)) / np.linalg.norm(rows[b - 1]),
        "A": lambda power: float((np.abs(row[far]) ** power).sum()),
    }
    return world, [{"N": N, "k": int(far.sum()), "b": b} for b in range(1, N + 1)]


def softmax(rng: np.random.Generator) -> tuple[World, Indices]:
    """A softmax with any gradient from above, and one with cross-entropy."""
    V, y = 5, int(rng.integers(1, 6))
    z = mr.tensor(2 * rng.normal(size=(1, V)), requires_grad=True)
    a = node(mr.softmax(z, dim=1))
    found = grads_of((mr.sin(a) * rng.normal(size=(1, V))).sum(), {r"\delta a": a, r"\delta z": z})
    values = a.numpy()
    world = {
        **{"a": lambda *j: values[0, j[0] - 1] if j else values, "e": lambda j: np.eye(V)[j - 1 : j]},
        r"\partial a/\partial z": mr.jacobian(lambda row: mr.softmax(row, dim=1), z.detach()).numpy().reshape(V, V),
        "u": lambda: float((np.delete(values, y - 1) ** 2).sum()),
        **found,
    }
    return world, [{"y": y}] * 2


def centered(rng: np.random.Generator) -> tuple[World, Indices]:
    """An LSTM's step with layer norm between c and h, and the Jacobians of layer norm in a plain network."""
    T, I, H, eps = 4, 3, 5, float(rng.uniform(0.1, 1))
    W, R = mr.tensor(rng.normal(size=(I, H))), mr.tensor(rng.normal(size=(H, H)))
    gamma, beta = (mr.tensor(rng.normal(size=(H,))) for _ in range(2))
    x = {t: mr.tensor(rng.normal(size=(1, I))) for t in range(1, T + 1)}

    def norm(z: Tensor) -> Tensor:
        return mr.nn.functional.layer_norm(z, (H,), eps=eps)

    def step(t: int, before: Tensor) -> Tensor:
        return mr.tanh(gamma * norm(x[t] @ W + before @ R) + beta)

    h, z, normed = {0: mr.tensor(rng.normal(size=(1, H)))}, {}, {}
    for t in x:
        z[t] = (x[t] @ W + h[t - 1] @ R).detach().requires_grad_()
        normed[t] = norm(z[t])
        h[t] = mr.tanh(gamma * normed[t] + beta)
    loss = sum(losses(rng, h).values(), mr.tensor(0.0))
    found = grads_of(loss, {r"\delta z": z, r"\delta \hat z": normed})

    f, i, o, new = ({t: mr.tensor(rng.uniform(size=(1, H))) for t in x} for _ in range(4))
    c = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    carried, c_normed, out = {}, {}, {}
    for t in x:
        carried[t - 1] = node(c[t - 1])
        c[t] = f[t] * carried[t - 1] + i[t] * new[t]
        c_normed[t] = norm(c[t])
        out[t] = o[t] * mr.tanh(gamma * c_normed[t] + beta)
    wanted: dict[str, Any] = {
        r"\delta h": out,
        r"\delta c": c,
        r"\delta c^\leftarrow": carried,
        r"\delta \hat c": c_normed,
    }
    of_c = grads_of(sum(losses(rng, out).values(), mr.tensor(0.0)), wanted)
    back = of_c[r"\delta c^\leftarrow"]
    of_c[r"\delta c^\leftarrow"] = lambda t: np.zeros((1, H)) if t == T else back(t)

    def scale(of: dict[int, Tensor]) -> Callable[[int], float]:
        return lambda t: float(np.sqrt(of[t].numpy().var() + eps))

    tables = {"z": z, r"\hat z": normed, "c": c, r"\hat c": c_normed, "h": out, "o": o, "f": f}
    world = {
        **{name: at({t: v.numpy() for t, v in table.items()}) for name, table in tables.items()},
        **{"R": R.numpy(), r"\gamma": gamma.numpy()[None], r"\beta": beta.numpy()[None], r"\varepsilon": eps},
        **{"s": scale(z), "s^(c)": scale(c), "e": np.ones((1, H)), "I": np.eye(H), "H": float(H)},
        r"\partial \hat z/\partial z": lambda t, _: mr.jacobian(norm, z[t].detach()).numpy().reshape(H, H),
        r"\partial h/\partial h": lambda t, s: mr.jacobian(lambda a: step(t, a), h[s]).numpy().reshape(H, H),
        "g": lambda t: (of_c[r"\delta c"](t) - of_c[r"\delta c^\leftarrow"](t)) * scale(c)(t),
        **found,
        **of_c,
    }
    return world, [{"t": t, "T": T} for t in range(1, T + 1)]


def levels(rng: np.random.Generator) -> tuple[World, Indices]:
    """Segments inside segments: the steps that ``checkpoint`` runs, and the states that are kept at once."""
    segments = int(rng.integers(2, 5))

    def run(state: Tensor, depth: int, steps: list[int], R: Tensor) -> Tensor:
        for _ in range(segments):
            if depth:
                state = mr.checkpoint(run, state, depth - 1, steps, R)
            else:
                steps.append(1)
                state = mr.tanh(state @ R)
        return state

    def computed(k: int) -> float:
        steps: list[int] = []
        R = mr.tensor(rng.normal(size=(2, 2)), requires_grad=True)
        run(mr.tensor(np.ones((1, 2)), requires_grad=True), k, steps, R).sum().backward()
        return float(len(steps))

    def most_kept(depth: int, held: int = 0) -> Iterator[int]:
        """The states kept after each change, on the way back through one segment of this depth."""
        yield held + segments
        for left in range(segments, 0, -1) if depth else ():
            yield from most_kept(depth - 1, held + left)

    sizes = [float(b) for b in rng.integers(2, 9, 4)]
    world = {"N": computed, "M": lambda k: float(max(most_kept(k))), "b": lambda level: sizes[level]}
    return world | {"T": lambda k: float(segments ** (k + 1))}, [{"k": k} for k in range(4)]


def one_unit(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 8: a linear unit that outputs the input of n steps ago. Means over inputs are exact.

    The inputs have mean 0 and variance 1 and are independent, and loss and gradient are quadratic in them. Their means
    are therefore sums over T sequences, each of which is 1 at a single step: the columns of the unit matrix.
    """
    T, n = 200, int(rng.integers(1, 4))
    r, K_of = float(rng.uniform(0.3, 0.85)), [int(k) for k in rng.permutation(np.arange(2, 8))[:3]]
    single = np.eye(T + 1)[:, 1:]  # single[t] is the input of step t, for each of the T sequences

    def response(r: complex) -> np.ndarray:
        return np.asarray(r) ** np.arange(T - 1, -1, -1)  # of h_T to each of the inputs

    def best_w(r: float) -> float:
        return float(np.linalg.lstsq(response(r)[:, None], single[T - n], rcond=None)[0][0])

    def slope(r: float) -> float:  # of the smallest mean loss: w does not matter where it is best
        error = best_w(r) * response(complex(r, 1e-30)) - single[T - n]
        return float(((error * error).sum() / 2).imag / 1e-30)

    low, high = 0.3, 0.95
    for _ in range(60):
        low, high = (low, (low + high) / 2) if slope((low + high) / 2) > 0 else ((low + high) / 2, high)

    w = best_w(r)
    of_step = {t: mr.tensor(r, dtype=np.float64, requires_grad=True) for t in range(1, T + 1)}

    def last_loss(cut: int) -> Tensor:
        """The sum of the losses of step T, where the state before the step `cut` is detached."""
        h = mr.tensor(np.zeros(T))
        for t in range(1, T + 1):
            h = of_step[t] * (h.detach() if t == cut else h) + single[t]
        return ((w * h - single[T - n]) ** 2).sum() / 2

    terms = [float(g.numpy()) for g in mr.grad(last_loss(0), list(of_step.values()))][::-1]

    def truncated(K: int) -> float:
        """The mean over the K places that step T may have in its window."""
        grads = [mr.grad(last_loss(T - place), list(of_step.values())) for place in range(K)]
        return float(sum(float(g.numpy()) for of in grads for g in of)) / K

    x = rng.normal(size=40)
    h = [0.0]
    for value in x[1:]:
        h.append(r * h[-1] + value)
    world = {
        **{"r": r, "w": w, "n": float(n), r"r_\star": (low + high) / 2, "u": lambda d: float(d < n)},
        **{"x": lambda t: x[t], "h": lambda t: h[t], "y": lambda t: w * h[t], r"\bar \ell": last_loss(0).item()},
        r"\ell": lambda t: float((w * h[t] - x[t - n]) ** 2 / 2),
        r"\bar g": lambda *d: terms[d[0]] if d else sum(terms),
        r"\hat g": truncated,
    }
    return world, [{"t": 20 + d, "d": d, "K": K, "n": n, "T": T} for d, K in enumerate(K_of)]


def zero_states(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 5: the op of an LSTM at zero states, with zero inputs and no bias except the forget bias."""
    T, H, bias = 5, 4, float(rng.uniform(-1, 3))
    w = rng.normal(size=(1 + H, 4 * H))  # columns i, c, f, o
    none, x, h = np.zeros(H), np.zeros((1, 1)), mr.tensor(np.zeros((1, H)))
    c = {0: mr.tensor(np.zeros((1, H)), requires_grad=True)}
    for t in range(1, T + 1):
        y = mr.ops.lstm_block_cell(x, c[t - 1], h, w, none, none, none, np.zeros(4 * H), forget_bias=bias)
        c[t], h = y.cs, y.o * mr.tanh(y.cs)
    loss = (rng.normal(size=(1, H)) * (c[T] + h)).sum()
    world = {"b": bias, "f": float(rng.uniform()), "G": rng.normal(size=(H, H)), "I": np.eye(H)}
    world |= {"R_c": w[1:, H : 2 * H]} | grads_of(loss, {r"\delta c": {t: c[t] for t in range(1, T + 1)}})
    return world, [{"t": t, "n": t} for t in range(1, T + 1)]


def random_paths(rng: np.random.Generator) -> tuple[World, Indices]:
    """Means over random matrices: over all signs of the entries, and over the phases of a unitary matrix."""
    H, f, g = 2, float(rng.uniform(0.3, 0.9)), float(rng.uniform(0.1, 0.5))
    v, rho = rng.normal(size=(1, H)), float(rng.uniform(0.1, 2))
    v /= np.linalg.norm(v)
    signs = [g / np.sqrt(H) * np.reshape(s, (H, H)) for s in itertools.product((-1, 1), repeat=H * H)]
    unitary = np.linalg.qr(rng.normal(size=(H, H)) + 1j * rng.normal(size=(H, H)))[0]

    def new(n: int, row: np.ndarray = v) -> float:
        if n == 0:
            return float((row * row).sum())
        return float(np.mean([new(n - 1, row @ (f * np.eye(H) + G)) for G in signs]))

    def tied(n: int) -> float:
        phases = np.exp(2j * np.pi * np.arange(2 * n + 1) / (2 * n + 1))
        powers = [np.linalg.matrix_power(f * np.eye(H) + g * phase * unitary, n) for phase in phases]
        return float(np.mean([np.linalg.norm(v @ power) ** 2 for power in powers]))

    world = {"f": f, "g": g, r"\rho": rho, r"b^\star": -math.log(1 / (1 - rho / 4) - 1)}
    roots = {r"\bar v": lambda n: math.sqrt(new(n)), r"\bar w": lambda n: math.sqrt(tied(n))}
    return world | roots, [{"n": n} for n in range(1, 4)]
