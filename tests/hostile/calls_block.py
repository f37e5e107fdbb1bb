"""Wrong calls of the LSTM and GRU block ops."""

from typing import Any

from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

T, B, I, H = 7, 2, 3, 5


def lstm_inputs(*lead: int, wide: int = 4) -> dict[str, Any]:
    shapes = {"x": (*lead, I), "cs_prev": (B, H), "h_prev": (B, H), "w": (I + H, 4 * H)}
    shapes |= {"wci": (H,), "wcf": (H,), "wco": (H,), "b": (wide * H,)}
    return {name: tensor(*shape) for name, shape in shapes.items()}


def saved(*lead: int, names: str = "i cs f o ci co") -> dict[str, Any]:
    return {name: tensor(*lead, H) for name in names.split()}


CELL = lstm_inputs(B) | {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False}
CELL_GRAD = lstm_inputs(B) | saved(B, names="i cs f o ci co cs_grad h_grad") | {"use_peephole": True}
SEQUENCE = {"seq_len_max": T} | lstm_inputs(T, B)
SEQUENCE_V1 = SEQUENCE | {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False}
SEQUENCE_GRAD = SEQUENCE | saved(T, B, names="i cs f o ci co h cs_grad h_grad") | {"use_peephole": True}
GRU = {
    "x": tensor(B, I),
    "h_prev": tensor(B, H),
    "w_ru": tensor(I + H, 2 * H),
    "w_c": tensor(I + H, H),
    "b_ru": tensor(2 * H),
    "b_c": tensor(H),
}
GRU_GRAD = GRU | saved(B, names="r u c d_h")

ROWS = rows(
    globals(),
    r"""
# lstm cell
with ops.lstm_block_cell(**CELL):
    x=tensor(I) -> x & (3,) & (B, I) & likely a missing batch axis
    cs_prev=tensor(B, 0), h_prev=tensor(B, 0) -> H is 0 & 1 or more
    b=tensor(8 * H) -> b & (40,) & (4H,) = (20,) & likely the two biases
    wco=tensor(4) -> wco & (4,) & (H,) = (5,)
    wci=None, use_peephole=True -> wci is None & array
    w=tensor(I + H, 4 * H, device=ELSEWHERE) -> different devices: x is on cpu & w on cpu-composed & t.to(name)
    forget_bias=tensor() -> forget_bias & number
    forget_bias=float("inf") -> forget_bias is inf & finite
    x cs_prev h_prev w b: an array of floats
    forget_bias cell_clip: a number
with ops.lstm_block_cell_grad(**CELL_GRAD):
    w=tensor(4 * H, I + H) -> w & (20, 8) & (I+H, 4H) & likely transposed
    o=tensor(3, H) -> o & (3, 5) & (B, H) = (2, 5)
    ci=tensor(H, B) -> ci & (5, 2) & (B, H) & likely transposed
    i=tensor(B, 4 * H) -> i & (2, 20) & (B, H)
    cs_grad=tensor(B, H, dtype=np.float64) -> cs_grad & float64 & .astype()
    f=tensor(B, H, device=ELSEWHERE) -> different devices
    h_grad: an array of floats
    use_peephole: a flag

# lstm sequence
ops.block_lstm_v2(**SEQUENCE, forget_bias=1.0) -> forget_bias
with ops.block_lstm(**SEQUENCE_V1):
    x=tensor(B, I) -> x & (2, 3) & (T, B, I) & likely a missing time or batch axis
    seq_len_max=T + 1 -> seq_len_max is 8 & 0 .. 7 & T
    seq_len_max=-1 -> seq_len_max is -1 & 0 .. 7
    seq_len_max=np.array([1, 2]) -> seq_len_max has shape (2,)
    seq_len_max: an integer
    w=tensor(4 * H, I + H) -> w & (20, 8) & (I+H, 4H) = (8, 20) & likely transposed
    cs_prev=tensor(T, B, H) -> cs_prev & (7, 2, 5) & (B, H)
    h_prev=tensor(H, B) -> h_prev & (5, 2) & (B, H) & likely transposed
    b=tensor(4 * H, dtype=np.float64) -> b has dtype float64 & .astype()
    x=tensor(T, B, I, device=ELSEWHERE) -> different devices
    forget_bias cell_clip: a number
with ops.block_lstm_v2(**SEQUENCE):
    x=tensor(B, T, I) -> likely x is batch-first
    w=tensor(I + H, 3 * H) -> w & (8, 15) & (I+H, 4H) & gates i, f, ci, o
    b=tensor(3 * H) -> b & (15,) & (4H,) & gates i, f, ci, o
    seq_len_max=8 -> seq_len_max is 8
    use_peephole: a flag
with ops.block_lstm_grad(**SEQUENCE_GRAD):
    cs=tensor(B, H) -> cs & (2, 5) & (T, B, H)
    h_grad=tensor(B, T, H) -> h_grad & (2, 7, 5) & (T, B, H) = (7, 2, 5)
    x=tensor(B, T, I) -> likely x is batch-first
    h: an array of floats
with ops.block_lstm_grad_v2(**SEQUENCE_GRAD):
    cs_grad=tensor(T, B, H, dtype=np.float16) -> cs_grad & float16
    w=tensor(4 * H, I + H) -> w & likely transposed
    seq_len_max=9 -> seq_len_max is 9

# gru cell
with ops.gru_block_cell(**GRU):
    x=tensor(T, B, I) -> x & (7, 2, 3) & (B, I)
    h_prev=tensor(3, H) -> h_prev & (3, 5) & (B, H) = (2, 5)
    w_ru=tensor(I + H, 3 * H) -> w_ru & (8, 15) & (I+H, 2H) & gates r, u & likely
    w_ru=tensor(I + H, H), w_c=tensor(I + H, 2 * H) -> w_ru & (8, 5) & (I+H, 2H) & likely w_ru and w_c are exchanged
    w_c=tensor(H, I + H) -> w_c & (5, 8) & (I+H, H) = (8, 5) & likely transposed
    b_ru=tensor(4 * H) -> b_ru & (20,) & (2H,) = (10,) & likely & cuDNN
    h_prev=tensor(B, 0) -> H is 0
    h_prev=tensor(B, H, device=ELSEWHERE) -> different devices
    x h_prev b_c: an array of floats
with ops.gru_block_cell_grad(**GRU_GRAD):
    r=tensor(B, 2 * H) -> r & (2, 10) & (B, H)
    c=tensor(B, H, dtype=np.float16) -> c & float16
    u=tensor(H, B) -> u & (5, 2) & likely transposed
    d_h: an array of floats
""",
)
