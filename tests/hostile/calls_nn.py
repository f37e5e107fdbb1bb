"""Wrong calls of modules and losses."""

from typing import Any

from minirnn import nn
from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

T, B, I, H = 7, 2, 3, 5
linear, embedding, dropout = nn.Linear(I, H), nn.Embedding(4, I), nn.Dropout(0.5)
rnn, gru, lstm = nn.RNN(I, H), nn.GRU(I, H, num_layers=2, bidirectional=True), nn.LSTM(I, H)
batch_first = nn.LSTM(I, H, batch_first=True)
rnn_cell, gru_cell, lstm_cell = nn.RNNCell(I, H), nn.GRUCell(I, H), nn.LSTMCell(I, H)
lstm_block_cell, lstm_fused_cell, gru_block_cell = (
    nn.LSTMBlockCell(H, I),
    nn.LSTMBlockFusedCell(H, I),
    nn.GRUBlockCell(H, I),
)
X, STEP, STATE = tensor(T, B, I), tensor(B, I), tensor(B, H)


def same(state: Any) -> Any:
    return state


def pair(state: Any) -> Any:
    return state, state


ROWS = rows(
    globals(),
    r"""
# making
nn.Linear(10**9, 10**9) -> memory
nn.LSTM(I, H, zoneout=(0.1, -1)) -> LSTM & zoneout[1] is -1 & 0 .. 1
nn.LSTM(I, H, zoneout=(0.1, 0.2, 0.3)) -> LSTM & zoneout is (0.1, 0.2, 0.3) & pair
nn.LSTM(I, H, bias=False, forget_bias=1.0) -> forget_bias is 1.0 & bias=True
nn.LSTM(I, H, proj_size=5) -> LSTM & proj_size is 5 & proj_size < hidden_size
nn.LSTM(I, H, proj_size=-1) -> LSTM & proj_size is -1
nn.Parameter([1, 2]) -> int64 & float16
nn.Parameter([[1.0], [1.0, 2.0]]) -> likely a ragged list
nn.Parameter([1.0]).move("nowhere") -> 'nowhere' & known
nn.Module()(X) -> raises NotImplementedError: Module & forward
with nn.Linear(in_features=I, out_features=H):
    in_features out_features: a size
    bias: a flag
with nn.Embedding(num_embeddings=I, embedding_dim=H):
    num_embeddings embedding_dim: a size
for NAME in RNN GRU LSTM:
    with nn.NAME(input_size=I, hidden_size=H, num_layers=2):
        input_size hidden_size num_layers: a size
        dropout input_dropout weight_dropout zoneout: a share
        bias batch_first bidirectional variational: a flag
for NAME in RNNCell GRUCell LSTMCell:
    with nn.NAME(input_size=I, hidden_size=H):
        input_size hidden_size: a size
        bias: a flag
for NAME in RNN GRU:
    nn.NAME(I, H, zoneout=(0.1, 0.2)) -> NAME & zoneout & one number & c
for NAME in RNN RNNCell:
    with nn.NAME(I, H):
        nonlinearity="gelu" -> 'tanh' & likely 'relu'
for NAME in LSTM LSTMCell:
    with nn.NAME(I, H):
        forget_bias="open" -> forget_bias is 'open' & number
for NAME in LSTMBlockCell LSTMBlockFusedCell GRUBlockCell:
    with nn.NAME(num_units=I, input_size=H):
        num_units input_size: a size
for NAME in LSTMBlockCell LSTMBlockFusedCell:
    with nn.NAME(I, H):
        forget_bias: a number
        cell_clip="3" -> cell_clip is '3'
        use_peephole: a flag
for NAME in Linear Embedding RNN GRU LSTM RNNCell GRUCell LSTMCell LSTMBlockCell LSTMBlockFusedCell GRUBlockCell:
    nn.NAME(I, H, device="nowhere") -> 'nowhere' & known
    nn.NAME(I, H, device=0) -> device 0 & int
    nn.NAME(I, H, dtype=np.int64) -> int64 & float16
    nn.NAME(I, H, dtype=np.complex64) -> complex64 & float16
with nn.Dropout(p=0.5):
    p: a share
for NAME in MSELoss CrossEntropyLoss:
    with nn.NAME():
        reduction: an option among 'mean', 'sum' or 'none'

# calling
linear(tensor(I, B)) -> (3, 2) & I = 3 & likely transposed
linear(tensor()) -> () & (..., I)
linear("x") -> tensor & <U1
linear(tensor(B, I, device=ELSEWHERE)) -> different devices
embedding(tensor(B)) -> float32 & integers
embedding([-1]) -> -1 & 0 .. 3
dropout(tensor(2, 3, dtype=np.int64)) -> int64 & float16
dropout("x") -> tensor & <U1
rnn(tensor(B, 4)) -> (2, 4) & I = input_size
rnn(tensor(I, B, T)) -> (3, 2, 7) & likely features and time
rnn(tensor(0, B, I)) -> T is 0
rnn(X, (STATE, STATE)) -> hx is a tuple & what LSTM takes
gru(X, tensor(4, B, H, dtype=np.float64)) -> hx & float64
gru(X, None, [7, 0]) -> lengths[1] is 0
lstm(X, data.Task(X, X, 0.0)) -> hx is a Task & x, target, baseline & h and c
lstm(X, (STATE, STATE, STATE)) -> hx is a tuple & pair
lstm(X, (STATE, STATE)) -> h_0 & (2, 5) & (L*D, B, H)
lstm(X, (tensor(1, B, H), tensor(1, B, 4))) -> c_0 & (1, 2, 4)
lstm(X, lengths=[7.0, 4.0]) -> float64 & integers
lstm(X, lengths=[9, 1]) -> lengths[0] is 9 & 1 .. 7
lstm(tensor(T, I), lengths=[7]) -> lengths & (7, 3) & (T, B, I)
lstm(tensor(T, B, I, device=ELSEWHERE)) -> input is on cpu-composed & parameters are on cpu
batch_first(X, (tensor(T, 1, H), tensor(T, 1, H))) -> h_0 & states are (L*D, B, H) also with batch_first
batch_first(X, lengths=[2, 2]) -> lengths & (B,) = (7,) & likely time and batch of the input are exchanged
for NAME in RNNCell GRUCell LSTMCell:
    nn.NAME(I, H)(tensor(1, B, I)) -> NAME: input has shape (1, 2, 3) & likely a sequence
    nn.NAME(I, H)(tensor(B, H)) -> likely its two numbers were exchanged: NAME(input_size, hidden_size)
for NAME in RNNCell/same GRUCell/same LSTMCell/pair:
    nn.NAME(I, H)(STEP, WORD(tensor(1, B, H))) -> NAME: h & likely the state of nn. & (L*D, B, H)
    nn.NAME(I, H)(STEP, WORD(tensor(B, H, dtype=np.float64))) -> NAME: h & has dtype float64 & float32
    nn.NAME(I, H)(tensor(I), WORD(STATE)) -> NAME: h & (2, 5) & (H,) = (5,) & likely the state
nn.GRU(I, H, batch_first=True)(tensor(I)) -> (B, T, I), or (T, I)
nn.GRU(I, H)(tensor(T, B, H)) -> expected 3 & likely its two numbers were exchanged
lstm_fused_cell(tensor(T, B, 2)) -> inputs has shape (7, 2, 2) & (T, B, I) = (7, 2, 3)
lstm_fused_cell(X, np.zeros((2, B, H, 1))) -> state is a ndarray & the pair (c, h)
lstm_fused_cell(X, (tensor(B, 4), None)) -> c has shape (2, 4) & (B, H) = (2, 5)
lstm_fused_cell(X, (None, tensor(3, H))) -> h has shape (3, 5) & (B, H) = (2, 5)
lstm_fused_cell(X, None, [1, 2, 3]) -> sequence_length has shape (3,) & (B,) = (2,)
lstm_fused_cell(X, None, [-1, 2]) -> sequence_length[0] is -1 & 0 .. 7 (T)
rnn_cell(STEP, tensor(3, H)) -> hx & (3, 5) & (B, H) = (2, 5)
rnn_cell(tensor(B, I, dtype=np.float64)) -> float64 & float32 & one dtype
gru_cell(tensor(B, H)) -> (2, 5) & (B, I) = (2, 3) & exchanged
gru_cell(STEP, (STATE, STATE)) -> hx is a tuple & LSTMCell
gru_cell("x") -> tensor & <U1
lstm_cell(STEP, tensor(B, H)) -> hx is a Tensor & pair (h, c)
lstm_cell(STEP, (tensor(1, B, H),) * 2) -> (1, 2, 5) & (B, H) = (2, 5) & nn.LSTM
lstm_block_cell(X) -> (7, 2, 3) & (B, I)
lstm_block_cell(STEP, STATE) -> state is a Tensor & (c, h)
lstm_block_cell(STEP, (tensor(B, 4), STATE)) -> c & (2, 4) & (B, H)
lstm_block_cell(tensor(B, I, dtype=np.float64)) -> float64
lstm_fused_cell(X, None, [0, 8]) -> sequence_length[1] is 8 & 0 .. 7 (T)
lstm_fused_cell(X, None, [7.0, 1.0]) -> sequence_length & float64 & integers
gru_block_cell(X) -> (7, 2, 3) & (B, I)
gru_block_cell(STEP, (STATE, STATE)) -> state & tuple & (B, H)
gru_block_cell.gates(tensor(B, 4)) -> GRUBlockCell & (2, 4)
lstm_fused_cell.gates(X, None, 8) -> seq_len_max is 8
linear.to("nowhere") -> 'nowhere' & known
nn.functional.mse_loss(tensor(2, 1), array(2)) -> mse_loss & (2, 1) & (2,) & likely an axis of size 1
nn.functional.mse_loss(tensor(2), tensor(2, device=ELSEWHERE)) -> different devices
nn.functional.mse_loss(tensor(2), "ab") -> <U2
nn.functional.dropout(X, 2) -> dropout & p is 2 & 0 .. 1
nn.functional.dropout(tensor(2, dtype=np.int64), 0.5) -> dropout & int64
nn.CrossEntropyLoss()(X, np.zeros((T, B, I), int)) -> cross_entropy & likely one-hot
""",
)
