"""Symbols of chapters 13 and 12: masks, zoneout, layer norm, and second derivatives."""

import itertools
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.engine.tensor import Tensor
from tests.book.symbols import Indices, at, grads_of, losses, node
from tests.book.tex import World


def drawn(rng: np.random.Generator, *shape: int, p: float) -> np.ndarray:
    """A mask of dropout, never all zeros or all ones."""
    kept = np.arange(np.prod(shape)) % 3 > 0
    return rng.permutation(kept).reshape(shape) / (1 - p)


def mean_over_masks(of: Any, n: int, p: float) -> Any:
    """The exact mean of a function of n independent values, each 1 with the probability p and else 0."""
    masks = (np.array([mask], float) for mask in itertools.product((0, 1), repeat=n))
    return sum(p ** mask.sum() * (1 - p) ** (n - mask.sum()) * of(mask) for mask in masks)


def masks(rng: np.random.Generator) -> tuple[World, Indices]:
    """A plain network with a mask at each place, and a mask alone. A batch of one row."""
    T, I, H, p = 4, 6, 5, float(rng.uniform(0.2, 0.6))
    m = {t: drawn(rng, 1, I, p=p) for t in range(1, T + 1)}
    of_h = {t: drawn(rng, 1, H, p=p) for t in range(1, T + 1)}
    of_R = drawn(rng, H, H, p=p)
    x = {t: mr.tensor(rng.normal(size=(1, I)), requires_grad=True) for t in range(1, T + 1)}
    W, R = (mr.tensor(0.6 * rng.normal(size=(n, H)), requires_grad=True) for n in (I, H))
    b = mr.tensor(rng.normal(size=(1, H)))
    h = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    dropped, z, carried, y = {}, {}, {}, {}
    for t in range(1, T + 1):
        carried[t - 1] = node(h[t - 1])
        dropped[t] = x[t] * m[t]
        z[t] = dropped[t] @ W + (carried[t - 1] * of_h[t]) @ (R * of_R) + b
        h[t] = mr.tanh(z[t])
        y[t] = node(h[t])
    found = grads_of(
        sum(losses(rng, y).values(), mr.tensor(0.0)),
        {r"\delta h": h, r"\delta h^\leftarrow": carried, r"\delta z": z, r"\delta x": x, r"\delta \hat x": dropped}
        | {r"\delta W": W, r"\delta R": R},
    )

    def product_of_masks(n: int, power: int) -> float:
        return mean_over_masks(lambda kept: np.prod(kept / (1 - p)) ** power, n, 1 - p)

    tables = {"x": x, "z": z, "h": h, r"\hat x": dropped}
    world = {
        **{name: at({t: a.numpy() for t, a in of.items()}) for name, of in tables.items()},
        **{"W": W.numpy(), "R": R.numpy(), "b": b.numpy(), "M": of_R, "p": p},
        **{"m": at(m), "m^(x)": at(m), "m^(h)": at(of_h)},
        r"\bar m": mean_over_masks(lambda kept: kept / (1 - p), 1, 1 - p),
        "P": lambda n: mean_over_masks(lambda kept: float(kept.all()), n, 1 - p),
        "V": lambda n: product_of_masks(n, 2) - product_of_masks(n, 1) ** 2,
        **found,
    }
    return world, [{"t": t, "n": t + 2, "T": T} for t in range(1, T + 1)]


def cell(rng: np.random.Generator, masked: bool) -> tuple[World, Indices]:
    """An LSTM with zoneout on c and h, or with a mask on c. d c/d c is that of the straight path: gates are given."""
    T, I, H, p = 4, 3, 5, float(rng.uniform(0.2, 0.6))
    of = {"i": mr.sigmoid, "f": mr.sigmoid, "c": mr.tanh, "o": mr.sigmoid}
    W, R, b = ({g: mr.tensor(0.7 * rng.normal(size=(n, H))) for g in of} for n in (I, H, 1))
    c = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    h = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    m = {t: drawn(rng, 1, H, p=p) for t in range(1, T + 1)}
    q, q_h = ({t: (rng.permutation(H) % 2)[None].astype(float) for t in range(1, T + 1)} for _ in "ch")
    a: dict[str, dict[int, Tensor]] = {g: {} for g in of}
    carried, new, made, y = {}, {}, {}, {}
    for t in range(1, T + 1):
        carried[t - 1] = node(c[t - 1])
        x = mr.tensor(rng.normal(size=(1, I)))
        for g in of:
            a[g][t] = of[g](x @ W[g] + h[t - 1] @ R[g] + b[g])
        new[t] = a["f"][t] * (carried[t - 1] * m[t] if masked else carried[t - 1]) + a["i"][t] * a["c"][t]
        c[t] = new[t] if masked else q[t] * carried[t - 1] + (1 - q[t]) * new[t]
        made[t] = a["o"][t] * mr.tanh(new[t])
        h[t] = made[t] if masked else q_h[t] * h[t - 1] + (1 - q_h[t]) * made[t]
        y[t] = node(h[t])
    wanted = {r"\delta c": c, r"\delta c^\leftarrow": carried, r"\delta \hat c": new, r"\delta \hat h": made}
    found = grads_of(sum(losses(rng, y).values(), mr.tensor(0.0)), wanted)

    def straight(t: int, s: int) -> np.ndarray:
        def later(state: Tensor) -> Tensor:
            for k in range(s + 1, t + 1):
                f, others = a["f"][k].detach(), a["i"][k].detach() * a["c"][k].detach()
                state = f * (m[k] * state) + others if masked else q[k] * state + (1 - q[k]) * (f * state + others)
            return state

        return mr.jacobian(later, c[s].detach()).numpy().reshape(H, H)

    def mean(t: int) -> np.ndarray:
        before, after = c[t - 1].numpy(), new[t].numpy()
        return mean_over_masks(lambda kept: kept * before + (1 - kept) * after, H, p)

    tables = {"c": c, r"\hat c": new, "f": a["f"], "i": a["i"], "o": a["o"], r"\tilde c": a["c"]}
    world = {
        **{name: at({t: v.numpy() for t, v in table.items()}) for name, table in tables.items()},
        **{"m": at(m), "q": at(q), "p": p, r"\bar c": mean, r"\partial c/\partial c": straight},
        **found,
    }
    return world, [{"t": t, "s": s, "T": T} for t in range(1, T + 1) for s in range(t)]


def norm(rng: np.random.Generator) -> tuple[World, Indices]:
    """A plain network with layer norm of its pre-activation, by the op of the library. A batch of one row."""
    T, I, H, eps = 4, 3, 5, float(rng.uniform(0.1, 1))
    W, R, gamma, beta = (mr.tensor(rng.normal(size=shape)) for shape in ((I, H), (H, H), (H,), (H,)))
    h = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    z, normed, carried, y = {}, {}, {}, {}
    for t in range(1, T + 1):
        carried[t - 1] = node(h[t - 1])
        z[t] = mr.tensor(rng.normal(size=(1, I))) @ W + carried[t - 1] @ R
        normed[t] = mr.nn.functional.layer_norm(z[t], (H,), eps=eps)
        h[t] = mr.tanh(gamma * normed[t] + beta)
        y[t] = node(h[t])
    wanted = {r"\delta h": h, r"\delta h^\leftarrow": carried, r"\delta z": z, r"\delta \hat z": normed}
    values = {"z": z, "h": h, r"\hat z": normed}
    tables = {name: {t: v.numpy() for t, v in table.items()} for name, table in values.items()}
    world = {
        **{name: at(table) for name, table in tables.items()},
        **{"R": R.numpy(), r"\gamma": gamma.numpy()[None], r"\beta": beta.numpy()[None], r"\varepsilon": eps},
        r"\mu": lambda t: tables["z"][t].mean(),
        "s": lambda t: np.sqrt(tables["z"][t].var() + eps),
        **grads_of(sum(losses(rng, y).values(), mr.tensor(0.0)), wanted),
    }
    return world, [{"t": t, "T": T} for t in range(1, T + 1)]


def second(rng: np.random.Generator) -> tuple[World, Indices]:
    """A small LSTM whose weights are one row: gradient, Hessian, descent on its steepest parabola, kept states."""
    I, H, T = 2, 2, 36
    x, target = rng.normal(size=(4, 3, I)), rng.normal(size=(3, H))
    zero, none, b = np.zeros((3, H)), np.zeros(H), rng.normal(size=4 * H)

    def loss_of(row: Tensor) -> Tensor:
        w = row.reshape(I + H, 4 * H)
        h = mr.ops.block_lstm(4, x, zero, zero, w, none, none, none, b, cell_clip=0.0).h
        return ((h[-1] - target) ** 2).sum()

    def gradient(row: Tensor) -> Tensor:
        return mr.grad(loss_of(row), [row], create_graph=True)[0]

    w = mr.tensor(rng.normal(size=(1, 4 * H * (I + H))), requires_grad=True)
    g, v = gradient(w), rng.normal(size=w.shape)
    steep = (g * v).sum()
    rows = [mr.grad(one, w, retain_graph=True).numpy()[0] for one in g.reshape(-1)]
    hessian = np.stack(rows)
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    k, u, eta, tau = values[-1], vectors[:, -1:].T, float(rng.uniform(0.1, 3) / values[-1]), float(rng.uniform(0.1, 2))
    clipped = gradient(w)
    clipped = tau * clipped / mr.sqrt((clipped * clipped).sum())
    turned = np.stack([mr.grad(one, w, retain_graph=True).numpy()[0] for one in clipped.reshape(-1)])
    far, of_step = [1.0], int(rng.integers(2, 6))
    for _ in range(5):
        place = mr.tensor(np.float64(far[-1]), requires_grad=True)
        far.append(far[-1] - eta * mr.grad(k / 2 * place * place, place).item())

    def most_kept(K: int) -> int:
        held = list(range(0, T, K))  # the first state of each segment
        most = 0
        for start in reversed(range(0, T, K)):
            again = [(step, a) for step in range(start, start + K) for a in range(of_step)]
            most = max(most, len(held) + len(again))
            held.remove(start)
        return most

    world = {
        **{"g": g.numpy(), "v": v, "s": steep.item(), r"\nabla s": mr.grad(steep, w, retain_graph=True).numpy()},
        **{"H": hessian, r"\partial g/\partial w": hessian, "k": k, "u": u, r"\eta": eta, "d": at(far)},
        **{r"\tau": tau, "e": g.numpy() / np.linalg.norm(g.numpy()), r"\hat g": clipped.numpy()},
        **{r"\partial \hat g/\partial w": turned, "M": most_kept, "T": T, "a": of_step},
    }
    return world, [{"K": K, "n": n} for n, K in enumerate((2, 3, 4, 6, 9), 1)]
