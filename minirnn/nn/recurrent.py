"""RNN, GRU and LSTM: torch.nn's recurrent layers, computed like the CudnnRNN ops with one node for each layer.

Arguments, parameter names, layouts and results are the same as in torch, so a torch ``state_dict`` loads unchanged. The
argument ``lengths=`` is new. It accepts sequences of different lengths in any order, without packing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minirnn.arguments import check
from minirnn.devices.base import Device, Weights
from minirnn.engine.tensor import Tensor
from minirnn.nn.initial import Factory, open_forget_gate
from minirnn.nn.loading import refuse_other_gru
from minirnn.nn.module import IncompatibleKeys
from minirnn.nn.parameter import Parameter
from minirnn.nn.regularization import DOCS, checked_zoneout, zoneout_of_call
from minirnn.nn.stack import Stack
from minirnn.nn.states import LSTMHidden, lstm_pair
from minirnn.nn.utils.packing import PackedSequence, packed_as, unpacked
from minirnn.ops.cudnn_rnn.cells import layer_of
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.primitives import squeeze, transpose
from minirnn.ops.sequence.stack import run_layers

PARTS = {"weight_ih": "W", "weight_hh": "R", "bias_ih": "bW", "bias_hh": "bR", "weight_hr": "Wp"}
"""The names of the parameters in torch, in torch's order, and in the formulas."""
IN_ORDER = sorted(PARTS, key=lambda name: Weights._fields.index(PARTS[name]))


class _Recurrent(Stack):
    """The base class of RNN, GRU and LSTM, with torch's names of parameters."""

    def __init__(
        self,
        rnn_mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        bias: bool,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        proj_size: int,
        device: str | Device | None,
        dtype: Any,
        regularization: tuple[Any, ...],
    ) -> None:
        name, (*more, zoneout) = type(self).__name__, regularization
        sizes = input_size, hidden_size, num_layers
        super().__init__(name, *sizes, batch_first, dropout, bidirectional, proj_size, *more)
        self.bias = check.flag(name, "bias", bias)
        self.zoneout = checked_zoneout(name, rnn_mode, zoneout)
        L, H, I, P = self.num_layers, self.hidden_size, self.input_size, self.proj_size
        direction = "bidirectional" if self.bidirectional else "unidirectional"
        self.net = Network(rnn_mode, L, H, I, direction, "linear_input", P, name)
        regions = [
            zip(PARTS, [layer.W, layer.R, layer.bW, layer.bR, layer.Wp], strict=True) for layer in self.net.layers
        ]
        kept = [{n: r.shape for n, r in of_layer if r and (self.bias or n[0] != "b")} for of_layer in regions]
        self._draw(kept, Factory(device, dtype))

    def flatten_parameters(self) -> None:
        """Does nothing; it is here for programs written for torch. Kernels read the weights from separate arrays."""

    @property
    def _all_weights(self) -> list[list[str]]:
        """The names of the parameters of each layer and direction, for programs written for torch."""
        return [list(own.values()) for own in self._names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in own] for own in self._all_weights]

    def weights(self, p: int) -> Weights:
        """The weights of pseudo-layer p = l*D + d, gates stacked. Missing projections and biases are None."""
        names = self._names[p]
        return Weights(*[getattr(self, names[n]) if n in names else None for n in IN_ORDER])

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """`Module.load_state_dict`. Raises ValueError for weights of a GRU that resets before the product."""
        refuse_other_gru(type(self).__name__, state_dict, "after")
        return super().load_state_dict(state_dict, strict)

    def _run(self, input: Any, lengths: Any, **states: Any) -> tuple[Any, ...]:
        """Output, h_n and, for lstm, c_n, in the layout of the input."""
        net, packed, batch_first = self.net, isinstance(input, PackedSequence), self.batch_first
        if packed:
            order, batch_first = input, False
            input, lengths = unpacked(self.name, input, lengths)
        x, batched, lengths = self._read(input, batch_first, lengths)
        before = self._before(states, next(iter(states)), batched, x)
        x, weights, between = self._dropped(x)
        zoneout = zoneout_of_call(net, self.zoneout, self.training, x) if self.zoneout else [None] * net.L
        cells = [layer_of(net.rnn_mode, net.num_proj > 0, z) for z in zoneout]
        (y, *ends), _ = run_layers(cells, x, before, weights, lengths=lengths, masks=between)
        if not batched:
            return tuple(squeeze(t, 1) for t in (y, *ends))
        return packed_as(order, y) if packed else transpose(y, (1, 0, 2)) if batch_first else y, *ends

    def _single_state(self, hx: Any) -> Any:
        if isinstance(hx, (tuple, list)):
            raise TypeError(
                f"{type(self).__name__}: hx is a {type(hx).__name__}\n  expected one Tensor (L*D, B, H)\n"
                "  a pair (h_0, c_0) is what LSTM takes"
            )
        return hx


_COMMON = f"""
    Parameters
    ----------
    input_size, hidden_size, num_layers : int
        I, H and L.
    bias : bool
        Whether there are the two biases bias_ih and bias_hh.
    batch_first : bool
        input and output are (B, T, ..) instead of (T, B, ..); states stay (L*D, B, ..).
    dropout : float
        Probability of a zero between layers in training. Masks come from `minirnn.manual_seed`'s stream.
    bidirectional : bool
        D = 2 directions.
    device, dtype
        Device and dtype (default float32) of the parameters.
    {DOCS}

    Attributes
    ----------
    weight_ih_l{{k}}, weight_hh_l{{k}} : Parameter, (G*H, in), (G*H, P)
        And bias_ih_l{{k}}, bias_hh_l{{k}} (G*H,); ``_reverse`` is appended for the reverse direction. All are drawn
        uniformly from -1/sqrt(H) .. 1/sqrt(H), as in torch.
"""


class RNN(_Recurrent):
    __doc__ = f"""``h = f(x W' + b_ih + h' R' + b_hh)`` over a sequence, f = tanh or relu: torch.nn.RNN.
{_COMMON}    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | Device | None = None,
        dtype: Any = None,
        *,
        input_dropout: float = 0.0,
        variational: bool = False,
        weight_dropout: float = 0.0,
        zoneout: float = 0.0,
    ) -> None:
        self.nonlinearity = check.choice("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))
        regularization = input_dropout, variational, weight_dropout, zoneout
        rest = num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        super().__init__(f"rnn_{nonlinearity}", input_size, hidden_size, *rest, regularization=regularization)

    def forward(self, input: Any, hx: Any = None, lengths: Any = None) -> tuple[Tensor, Tensor]:
        """Run over whole sequences. Raises TypeError or ValueError if a shape, dtype or length does not fit.

        Parameters
        ----------
        input : (T, B, I), or (B, T, I) with batch_first, or (T, I), or PackedSequence
        hx : (L*D, B, H), optional
            State before the first step; zeros by default.
        lengths : (B,) integers, 1 .. T, optional
            In any order. Past its end, a sequence keeps its state and its output is 0. Values there are not read.

        Returns
        -------
        output : (T, B, D*H), or PackedSequence
        h_n : (L*D, B, H)
        """
        output, h_n = self._run(input, lengths, hx=self._single_state(hx))
        return output, h_n


class GRU(_Recurrent):
    __doc__ = f"""A GRU whose reset gate acts after the matrix product, over a sequence: torch.nn.GRU.

    ``n = tanh(x W_n' + b_in + r * (h' R_n' + b_hn))``. (`GRUBlockCell` resets before the product. In general no weights
    make the two equal, and `load_state_dict` refuses weights of the other.) Gates r, z, n.
{_COMMON}    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | Device | None = None,
        dtype: Any = None,
        *,
        input_dropout: float = 0.0,
        variational: bool = False,
        weight_dropout: float = 0.0,
        zoneout: float = 0.0,
    ) -> None:
        regularization = input_dropout, variational, weight_dropout, zoneout
        rest = num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        super().__init__("gru", input_size, hidden_size, *rest, regularization=regularization)

    def forward(self, input: Any, hx: Any = None, lengths: Any = None) -> tuple[Tensor, Tensor]:
        """Run over whole sequences. Arguments, results and errors are those of `RNN.forward`."""
        output, h_n = self._run(input, lengths, hx=self._single_state(hx))
        return output, h_n


class LSTM(_Recurrent):
    __doc__ = f"""An LSTM over a sequence, with an optional projection: torch.nn.LSTM. Gates i, f, g, o.
{_COMMON}
    weight_hr_l{{k}} : Parameter, (P, H)
        With ``proj_size`` = P > 0: h = m Wp', P wide. The cell state stays H wide.

    Other Parameters
    ----------------
    forget_bias : float, keyword only
        The initial bias of all forget gates, an option that torch does not have. Their part of ``bias_ih`` is set to it
        and their part of ``bias_hh`` to 0, so the sum ``bias_ih + bias_hh``, which the gates use, is exactly
        `forget_bias`. With 1 the gates start open, and gradients reach far back (Gers et al. 2000; Jozefowicz et al.
        2015). It is only an initial value: both parts are trained, saved and loaded as in torch. With None, the
        default, they are drawn like all others.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: str | Device | None = None,
        dtype: Any = None,
        *,
        forget_bias: float | None = None,
        input_dropout: float = 0.0,
        variational: bool = False,
        weight_dropout: float = 0.0,
        zoneout: float | tuple[float, float] = 0.0,
    ) -> None:
        open_forget_gate("LSTM", forget_bias, bias)  # checks the argument before anything is drawn
        self.forget_bias = forget_bias
        regularization = input_dropout, variational, weight_dropout, zoneout
        rest = num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype
        super().__init__("lstm", input_size, hidden_size, *rest, regularization=regularization)

    def _set_initial(self) -> None:
        opened = open_forget_gate("LSTM", self.forget_bias, self.bias)
        for p in range(self.net.L * self.net.D):
            opened(*self.weights(p)[3:5])

    def forward(self, input: Any, hx: Any = None, lengths: Any = None) -> tuple[Tensor, LSTMHidden]:
        """Run over whole sequences.

        Raises TypeError or ValueError if a shape, dtype or length does not fit, or `hx` is not a pair.

        Parameters
        ----------
        input : (T, B, I), or (B, T, I) with batch_first, or (T, I)
        hx : LSTMHidden or LSTMState, or a pair (h_0, c_0), of (L*D, B, P) and (L*D, B, H), optional
            State before the first step; zeros by default. A state with the fields h and c is read by name, including
            TensorFlow's (c, h) of `LSTMBlockCell`. A plain pair is (h_0, c_0), as in torch.
        lengths : (B,) integers, 1 .. T, optional
            The same as for `RNN.forward`.

        Returns
        -------
        output : (T, B, D*P)
        state : LSTMHidden
            ``h`` (L*D, B, P) and ``c`` (L*D, B, H). It unpacks as ``output, (h_n, c_n) = lstm(x)``.
        """
        h0, c0 = (None, None) if hx is None else lstm_pair("LSTM", "hx", hx, "hc")
        output, h_n, c_n = self._run(input, lengths, h_0=h0, c_0=c0)
        return output, LSTMHidden(h_n, c_n)

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.forget_bias is None else f", forget_bias={self.forget_bias}")
