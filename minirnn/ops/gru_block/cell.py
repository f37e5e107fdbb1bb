"""GRUBlockCell: one GRU step and its gradient.

Forward, ``x (B, I)``, ``h_prev (B, H)``, ``w_ru (I+H, 2H)``, ``w_c (I+H, H)``, ``b_ru (2H,)``, ``b_c (H,)``::

    [z_r | z_u] = [x | h_prev] @ w_ru + b_ru
    r, u, c, h = gru_block of z_r, z_u and [x | r * h_prev] @ w_c + b_c

`cells` has the step, and below it its backward pass. The last product is computed in two parts: ``x_c`` is that of x
and the bias, and the step itself multiplies ``r * h_prev`` by its rows of ``w_c``.
The reset gate r acts *before* the product with ``w_c``; the GRU of cuDNN, torch and Keras' default applies it after. In
general no weights make the two equal. u = 1 keeps the old state.

Backward, where ``*_bar`` are TensorFlow's names for the gradients of the pre-activations, dz_r, dz_u and dx_c::

    d_c_bar = dx_c
    d_r_bar_u_bar = [dz_r | dz_u]
    d_x_h_prev = d_r_bar_u_bar @ w_ru^T                             # (B, I+H), of [x | h_prev]
    d_x = d_x_h_prev[:, :I] + (d_c_bar @ w_c^T)[:, :I]
    d_h_prev = d_x_h_prev[:, I:] + dh_prev
    d_w_ru = [x | h_prev]^T @ d_r_bar_u_bar         d_b_ru = sum of d_r_bar_u_bar over B
    d_w_c = [x | r * h_prev]^T @ d_c_bar            d_b_c = sum of d_c_bar over B

Source: TensorFlow's GRUBlockCell and GRUBlockCellGrad; Cho et al. 2014.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from minirnn.arguments import check
from minirnn.devices.base import Array, Device, Weights
from minirnn.engine import html, operands
from minirnn.engine.tensor import Tensor
from minirnn.ops.fused import FusedOp, or_zeros, weight_grads
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.primitives import chunk, concat
from minirnn.ops.sequence.compose import evaluate, gradients


@html.shows_outputs
class GRUBlockCellOutput(NamedTuple):
    """Outputs of `gru_block_cell`, each (B, H)."""

    r: Tensor
    u: Tensor
    c: Tensor
    h: Tensor


@html.shows_outputs
class GRUBlockCellGradOutput(NamedTuple):
    """Outputs of `gru_block_cell_grad`: (B, I), (B, H), (B, H), (B, 2H)."""

    d_x: Tensor
    d_h_prev: Tensor
    d_c_bar: Tensor
    d_r_bar_u_bar: Tensor


class GRUBlockCell(FusedOp):
    """The node. Its backward is the Grad kernel, plus the gradients of r, u, c, which TensorFlow drops."""

    kernel = "cell_step"

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        x, h_prev, w_ru, w_c, b_ru, b_c = arrays
        I, part = x.shape[1], device.getitem
        z_ru = device.matmul(device.concatenate([x, h_prev], 1), w_ru) + b_ru
        x_c = device.matmul(x, part(w_c, (slice(0, I),))) + b_c
        gates = device.concatenate([z_ru, x_c], 1)
        (h,), values = device.cell_step(gates, (h_prev,), product_of(device, w_c, I), plan=gru_block.plan())
        return values["r"], values["u"], values["c"], h

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x, h_prev, w_ru, w_c, b_ru, b_c = inputs
        I, step = x.shape[1], gru_block.step
        gates = [*chunk(concat([x, h_prev], 1) @ w_ru + b_ru, 2, 1), x @ w_c[:I] + b_c]
        values = dict(zip(step.gates.values(), gates, strict=True)) | {step.states["h"]: h_prev}
        found = evaluate(step, values, [w_c[I:].T])
        named = {name: found[e] for e, name in step.names.items() if e in found}
        return [named[n] for n in GRUBlockCellOutput._fields]

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *inputs: Tensor) -> Sequence[Tensor | None]:
        x, h_prev, w_ru, w_c, b_ru, b_c = inputs
        r, u, c, h = y
        r_grad, u_grad, c_grad, h_grad = dy
        d_x, d_h_prev, d_c_bar, d_r_bar_u_bar = GRUBlockCellGrad()(*inputs, r, u, c, or_zeros(h_grad, h))
        d_w_ru, d_b_ru = weight_grads([x, h_prev], w_ru, b_ru, d_r_bar_u_bar)
        d_w_c, d_b_c = weight_grads([x, r * h_prev], w_c, b_c, d_c_bar)
        found = [d_x, d_h_prev, d_w_ru, d_w_c, d_b_ru, d_b_c]
        if r_grad is u_grad is c_grad is None:
            return found
        return self.with_others(found, (r_grad, u_grad, c_grad, None), inputs)


class GRUBlockCellGrad(FusedOp):
    """The Grad op as a node. It is a function of the saved values, and is differentiated through its composition."""

    kernel = "cell_step_grad"

    def run(self, device: Device, *arrays: Array) -> Sequence[Array]:
        x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = arrays
        (_, I), H, part = x.shape, h_prev.shape[1], device.getitem
        d_bar, (d_h_past,), _ = device.cell_step_grad(
            (h_prev,), (None,), {"r": r, "u": u, "c": c}, (d_h,), product_of(device, w_c, I), plan=gru_block.plan()
        )
        d_r_bar_u_bar, d_c_bar = (
            part(d_bar, (slice(None), columns)) for columns in (slice(0, 2 * H), slice(2 * H, None))
        )
        d_x_h_prev = device.matmul(d_r_bar_u_bar, device.transpose(w_ru, (1, 0)))
        d_x = part(d_x_h_prev, (slice(None), slice(0, I)))
        d_x = d_x + device.matmul(d_c_bar, device.transpose(part(w_c, (slice(0, I),)), (1, 0)))
        return d_x, part(d_x_h_prev, (slice(None), slice(I, None))) + d_h_past, d_c_bar, d_r_bar_u_bar

    def compose(self, *inputs: Tensor) -> Sequence[Tensor]:
        x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = inputs
        I, d = x.shape[1], gru_block.derivation
        given = {"h_prev": h_prev, "r": r, "u": u, "c": c, "dh": d_h}
        found = gradients(d, {e: given[n] for e, n in d.names.items() if n in given}, [w_c[I:].T])
        d_r_bar, d_u_bar, d_c_bar = (found[e] for e in d.step.gates.values())
        d_r_bar_u_bar = concat([d_r_bar, d_u_bar], 1)
        d_x_h_prev = d_r_bar_u_bar @ w_ru.T  # (B, I+H)
        d_x = d_x_h_prev[:, :I] + d_c_bar @ w_c[:I].T
        return d_x, d_x_h_prev[:, I:] + found[d.step.states["h"]], d_c_bar, d_r_bar_u_bar


def product_of(device: Device, w_c: Array, I: int) -> Weights:
    """The matrix of `product`: the rows of w_c for r * h_prev."""
    return Weights(None, None, U=(device.transpose(device.getitem(w_c, (slice(I, None),)), (1, 0)),))


def _check(op: str, **arguments: Any) -> list[Tensor]:
    ts = operands.tensors(op, **arguments)
    _check_shapes(op, *[t.array.shape for t in ts])
    return ts


Shape = tuple[int, ...]


@operands.remembered
def _check_shapes(
    op: str, x: Shape, h_prev: Shape, w_ru: Shape, w_c: Shape, b_ru: Shape, b_c: Shape, *saved: Shape
) -> None:
    B, I = check.rank(op, "x", x, "B I")
    _, H = check.rank(op, "h_prev", h_prev, "B H")
    check.positive(op, "H", H, f"h_prev {h_prev}")
    check.shape(op, "h_prev", h_prev, "B, H", (B, H), f"x {x}")
    source = f"x {x} and h_prev {h_prev}"
    rows = "rows are [x rows; h_prev rows], columns are the gates"
    causes: dict[Shape, str] = {
        (I + H, H): "; likely w_ru and w_c are exchanged",
        (I + H, 3 * H): "; likely all three gates: c has a separate matrix, w_c",
    }
    check.shape(op, "w_ru", w_ru, "I+H, 2H", (I + H, 2 * H), source, f"{rows} r, u{causes.get(w_ru, '')}")
    check.shape(op, "w_c", w_c, "I+H, H", (I + H, H), source, f"{rows} c")
    for name, b, letters, width, gates in (("b_ru", b_ru, "2H", 2 * H, "r, u"), ("b_c", b_c, "H", H, "c")):
        note = f"entries are the gates {gates}"
        if b == (2 * width,):  # one summed bias would not be enough
            note = "likely the two biases of cuDNN's GRU, which resets after the product; here it resets before"
        check.shape(op, name, b, letters, (width,), source, note)
    for name, shape in zip(("r", "u", "c", "d_h"), saved, strict=False):
        check.shape(op, name, shape, "B, H", (B, H), source)


def gru_block_cell(
    x: Any,
    h_prev: Any,
    w_ru: Any,
    w_c: Any,
    b_ru: Any,
    b_c: Any,
    *,
    name: str | None = None,
) -> GRUBlockCellOutput:
    """One step of a GRU whose reset gate acts before the matrix product.

    Formulas forward and backward: this module and `cells`. Raises TypeError if dtypes differ or are not floating, and
    ValueError if a shape does not fit.

    Parameters
    ----------
    x : (B, I)
        Input.
    h_prev : (B, H)
        State before the step.
    w_ru : (I+H, 2H)
        Weights of the reset and update gates; rows [x rows; h_prev rows], columns r, u.
    w_c : (I+H, H)
        Weights of the candidate; rows [x rows; rows of r * h_prev].
    b_ru : (2H,)
    b_c : (H,)

    All of one dtype: float16 (computed in float32), float32 or float64 (TensorFlow: float32 only).

    Returns
    -------
    GRUBlockCellOutput
        ``r, u, c, h``, each (B, H). Gradients flow into all inputs from all four (TensorFlow: from none).
    """
    ts = _check("gru_block_cell", x=x, h_prev=h_prev, w_ru=w_ru, w_c=w_c, b_ru=b_ru, b_c=b_c)
    return GRUBlockCellOutput(*GRUBlockCell()(*ts))


def gru_block_cell_grad(
    x: Any,
    h_prev: Any,
    w_ru: Any,
    w_c: Any,
    b_ru: Any,
    b_c: Any,
    r: Any,
    u: Any,
    c: Any,
    d_h: Any,
    *,
    name: str | None = None,
) -> GRUBlockCellGradOutput:
    """The gradients of `gru_block_cell`, exactly as TensorFlow's GRUBlockCellGrad computes them.

    The result depends only on the arguments. The forward pass is not computed again, so `r, u, c` may have any values.
    It has no gradients of weights and biases. The node of `gru_block_cell` computes them (see the module docstring).
    Raises the errors of `gru_block_cell`.

    Parameters
    ----------
    x, h_prev, w_ru, w_c, b_ru, b_c
        The same as for `gru_block_cell`. The values of `x`, `b_ru` and `b_c` are not used.
    r, u, c : (B, H)
        Saved outputs.
    d_h : (B, H)
        Gradient of h.

    Returns
    -------
    GRUBlockCellGradOutput
        ``d_x (B, I)``, ``d_h_prev (B, H)``, ``d_c_bar (B, H)``, ``d_r_bar_u_bar (B, 2H)``. Can be differentiated again.
    """
    ts = _check(
        "gru_block_cell_grad", x=x, h_prev=h_prev, w_ru=w_ru, w_c=w_c, b_ru=b_ru, b_c=b_c, r=r, u=u, c=c, d_h=d_h
    )
    return GRUBlockCellGradOutput(*GRUBlockCellGrad()(*ts))
