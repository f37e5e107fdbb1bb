"""Each cell of the gallery computes what its authors' code or equations compute, in NumPy and from the source named.

These steps are not made from the cells. Gates of a cell have a bias each; biases that the source lacks are 0 here.

Tests `docs/examples/cells/`, `docs/cell_gallery.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from docs import cell_gallery
from minirnn import cell, exp, maximum, sigmoid, softplus, tanh
from tests.cells.with_torch import CELLS, WITH_KEYS, gallery

T, B, I, H = 12, 4, 3, 5
Array = np.ndarray[Any, Any]


class Weights:
    """The weights of a layer by gate: a Linear of x, one of h, the matrices of `product`, and the vectors."""

    def __init__(self, layer: Any) -> None:
        values = {n: p.numpy() for n, p in layer.named_parameters()}
        gates = layer.cell.step.gate_order
        of_x, of_h = ([n for n in gates if n[0] in kinds] for kinds in ("zx", "zh"))
        self.W = dict(zip(of_x, np.split(values["weight_ih"], len(of_x)), strict=True))
        self.R = dict(zip(of_h, np.split(values["weight_hh"], len(of_h)), strict=True)) if of_h else {}
        self.b = dict(zip(gates, np.split(values["bias"], len(gates)), strict=True))
        self.U: Any = values.get("product_1")
        self.vectors = {n: values[n] for n in layer.cell.step.vectors}

    def x(self, gate: str, x: Array) -> Array:
        return x @ self.W[gate].T + self.b[gate]

    def h(self, gate: str, h: Array) -> Array:
        return h @ self.R[gate].T

    def both(self, gate: str, x: Array, h: Array) -> Array:
        return self.x(gate, x) + self.h(gate, h)


def s(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


def lstm(w: Weights, x: Array, c: Array, h: Array) -> tuple[Array, ...]:
    """torch.nn.LSTM, the equations of its documentation."""
    i, f, g, o = (w.both(n, x, h) for n in ("z_i", "z_f", "z_n", "z_o"))
    c = s(f) * c + s(i) * np.tanh(g)
    return c, s(o) * np.tanh(c)


def peephole_lstm(w: Weights, x: Array, c: Array, h: Array) -> tuple[Array, ...]:
    """The "vanilla LSTM" of Greff et al. 2017, section II: p_i and p_f see the old cell, p_o the new one."""
    block = np.tanh(w.both("z_n", x, h))
    i = s(w.both("z_i", x, h) + w.vectors["wci"] * c)
    f = s(w.both("z_f", x, h) + w.vectors["wcf"] * c)
    c = block * i + c * f
    return c, np.tanh(c) * s(w.both("z_o", x, h) + w.vectors["wco"] * c)


def coupled_lstm(w: Weights, x: Array, c: Array, h: Array) -> tuple[Array, ...]:
    """CoupledInputForgetGateLSTMCell of TensorFlow 1.15 (contrib/rnn), without its options."""
    keep = s(w.both("z_f", x, h))
    c = keep * c + (1 - keep) * np.tanh(w.both("z_n", x, h))
    return c, s(w.both("z_o", x, h)) * np.tanh(c)


def gru(w: Weights, x: Array, h: Array) -> tuple[Array, ...]:
    """torch.nn.GRU, the equations of its documentation. Its b_hn is the bias of h_n."""
    r, z = s(w.both("z_r", x, h)), s(w.both("z_z", x, h))
    n = np.tanh(w.x("x_n", x) + r * (w.h("h_n", h) + w.b["h_n"]))
    return ((1 - z) * n + z * h,)


def gru_block(w: Weights, x: Array, h: Array) -> tuple[Array, ...]:
    """GRUBlockCell of TensorFlow 1.15, the equations of its documentation."""
    r_bar, u_bar = w.both("z_r", x, h), w.both("z_u", x, h)
    c_bar = w.x("x_c", x) + (h * s(r_bar)) @ w.U.T
    return ((1 - s(u_bar)) * np.tanh(c_bar) + s(u_bar) * h,)


def mgu(w: Weights, x: Array, h: Array) -> tuple[Array, ...]:
    """Zhou et al. 2016, the equations of the cell."""
    f = s(w.both("z_f", x, h))
    new = np.tanh(w.x("x_n", x) + (f * h) @ w.U.T)
    return ((1 - f) * h + f * new,)


def ugrnn(w: Weights, x: Array, h: Array) -> tuple[Array, ...]:
    """UGRNNCell of TensorFlow 1.15 (contrib/rnn). Its forget_bias is part of the gate's bias."""
    gate = s(w.both("z_g", x, h))
    return (gate * h + (1.0 - gate) * np.tanh(w.both("z_c", x, h)),)


def ligru(w: Weights, x: Array, h: Array) -> tuple[Array, ...]:
    """liGRU of mravanelli/pytorch-kaldi (neural_networks.py), with relu, without dropout and norms."""
    z = s(w.both("z_z", x, h))
    candidate = np.maximum(w.both("z_a", x, h), 0)
    return (z * h + (1 - z) * candidate,)


def indrnn(w: Weights, x: Array, h: Array) -> tuple[Array, ...]:
    """Sunnydreamrain/IndRNN_pytorch: relu of the input's Linear plus weight_hh * h, element by element."""
    return (np.maximum(w.x("x_a", x) + w.vectors["u"] * h, 0),)


def sru(w: Weights, x: Array, c: Array) -> tuple[Array, ...]:
    """asappresearch/sru (sru/ops.py), with the identity as activation and a Linear on the path past the cell."""
    value, past = w.x("x_n", x), w.x("x_s", x)
    forget = s(w.x("x_f", x) + c * w.vectors["vf"])
    reset = s(w.x("x_r", x) + c * w.vectors["vr"])
    c = value + (c - value) * forget
    return c, past + (c - past) * reset


def slstm(w: Weights, x: Array, c: Array, n: Array, m: Array, h: Array) -> tuple[Array, ...]:
    """NX-AI/xlstm (xlstm/blocks/slstm/src/vanilla/slstm.py): the forget gate is a sigmoid, in logarithms."""
    i_raw, f_raw, z_raw, o_raw = (w.both(name, x, h) for name in ("z_i", "z_f", "z_z", "z_o"))
    log_f_and_m = m - np.log1p(np.exp(-f_raw))
    m = i_raw if np.all(n == 0) else np.maximum(i_raw, log_f_and_m)
    i, f = np.minimum(np.exp(i_raw - m), 1), np.minimum(np.exp(log_f_and_m - m), 1)
    c, n = f * c + i * np.tanh(z_raw), f * n + i
    return c, n, m, s(o_raw) * c / n


def cornn(w: Weights, x: Array, hz: Array, hy: Array) -> tuple[Array, ...]:
    """tk-rusch/coRNN (adding/model.py): one Linear of x, hz and hy. dt, gamma and epsilon as in the gallery."""
    dt, gamma, epsilon = 0.1, 1.0, 0.5
    i2h = w.both("z_a", x, hy) + hz @ w.U.T
    hz = hz + dt * (np.tanh(i2h) - gamma * hy - epsilon * hz)
    return hz, hy + dt * hz


def lem(w: Weights, x: Array, z: Array, y: Array) -> tuple[Array, ...]:
    """tk-rusch/LEM (src/adding/network.py) with dt = 1. Biases of its two Linears are added up."""
    ms_dt, ms_dt_bar = s(w.both("z_1", x, y)), s(w.both("z_2", x, y))
    z = (1 - ms_dt) * z + ms_dt * np.tanh(w.both("z_c", x, y))
    return z, (1 - ms_dt_bar) * y + ms_dt_bar * np.tanh(z @ w.U.T + w.x("x_h", x))


def mingru(w: Weights, x: Array, h: Array) -> tuple[Array, ...]:
    """BorealisAI/minRNNs (models/minRNNs.py), its sequential branch; g is that of the paper's appendix B."""
    hidden, gate = w.x("x_n", x), s(w.x("x_z", x))
    g = np.where(hidden >= 0, hidden + 0.5, s(hidden))
    return ((1 - gate) * h + gate * g,)


def ln_lstm(w: Weights, x: Array, c: Array, h: Array) -> tuple[Array, ...]:
    """ryankiros/layer-norm (layers.py, lnlstm_layer): norms of (B, 4H). Shifts and bias are added up."""

    def ln(v: Array, gain: Array) -> Array:
        return gain * (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5)

    def four(prefix: str) -> Array:
        return np.concatenate([w.vectors[prefix + gate] for gate in "ifon"])

    below = ln(np.concatenate([w.x(f"x_{gate}", x) for gate in "ifon"], 1), four("gx_"))
    before = ln(np.concatenate([w.h(f"h_{gate}", h) for gate in "ifon"], 1), four("gh_"))
    i, f, o, new = np.split(before + below + four("b_"), 4, axis=1)
    c = s(f) * c + s(i) * np.tanh(new)
    return c, s(o) * np.tanh(ln(c, w.vectors["g_c"]) + w.vectors["b_c"])


WITHOUT_BIAS = {"sru": ("x_n", "x_s"), "ln_lstm": ("h_i", "h_f", "h_n", "h_o")}


def compare(own: Any, authors: Callable[..., tuple[Array, ...]], rng: np.random.Generator) -> None:
    """Outputs and last states of a sequence that begins with zeros. Biases are of size 3: gates open and close."""
    layer = own.layer(I, H, dtype="float64")
    for n, p in layer.named_parameters():
        p.assign(rng.normal(size=p.shape) * (3 if n == "bias" else 1))
    gates = own.step.gate_order
    absent = [gate in WITHOUT_BIAS.get(authors.__name__, ()) for gate in gates]
    layer.bias.assign(np.where(np.repeat(absent, H), 0, layer.bias.numpy()))
    x = rng.normal(size=(T, B, I))
    states = [np.zeros((B, H)) for _ in own.step.user_states]
    outputs = []
    for x_t in x:
        found = authors(Weights(layer), x_t, *states)
        states = list(found[: len(states)])
        outputs.append(found[-1])
    y, last = layer(mr.tensor(x))
    np.testing.assert_allclose(y.numpy(), outputs, rtol=1e-12, atol=1e-13)
    for a, right in zip([last] if len(states) == 1 else last, states, strict=True):
        np.testing.assert_allclose(a.numpy(), right, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_that_of_its_authors(rng: np.random.Generator, name: str) -> None:
    authors = globals().get(name)
    assert authors, f"write {name} above: one step of its authors' code in NumPy, as docs/contributing.md says"
    compare(gallery(name), authors, rng)


def test_the_page_has_every_cell_of_the_folder() -> None:
    for table, listed, files in (("ORDER", cell_gallery.ORDER, CELLS), ("KEYED", cell_gallery.KEYED, WITH_KEYS)):
        lacking, gone = sorted(set(files) - set(listed)), sorted(set(listed) - set(files))
        assert not lacking, f"add {lacking} to {table} in docs/cell_gallery.py, at their places on the page"
        assert not gone, f"{table} in docs/cell_gallery.py has {gone}, which have no file in docs/examples/cells/"


@pytest.mark.parametrize("number", [1, 4, 16])
def test_the_figure_has_a_diagram_for_each_cell(number: int) -> None:
    one = cell_gallery.cells(cell_gallery.FOLDER, ["mgu"])["mgu"]
    names = [f"cell {k}" for k in range(number)]
    figure = cell_gallery.picture(dict.fromkeys(names, one))
    assert [ax.get_title() for ax in figure.axes if ax.axison] == names


def test_another_divisor_or_forget_gate_is_noticed(rng: np.random.Generator) -> None:
    """The control, with two mistakes that are easy to make in sLSTM."""

    def variant(divisor: Any, log_f: Any) -> Any:
        @cell(states=("c", "n", "m", "h"))
        def slstm_of(z_i, z_f, z_z, z_o, c, n, m, h):
            kept = m + log_f(z_f)
            m = maximum(kept, z_i)
            i, f = exp(z_i - m), exp(kept - m)
            c = f * c + i * tanh(z_z)
            n = f * n + i
            h = sigmoid(z_o) * c / divisor(n)
            return c, n, m, h

        return slstm_of

    for wrong in (variant(lambda n: maximum(n, 1), lambda a: -softplus(-a)), variant(lambda n: n, lambda a: a)):
        with pytest.raises(AssertionError, match="Mismatched elements"):
            compare(wrong, slstm, rng)


def test_the_figure_of_every_cell_starts_its_gains_at_1() -> None:
    """An initial value of a vector, in a layer with one set of parameters and in one with several."""
    norms = cell_gallery.reach(gallery("ln_lstm"))
    assert np.isfinite(norms).all() and norms[-1] > norms[0] > 0
    (gain, *_) = gallery("ln_lstm").step.vectors
    for layers, name in ((1, gain), (2, f"{gain}_l1")):
        layer = gallery("ln_lstm").layer(I, H, layers, initial={gain: 0.5})
        assert (getattr(layer, name).numpy() == 0.5).all()
