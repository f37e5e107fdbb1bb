# ruff: noqa: F841  (the lines of a backward pass are local variables)
"""The cells of the CudnnRNN family. Each is a step and, below it, its backward pass derived by hand.

Every device computes these lines. A wrong line raises when this file is imported, because each backward pass is
compared with the one that follows from the step by the chain rule.

``z_i`` is ``W_i x + bW_i + R_i h' + bR_i``; ``x_n`` and ``h_n`` are the two parts of a gate that are not simply added.
A state after the step has the name it had before. In a backward pass ``dc`` is the whole gradient of c, ``c_grad`` what
arrives from the next step and from the loss, and ``c_prev`` the state before.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from minirnn.cells.cell import Formulas, cell
from minirnn.cells.plan import Plan
from minirnn.ops.primitives import relu, sigmoid, tanh

# ---- LSTM: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000


@cell(states=("c", "h"))
def lstm(z_i: Any, z_f: Any, z_n: Any, z_o: Any, c: Any, h: Any) -> Any:
    i, f, n, o = sigmoid(z_i), sigmoid(z_f), tanh(z_n), sigmoid(z_o)
    c = f * c + i * n
    h = o * tanh(c)
    return c, h


@lstm.backward(again="tanh_c")  # computed again rather than saved
def lstm_backward(c_grad: Any, dh: Any, c_prev: Any, i: Any, f: Any, n: Any, o: Any, tanh_c: Any) -> None:
    dc = c_grad + dh * o * (1 - tanh_c**2)
    dz_i = dc * n * i * (1 - i)
    dz_f = dc * c_prev * f * (1 - f)
    dz_n = dc * i * (1 - n**2)
    dz_o = dh * tanh_c * o * (1 - o)
    dc_prev = dc * f


# ---- GRU as cuDNN computes it, where r acts after the product with R: Cho et al. 2014


@cell(states="h")
def gru(z_r: Any, z_z: Any, x_n: Any, h_n: Any, h: Any) -> Any:
    r, z = sigmoid(z_r), sigmoid(z_z)
    n = tanh(x_n + r * h_n)
    h = n + z * (h - n)
    return h


@gru.backward
def gru_backward(dh: Any, h_prev: Any, h_n: Any, r: Any, z: Any, n: Any) -> None:
    dx_n = dh * (1 - z) * (1 - n**2)
    dz_z = dh * (h_prev - n) * z * (1 - z)
    dz_r = dx_n * h_n * r * (1 - r)
    dh_n = dx_n * r
    dh_prev = dh * z


# ---- RNN: Elman 1990


@cell(states="h")
def rnn_tanh(z_a: Any, h: Any) -> Any:
    h = tanh(z_a)
    return h


@rnn_tanh.backward
def rnn_tanh_backward(dh: Any, h: Any) -> None:
    dz_a = dh * (1 - h**2)


@cell(states="h")
def rnn_relu(z_a: Any, h: Any) -> Any:
    h = relu(z_a)
    return h


@rnn_relu.backward
def rnn_relu_backward(dh: Any, h: Any) -> None:
    dz_a = dh * (h > 0)


# ---- Zoneout of each: a mask, or a number, is the share of the old state that is kept. Krueger et al. 2017


@cell(states=("c", "h"))
def lstm_zoned(z_i: Any, z_f: Any, z_n: Any, z_o: Any, mask_h: Any, mask_c: Any, c: Any, h: Any) -> Any:
    i, f, n, o = sigmoid(z_i), sigmoid(z_f), tanh(z_n), sigmoid(z_o)
    c_new = f * c + i * n
    h_new = o * tanh(c_new)
    c = mask_c * c + (1 - mask_c) * c_new
    h = mask_h * h + (1 - mask_h) * h_new
    return c, h


@lstm_zoned.backward(again="tanh_c_new")
def lstm_zoned_backward(
    dc: Any, dh: Any, c_prev: Any, mask_h: Any, mask_c: Any, i: Any, f: Any, n: Any, o: Any, tanh_c_new: Any
) -> None:
    dh_new = dh * (1 - mask_h)
    dc_new = dc * (1 - mask_c) + dh_new * o * (1 - tanh_c_new**2)
    dz_i = dc_new * n * i * (1 - i)
    dz_f = dc_new * c_prev * f * (1 - f)
    dz_n = dc_new * i * (1 - n**2)
    dz_o = dh_new * tanh_c_new * o * (1 - o)
    dc_prev = dc * mask_c + dc_new * f
    dh_prev = dh * mask_h


@cell(states=("c", "h"))
def lstm_zoned_c(z_i: Any, z_f: Any, z_n: Any, z_o: Any, mask_c: Any, c: Any, h: Any) -> Any:
    """With a projection the h that is kept is the projected one, so only c is kept here."""
    i, f, n, o = sigmoid(z_i), sigmoid(z_f), tanh(z_n), sigmoid(z_o)
    c_new = f * c + i * n
    c = mask_c * c + (1 - mask_c) * c_new
    h = o * tanh(c_new)
    return c, h


@lstm_zoned_c.backward(again="tanh_c_new")
def lstm_zoned_c_backward(
    dc: Any, dh: Any, c_prev: Any, mask_c: Any, i: Any, f: Any, n: Any, o: Any, tanh_c_new: Any
) -> None:
    dc_new = dc * (1 - mask_c) + dh * o * (1 - tanh_c_new**2)
    dz_i = dc_new * n * i * (1 - i)
    dz_f = dc_new * c_prev * f * (1 - f)
    dz_n = dc_new * i * (1 - n**2)
    dz_o = dh * tanh_c_new * o * (1 - o)
    dc_prev = dc * mask_c + dc_new * f


@cell(states="h")
def gru_zoned(z_r: Any, z_z: Any, x_n: Any, h_n: Any, mask_h: Any, h: Any) -> Any:
    r, z = sigmoid(z_r), sigmoid(z_z)
    n = tanh(x_n + r * h_n)
    h_new = n + z * (h - n)
    h = mask_h * h + (1 - mask_h) * h_new
    return h


@gru_zoned.backward
def gru_zoned_backward(dh: Any, h_prev: Any, mask_h: Any, h_n: Any, r: Any, z: Any, n: Any) -> None:
    dh_new = dh * (1 - mask_h)
    dx_n = dh_new * (1 - z) * (1 - n**2)
    dz_z = dh_new * (h_prev - n) * z * (1 - z)
    dz_r = dx_n * h_n * r * (1 - r)
    dh_n = dx_n * r
    dh_prev = dh * mask_h + dh_new * z


@cell(states="h")
def rnn_tanh_zoned(z_a: Any, mask_h: Any, h: Any) -> Any:
    h_new = tanh(z_a)
    h = mask_h * h + (1 - mask_h) * h_new
    return h


@rnn_tanh_zoned.backward
def rnn_tanh_zoned_backward(dh: Any, mask_h: Any, h_new: Any) -> None:
    dz_a = dh * (1 - mask_h) * (1 - h_new**2)
    dh_prev = dh * mask_h


@cell(states="h")
def rnn_relu_zoned(z_a: Any, mask_h: Any, h: Any) -> Any:
    h_new = relu(z_a)
    h = mask_h * h + (1 - mask_h) * h_new
    return h


@rnn_relu_zoned.backward
def rnn_relu_zoned_backward(dh: Any, mask_h: Any, h_new: Any) -> None:
    dz_a = dh * (1 - mask_h) * (h_new > 0)
    dh_prev = dh * mask_h


CELLS: dict[str, Formulas] = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "rnn_relu": rnn_relu}
ZONED: dict[str, Formulas] = {
    "lstm": lstm_zoned, "gru": gru_zoned, "rnn_tanh": rnn_tanh_zoned, "rnn_relu": rnn_relu_zoned
}  # fmt: skip


@cache
def plan_of(rnn_mode: str, projected: bool = False) -> Plan:
    """The plan of a mode."""
    return CELLS[rnn_mode].plan(projected)


def layer_of(rnn_mode: str, projected: bool, zoneout: tuple[Any, Any] | None) -> tuple[Plan, tuple[Any, ...], Any]:
    """The plan of a layer with zoneout (zh, zc) or without, its masks, and the zoneout of a projected h."""
    if zoneout is None:
        return plan_of(rnn_mode, projected), (), None
    if projected:
        return lstm_zoned_c.plan(True), zoneout[1:], zoneout[0]
    return ZONED[rnn_mode].plan(), zoneout if rnn_mode == "lstm" else zoneout[:1], None
