"""Cells with keys: their printed lines, their shapes, what is refused, and five published cells against torch."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import dot, exp, maximum, sigmoid, softplus, where
from minirnn.cells.expr import CellError

T, B, I, H, N = 5, 3, 4, 6, 3
LENGTHS = np.array([5, 2, 4])


@mr.cell(states=("S", "n"), output="y", keys=N)
def linear_attention(x_v, k_k, k_q, S, n):
    k = where(k_k > 0, k_k + 1, exp(k_k))
    q = where(k_q > 0, k_q + 1, exp(k_q))
    S = S + x_v * k
    n = n + k
    y = dot(S, q) / dot(n, q)
    return S, n, y


@mr.cell(states="S", output="y", keys=N)
def retnet(x_v, k_k, k_q, S, *, gamma=0.96875):
    S = gamma * S + x_v * k_k
    y = dot(S, k_q)
    return S, y


@mr.cell(states="S", output="y", keys=N)
def deltanet(x_v, k_k, k_q, s_b, S):
    beta = sigmoid(s_b)
    e = x_v - dot(S, k_k)
    S = S + beta * e * k_k
    y = dot(S, k_q)
    return S, y


@mr.cell(states=("C", "n", "m"), output="y", keys=N)
def mlstm(x_v, k_k, k_q, s_i, s_f, x_o, C, n, m):
    m_before = m
    m = maximum(s_f + m, s_i)
    i = exp(s_i - m)
    f = exp(s_f + m_before - m)
    C = f * C + i * x_v * k_k
    n = f * n + i * k_k
    y = sigmoid(x_o) * dot(C, k_q) / maximum(abs(dot(n, k_q)), exp(-m))
    return C, n, m, y


@mr.cell(states="S", output="y", keys=N)
def s6(x_x, x_dt, k_B, k_C, S, *, A_log: "H, N", skip):  # noqa: F821, F722
    dt = softplus(x_dt)
    A = -exp(A_log)
    S = exp(dt * A) * S + dt * x_x * k_B
    y = dot(S, k_C) + skip * x_x
    return S, y


CELLS = {c.__name__: c for c in (linear_attention, retnet, deltanet, mlstm, s6)}


def step_in_torch(torch, name, v, s, learned):
    """One step as the authors write it, with matrices (B, H, N), einsum and torch's own functions."""
    F = torch.nn.functional

    def outer(a, b):
        return torch.einsum("bh,bn->bhn", a, b)

    def read(S, q):
        return torch.einsum("bhn,bn->bh", S, q)

    if name == "linear_attention":
        k, q = F.elu(v["k_k"]) + 1, F.elu(v["k_q"]) + 1
        S, n = s["S"] + outer(v["x_v"], k), s["n"] + k
        return read(S, q) / (n * q).sum(-1, keepdim=True), {"S": S, "n": n}
    if name == "retnet":
        S = 0.96875 * s["S"] + outer(v["x_v"], v["k_k"])
        return read(S, v["k_q"]), {"S": S}
    if name == "deltanet":
        beta, old = torch.sigmoid(v["s_b"]), read(s["S"], v["k_k"])
        new = beta * v["x_v"] + (1 - beta) * old  # the paper's: erase the old value, write the new one
        S = s["S"] - outer(old, v["k_k"]) + outer(new, v["k_k"])
        return read(S, v["k_q"]), {"S": S}
    if name == "mlstm":
        m = torch.maximum(v["s_f"] + s["m"], v["s_i"])
        f, i = torch.exp(v["s_f"] + s["m"] - m), torch.exp(v["s_i"] - m)
        C = f[..., None] * s["C"] + i[..., None] * outer(v["x_v"], v["k_k"])
        n = f * s["n"] + i * v["k_k"]
        below = torch.maximum((n * v["k_q"]).sum(-1, keepdim=True).abs(), torch.exp(-m))
        return torch.sigmoid(v["x_o"]) * read(C, v["k_q"]) / below, {"C": C, "n": n, "m": m}
    A, dt = -torch.exp(learned["A_log"]), F.softplus(v["x_dt"])
    S = torch.exp(dt[..., None] * A) * s["S"] + outer(dt * v["x_x"], v["k_B"])
    return read(S, v["k_C"]) + learned["skip"] * v["x_x"], {"S": S}


@pytest.mark.parametrize("place", ["cpu", "native", "cuda-sim"])
@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "lengths"])
@pytest.mark.parametrize("name", CELLS)
def test_equals_a_loop_in_torch(name: str, lengths: np.ndarray | None, place: str) -> None:
    torch = pytest.importorskip("torch")
    cell, rng = CELLS[name], np.random.default_rng(0)
    layer = cell.layer(I, H, dtype="float64", device=place)
    x, weight = rng.normal(size=(T, B, I)), rng.normal(size=(T, B, H))
    axes = cell.step.axes
    states = {n: rng.normal(size=(B, *[{"u": H, "k": N}[a] for a in "uk" if a in axes[n]])) for n in layer.states_given}
    if name == "linear_attention":
        states["n"] = np.abs(states["n"]) + 1

    parameters = {n: torch.tensor(p.numpy(), requires_grad=True) for n, p in layer.named_parameters()}
    xt = torch.tensor(x, requires_grad=True)
    st = {n: torch.tensor(a, requires_grad=True) for n, a in states.items()}
    now = {n: t[:, None] if t.ndim == 1 else t for n, t in st.items()}
    gates = xt @ parameters["weight_ih"].T + parameters["bias"]
    widths = [{"x": H, "k": N, "s": 1}[n[0]] for n in cell.step.gate_order]
    ys = []
    for t in range(T):
        v = dict(zip(cell.step.gate_order, gates[t].split(widths, -1), strict=True))
        y, new = step_in_torch(torch, name, v, now, parameters)
        if lengths is not None:
            alive = torch.tensor(t < lengths)
            y = y * alive[:, None]
            new = {n: torch.where(alive.reshape(-1, *[1] * (a.ndim - 1)), a, now[n]) for n, a in new.items()}
        now = new
        ys.append(y)
    loss = (torch.stack(ys) * torch.tensor(weight)).sum() + sum((a**2).sum() for a in now.values())
    loss.backward()

    xm = mr.tensor(x, requires_grad=True, device=place)
    sm = {n: mr.tensor(a, requires_grad=True, device=place) for n, a in states.items()}
    y, after = layer(xm, tuple(sm.values()), lengths=lengths)
    after = after if isinstance(after, tuple) else (after,)
    own = (y * mr.tensor(weight, device=place)).sum() + sum(((a**2).sum() for a in after), start=0.0)
    own.backward()

    def close(mine: np.ndarray, theirs: object) -> None:
        expected = theirs.detach().numpy()
        assert np.abs(mine.reshape(expected.shape) - expected).max() <= 1e-13 * max(1, np.abs(expected).max())

    close(y.numpy(), torch.stack(ys))
    for n, a in zip(layer.states_given, after, strict=True):
        close(a.numpy(), now[n])
    close(xm.grad.numpy(), xt.grad)
    for n, a in sm.items():
        close(a.grad.numpy(), st[n].grad)
    for n, p in layer.named_parameters():
        close(p.grad.numpy(), parameters[n].grad)


@mr.cell(states=("S", "n", "c"), output="y", keys=N)
def odd(x_v, k_k, s_c, S, n, c, *, A: "H, N", b: "N", d: "1", rate=0.5):  # noqa: F821, F722
    """Values that loops share: one that a later loop over keys reads again, numbers of keys, and sums of sums."""
    w = exp(rate * x_v * k_k * A)
    e = dot(S, w)
    r = dot(S + e * b, w)
    S = rate * S + r * w / (1 + w)
    t = dot(n, exp(b)) + d * c
    n = 0.5 * n + sigmoid(t) * k_k
    c = dot(n, n) + s_c
    y = dot(S, n) + where(c > 0, e, r)
    return S, n, c, y


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in CELLS if name != "deltanet"]  # they are compiled


@pytest.mark.parametrize("name", ["deltanet", "odd", *SLOW])
def test_verifies(name: str) -> None:
    proof = (odd if name == "odd" else CELLS[name]).verify(["cpu", "native", "cuda-sim"])
    assert proof, str(proof)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["deltanet", "odd", *SLOW])
def test_compiled_code_equals_numpy(name: str, dtype: str) -> None:
    """With more units and keys than a vector of the processor and a block of sums have, and a rest."""
    function, names = (odd if name == "odd" else CELLS[name]).function, (odd if name == "odd" else CELLS[name]).step
    cell, rng = mr.cell(names.user_states, output="y", keys=17)(function), np.random.default_rng(2)
    x = rng.normal(size=(4, 2, I))
    found = []
    for place in ("cpu", "native", "cuda-sim"):
        mr.manual_seed(0)
        layer = cell.layer(I, 35, dtype=dtype, device=place)
        xs = mr.tensor(x, dtype=dtype, device=place, requires_grad=True)
        y, states = layer(xs, lengths=np.array([4, 3]))
        total = sum(((s**2).mean() for s in (states if isinstance(states, tuple) else (states,))), start=0.0)
        (y.mean() + total).backward()
        found.append([y, xs.grad, *[p.grad for p in layer.parameters()]])
    for expected, *others in zip(*found, strict=True):
        for one in others:
            atol = 1e-13 if dtype == "float64" else 2e-5
            np.testing.assert_allclose(one.numpy(), expected.numpy(), rtol=0, atol=atol)


def test_the_lines_of_deltanet() -> None:
    assert deltanet.forward_formulas().splitlines() == [
        "beta = sigmoid(s_b)",
        "e = x_v - dot(S_prev, k_k)",
        "S = S_prev + beta * e * k_k",
        "y = dot(S, k_q)",
    ]
    assert deltanet.backward_formulas().splitlines() == [
        "dS = S_grad + dy * k_q",
        "d1 = dot(dS, k_k)",
        "dx_v = d1 * beta",
        "dk_k = beta * sum_u(dS * e) - sum_u(dx_v * S_prev)",
        "dk_q = sum_u(dy * S)",
        "ds_b = sum_u(d1 * e) * beta * (1 - beta)",
        "dS_prev = dS - dx_v * k_k",
    ]


def test_shapes_of_states_are_found() -> None:
    found = {n: "".join(sorted(axes)) for n, axes in mlstm.step.axes.items()}
    assert found == {"C": "ku", "n": "k", "m": "", "y": "u"}
    _, (C, n, m) = mlstm.layer(I, H)(mr.zeros((T, B, I)))
    assert (C.shape, n.shape, m.shape) == ((B, H, N), (B, N), (B,))


def test_a_broadcast_under_a_sum_counts_every_key() -> None:
    @mr.cell(states="S", output="y", keys=N)
    def summed(x_v, k_k, S):
        S = S + x_v * k_k
        y = dot(S + x_v, 1)
        return S, y

    assert "dx_v = dot(dS, k_k) + 3 * dy" in summed.backward_formulas() or summed.verify(["cpu"])
    assert summed.verify(["cpu"])


def test_both_directions_and_layers_equal_single_runs() -> None:
    layer = deltanet.layer(I, H, num_layers=2, bidirectional=True, dtype="float64")
    x = mr.tensor(np.random.default_rng(1).normal(size=(T, B, I)))
    y, S = layer(x, lengths=LENGTHS)
    for b, n in enumerate(LENGTHS):
        one, S_one = layer(x[:n, b : b + 1])
        np.testing.assert_allclose(y.numpy()[:n, b], one.numpy()[:, 0], atol=1e-14)
        np.testing.assert_allclose(S.numpy()[:, b], S_one.numpy()[:, 0], atol=1e-14)
        assert not y.numpy()[n:, b].any()


def test_what_is_refused() -> None:
    def refused(match: str, step, **options) -> None:
        with pytest.raises(CellError, match=match):
            mr.cell(**{"states": "S", "output": "y", "keys": N} | options)(step)

    refused("expected gates of x alone", lambda z_v, k_k, S: (S + z_v * k_k, dot(S, k_k)))
    refused("expected none: drop out", lambda x_v, k_k, mask_v, S: (S + x_v * k_k, dot(S, k_k)))
    refused("its units do not read each other", lambda x_v, k_k, S: (S + mr.unit_mean(x_v) * k_k, dot(S, k_k)))
    refused("no operand has keys", lambda x_v, k_k, S: (S + x_v * k_k, dot(x_v, x_v)))
    refused(r"the output y has the shape \(H, N\)", lambda x_v, k_k, S: (S + x_v * k_k, S * k_k))
    refused("in a cell with keys, @cell", lambda x_v, k_k, S: (S + x_v * k_k, S * k_k), keys=None)
    refused("the cell has no keys", lambda x_v, h: dot(h, x_v), keys=None, states="h", output=None)
    with pytest.raises(CellError, match="keys is 0"):
        mr.cell("S", keys=0)
    with pytest.raises(CellError, match="always derived"):
        deltanet.backward(lambda dy: None)
    for options in ({"proj_size": 2}, {"weight_dropout": 0.5}, {"masks": {"mask_v": 0.5}}):
        with pytest.raises(ValueError, match="the cell has keys"):
            deltanet.layer(I, H, **options)
