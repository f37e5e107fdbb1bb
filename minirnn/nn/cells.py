"""RNNCell, GRUCell and LSTMCell: torch.nn's cells, one step of `RNN`, `GRU` and `LSTM`, computed as one node.

Arguments, parameter names, layouts, the order of initial draws and results are the same as in torch, so a torch
``state_dict`` loads unchanged. A layer of `LSTM` has the same weights as an `LSTMCell`: weight_ih_l0 is weight_ih.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from minirnn.arguments import check
from minirnn.devices.base import Device, Weights
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.initial import Factory, open_forget_gate, redraw_uniform, size
from minirnn.nn.loading import refuse_other_gru
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter
from minirnn.nn.states import LSTMHidden, check_place, exchanged, lstm_pair
from minirnn.ops.cudnn_rnn.cells import plan_of
from minirnn.ops.cudnn_rnn.params import GATES
from minirnn.ops.fused import zeros
from minirnn.ops.primitives import expand_dims, squeeze
from minirnn.ops.sequence.layer import run_step


class _Cell(Module):
    """The base class of the three cells, with their parameters, checks, and the call of the node."""

    def __init__(
        self, rnn_mode: str, input_size: int, hidden_size: int, bias: bool, device: str | Device | None, dtype: Any
    ) -> None:
        name = type(self).__name__
        I = self.input_size = size(name, "input_size", input_size)
        H = self.hidden_size = size(name, "hidden_size", hidden_size)
        self.bias = check.flag(name, "bias", bias)
        GH, bound = len(GATES[rnn_mode]) * H, 1 / math.sqrt(H)
        make = Factory(device, dtype)  # drawn in torch's order
        self.weight_ih = make.uniform((GH, I), bound)
        self.weight_hh = make.uniform((GH, H), bound)
        self.bias_ih: Parameter | None
        self.bias_hh: Parameter | None
        self.register_parameter("bias_ih", make.uniform((GH,), bound) if self.bias else None)
        self.register_parameter("bias_hh", make.uniform((GH,), bound) if self.bias else None)

    def reset_parameters(self) -> None:
        """Draw new values for all parameters, uniformly from -1/sqrt(H) .. 1/sqrt(H), in the order above."""
        redraw_uniform(self.parameters(), 1 / math.sqrt(self.hidden_size))

    def _step(self, rnn_mode: str, input: Any, states: Mapping[str, Any]) -> list[Tensor]:
        """The new states, with a batch axis if the input has one. `states` are given by name."""
        name, I, H = type(self).__name__, self.input_size, self.hidden_size
        x = input if isinstance(input, Tensor) else as_tensor(input, device=self.weight_ih.device)
        check_place(name, "input", x, self.weight_ih.dtype, self.weight_ih.device)
        if x.ndim not in (1, 2):
            note = f"\n  likely a sequence: take one step of it, or nn.{name[:-4]}" if x.ndim == 3 else ""
            raise ValueError(
                f"{name}: input has shape {x.shape}\n  expected (B, I), or (I,) without a batch, with I = {I}{note}"
            )
        letters, batch = ("B, ", x.shape[:1]) if x.ndim == 2 else ("", ())
        note = exchanged(name, ("input_size", "hidden_size")) if x.shape[-1] == H != I else ""
        check.shape(name, "input", x.shape, f"{letters}I", (*batch, I), "input_size", note)
        found = [self._state(what, value, (*batch, H), f"{letters}H", x) for what, value in states.items()]
        if not batch:
            x, *found = (expand_dims(t, 0) for t in (x, *found))
        weights = Weights(self.weight_ih, self.weight_hh, None, self.bias_ih, self.bias_hh)
        new = run_step(plan_of(rnn_mode), [x, *found], weights)
        return new if batch else [squeeze(t, 0) for t in new]

    def _state(self, what: str, value: Any, expected: tuple[int, ...], letters: str, x: Tensor) -> Tensor:
        """A state (B, H) or (H,), zeros if None."""
        name = type(self).__name__
        if value is None:
            return zeros(expected, x)
        if isinstance(value, tuple):
            raise TypeError(
                f"{name}: {what} is a tuple of {len(value)}\n  expected one Tensor ({letters})\n"
                "  a pair (h, c) is what LSTMCell takes"
            )
        state = value if isinstance(value, Tensor) else as_tensor(value, device=x.device)
        check_place(name, what, state, x.dtype, x.device)
        note = ""
        if state.ndim == len(expected) + 1:
            note = f"likely the state of nn.{name[:-4]}, (L*D, {letters}): take one layer of it"
        check.shape(name, what, state.shape, letters, expected, f"input {x.shape} and hidden_size", note)
        return state

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> Any:
        """`Module.load_state_dict`. Raises ValueError for weights of a GRU that resets before the product."""
        refuse_other_gru(type(self).__name__, state, "after")
        return super().load_state_dict(state, strict)

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


_COMMON = """
    Parameters
    ----------
    input_size, hidden_size : int
        I and H, in torch's order. (`LSTMBlockCell` and `GRUBlockCell` take num_units first, as TensorFlow does.)
    bias : bool
        Whether there are the two biases bias_ih and bias_hh.
    device, dtype
        Device and dtype (default float32) of the parameters.

    Attributes
    ----------
    weight_ih : Parameter, (G*H, I)
    weight_hh : Parameter, (G*H, H)
    bias_ih, bias_hh : Parameter, (G*H,), or None
        All are drawn uniformly from -1/sqrt(H) .. 1/sqrt(H) in this order, as in torch.
"""


class RNNCell(_Cell):
    __doc__ = f"""``h = f(x W' + b_ih + h' R' + b_hh)``, f = tanh or relu: torch.nn.RNNCell. G = 1. Elman 1990.
{_COMMON}
    Other Parameters
    ----------------
    nonlinearity : {{"tanh", "relu"}}
        f; this argument comes after `bias`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: str | Device | None = None,
        dtype: Any = None,
    ) -> None:
        self.nonlinearity = check.choice("RNNCell", "nonlinearity", nonlinearity, ("tanh", "relu"))
        super().__init__(f"rnn_{self.nonlinearity}", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Tensor:
        """One step. Raises TypeError or ValueError if a shape or dtype does not fit.

        Parameters
        ----------
        input : (B, I), or (I,)
        hx : (B, H), or (H,), optional
            The state before the step; zeros by default.

        Returns
        -------
        h : (B, H), or (H,)
            The state after the step.
        """
        return self._step(f"rnn_{self.nonlinearity}", input, {"hx": hx})[0]

    def extra_repr(self) -> str:
        changed = "" if self.nonlinearity == "tanh" else f", nonlinearity={self.nonlinearity}"
        return super().extra_repr() + changed


class GRUCell(_Cell):
    __doc__ = f"""One step of a GRU whose reset gate acts after the matrix product: torch.nn.GRUCell.

    With G = 3 gates r, z, n::

        r = sigmoid(x W_r' + b_ir + h' R_r' + b_hr)
        z = sigmoid(x W_z' + b_iz + h' R_z' + b_hz)
        n = tanh(x W_n' + b_in + r * (h' R_n' + b_hn))
        h = (1 - z) * n + z * h'

    (`GRUBlockCell` resets before the product. In general no weights make the two equal, and `load_state_dict` refuses
    weights of the other.) Cho et al. 2014.
{_COMMON}    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: str | Device | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__("gru", input_size, hidden_size, bias, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Tensor:
        """Compute one step. Arguments, result and errors are those of `RNNCell.forward`."""
        return self._step("gru", input, {"hx": hx})[0]


class LSTMCell(_Cell):
    __doc__ = f"""One step of an LSTM: torch.nn.LSTMCell. Hochreiter and Schmidhuber 1997.

    With G = 4 gates i, f, g, o::

        i = sigmoid(x W_i' + b_ii + h' R_i' + b_hi)        f, o likewise
        g = tanh(x W_g' + b_ig + h' R_g' + b_hg)
        c = f * c' + i * g
        h = o * tanh(c)
{_COMMON}
    Other Parameters
    ----------------
    forget_bias : float, keyword only
        An option of minirnn, as for `LSTM`: the forget gate's part of ``bias_ih`` starts as `forget_bias`, that of
        ``bias_hh`` as 0, so that their sum is `forget_bias`.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: str | Device | None = None,
        dtype: Any = None,
        *,
        forget_bias: float | None = None,
    ) -> None:
        opened = open_forget_gate("LSTMCell", forget_bias, bias)
        self.forget_bias = forget_bias
        super().__init__("lstm", input_size, hidden_size, bias, device, dtype)
        opened(self.bias_ih, self.bias_hh)

    def reset_parameters(self) -> None:
        """Draw new values for all parameters like `RNNCell`, then set the forget gate's bias, if there is one."""
        super().reset_parameters()
        open_forget_gate("LSTMCell", self.forget_bias, self.bias)(self.bias_ih, self.bias_hh)

    def forward(self, input: Any, hx: Any = None) -> LSTMHidden:
        """One step. Raises TypeError or ValueError if a shape or dtype does not fit, or `hx` is not a pair.

        Parameters
        ----------
        input : (B, I), or (I,)
        hx : LSTMHidden or LSTMState, or a pair (h, c), (B, H) or (H,) each, optional
            The state before the step; zeros by default. A state with the fields h and c is read by name, including
            TensorFlow's (c, h) of `LSTMBlockCell`. A plain pair is (h, c), as in torch.

        Returns
        -------
        LSTMHidden
            ``h`` and ``c`` after the step, (B, H) or (H,). It unpacks as ``h, c = cell(x, (h, c))``.
        """
        h, c = (None, None) if hx is None else lstm_pair("LSTMCell", "hx", hx, "hc")
        return LSTMHidden(*self._step("lstm", input, {"h": h, "c": c}))

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.forget_bias is None else f", forget_bias={self.forget_bias}")
