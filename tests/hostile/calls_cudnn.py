"""Wrong calls of the CudnnRNN family: forward, backprop, parameter buffers, the objects."""

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import cudnn_rnn, ops
from tests.hostile.table import rows
from tests.hostile.wrong_call import array, tensor

T, B, I, H, L = 7, 2, 3, 5, 2
SIZE = ops.cudnn_rnn_params_size(L, H, I)
GRU_SIZE = ops.cudnn_rnn_params_size(L, H, I, rnn_mode="gru")
INPUTS: dict[str, Any] = {
    "input": tensor(T, B, I),
    "input_h": tensor(L, B, H),
    "input_c": tensor(L, B, H),
    "params": tensor(SIZE),
}
LENGTHS = np.array([7, 4])
OPTIONS: dict[str, Any] = {
    "rnn_mode": "lstm",
    "input_mode": "linear_input",
    "direction": "unidirectional",
    "dropout": 0.0,
    "seed": 0,
    "seed2": 0,
    "is_training": True,
    "dropout_masks": None,
    "zoneout_masks": None,
}
V1 = INPUTS | OPTIONS
V3 = INPUTS | {"sequence_lengths": LENGTHS} | OPTIONS | {"num_proj": 0, "time_major": True}
FORWARD = rows(
    globals(),
    r"""
with ops.cudnn_rnn(**V1):
    input=tensor(B, I) -> input & (2, 3) & (T, B, I) & likely a missing time or batch axis
    input=tensor(0, B, I) -> T is 0 & 1 or more
    input=tensor(T, B, 0) -> I is 0
    input_h=tensor(L, B, 0), input_c=tensor(L, B, 0) -> H is 0
    input_h=tensor(B, H) -> input_h & (2, 5) & (L*D, B, P)
    input_h=tensor(0, B, H), input_c=tensor(0, B, H) -> 0 pseudo-layers
    input_c=tensor(L, 3, H) -> input_c & (2, 3, 5) & (2, 2, 5)
    input=tensor(1, T, B, I) -> input & 4 axes & (T, B, I)
    input=tensor(T, 0, I) -> input_h & (L*D, B, P) = (2, 0, 5)
    input=tensor(T, B, I, dtype=np.float16) -> input_h has dtype float32, input has float16 & one dtype
    input_h=tensor(L, 3, H) -> input_h & (2, 3, 5) & (L*D, B, P) = (2, 2, 5)
    input_c=tensor(B, H) -> input_c & (2, 5), 2 axes & (L*D, B, H)
    input_c=tensor(4, B, H) -> input_c & (4, 2, 5) & (L*D, B, H)
    params=tensor(1, SIZE) -> params & (n,) =
    params=tensor(SIZE - 1) -> params & (n,) =
    params=tensor(SIZE + 1) -> params & (n,) =
    params=tensor(SIZE, dtype=np.float16) -> params has dtype float16, input has float32
    rnn_mode=3 -> rnn_mode is 3 & one of
    input_c=tensor(L, B, 4) -> width 5 & width 4 & likely num_proj is missing
    params=tensor(SIZE, device=ELSEWHERE) -> different devices: input is on cpu & params on & t.to(name)
    rnn_mode="lsmt" -> rnn_mode is 'lsmt' & 'gru' & likely 'lstm'
    rnn_mode="LSTM" -> rnn_mode is 'LSTM' & likely 'lstm'
    input_mode="linear" -> input_mode is 'linear' & 'linear_input'
    direction="both" -> direction is 'both' & 'bidirectional'
    direction="bidirectional", input_h=tensor(3, B, H), input_c=tensor(3, B, H) -> 3 pseudo-layers & multiple of 2
    input_mode="skip_input" -> skip_input & input_size & 3 & 5
    seed=2**64 -> seed is & expected
    dropout_masks=array(2, T, B, H) -> dropout_masks & (2, 7, 2, 5) & (L-1, T, B, D*P) = (1, 7, 2, 5)
    dropout_masks=np.ones((1, T, B, H), bool) -> dropout_masks & bool & floating
    zoneout_masks=0.5 -> zoneout_masks is a float & pair (zh, zc) & lstm
    zoneout_masks=(None, NAN) -> zoneout_masks[1] & outside 0 .. 1
    zoneout_masks=("0.5", None) -> zoneout_masks[0] & numbers
    zoneout_masks=(array(T, B, H), None) -> zoneout_masks[0] & (7, 2, 5) & a number or (L*D, T, B, P)
    input input_h input_c params: an array of floats
    dropout: a share
    seed seed2: an integer
    is_training: a flag
with ops.cudnn_rnn_v2(**V1):
    input=tensor(B, T, I) -> likely batch-first: input must be (T, B, I)
    params=tensor(GRU_SIZE) -> params & likely
    rnn_mode="rnn" -> rnn_mode is 'rnn' & 'rnn_tanh'
with ops.cudnn_rnn_v3(**V3):
    sequence_lengths=None -> sequence_lengths is None & (B,), each 1 .. T
    sequence_lengths=[7, 8] -> sequence_lengths[1] is 8 & 1 .. 7 (T)
    sequence_lengths=[0, 7] -> sequence_lengths[0] is 0 & 1 .. 7 & leave it out
    sequence_lengths=[7, 7, 7] -> sequence_lengths & (3,) & (B,) = (2,)
    sequence_lengths=[7, -1] -> sequence_lengths[1] is -1 & 1 .. 7
    sequence_lengths=np.array([7.0, 4.0]) -> sequence_lengths has dtype float64 & int
    num_proj=H -> num_proj is 5, num_units is 5 & num_proj < num_units
    num_proj=H + 1 -> num_proj is 6, num_units is 5 & num_proj < num_units
    sequence_lengths=np.ones((T, B), int) -> sequence_lengths & (7, 2) & (B,) & likely a mask
    input=tensor(B, T, I), input_h=tensor(L, B, H) -> input_h & likely & time_major=False
    time_major=False -> input_h & (B, L*D, P)
    num_proj=-1 -> num_proj is -1
    num_proj=2, rnn_mode="gru" -> num_proj & 'gru' & only 'lstm'
    num_proj=2 -> input_h has width 5 & P = num_proj = 2
    time_major: a flag
""",
)


def saved(mode: str = "lstm", version: int = 3) -> dict[str, Any]:
    """The arguments of a right Backprop call."""
    inputs = {**INPUTS, "params": INPUTS["params"] if mode == "lstm" else tensor(GRU_SIZE)}
    options: dict[str, Any] = {"rnn_mode": mode}
    if version == 3:
        y: Any = ops.cudnn_rnn_v3(*inputs.values(), LENGTHS, **options)
        inputs["sequence_lengths"] = LENGTHS
    elif version == 2:
        y = ops.cudnn_rnn_v2(*inputs.values(), **options)
    else:
        y = ops.cudnn_rnn(*inputs.values(), **options)
    named = y._asdict()
    reserve = {name: named.pop(name).detach() for name in ("reserve_space", "host_reserved") if name in named}
    outs = {name: t.detach() for name, t in named.items()}
    return inputs | outs | {f"{name}_backprop": t * 1.0 for name, t in outs.items()} | reserve | options


SAVED = saved(version=1)
SAVED_V2, SAVED_V3 = saved(version=2), saved(version=3)
OTHER_RESERVE = ops.cudnn_rnn(*(t * 0.5 for t in INPUTS.values())).reserve_space.detach()
BACKPROP = rows(
    globals(),
    r"""
with ops.cudnn_rnn_backprop(**SAVED):
    output_c_backprop=tensor(0) -> output_c_backprop & (0,) & (L*D, B, H)
    reserve_space=OTHER_RESERVE -> reserve_space & likely the reserve_space of an earlier step
    reserve_space=tensor(2, 3) -> reserve_space & (2, 3) & (n)
    reserve_space=np.zeros(100, np.uint8) -> reserve_space & uint8
    rnn_mode="gru" -> params & likely
    output_backprop=tensor(T, B, H, device=ELSEWHERE) -> different devices
    output output_backprop output_h_backprop: an array of floats
with ops.cudnn_rnn_backprop_v2(**SAVED_V2):
    reserve_space=OTHER_RESERVE -> reserve_space & likely
    output_h=tensor(L, 3, H) -> output_h & (2, 3, 5) & (L*D, B, P)
with ops.cudnn_rnn_backprop_v3(**SAVED_V3):
    sequence_lengths=None -> sequence_lengths is None
    sequence_lengths=[0, 7] -> sequence_lengths[0] is 0
    reserve_space=tensor(5000) -> reserve_space & (5000,) & likely that of another call
    output=tensor(T, B, 3) -> output has shape (7, 2, 3) & (T, B, D*P) = (7, 2, 5)
    output_h=tensor(1, B, H) -> output_h has shape & (L*D, B, P) = (2, 2, 5)
    output_c=tensor(L, B, 1) -> output_c has shape & (L*D, B, H) = (2, 2, 5)
    output_backprop=tensor(6, B, H) -> output_backprop has shape & (T, B, D*P)
    output_backprop=tensor(T, B, H, dtype=np.float64) -> output_backprop has dtype float64
    output_h_backprop=tensor(B, H) -> output_h_backprop has shape (2, 5), 2 axes & (L*D, B, P)
    output_c_backprop=tensor(L, 3, H) -> output_c_backprop has shape & (L*D, B, H)
    params=tensor(3) -> params has shape (3,) & (n,)
""",
)
PIECES = ops.cudnn_rnn_params_to_canonical(L, H, I, tensor(SIZE, requires_grad=False))
WEIGHTS, BIASES = list(PIECES.weights), list(PIECES.biases)

BUFFERS = rows(
    globals(),
    r"""
with ops.cudnn_rnn_params_size(num_layers=L, num_units=H, input_size=I):
    num_layers num_units input_size: a size
    rnn_mode: an option among 'rnn_relu', 'rnn_tanh', 'lstm', 'gru'
    input_mode: an option among 'linear_input', 'auto_select', 'skip_input'
    direction: an option among 'unidirectional', 'bidirectional'
    dropout: a share
    seed seed2: an integer
    num_proj=9 -> num_proj is 9 & num_units is 5
    num_proj=5 -> num_proj is 5 & num_units is 5
    num_proj=True -> num_proj is True
    num_proj=2, rnn_mode="gru" -> only 'lstm' has a projection
    num_units=np.array([5]) -> num_units has shape (1,)
    num_units=np.array(5.0) -> num_units has shape
    input_mode="skip_input" -> input_size is 3, num_units is 5
with ops.cudnn_rnn_params_to_canonical(num_layers=L, num_units=H, input_size=I, params=tensor(SIZE)):
    params=tensor(SIZE, dtype=np.int64) -> params & int64
    num_params=3 -> num_params is 3 & 2*G*L*D = 16
with ops.cudnn_rnn_params_to_canonical_v2(num_layers=L, num_units=H, input_size=I, params=tensor(SIZE)):
    num_params_weights=15 -> num_params_weights is 15 & 16
    num_params_biases=17 -> num_params_biases is 17 & 16
    num_proj=2 -> params & P = 2
with ops.cudnn_rnn_canonical_to_params(num_layers=L, num_units=H, input_size=I, weights=WEIGHTS, biases=BIASES):
    weights=tensor(16, H, H) -> weights is a Tensor & list
    biases=BIASES[:8] -> biases has 8 pieces & 16
    weights=BIASES, biases=WEIGHTS -> weights[0] has shape (5,) & 15
    weights=[*WEIGHTS[:2], tensor(4, 4), *WEIGHTS[3:]] -> weights[2] has shape (4, 4), 16 elements & 15
    weights="weights" -> weights is a str
with ops.cudnn_rnn_canonical_to_params_v2(num_layers=L, num_units=H, input_size=I, weights=WEIGHTS, biases=BIASES):
    biases=[*BIASES[:-1], None] -> biases[15] is None
    num_params_weights=1 -> num_params_weights is 1
    biases=[tensor(H, device=ELSEWHERE), *BIASES[1:]] -> different devices
    biases=[*BIASES[:3], tensor(H, dtype=np.float16), *BIASES[4:]] -> biases[3] has dtype float16 & float32
ops.cudnn_rnn_canonical_to_params(2, 5, 5, [tensor(5, 5)] * 16, [tensor(5)] * 16, input_mode="skip_input") ->
    layer 0 has no input matrices
ops.cudnn_rnn_params_to_canonical(L, H, I, tensor(SIZE), num_proj=2) -> num_proj
""",
)
LSTM = cudnn_rnn.CudnnLSTM(L, H, I)
GRU = cudnn_rnn.CudnnGRU(L, H, I)
BUFFER = mr.tensor(array(SIZE))
SAVER = cudnn_rnn.RNNParamsSaveable(LSTM.params_to_canonical, LSTM.canonical_to_params, [BUFFER])
CELL_SAVER = cudnn_rnn.RNNParamsSaveable(LSTM, LSTM.params_to_canonical, LSTM.canonical_to_params, [BUFFER])
X, STATE = tensor(T, B, I), tensor(L, B, H)

OBJECTS = rows(
    globals(),
    r"""
cudnn_rnn.CudnnLSTM(0, H, I) -> CudnnLSTM & num_layers is 0
cudnn_rnn.CudnnLSTM(L, 5.0, I) -> CudnnLSTM & num_units is 5.0
cudnn_rnn.CudnnGRU(L, H, I, direction="backward") -> CudnnGRU & direction is 'backward'
cudnn_rnn.CudnnRNNTanh(L, H, I, dropout=2) -> CudnnRNNTanh & dropout is 2
cudnn_rnn.CudnnRNNRelu(L, H, I, seed="x") -> CudnnRNNRelu & seed is 'x'
cudnn_rnn.CudnnLSTM(L, H, I, dtype=np.int64) -> CudnnLSTM & int64 & float16, float32 or float64
cudnn_rnn.CudnnLSTM(L, H, I, dtype="float31") -> CudnnLSTM & 'float31'
LSTM(tensor(B, T, I), STATE, STATE, BUFFER) -> input_h & (2, 2, 5) & likely & batch-first
LSTM(tensor(T, B, 4), STATE, STATE, BUFFER) -> CudnnLSTM & (7, 2, 4) & I
LSTM(X, STATE, STATE, tensor(GRU_SIZE)) -> params & likely
GRU(X, STATE, tensor(SIZE)) -> params & likely
GRU(X, STATE, STATE, tensor(GRU_SIZE)) -> is_training is
cudnn_rnn.RNNParamsSaveable() -> got nothing & param_variables
cudnn_rnn.RNNParamsSaveable(LSTM.params_to_canonical, LSTM.canonical_to_params, BUFFER) -> one Tensor
cudnn_rnn.RNNParamsSaveable(1, 2, [BUFFER]) -> int & params_to_canonical
SAVER.restore({"weights": array(3)}) -> missing & params_canonical/weight_0
SAVER.restore([array(3)]) -> got 1 arrays & 32
CELL_SAVER.restore([a.T for a in CELL_SAVER.tensors().values()]) -> kernel & (in+H, 4H) & likely transposed
""",
)
ROWS = [*FORWARD, *BACKPROP, *BUFFERS, *OBJECTS]
