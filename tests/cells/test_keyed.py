"""Cells with keys: printed lines, shapes, what is refused, and five published cells against their authors' code."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import dot, exp, sigmoid, where
from minirnn.cells.expr import CellError
from minirnn.cells.words import FUNCTIONS
from minirnn.devices.cpu.keyed import FUNCTIONS as NUMPY
from minirnn.devices.cpu.sequence.step import SCOPE
from minirnn.ops.sequence import compose
from tests.cells.with_torch import WITH_KEYS, gallery

T, B, I, H, N = 5, 3, 4, 6, 3
LENGTHS = np.array([5, 2, 4])


def with_keys(name: str, keys: int = N) -> Any:
    """A cell of the gallery, with another number of keys."""
    step = gallery(name).step
    return mr.cell(step.user_states, output=step.output, keys=keys)(step.function)


CELLS = {name: with_keys(name) for name in WITH_KEYS}
deltanet, mlstm = CELLS["deltanet"], CELLS["mlstm"]


def authors(name: str, v: Any, s: Any, learned: Any) -> tuple[Any, dict[str, Any]]:
    """One step as the authors write it, with matrices (B, H, N), in NumPy, for one head.

    linear_attention: idiap/fast-transformers (recurrent/attention/self_attention/linear_attention.py).
    retnet: microsoft/torchscale (component/multiscale_retention.py), recurrent_forward in its unscaled form, because
    its norm undoes the scale. deltanet: fla-org/flash-linear-attention (ops/delta_rule/naive.py), without the scale of
    queries. mlstm: NX-AI/xlstm (blocks/mlstm/backends.py), recurrent_step_stabilized_simple with the paper's output
    gate, without its eps and the scale of keys. s6: state-spaces/mamba (ops/selective_scan_interface.py),
    selective_scan_ref.
    """

    def outer(a: Any, b: Any) -> Any:
        return np.einsum("bh,bn->bhn", a, b)

    def read(S: Any, q: Any) -> Any:
        return np.einsum("bhn,bn->bh", S, q)

    def inner(a: Any, b: Any) -> Any:
        return np.einsum("bn,bn->b", a, b)[:, None]

    if name == "linear_attention":
        k, q = (np.where(a > 0, a, np.exp(a) - 1) + 1 for a in (v["k_k"], v["k_q"]))
        S, Z = s["S"] + outer(v["x_v"], k), s["n"] + k
        return read(S, q) * (1.0 / (inner(q, Z) + 1e-6)), {"S": S, "n": Z}
    if name == "retnet":
        S = 0.96875 * s["S"] + outer(v["x_v"], v["k_k"])
        return read(S, v["k_q"]), {"S": S}
    if name == "deltanet":
        beta = 1 / (1 + np.exp(-v["s_b"]))
        new = (v["x_v"] - read(s["S"], v["k_k"])) * beta
        S = s["S"] + outer(new, v["k_k"])
        return read(S, v["k_q"]), {"S": S}
    if name == "mlstm":
        log_f = -np.log1p(np.exp(-v["s_f"]))
        m = np.maximum(log_f + s["m"], v["s_i"])
        f, i = np.exp(log_f + s["m"] - m), np.exp(v["s_i"] - m)
        C = f[..., None] * s["C"] + i[..., None] * outer(v["x_v"], v["k_k"])
        n = f * s["n"] + i * v["k_k"]
        below = np.maximum(np.abs(inner(v["k_q"], n)), np.exp(-m))
        return read(C, v["k_q"]) / below / (1 + np.exp(-v["x_o"])), {"C": C, "n": n, "m": m}
    assert name == "s6", f"write the step of {name} above, from its authors' code, as docs/contributing.md says"
    A, delta = -np.exp(learned["A_log"]), np.log1p(np.exp(v["x_dt"]))
    deltaA = np.exp(np.einsum("bd,dn->bdn", delta, A))
    deltaB_u = np.einsum("bd,bn,bd->bdn", delta, v["k_B"], v["x_x"])
    S = deltaA * s["S"] + deltaB_u
    return read(S, v["k_C"]) + v["x_x"] * learned["skip"], {"S": S}


def states_of(cell: Any, rng: np.random.Generator) -> dict[str, np.ndarray]:
    step = cell.step
    shapes = {n: [{"u": H, "k": N}[a] for a in "uk" if a in step.axes[n]] for n in step.user_states}
    states = {n: rng.normal(size=(B, *shape)) for n, shape in shapes.items()}
    return {n: np.abs(a) + 1 if n == "n" else a for n, a in states.items()}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_that_of_its_authors(name: str) -> None:
    cell, rng = CELLS[name], np.random.default_rng(3)
    layer = cell.layer(I, H, dtype="float64")
    x, states = rng.normal(size=(T, B, I)), states_of(cell, rng)
    y, after = layer(mr.tensor(x), tuple(states.values()))
    parameters = {n: p.numpy() for n, p in layer.named_parameters()}
    now = {n: a[:, None] if a.ndim == 1 else a for n, a in states.items()}
    for t in range(T):
        gates = x[t] @ parameters["weight_ih"].T + parameters["bias"]
        ends = np.cumsum([{"x": H, "k": N, "s": 1}[n[0]] for n in cell.step.gate_order])
        of_step = dict(zip(cell.step.gate_order, np.split(gates, ends[:-1], -1), strict=True))
        expected, now = authors(name, of_step, now, parameters)
        np.testing.assert_allclose(y.numpy()[t], expected, rtol=1e-12, atol=1e-13)
    for n, a in zip(layer.states_given, after if isinstance(after, tuple) else (after,), strict=True):
        np.testing.assert_allclose(a.numpy(), now[n].reshape(a.shape), rtol=1e-12, atol=1e-13)


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
    step, rng = (odd if name == "odd" else CELLS[name]).step, np.random.default_rng(2)
    cell = mr.cell(step.user_states, output=step.output, keys=17)(step.function)
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


def test_deltanet_in_latex() -> None:
    """The lines of the paper: products with a transposed vector or matrix, no sums over an index."""
    assert deltanet.latex().splitlines()[1:5] == [
        r"\beta &= \sigma(s_{b}) \\",
        r"e &= x_{v} - S_{t-1} \, k_{k} \\",
        r"S &= S_{t-1} + \beta \, e \, k_{k}^\top \\",
        r"y &= S \, k_{q}",
    ]
    assert r"\delta k_{k} &= \beta \, \delta S^\top \, e - S_{t-1}^\top \, \delta x_{v} \\" in deltanet.latex()
    assert r"\delta s_{b} &= \left(\delta_{1}^\top e\right) \, \beta \, \left(1 - \beta\right) \\" in deltanet.latex()
    assert r"t_{1} &= e^{\mathrm{diag}(\Delta t) \, A} \\" in CELLS["s6"].latex()
    assert r"\left(\delta_{2} \odot A\right) \, \mathbf{1}" in CELLS["s6"].latex()
    assert "sum_" not in "".join(cell.latex() for cell in CELLS.values())


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
    assert found == {"C": "ku", "n": "k", "m": "", "h": "u"}
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


def test_a_number_made_of_constants_does_not_widen_float32() -> None:
    @mr.cell(states="S", output="y", keys=N)
    def hgrn2(x_i, k_f, k_o, S, *, gamma=0.25):
        """Qin et al. 2024."""
        f = gamma + (1 - gamma) * sigmoid(k_f)
        S = S * f + x_i * (1 - f)
        y = dot(S, k_o)
        return S, y

    proof = hgrn2.verify(["cpu"])
    assert proof, str(proof)


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

    def unknown_shape(x_v, k_k, S, *, u: "n"):  # noqa: F821
        return S + x_v * k_k, dot(S, k_k) * u

    refused("u is annotated as 'n'\n  expected its shape", unknown_shape)
    refused("the cell has no keys", lambda x_v, h: dot(h, x_v), keys=None, states="h", output=None)
    with pytest.raises(CellError, match="keys is 0"):
        mr.cell("S", keys=0)
    with pytest.raises(CellError, match="always derived"):
        deltanet.backward(lambda dy: None)
    for options in ({"proj_size": 2}, {"weight_dropout": 0.5}, {"masks": {"mask_v": 0.5}}):
        with pytest.raises(ValueError, match="the cell has keys"):
            deltanet.layer(I, H, **options)


def test_what_works_for_vectors_of_units_alone_is_refused() -> None:
    layer = deltanet.layer(I, H)
    x = mr.zeros((T, B, I))
    for function in (
        lambda: mr.viz.layer_values(layer, x),
        lambda: mr.viz.layer_paths(layer, x.numpy()[:, 0]),
        lambda: mr.viz.layer_jacobians(layer, x.numpy()[:, 0]),
        lambda: mr.viz.cell_graph(deltanet),
    ):
        with pytest.raises((TypeError, ValueError), match="deltanet has keys"):
            function()
    with pytest.raises(CellError, match="got a cell with keys"):
        deltanet.plan()
    assert repr(layer) == "KeyedCellLayer(deltanet, 4, 6)"


def test_numpy_has_every_function_of_the_language() -> None:
    of_units = {"product", "dot", *[name for name in FUNCTIONS if name.startswith("unit_")]}
    assert set(FUNCTIONS) - of_units <= NUMPY.keys()
    assert set(FUNCTIONS) - {"product", "dot"} <= SCOPE.keys() | {n for n in FUNCTIONS if n.startswith("unit_")}
    assert set(FUNCTIONS) - {"product", "dot"} <= compose.FUNCTIONS.keys()


def test_names_that_the_generated_code_has_are_free() -> None:
    """Variables named like those of a loop, a macro, a sum that is generated, or a constant."""

    @mr.cell(states=("N", "H"), output="u", keys=N)
    def names(x_k, k_u, s_s, N, H, *, real=0.5, e_sum=0.25):
        k = x_k - dot(N, k_u)
        e = k * sigmoid(s_s)
        real = real * e
        dk_u_sum = real + e_sum * k
        N = N + e * k_u + dk_u_sum * H
        H = 0.5 * H + k_u
        u = dot(N, H)
        return N, H, u

    proof = names.verify(["cpu", "native", "cuda-sim"])
    assert proof, str(proof)
