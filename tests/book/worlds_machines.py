"""Symbols of the chapters on libraries and hardware: counts of operations, bytes and numbers, and rounded sums."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import parallel
from minirnn.devices.counting import Counting
from minirnn.devices.cuda.launch.sequence.choice import H200
from tests.book.symbols import Indices, at, grads_of, losses, node
from tests.book.tex import World
from tests.book.values import largest_layer


def counted(op: Callable[..., Any], *shapes: tuple[int, ...]) -> tuple[float, float]:
    """Operations and bytes of an op on float32, as the counting device counts them."""
    device = Counting("cpu")
    arrays = [mr.tensor(np.ones(shape, np.float32), device=device) for shape in shapes]
    device.reset()
    with device.section("here"):
        op(*arrays)
    total = device.total("here")
    return float(total.flops), float(total.bytes)


def fused(rng: np.random.Generator) -> tuple[World, Indices]:
    """A step's product, a product of gates, and a clip that lets its gradient through."""
    B, I, H = (int(n) for n in rng.integers(2, 9, 3))
    F, M = counted(lambda a, w: a @ w, (B, I + H), (I + H, 4 * H))
    F_g, M_g = counted(lambda a, b: a * b, (B, H), (B, H))
    c, m = mr.tensor(3 * rng.normal(size=(1, 9)), requires_grad=True), float(rng.uniform(1, 3))
    clipped = mr.ops.clip(c, -m, m, straight_through=True)
    arrives, goes_on = mr.grad((clipped * rng.normal(size=(1, 9))).sum(), [clipped, c])

    def entries(row: Any) -> Callable[[int], float]:
        return lambda j: row.numpy()[0, j - 1]

    world = {"F": F, "M": M, "F_g": F_g, "M_g": M_g, "B": float(B), "I": float(I), "H": float(H), "m": m}
    world |= {"c": entries(c), r"\bar c": entries(clipped), r"\delta c": entries(goes_on)}
    return world | {r"\delta \bar c": entries(arrives)}, [{"j": j} for j in range(1, 10)]


def reordered(rng: np.random.Generator) -> tuple[World, Indices]:
    """An LSTM, and the same LSTM with its units in another order; g is one of the gates."""
    T, I, H, g = 4, 3, 5, int(rng.integers(4))
    mr.manual_seed(int(rng.integers(1000)))
    one, other = (mr.nn.LSTM(I, H, dtype=np.float64) for _ in range(2))
    P = np.eye(H)[rng.permutation(H)]
    state = one.state_dict()
    permuted = {name: np.concatenate([P.T @ block for block in np.split(a, 4)]) for name, a in state.items()}
    permuted["weight_hh_l0"] = permuted["weight_hh_l0"] @ P
    other.load_state_dict(permuted)
    x, V = mr.tensor(rng.normal(size=(T, 1, I))), rng.normal(size=(H, 2))
    h, h_other = (layer(x)[0].numpy() for layer in (one, other))

    def of_gate(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
        return np.split(arrays[name], 4)[g]

    world: dict[str, Any] = {"P": P, "V": V, r"\hat V": P.T @ V}
    for accent, arrays in (("", state), (r"\hat ", permuted)):
        world |= {f"{accent}W_g": of_gate(arrays, "weight_ih_l0").T, f"{accent}R_g": of_gate(arrays, "weight_hh_l0").T}
        world[f"{accent}b_g"] = of_gate(arrays, "bias_ih_l0")[None]
    world |= {"h": lambda t: h[t - 1], r"\hat h": lambda t: h_other[t - 1]}
    return world, [{"t": t} for t in range(1, T + 1)]


def buffer(rng: np.random.Generator) -> tuple[World, Indices]:
    """The size of cuDNN's buffer, and the numbers of inputs of its layers as the canonical form has them."""
    L, H, I, D = 3, *(int(n) for n in rng.integers(2, 7, 2)), int(rng.integers(1, 3))
    mode, G = [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)][int(rng.integers(3))]
    sizes = {"rnn_mode": mode, "direction": ["unidirectional", "bidirectional"][D - 1]}
    N = mr.ops.cudnn_rnn_params_size(L, H, I, **sizes)
    blocks = 2 * G * D * L
    weights, _ = mr.ops.cudnn_rnn_params_to_canonical(L, H, I, np.zeros(N), num_params=blocks, **sizes)
    inputs = {layer: weights[2 * G * D * (layer - 1)].shape[1] for layer in range(1, L + 1)}
    world = {"N": float(N), "n": lambda k: float(inputs[k]), "G": float(G), "D": float(D), "I": float(I), "H": float(H)}
    return world, [{"l": layer, "L": L} for layer in range(2, L + 1)]


def patient(rng: np.random.Generator) -> tuple[World, Indices]:
    """The cell of chapter 17 in primitives; its pre-activations have no history here."""
    T, B, H = 4, 2, 5
    s = mr.tensor(rng.normal(size=(1, H)), requires_grad=True)
    z = {g: {t: mr.tensor(rng.normal(size=(B, H)), requires_grad=True) for t in range(1, T + 1)} for g in "kno"}
    c, carried = {0: mr.tensor(rng.normal(size=(B, H)), requires_grad=True)}, {}
    k, n, o, h = {}, {}, {}, {}
    for t in range(1, T + 1):
        carried[t - 1] = node(c[t - 1])
        k[t], n[t], o[t] = mr.sigmoid(z["k"][t] + s), mr.tanh(z["n"][t]), mr.sigmoid(z["o"][t])
        c[t] = k[t] * carried[t - 1] + (1 - k[t]) * n[t]
        h[t] = o[t] * mr.tanh(c[t])
    loss = sum(losses(rng, h).values(), mr.tensor(0.0))
    wanted: dict[str, Any] = {r"\delta c": c, r"\delta c^\leftarrow": carried, r"\delta h": h, r"\delta s": s}
    found = grads_of(loss, wanted | {rf"\delta z_{g}": z[g] for g in "kn"})
    back = found[r"\delta c^\leftarrow"]
    found[r"\delta c^\leftarrow"] = lambda t: np.zeros((B, H)) if t == T else back(t)
    values = {"k": k, "n": n, "o": o, "c": c, "h": h} | {f"z_{g}": z[g] for g in "kno"}
    world = {name: at({t: v.numpy() for t, v in of.items()}) for name, of in values.items()}
    return world | found | {"s": s.numpy()}, [{"t": t, "T": T} for t in range(1, T + 1)]


def threads(rng: np.random.Generator) -> tuple[World, Indices]:
    """Blocks of threads, the sectors that a warp reads, and the rounds in which it reads shared memory."""
    N, S = int(rng.integers(50, 500)), int(rng.integers(10, 70))
    world: dict[str, Any] = {"N": float(N), "S": float(S), "J": float(len(range(0, N, S)))}
    i = int(rng.integers(N))
    world |= {"i": float(i), "j": float(i // S), "k": float(i % S)}
    world["q"] = lambda d: float(len({4 * d * thread // 32 for thread in range(32)}))
    banks = {d: [d * thread % 32 for thread in range(32)] for d in range(1, 70)}
    world["w"] = lambda d: float(max(banks[d].count(bank) for bank in banks[d]))
    return world, [{"d": d} for d in banks]


def one_layer(rng: np.random.Generator) -> tuple[World, Indices]:
    """The bytes that a layer moves, array by array."""
    T, B, H = (int(n) for n in rng.integers(2, 9, 3))
    R, z, state = (np.zeros(shape, np.float32) for shape in ((H, 4 * H), (B, 4 * H), (B, H)))
    states = sum(z.nbytes + 2 * state.nbytes + 2 * state.nbytes for _ in range(T))
    F = sum(2 * len(state) * R.size for _ in range(T))
    a, r, w = (float(v) for v in rng.uniform(1, 9, 3))
    seconds = max(1 / r, 1 / (a * w))  # for one operation
    world = {"T": float(T), "B": float(B), "H": float(H), "F": float(F), "M_s": float(T * R.nbytes + states)}
    return world | {"M_p": float(R.nbytes + states), "a": a, "r": r, "w": w, "v": 1 / seconds}, [{}, {}]


def rounded(rng: np.random.Generator) -> tuple[World, Indices]:
    """Sums of float32, one number after the other or in pairs; float64 has the exact ones."""
    a, b = (np.float32(v) for v in rng.normal(size=2))
    exact = float(a) + float(b)
    n = int(2 ** rng.integers(3, 8))
    x = rng.normal(size=(n, 1)).astype(np.float32)
    total = x[0].copy()
    for one in x[1:]:
        total += one
    in_pairs = bool(rng.integers(2))
    S_hat, d = (parallel.tree_sum(list(x)), math.log2(n)) if in_pairs else (total, n - 1)
    world = {"a": float(a), "b": float(b), r"\hat s": float(a + b), "e": float(a + b) / exact - 1, "u": 2.0**-24}
    world |= {r"\hat S": float(S_hat[0]), "S": float(x.astype(np.float64).sum()), "d": float(d)}
    return world | {"x": lambda k: float(x[k - 1, 0])}, [{"n": n}, {"n": n}]


def tiles(rng: np.random.Generator) -> tuple[World, Indices]:
    """A tile of a product, without what it writes."""
    m, n, K = (int(size) for size in rng.integers(2, 50, 3))
    F, M = counted(lambda a, b: a @ b, (m, K), (K, n))
    return {"F": F, "M": M - 4 * m * n, "m": float(m), "n": float(n)}, [{}, {}]


def chips(rng: np.random.Generator) -> tuple[World, Indices]:
    """A random GPU, and the largest layer for which minirnn finds a layout on it."""
    cell, G = [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)][int(rng.integers(3))]
    N, S = int(rng.integers(20, 140)), int(rng.integers(48, 228)) << 10
    chip, barrier = replace(H200, multiprocessors=N, shared_bytes_per_block=S), bool(rng.integers(2))
    world = {"H": float(largest_layer(cell, barrier, chip)), "G": float(G), "N": float(N), "S": float(S)}
    return world | {"W": 0.0 if barrier else 131_072.0}, [{}, {}]


WORLDS: dict[str, Callable[[np.random.Generator], tuple[World, Indices]]] = {
    "14_one_node_or_many": fused,
    "15_whose_gates": reordered,
    "16_the_opaque_buffer": buffer,
    "17_your_own_cell": patient,
    "18_a_kernel_without_a_gpu": threads,
    "19_one_launch_for_all_steps": one_layer,
    "21_addition_is_not_associative": rounded,
    "cuda": tiles,
    "cudnn_ladder": chips,
}
