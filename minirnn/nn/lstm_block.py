"""LSTMBlockCell and LSTMBlockFusedCell: one LSTM step, and a whole sequence, as one node with their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.names import own_init
from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor
from minirnn.nn import init, states
from minirnn.nn.initial import Factory, redraw_glorot, size
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter
from minirnn.nn.states import LSTMState
from minirnn.ops.cudnn_rnn.check import lengths_of
from minirnn.ops.lstm_block.cell import LSTMBlockCellOutput, lstm_block_cell
from minirnn.ops.lstm_block.sequence import BlockLSTMOutput, block_lstm
from minirnn.ops.primitives import concat, expand_dims, where


class _LSTMBlock(Module):
    """The base class of the two modules, with the parameters and attributes described in `LSTMBlockCell`."""

    def __init__(
        self,
        num_units: int,
        input_size: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        device: str | Device | None = None,
        dtype: Any = None,
        *,
        name: str | None = None,
    ) -> None:
        kind = type(self).__name__
        H = self.num_units = size(kind, "num_units", num_units)
        I = self.input_size = size(kind, "input_size", input_size)
        self.forget_bias = check.number(kind, "forget_bias", forget_bias)
        self.cell_clip = None if cell_clip is None else check.number(kind, "cell_clip", cell_clip, finite=False)
        self.use_peephole = check.flag(kind, "use_peephole", use_peephole)
        make = Factory(device, dtype)
        self.w = make.glorot_uniform((I + H, 4 * H))
        self.b = make.full((4 * H,), 0.0)
        self.wci: Parameter | None = None
        self.wcf: Parameter | None = None
        self.wco: Parameter | None = None
        if self.use_peephole:
            self.wci, self.wcf, self.wco = (make.glorot_uniform((H,)) for _ in range(3))

    def reset_parameters(self) -> None:
        """Draw new initial values, as the constructor does."""
        redraw_glorot(self.w, self.wci, self.wcf, self.wco)
        init.zeros_(self.b)

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes of the op."""
        clip = 0.0 if self.cell_clip is None else self.cell_clip
        return {"forget_bias": self.forget_bias, "cell_clip": clip, "use_peephole": self.use_peephole}

    def initial_state(self, state: Any, B: int, like: Tensor) -> LSTMState:
        """The state as Tensors (B, H), zeros if None. Raises TypeError if not a pair, ValueError for other shapes."""
        name = type(self).__name__
        c, h = (None, None) if state is None else states.lstm_pair(name, "state", state, "ch")
        return LSTMState(
            states.state(name, "c", c, B, self.num_units, like), states.state(name, "h", h, B, self.num_units, like)
        )

    def extra_repr(self) -> str:
        settings = f"num_units={self.num_units}, input_size={self.input_size}, forget_bias={self.forget_bias}"
        return settings + f", cell_clip={self.cell_clip}, use_peephole={self.use_peephole}"


@own_init
class LSTMBlockCell(_LSTMBlock):
    """One LSTM step as one node: `minirnn.ops.lstm_block_cell`.

    The number of units comes first, as in TensorFlow: ``LSTMBlockCell(num_units, input_size)``. Modules with names from
    torch, such as `LSTM`, take ``(input_size, hidden_size)``.

    Parameters
    ----------
    num_units : int
        H, torch's hidden_size.
    input_size : int
        I.
    forget_bias : float
        Added to the forget gate's pre-activation, so that it starts open.
    cell_clip : float, optional
        Clip the cell state to -cell_clip .. cell_clip; None does not clip. The gradient passes straight through.
    use_peephole : bool
        Whether the gates read the cell state.
    device, dtype
        Device and dtype (default float32) of the parameters.

    Attributes
    ----------
    w : Parameter, (I+H, 4H)
        Rows [x rows; h rows], columns i, ci, f, o. `glorot_uniform`.
    b : Parameter, (4H,)
        Zeros.
    wci, wcf, wco : Parameter, (H,), or None without peepholes
        `glorot_uniform`. All start as in TensorFlow's layers.
    """

    def forward(self, inputs: Any, state: Any = None) -> tuple[Tensor, LSTMState]:
        """Compute one step, with the interface of TensorFlow's cells.

        Parameters
        ----------
        inputs : (B, I)
        state : LSTMState or LSTMHidden, or a pair (c, h), (B, H) each, optional
            The state before the step; zeros by default. A state with the fields h and c is read by name, including
            torch's (h, c) of `LSTMCell` and `LSTM`. A plain pair has no names. It is read in TensorFlow's order (c, h),
            and an exchanged pair cannot be detected. Keep the named state, or write ``LSTMState(c=c, h=h)``.

        Returns
        -------
        output : (B, H)
        state : LSTMState
            ``(c, h)`` after the step; h is the output.
        """
        y = self.gates(inputs, state)
        return y.h, LSTMState(y.cs, y.h)

    def gates(self, inputs: Any, state: Any = None) -> LSTMBlockCellOutput:
        """The same as `forward`, but returns all outputs of the op: ``i, cs, f, o, ci, co, h``."""
        x = states.inputs("LSTMBlockCell", inputs, "B I", self.input_size, self.num_units, self.w)
        c, h = self.initial_state(state, x.shape[0], x)
        return lstm_block_cell(x, c, h, self.w, self.wci, self.wcf, self.wco, self.b, **self.attributes)


@own_init
class LSTMBlockFusedCell(_LSTMBlock):
    """A whole LSTM sequence as one node: `minirnn.ops.block_lstm`.

    Parameters and attributes are the same as for `LSTMBlockCell`, so you can copy values from one to the other.
    """

    def forward(self, inputs: Any, initial_state: Any = None, sequence_length: Any = None) -> tuple[Tensor, LSTMState]:
        """Run over a sequence. Raises TypeError or ValueError if a shape, a dtype or a length does not fit.

        Parameters
        ----------
        inputs : (T, B, I)
            Time-major.
        initial_state : LSTMState or LSTMHidden, or a pair (c, h), (B, H) each, optional
            The state before the first step; zeros by default. It is read as in `LSTMBlockCell.forward`.
        sequence_length : (B,) integers in 0 .. T, optional
            The number of valid steps of each row. Values after them are never used, not even a NaN.

        Returns
        -------
        outputs : (T, B, H)
            h at each step; zeros from ``sequence_length[b]`` on.
        state : LSTMState
            ``(c, h)``, (B, H) each: after the last valid step, or the initial state for a row of length 0.
        """
        name = "LSTMBlockFusedCell"
        x = states.inputs(name, inputs, "T B I", self.input_size, self.num_units, self.w)
        T, B, _ = x.shape
        c0, h0 = self.initial_state(initial_state, B, x)
        if sequence_length is None:
            y = self.gates(x, (c0, h0))
            return y.h, LSTMState(y.cs[-1], y.h[-1]) if T else LSTMState(c0, h0)

        lengths = lengths_of(name, sequence_length, T, B, "sequence_length", 0)
        L = int(lengths.max(initial=0))
        counts = (np.arange(T)[:, None] < lengths)[:, :, None]  # (T, B, 1)
        # Padding is replaced, not multiplied by zero: 0 * NaN is NaN, forward and in the gradient of w.
        y = self.gates(where(counts, x, 0.0), (c0, h0), seq_len_max=L)
        rows = np.arange(B)
        c = concat([expand_dims(c0, 0), y.cs])[lengths, rows]  # the state after `length` steps
        h = concat([expand_dims(h0, 0), y.h])[lengths, rows]
        return where(counts, y.h, 0.0), LSTMState(c, h)

    def gates(self, inputs: Any, initial_state: Any = None, seq_len_max: int | None = None) -> BlockLSTMOutput:
        """All outputs of the op, (T, B, H) each: ``i, cs, f, o, ci, co, h``. They are zeros from `seq_len_max` on."""
        x = states.inputs("LSTMBlockFusedCell", inputs, "T B I", self.input_size, self.num_units, self.w)
        c, h = self.initial_state(initial_state, x.shape[1], x)
        L = x.shape[0] if seq_len_max is None else seq_len_max
        return block_lstm(L, x, c, h, self.w, self.wci, self.wcf, self.wco, self.b, **self.attributes)
