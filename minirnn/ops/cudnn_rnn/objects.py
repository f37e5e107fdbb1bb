"""The objects of early TensorFlow's ``contrib.cudnn_rnn``: CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh,
RNNParamsSaveable.

An object describes the network and holds no weights: the parameter buffer is passed to every call. All arrays are
time-major. There are no lengths and no projections; for these, use `minirnn.ops.cudnn_rnn_v3` or `minirnn.nn`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.arguments import check
from minirnn.arguments.host_array import float_dtype
from minirnn.arguments.names import own_init
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.ops.primitives import chunk, concat, split

__all__ = ["CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh", "RNNParamsSaveable"]


class _CudnnRNN:
    """A network of one mode.

    Raises TypeError or ValueError if a size, mode or dtype is not possible, as for `minirnn.ops.cudnn_rnn_v3`.

    Parameters
    ----------
    num_layers, num_units, input_size : int
        L, H, I.
    input_mode : {"auto_select", "linear_input", "skip_input"}
        With "auto_select", the default of these objects, and I = H the first layer has *no* input matrices.
    direction : {"unidirectional", "bidirectional"}
    dropout : float
        The probability of a zero between layers.
    seed : int
        Determines the dropout masks.
    dtype
        The dtype of the parameters, float32 by default.

    Attributes
    ----------
    num_layers, num_units, input_size, input_mode, direction, rnn_mode, dropout, seed, dtype
        The settings.
    num_dirs : int
        D: 1, or 2 if bidirectional.
    canonical_weight_shapes, canonical_bias_shapes : list of tuple of int
        The shapes of what `params_to_canonical` returns.
    """

    rnn_mode: str

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = "auto_select",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int = 0,
        *,
        dtype: Any = np.float32,
        name: str | None = None,
    ) -> None:
        kind = type(self).__name__
        self.network = Network(self.rnn_mode, num_layers, num_units, input_size, direction, input_mode, op=kind)
        self.dropout = check.number(kind, "dropout", dropout, 0, 1, ", the probability of a zero")
        self.seed = check.integer(kind, "seed", seed, -(2**63), 2**64 - 1)
        self.dtype = float_dtype(kind, dtype)

    num_layers = property(attrgetter("network.L"), doc="L.")
    num_units = property(attrgetter("network.H"), doc="H.")
    input_size = property(attrgetter("network.I"), doc="I.")
    num_dirs = property(attrgetter("network.D"), doc="D: 1, or 2 if bidirectional.")
    direction = property(attrgetter("network.direction"), doc="The direction, as it was given.")
    input_mode = property(attrgetter("network.input_mode"), doc='As it was given: "auto_select" stays "auto_select".')

    @property
    def canonical_weight_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the matrices of `params_to_canonical`."""
        return [region.shape for region in self.network.weights]

    @property
    def canonical_bias_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the vectors of `params_to_canonical`."""
        return [region.shape for region in self.network.biases]

    @property
    def _attributes(self) -> dict[str, Any]:
        net = self.network
        return {"rnn_mode": net.rnn_mode, "input_mode": net.input_mode, "direction": net.direction}

    @property
    def _sizes(self) -> tuple[int, int, int]:
        return self.network.L, self.network.H, self.network.I

    def params_size(self) -> int:
        """The number of elements of the parameter buffer."""
        return self.network.size

    def params_to_canonical(self, params: Any) -> tuple[list[Tensor], list[Tensor]]:
        """The matrices and the bias vectors of a buffer, one per gate: `minirnn.ops.cudnn_rnn_params_to_canonical`."""
        weights, biases = ops.cudnn_rnn_params_to_canonical(*self._sizes, params, **self._attributes)
        return list(weights), list(biases)

    def canonical_to_params(self, weights: Sequence[Any], biases: Sequence[Any]) -> Tensor:
        """The buffer made from such matrices and vectors: `minirnn.ops.cudnn_rnn_canonical_to_params`."""
        return ops.cudnn_rnn_canonical_to_params(*self._sizes, weights, biases, **self._attributes)

    def _run(self, input_data: Any, input_h: Any, input_c: Any, params: Any, is_training: bool) -> Any:
        net, name = self.network, type(self).__name__
        x, h = as_tensor(input_data), as_tensor(input_h)
        for what, t, letters in (("input_data", x, "T B I"), ("input_h", h, "L*D B H")):
            check.rank(name, what, t.shape, letters)
        check.shape(name, "input_data", x.shape, "T, B, I", (*x.shape[:2], net.I), "input_size")
        note = "likely input_data is batch-first; expected (T, B, I)" if h.shape[1] == x.shape[0] != x.shape[1] else ""
        shape = (net.L * net.D, x.shape[1], net.H)
        check.shape(name, "input_h", h.shape, "L*D, B, H", shape, "the network and input_data", note)
        return ops.cudnn_rnn(
            x, h, input_c, params, dropout=self.dropout, seed=self.seed, is_training=is_training, **self._attributes
        )

    def __repr__(self) -> str:
        net = self.network
        return f"{type(self).__name__}({net.L}, {net.H}, {net.I}, {net.input_mode!r}, {net.direction!r})"


@own_init
class CudnnLSTM(_CudnnRNN):
    __doc__ = (_CudnnRNN.__doc__ or "").replace("A network of one mode.", "LSTM layers; gates i, f, n, o.", 1)
    rnn_mode = "lstm"

    def __call__(
        self, input_data: Any, input_h: Any, input_c: Any, params: Any, is_training: bool = True
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run the network: output (T, B, D*H), output_h and output_c (L*D, B, H)."""
        y = self._run(input_data, input_h, input_c, params, is_training)
        return y.output, y.output_h, y.output_c


class _WithoutCellState(_CudnnRNN):
    def __call__(self, input_data: Any, input_h: Any, params: Any, is_training: bool = True) -> tuple[Tensor, Tensor]:
        """Run the network: output (T, B, D*H) and output_h (L*D, B, H)."""
        y = self._run(input_data, input_h, None, params, is_training)
        return y.output, y.output_h


@own_init
class CudnnGRU(_WithoutCellState):
    __doc__ = (_CudnnRNN.__doc__ or "").replace(
        "A network of one mode.", "GRU layers, reset after the product; gates r, z, n.", 1
    )
    rnn_mode = "gru"


@own_init
class CudnnRNNTanh(_WithoutCellState):
    __doc__ = (_CudnnRNN.__doc__ or "").replace("A network of one mode.", "Plain layers with tanh.", 1)
    rnn_mode = "rnn_tanh"


@own_init
class CudnnRNNRelu(_WithoutCellState):
    __doc__ = (_CudnnRNN.__doc__ or "").replace("A network of one mode.", "Plain layers with relu.", 1)
    rnn_mode = "rnn_relu"


Pieces = tuple[list[Tensor], list[Tensor]]


class RNNParamsSaveable:
    """Saves a parameter buffer in a form that other programs can read, and restores it exactly.

    There are two forms. ``RNNParamsSaveable(params_to_canonical, canonical_to_params, param_variables,
    name="params_canonical")`` stores the canonical pieces: all weights, then all biases. ``RNNParamsSaveable(cudnn_rnn,
    params_to_canonical, canonical_to_params, param_variables, base_variable_scope="", name="params_canonical")``, with
    a `CudnnLSTM` in front, stores for each layer (and direction) what TensorFlow's CudnnCompatibleLSTMCell holds, gates
    in the order i, n, f, o: ``kernel`` (in+H, 4H), ``bias`` = bW + bR, and ``bias_cudnn_0`` = bW, ``bias_cudnn_1`` =
    bR, so that nothing is lost. For other objects it stores canonical pieces. Raises TypeError or ValueError if the
    arguments are of neither form.

    Parameters
    ----------
    params_to_canonical, canonical_to_params : callable
        The methods of a `CudnnLSTM` or one of its relatives.
    param_variables : sequence of one Tensor
        The buffer, a leaf; `restore` assigns to it.
    """

    def __init__(self, *arguments: Any, name: str = "params_canonical", base_variable_scope: str = "") -> None:
        self._cudnn_rnn: _CudnnRNN | None = None
        if arguments and isinstance(arguments[0], _CudnnRNN):
            self._cudnn_rnn, *arguments = arguments  # type: ignore[assignment]
            if len(arguments) > 3:
                base_variable_scope = arguments[3]
                arguments = (*arguments[:3], *arguments[4:])
        if len(arguments) == 4:
            name, arguments = arguments[3], arguments[:3]
        if len(arguments) != 3 or not (callable(arguments[0]) and callable(arguments[1])):
            raise TypeError(
                f"RNNParamsSaveable: got {', '.join(type(a).__name__ for a in arguments) or 'nothing'}\n"
                "  expected ([cudnn_rnn,] params_to_canonical, canonical_to_params, param_variables)"
            )
        to_canonical, to_params, variables = arguments
        self._to_canonical: Callable[[Any], Pieces] = to_canonical
        self._to_params: Callable[[Any, Any], Tensor] = to_params
        if isinstance(variables, Tensor) or len(variables) != 1 or not isinstance(variables[0], Tensor):
            raise ValueError(
                "RNNParamsSaveable: param_variables\n  expected a list of one Tensor, the parameter buffer"
            )
        self._variable: Tensor = variables[0]
        self.name = name
        self._scope = f"{base_variable_scope}/" if base_variable_scope else ""

    @property
    def _compatible(self) -> bool:
        return isinstance(self._cudnn_rnn, CudnnLSTM)

    def tensors(self) -> dict[str, np.ndarray]:
        """The stored arrays by name, in order."""
        weights, biases = self._to_canonical(self._variable.detach())
        values = self._cells(weights, biases) if self._compatible else [*weights, *biases]
        return {name: t.numpy().copy() for name, t in zip(self.names(), values, strict=True)}

    def names(self) -> list[str]:
        """The names of the stored arrays, in order."""
        if not self._compatible:
            weights, biases = self._to_canonical(self._variable.detach())
            kinds = ["weight"] * len(weights) + ["bias"] * len(biases)
            counts = [*range(len(weights)), *range(len(biases))]
            return [f"{self.name}/{kind}_{k}" for kind, k in zip(kinds, counts, strict=True)]
        assert self._cudnn_rnn is not None
        net, cell = self._cudnn_rnn.network, "cudnn_compatible_lstm_cell"
        cells = [f"{self._scope}rnn/multi_rnn_cell/cell_{k}/{cell}" for k in range(net.L)]
        if net.D == 2:
            stack = f"{self._scope}stack_bidirectional_rnn/cell_%d/bidirectional_rnn/%s/{cell}"
            cells = [stack % (k, way) for k in range(net.L) for way in ("fw", "bw")]
        three = [f"{c}/{bias}" for c in cells for bias in ("bias", "bias_cudnn_0", "bias_cudnn_1")]
        return [f"{c}/kernel" for c in cells] + three

    def restore(self, tensors: Mapping[str, Any] | Sequence[Any], restored_shapes: Any = None) -> None:
        """Assign what `tensors` returned, as a dict by name or as a list in order. `restored_shapes` is ignored.

        Raises ValueError if a name is missing, or a number or size of pieces does not fit; then nothing is changed.
        """
        names = self.names()
        if isinstance(tensors, Mapping):
            missing = [name for name in names if name not in tensors]
            if missing:
                raise ValueError(f"RNNParamsSaveable.restore: missing {_few(missing)}\n  expected {_few(names)}")
            tensors = [tensors[name] for name in names]
        values = [as_tensor(t, device=self._variable.device, dtype=self._variable.dtype) for t in tensors]
        if len(values) != len(names):
            raise ValueError(f"RNNParamsSaveable.restore: got {len(values)} arrays\n  expected {len(names)}")
        if self._compatible:
            weights, biases = self._pieces(values)
        else:
            half = len(values) // 2  # as many biases as weights: these objects have no projection
            weights, biases = values[:half], values[half:]
        self._variable.assign(self._to_params(weights, biases).detach())

    def _cells(self, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> list[Tensor]:
        """The matrices called kernel, then three biases per cell. Canonical gates i, f, n, o become i, n, f, o."""
        kernels, three = [], []
        for p in range(len(weights) // 8):
            W, R = (_exchange(weights[8 * p + k : 8 * p + k + 4]) for k in (0, 4))
            kernels.append(concat([concat([w, r], 1) for w, r in zip(W, R, strict=True)], 0).T)
            bW, bR = (concat(_exchange(biases[8 * p + k : 8 * p + k + 4])) for k in (0, 4))
            three += [bW + bR, bW, bR]
        return [*kernels, *three]

    def _pieces(self, values: Sequence[Tensor]) -> Pieces:
        """The canonical pieces of what `_cells` returned."""
        assert self._cudnn_rnn is not None
        net = self._cudnn_rnn.network
        weights: list[Tensor] = []
        biases: list[Tensor] = []
        for p in range(net.L * net.D):
            width = 0 if net.skip and p < net.D else net.in_size(p // net.D)
            kernel, op = values[p], "RNNParamsSaveable.restore"
            check.shape(op, self.names()[p], kernel.shape, "in+H, 4H", (width + net.H, 4 * net.H), "the network")
            rows = [split(gate, [width, net.H], 1) for gate in _exchange(chunk(kernel.T, 4, 0))]
            weights += [w for w, _ in rows] + [r for _, r in rows]
            for k in (1, 2):
                bias = values[net.L * net.D + 3 * p + k]
                check.shape(op, self.names()[net.L * net.D + 3 * p + k], bias.shape, "4H", (4 * net.H,), "the network")
                biases += _exchange(chunk(bias, 4, 0))
        return weights, biases


def _few(names: Sequence[str]) -> str:
    more = len(names) - 4
    return ", ".join(names[:4]) + (f" and {more} more" if more > 0 else "")


def _exchange(gates: Sequence[Tensor]) -> list[Tensor]:
    """The four gates with the second and third exchanged: i, f, n, o <-> i, n, f, o."""
    first, second, third, fourth = gates
    return [first, third, second, fourth]
