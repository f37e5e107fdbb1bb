"""What the symbols of the book's equations are: values and gradients from the tape, in random sizes."""

from collections.abc import Callable
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.engine.tensor import Tensor
from tests.book import worlds_derivations, worlds_masks, worlds_random
from tests.book.symbols import Indices, at, grads_of, losses, node, over_steps
from tests.book.tex import World
from tests.book.worlds_machines import WORLDS as MACHINES
from tests.book.worlds_training import WORLDS as TRAINING


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

    world = {
        **{"R": R, "V": V, "g": g, "h": at(h), "Q": np.linalg.qr(R)[0]},
        r"\rho": float(np.abs(eigenvalues).max()),
        r"\kappa": float(np.linalg.cond(V)),
        r"\gamma": lambda t: float((1 - h[t] ** 2).max()),
        "D": lambda t: mr.jacobian(mr.tanh, mr.tensor(h[t - 1] @ R + x[t])).numpy().reshape(H, H),
        r"\partial h/\partial h": over_steps(R, x, h),
    }
    return world, [{"t": t, "n": n, "T": T} for t in range(1, T) for n in range(1, 5)]


def lstm(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 5: the LSTM in primitives, a batch of one row. d c/d c varies only the previous state."""
    T, I, H = 4, 3, 4
    gates, of = "ifco", {"i": mr.sigmoid, "f": mr.sigmoid, "c": mr.tanh, "o": mr.sigmoid}
    x = {t: mr.tensor(rng.normal(size=(1, I)), requires_grad=True) for t in range(1, T + 1)}
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
    wanted |= {rf"\delta z_{g}": z[g] for g in gates} | {r"\delta x": x}
    wanted |= {rf"\delta {letter}_{g}": of[g] for letter, of in (("W", W), ("R", R), ("b", b)) for g in gates}
    found = grads_of(sum(losses(rng, y).values(), mr.tensor(0.0)), wanted)
    for name in (r"\delta h^\leftarrow", r"\delta c^\leftarrow"):
        found[name] = at({t: found[name](t) for t in dc} | {T: np.zeros((1, H))})

    def jacobian(what: str) -> Callable[[int, int], np.ndarray]:
        def of_steps(t: int, s: int) -> np.ndarray:
            def step(before: Tensor) -> Tensor:
                hidden = a["o"][s].detach() * mr.tanh(before)
                z_t = {g: x[t].detach() @ W[g].detach() + hidden @ R[g].detach() + b[g].detach() for g in gates}
                now = {g: of[g](z_t[g]) for g in gates}
                return {"z_f": z_t["f"], "f": now["f"], "c": now["f"] * before + now["i"] * now["c"]}[what]

            if s == 0:
                raise KeyError(s)  # h_0 is given and does not depend on c_0
            return mr.jacobian(step, c[s].detach()).numpy().reshape(H, H)

        return of_steps

    values = {"x": x, "c": c, "h": h, "i": a["i"], "f": a["f"], "o": a["o"], r"\tilde c": a["c"]}
    values |= {f"z_{g}": z[g] for g in gates}
    world = {
        **{name: at({t: v.numpy() for t, v in of_steps.items()}) for name, of_steps in values.items()},
        **{f"{letter}_{g}": of_gate[g].numpy() for letter, of_gate in (("W", W), ("R", R), ("b", b)) for g in gates},
        **found,
        **{f"d {name}/d c": jacobian(name) for name in ("c", "f", "z_f")},
        "S": lambda t: mr.jacobian(lambda v: a["o"][t].detach() * mr.tanh(v), c[t].detach()).numpy().reshape(H, H),
    }
    world |= over_steps_of_lstm(x, W, R, b, c, h, H)
    return world, [{"t": t, "T": T} for t in range(1, T + 1)]


def over_steps_of_lstm(x: Any, W: Any, R: Any, b: Any, c: Any, h: Any, H: int) -> dict[str, Any]:
    """Of an LSTM: how c_t and h_t depend on c_1 (C, E), c_t on h_{t-1} (K), and h_t on it through the gate o (Q)."""

    def states(t: int, c: Tensor, h: Tensor, h_of_o: Tensor | None = None) -> tuple[Tensor, Tensor]:
        reads = {"i": h, "f": h, "c": h, "o": h if h_of_o is None else h_of_o}
        z = {g: x[t].detach() @ W[g].detach() + reads[g] @ R[g].detach() + b[g].detach() for g in reads}
        c = mr.sigmoid(z["f"]) * c + mr.sigmoid(z["i"]) * mr.tanh(z["c"])
        return c, mr.sigmoid(z["o"]) * mr.tanh(c)

    def later(t: int, which: int) -> np.ndarray:
        def op(first: Tensor) -> Tensor:
            at_one = states(1, c[0].detach(), h[0].detach())
            cell, hidden = first, at_one[1].detach() * mr.tanh(first) / mr.tanh(at_one[0].detach())  # o_1 tanh(c_1)
            for k in range(2, t + 1):
                cell, hidden = states(k, cell, hidden)
            return (cell, hidden)[which]

        if t < 1:
            raise KeyError(t)
        return mr.jacobian(op, c[1].detach()).numpy().reshape(H, H)

    def one(t: int, through_o: bool) -> np.ndarray:
        before = c[t - 1].detach(), h[t - 1].detach()
        if through_o:
            return mr.jacobian(lambda v: states(t, *before, v)[1], before[1]).numpy().reshape(H, H)
        return mr.jacobian(lambda v: states(t, before[0], v)[0], before[1]).numpy().reshape(H, H)

    return {"C": lambda t: later(t, 0), "E": lambda t: later(t, 1), "K": lambda t: one(t, False)} | {
        "Q": lambda t: one(t, True)
    }


def gru(rng: np.random.Generator, before: bool) -> tuple[World, Indices]:
    """Chapter 6: a GRU whose reset gate acts before or after the product, a batch of one row."""
    T, I, H = 4, 3, 5
    gates = "ruh"
    x = {t: mr.tensor(rng.normal(size=(1, I))) for t in range(1, T + 1)}
    W, R, b = ({g: mr.tensor(0.8 * rng.normal(size=(n, H)), requires_grad=True) for g in gates} for n in (I, H, 1))
    b["R"] = mr.tensor(rng.normal(size=(1, H)))
    h = {0: mr.tensor(rng.normal(size=(1, H)), requires_grad=True)}
    z: dict[str, dict[int, Tensor]] = {g: {} for g in gates}
    r, u, new, q, carried, y = {}, {}, {}, {}, {}, {}
    for t in range(1, T + 1):
        carried[t - 1] = node(h[t - 1])
        z["r"][t] = x[t] @ W["r"] + carried[t - 1] @ R["r"] + b["r"]
        z["u"][t] = x[t] @ W["u"] + carried[t - 1] @ R["u"] + b["u"]
        r[t], u[t] = mr.sigmoid(z["r"][t]), mr.sigmoid(z["u"][t])
        if before:
            q[t] = r[t] * carried[t - 1]
            z["h"][t] = x[t] @ W["h"] + q[t] @ R["h"] + b["h"]
        else:
            z["h"][t] = x[t] @ W["h"] + b["h"] + r[t] * (carried[t - 1] @ R["h"] + b["R"])
        new[t] = mr.tanh(z["h"][t])
        h[t] = u[t] * carried[t - 1] + (1 - u[t]) * new[t]
        y[t] = node(h[t])
    wanted = {r"\delta h": h, r"\delta h^\leftarrow": carried, r"\delta y": y, r"\delta R_h": R["h"]}
    wanted |= {rf"\delta z_{g}": z[g] for g in gates} | ({r"\delta q": q} if before else {})
    found = grads_of(sum(losses(rng, y).values(), mr.tensor(0.0)), wanted)
    found[r"\delta h^\leftarrow"] = at({t: found[r"\delta h^\leftarrow"](t) for t in carried} | {T: np.zeros((1, H))})
    values = {"x": x, "h": h, "r": r, "u": u, r"\tilde h": new}

    def jacobian(t: int, s: int) -> np.ndarray:
        if t != s + 1:
            raise ValueError(f"no Jacobian of step {t} with respect to step {s}")
        rows = [mr.grad(h[t][0, j], carried[s], retain_graph=True).numpy() for j in range(H)]
        return np.concatenate(rows)

    world = {
        **{name: at({t: v.numpy() for t, v in of_steps.items()}) for name, of_steps in values.items()},
        **{f"{letter}_{g}": v.numpy() for letter, of in (("W", W), ("R", R), ("b", b)) for g, v in of.items()},
        r"\partial h/\partial h": jacobian,
        "a": lambda t: mr.grad(h[t].sum(), z["h"][t], retain_graph=True).numpy(),
        **found,
    }
    return world, [{"t": t, "T": T} for t in range(1, T + 1)]


def attention(rng: np.random.Generator) -> tuple[World, Indices]:
    """Additive attention of T queries d_t to S states k_s; all are rows."""
    T, S, D, K, A = 3, 4, 5, 2, 3
    W, U, v = (mr.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((D, A), (K, A), (1, A)))
    d = {t: mr.tensor(rng.normal(size=(1, D))) for t in range(1, T + 1)}
    k = {s: mr.tensor(rng.normal(size=(1, K)), requires_grad=True) for s in range(1, S + 1)}
    p, z, a, c = {}, {}, {}, {}
    for t in d:
        for s in k:
            p[t, s] = d[t] @ W + k[s] @ U
            z[t, s] = mr.tanh(p[t, s]) @ v.T
        weights = mr.softmax(mr.cat([z[t, s] for s in k], dim=1), dim=1)
        a |= {(t, s): node(weights[:, s - 1 : s]) for s in k}
        c[t] = sum((a[t, s] * k[s] for s in k), mr.tensor(0.0))
    loss = sum(losses(rng, c).values(), mr.tensor(0.0))
    pairs = {r"\delta p": p, r"\delta z": z, r"\delta a": a}
    nodes = [node for of in pairs.values() for node in of.values()]
    found = iter(g.numpy() for g in mr.grad(loss, nodes, retain_graph=True))
    grads = {name: {key: next(found) for key in of} for name, of in pairs.items()}
    tables: dict[str, Any] = {"p": p, "z": z, "a": a}
    world = {name: (lambda t, s, of=of: of[t, s].numpy()) for name, of in tables.items()}
    world |= {name: (lambda t, s, of=of: of[t, s]) for name, of in grads.items()}
    world |= {"W": W.numpy(), "U": U.numpy(), "v": v.numpy(), "d": at({t: x.numpy() for t, x in d.items()})}
    world |= {"k": at({s: x.numpy() for s, x in k.items()}), "c": at({t: x.numpy() for t, x in c.items()})}
    return world | grads_of(loss, {r"\delta c": c, r"\delta k": k}), [
        {"t": t, "s": s, "S": S, "T": T} for t in d for s in k
    ]


def parts(rng: np.random.Generator) -> tuple[World, Indices]:
    """The mean loss of a batch in P parts of different sizes."""
    sizes = {1: 1, 2: 4, 3: 2}
    w = mr.tensor(rng.normal(size=(4, 3)), requires_grad=True)
    x = {r: mr.tensor(rng.normal(size=(n, 4))) for r, n in sizes.items()}

    def gradient(rows: Tensor) -> np.ndarray:
        return mr.grad(mr.tanh(rows @ w).square().sum(dim=1).mean(), w).numpy()

    whole = gradient(mr.cat(list(x.values())))
    world = {
        r"\nabla L": lambda *r: gradient(x[r[0]]) if r else whole,
        **{"n": lambda *r: sizes[r[0]] if r else sum(sizes.values())},
    }
    return world, [{"P": 3}, {"P": 3}]


def one_last_loss(rng: np.random.Generator) -> tuple[World, Indices]:
    """Chapter 7: the reach of the last loss, from the product of the Jacobians of chapter 3."""
    world, indices = rnn(rng)
    T = indices[0]["T"]
    arrives = rng.normal(size=world["h"](T).shape)
    first = arrives @ world[r"\partial h/\partial h"](T, 1)
    found = {r"\delta h": at({1: first, T: arrives}), r"\alpha": np.linalg.norm(first) / np.linalg.norm(arrives)}
    return found, indices


WORLDS: dict[str, Callable[[np.random.Generator], tuple[World, Indices]]] = (
    TRAINING
    | MACHINES
    | {
        "03_one_step_then_many": rnn,
        "04_vanish_and_explode": products,
        "05_the_lstms_highway": lstm,
        "05_the_lstms_highway:zero": worlds_derivations.zero_states,
        "06_two_grus": lambda rng: gru(rng, before=bool(rng.integers(2))),
        "06_two_grus:before": lambda rng: gru(rng, before=True),
        "06_two_grus:after": lambda rng: gru(rng, before=False),
        "13_gradients_of_gradients": worlds_masks.second,
        "11_attention": attention,
        "12_what_dropout_may_touch": worlds_masks.masks,
        "12_what_dropout_may_touch:mask": lambda rng: worlds_masks.cell(rng, masked=True),
        "12_what_dropout_may_touch:zoneout": lambda rng: worlds_masks.cell(rng, masked=False),
        "12_what_dropout_may_touch:norm": worlds_masks.norm,
        "20_many_hands": parts,
        "22_products_of_random_jacobians": worlds_random.random,
        "23_linear_recurrences": worlds_random.linear,
        "adjoints": worlds_random.adjoints,
        "adjoints:warped": worlds_random.warped,
        "01_the_tape:cost": worlds_derivations.chain,
        "08_what_a_cut_loses:unit": worlds_derivations.one_unit,
        "08_what_a_cut_loses:random": worlds_random.random_cuts,
        "derivations:time": worlds_derivations.through_time,
        "derivations:norms": worlds_derivations.norms,
        "derivations:loose": worlds_derivations.loose,
        "derivations:paths": lstm,
        "derivations:random": worlds_derivations.random_paths,
        "derivations:clipped": worlds_derivations.clipped,
        "derivations:softmax": worlds_derivations.softmax,
        "derivations:centered": worlds_derivations.centered,
        "derivations:levels": worlds_derivations.levels,
        "derivations:cayley": worlds_random.cayley,
        "derivations:spectrum": worlds_random.spectrum,
        "derivations:selective": worlds_random.selective,
        "derivations:hippo": worlds_random.hippo,
        "derivations:chunk": worlds_random.chunk,
        "07_long_lags": one_last_loss,
        "block_lstm": lstm,
        "gru_block_cell:before": lambda rng: gru(rng, before=True),
        "gru_block_cell:after": lambda rng: gru(rng, before=False),
        "gru_block_cell": lambda rng: gru(rng, before=True),
    }
)
"""By page; a label that begins with `before-` has the world `page:before` where there is one."""
