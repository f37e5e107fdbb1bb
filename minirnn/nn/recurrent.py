"""RNN, GRU and LSTM: torch.nn's recurrent layers, computed like the CudnnRNN ops with one node for each layer.

Arguments, parameter names, layouts and results are the same as in torch, so a torch ``state_dict`` loads unchanged. The
argument ``lengths=`` is new. It accepts sequences of different lengths in any order, without packing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from minirnn.arguments import check
from minirnn.devices.base import Device, Weights
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.initial import Factory, open_forget_gate, redraw_uniform, size
from minirnn.nn.loading import refuse_other_gru
from minirnn.nn.module import IncompatibleKeys, Module
from minirnn.nn.parameter import Parameter
from minirnn.nn.regularization import DOCS, checked, masks_of_call, probability
from minirnn.nn.sequences import time_major
from minirnn.nn.states import LSTMHidden, check_place, lstm_pair
from minirnn.nn.utils.packing import PackedSequence, packed_as, unpacked
from minirnn.ops.cudnn_rnn.check import steps_of
from minirnn.ops.cudnn_rnn.layers import by_layer, run_layers
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.fused import zeros
from minirnn.ops.primitives import expand_dims, squeeze, transpose

PARTS = {"W": "weight_ih", "R": "weight_hh", "bW": "bias_ih", "bR": "bias_hh", "Wp": "weight_hr"}
"""The names of the parameters in torch, in torch's order."""


class _Recurrent(Module):
    """The base class of RNN, GRU and LSTM, with their parameters, checks, and the call of the op."""

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
        name = type(self).__name__
        self.input_size = size(name, "input_size", input_size)
        self.hidden_size = size(name, "hidden_size", hidden_size)
        self.num_layers = size(name, "num_layers", num_layers)
        self.bias = check.flag(name, "bias", bias)
        self.batch_first = check.flag(name, "batch_first", batch_first)
        self.bidirectional = check.flag(name, "bidirectional", bidirectional)
        self.dropout = probability(name, "dropout", dropout)
        found = checked(name, rnn_mode, *regularization)
        self.input_dropout, self.variational, self.weight_dropout, self.zoneout = found
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"{name}: dropout={dropout} does nothing with num_layers=1, since it acts between layers only",
                stacklevel=3,
            )
        self.proj_size = check.integer(name, "proj_size", proj_size, 0)
        if self.proj_size >= self.hidden_size:
            raise ValueError(
                f"{name}: proj_size is {proj_size}, hidden_size is {hidden_size}\n"
                "  expected proj_size < hidden_size, or 0 for no projection"
            )
        direction = "bidirectional" if self.bidirectional else "unidirectional"
        self.net = Network(
            rnn_mode,
            self.num_layers,
            self.hidden_size,
            self.input_size,
            direction,
            "linear_input",
            self.proj_size,
            name,
        )
        make = Factory(device, dtype)
        bound = 1 / math.sqrt(self.hidden_size)
        self._names: list[dict[str, str]] = []  # for each pseudo-layer p = l*D + d, kind -> name
        for p, layer in enumerate(self.net.layers):
            suffix = f"_l{p // self.net.D}" + ("_reverse" if p % self.net.D else "")
            own = {}
            for letter, part in PARTS.items():
                region = getattr(layer, letter)
                if region is not None and (self.bias or not letter.startswith("b")):
                    own[letter] = part + suffix
                    setattr(self, part + suffix, make.uniform(region.shape, bound))
            self._names.append(own)

    def reset_parameters(self) -> None:
        """Draw new initial values, like the constructor."""
        redraw_uniform(self.parameters(), 1 / math.sqrt(self.hidden_size))

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
        return Weights(*[getattr(self, names[part]) if part in names else None for part in Weights._fields[:5]])

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """`Module.load_state_dict`. Raises ValueError for weights of a GRU that resets before the product."""
        refuse_other_gru(type(self).__name__, state_dict, "after")
        return super().load_state_dict(state_dict, strict)

    def _run(self, input: Any, h0: Any, c0: Any, lengths: Any, has_cell: bool) -> tuple[Any, Tensor, Tensor | None]:
        """Output, h_n and c_n, in the layout of the input."""
        name, net = type(self).__name__, self.net
        first: Parameter = self.weight_ih_l0  # type: ignore[attr-defined]
        packed, batch_first = isinstance(input, PackedSequence), self.batch_first
        if packed:
            order, batch_first = input, False
            input, lengths = unpacked(name, input, lengths)
        x, batched = time_major(name, input, first, net.I, net.H, batch_first, lengths)
        T, B, _ = x.shape
        states = self._states({"h_0": h0, "c_0": c0} if has_cell else {"hx": h0}, B, batched, x)
        weights = [self.weights(p) for p in range(net.L * net.D)]
        options: dict[str, Any] = {}
        if self.zoneout or (self.training and (self.dropout or self.input_dropout or self.weight_dropout)):
            x, weights, options = masks_of_call(self, x, weights)
        found, _ = run_layers(
            net.rnn_mode,
            x,
            by_layer(net.L, *states),
            [weights[k : k + net.D] for k in range(0, len(weights), net.D)],
            lengths=None if lengths is None else steps_of(name, lengths, T, B, "lengths"),
            **options,
        )
        if not batched:
            found = [squeeze(t, 1) for t in found]
        elif batch_first:
            found[0] = transpose(found[0], (1, 0, 2))
        elif packed:
            return packed_as(order, found[0]), found[1], found[2] if has_cell else None
        return found[0], found[1], found[2] if has_cell else None

    def _states(self, given: Mapping[str, Any], B: int, batched: bool, x: Tensor) -> list[Tensor]:
        """The initial states (L*D, B, width) of a call; zeros for those that are None."""
        net, states = self.net, []
        none: Tensor | None = None
        for what, value in given.items():
            width = net.H if what == "c_0" else net.P
            expected = (net.L * net.D, B, width)
            if value is not None:
                states.append(self._state(what, value, expected, batched, x))
                continue
            if none is None or none.shape != expected:  # otherwise h_0 and c_0 share the same zeros
                none = zeros(expected, x)
            states.append(none)
        return states

    def _state(self, what: str, value: Any, expected: tuple[int, ...], batched: bool, x: Tensor) -> Tensor:
        """The user's initial state, after checks."""
        state = value if isinstance(value, Tensor) else as_tensor(value, device=x.device)
        check_place(type(self).__name__, what, state, x.dtype, x.device)
        letter = "P" if what != "c_0" and self.net.num_proj else "H"
        letters = f"L*D, {'B, ' if batched else ''}{letter}"
        wanted = expected if batched else (expected[0], expected[2])
        note = "states are (L*D, B, H) also with batch_first" if self.batch_first else ""
        check.shape(type(self).__name__, what, state.shape, letters, wanted, f"input, time-major {x.shape}", note)
        return state if batched else expand_dims(state, 1)

    def extra_repr(self) -> str:
        defaults = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        ours = ("proj_size", "input_dropout", "variational", "weight_dropout", "zoneout")
        values = {name: getattr(self, name) for name in (*defaults, *ours)}
        changed = [f"{k}={v}" for k, v in values.items() if v != defaults.get(k, 0)]
        return ", ".join([str(self.input_size), str(self.hidden_size), *changed])

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
        """Run over whole sequences.

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

        Raises
        ------
        TypeError, ValueError
            If a shape, dtype or length does not fit.
        """
        output, h_n, _ = self._run(input, self._single_state(hx), None, lengths, False)
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
        output, h_n, _ = self._run(input, self._single_state(hx), None, lengths, False)
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
        self._open_forget_gates()

    def reset_parameters(self) -> None:
        """Draw new initial values, like the constructor."""
        super().reset_parameters()
        self._open_forget_gates()

    def _open_forget_gates(self) -> None:
        opened = open_forget_gate("LSTM", self.forget_bias, self.bias)
        for p in range(self.net.L * self.net.D):
            biases = self.weights(p)[3:5]
            opened(*biases)

    def forward(self, input: Any, hx: Any = None, lengths: Any = None) -> tuple[Tensor, LSTMHidden]:
        """Run over whole sequences.

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

        Raises
        ------
        TypeError, ValueError
            If a shape, dtype or length does not fit, or `hx` is not a pair.
        """
        h0, c0 = (None, None) if hx is None else lstm_pair("LSTM", "hx", hx, "hc")
        output, h_n, c_n = self._run(input, h0, c0, lengths, True)
        assert c_n is not None
        return output, LSTMHidden(h_n, c_n)

    def extra_repr(self) -> str:
        return super().extra_repr() + ("" if self.forget_bias is None else f", forget_bias={self.forget_bias}")
