"""Wrong calls of io: checkpoints, weight files, converters."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import io, nn
from tests.hostile.table import rows
from tests.hostile.wrong_call import array

T, B, I, H = 7, 2, 3, 5
HERE = os.fspath(Path(__file__).parent)
THIS = os.fspath(Path(__file__))
MISSING = os.path.join(HERE, "missing.safetensors")
NO_FOLDER = os.path.join(HERE, "missing", "file.safetensors")
NO_FILE = "/dev/fd/0" if os.path.exists("/dev/fd/0") else os.devnull  # a mutant as root would replace /dev/null itself
NPZ = os.fspath(sorted((Path(__file__).parents[1] / "golden" / "block_ops").glob("*.npz"))[0])
GOOD: dict[str, Any] = {"w": array(2, 3)}

TORCH_LSTM = nn.LSTM(I, H).state_dict()
TORCH_GRU = nn.GRU(I, H).state_dict()
TF_GRU = nn.GRUBlockCell(H, I).state_dict()
PEEPHOLES = nn.LSTMBlockCell(H, I, use_peephole=True).state_dict()
PROJECTED = nn.LSTM(I, H, proj_size=2).state_dict()
SETTINGS = {"rnn_mode": "lstm", "num_layers": 1, "num_units": H, "input_size": I, "direction": "unidirectional"}
PASSPORT = io.convert(TORCH_LSTM, "torch.nn").metadata
RNN_X, RNN_Y = array(T, B, I), array(T, B, H)


def shapes(x: tuple[int, ...], y: tuple[int, ...]) -> Any:
    return io.find_layout([np.zeros((5, 3)), np.zeros((5, 5))], np.zeros(x), np.zeros(y))


shapes.__name__ = "find_layout"


def atomic_write(path: Any, mode: Any = "wb") -> None:
    """Errors come when the block is entered."""
    with io.atomic_write(path, mode):
        raise AssertionError("entered")


ROWS = rows(
    globals(),
    r"""
# files
io.load(MISSING) -> missing.safetensors & no such file & spelling
io.load(NO_FILE) -> not a regular file
io.load(THIS) -> calls_files.py & of another kind
io.load(NPZ) -> a zip file, as torch.save and numpy.savez write
io.load(3) -> int & PathLike
io.save(NO_FOLDER, GOOD, {}) -> no folder & existing folder
io.save(HERE, GOOD, {}) -> this is a folder & name of a file
io.save(NO_FILE, GOOD, {}) -> not a regular file
io.save(NO_FOLDER, [array(2)], {}) -> arrays & list & dict
io.save(NO_FOLDER, nn.Linear(2, 3), {}) -> arrays & Linear & state_dict()
io.save(NO_FOLDER, {"w": "abc"}, {}) -> 'w' & <U3 & metadata
io.save(NO_FOLDER, {"w": [[1.0], [1.0, 2.0]]}, {}) -> 'w' & ragged
io.save(NO_FOLDER, {3: array(2)}, {}) -> 3 & string
io.save(NO_FOLDER, {"__metadata__": array(2)}, {}) -> '__metadata__' & string other than
io.save(NO_FOLDER, GOOD, None) -> metadata is NoneType & dict
io.save(NO_FOLDER, GOOD, {"size": (1, 2)}) -> metadata['size'] is tuple & list
io.save(NO_FOLDER, GOOD, {"a": array(2)}) -> metadata['a'] is ndarray & .tolist()
io.save(NO_FOLDER, GOOD, {"n": np.int64(3)}) -> is int64 & .item()
io.save(NO_FOLDER, GOOD, {"layers": {1: 2}}) -> the key 1 & strings
io.save(NO_FOLDER, GOOD, (loop := {}) or loop.update(loop=loop) or loop) -> metadata & itself
io.save(NO_FOLDER, {"\ud800": array(2)}, {}) -> surrogate
io.save(3, GOOD, {}) -> int & PathLike
io.read_arrays(MISSING) -> missing.safetensors & safetensors or npz
io.read_arrays(THIS) -> safetensors or npz
io.read_arrays(HERE) -> directory & safetensors or npz
io.read_arrays(3) -> int & PathLike
io.write_arrays("weights.npz", GOOD, {}) -> safetensors format & *.safetensors
io.write_arrays(NO_FOLDER, GOOD, {}) -> no folder
io.write_arrays(NO_FOLDER, {"w": array(2).astype(np.complex64)}, {}) -> 'w' & complex64
io.write_arrays(NO_FOLDER, GOOD, {"n": 3}) -> metadata & 'n' & strings
atomic_write(MISSING, "a") -> 'a' & 'w' (text) or 'wb'
atomic_write(NO_FOLDER) -> no folder
atomic_write(3) -> int & PathLike
atomic_write("a\0b") -> null

# converters
io.convert(TORCH_LSTM, "pytorch") -> 'pytorch' & likely 'torch.nn'
io.convert(TORCH_LSTM, None) -> None & torch.nn
io.convert(TORCH_LSTM, "keras", source="tensorflow") -> 'tensorflow' & expected one of
io.convert(TORCH_LSTM, "keras/oifc") -> 'oifc' & expected
io.convert({}, "keras") -> no arrays
io.convert([array(2)], "keras") -> list & dict
io.convert(TORCH_LSTM, "keras", prefix="encoder.") -> 'encoder.' & weight_ih_l0
io.convert({"weight_ih": array(H, I), "bias": array(H)}, "keras") -> weight_ih with bias & custom cell & torch.nn
io.convert({"a": array(2, 3), "b": array(3)}, "keras") -> expected
io.convert({"weight_ih_l0": TORCH_LSTM["weight_ih_l0"]}, "keras", source="torch.nn") -> weight_hh_l0
io.convert({**TORCH_LSTM, "weight_ih_l0": array(I, 4 * H)}, "keras", source="torch.nn") ->
    input matrix of layer 0 & (3, 20) & (G*H, I) & likely transposed
io.convert({k: (9 * v).astype(int) for k, v in TORCH_LSTM.items()}, "keras", source="torch.nn") -> int64 & float
io.convert({**TORCH_LSTM, "weight_hh_l0": array(4 * H, H, dtype=np.float64)}, "keras", source="torch.nn") ->
    float64 & float32
io.convert({**TORCH_LSTM, "weight_hh_l0": "text"}, "keras", source="torch.nn") -> weight_hh_l0 has shape () & (G*H, P)
io.convert({**TORCH_LSTM, "weight_hh_l0": [[1.0], [1.0, 2.0]]}, "keras", source="torch.nn") -> weight_hh_l0 & ragged
io.convert(TORCH_GRU, "tf.gru_block_cell") -> reset & before
io.convert(TF_GRU, "torch.nn", source="tf.gru_block_cell") -> reset & after
io.convert(PEEPHOLES, "torch.nn", source="tf.lstm_block_cell", forget_bias=1.0, cell_clip=0.0) -> peephole
io.convert(PROJECTED, "keras", source="torch.nn") -> projection
io.convert(TORCH_LSTM, "keras", source="torch.nn", num_units=6) -> num_units is 6 & 5
io.convert(TORCH_LSTM, "keras", units=5) -> units & expected
io.convert(TORCH_LSTM, "tf.lstm_block_cell", source="torch.nn", forget_bias=NAN) -> forget_bias is nan
io.convert(TORCH_LSTM, "keras", rnn_mode=3) -> rnn_mode is 3
io.convert(TORCH_LSTM, "keras", metadata={"minirnn.num_layers": "two"}) -> minirnn.num_layers & 'two' & number
io.convert(TORCH_LSTM, "keras", metadata={"minirnn.layout": "nobody"}) -> 'nobody' & expected one of
io.convert(TORCH_LSTM, "keras", source="torch.nn", metadata={"minirnn.layout": "keras"}) ->
    'torch.nn' & 'keras' & expected
io.convert(TORCH_LSTM, "keras", metadata=PASSPORT, num_units=6) ->
    num_units is 6 in the settings & but 5 in the file's metadata & expected
io.convert(TORCH_LSTM, "keras", num_layers=2) -> num_layers is 2 in the settings or & but 1 in the arrays & expected
io.convert(TORCH_LSTM, "keras", metadata=PASSPORT | {"minirnn.input_size": "4"}) ->
    input_size is 4 & but 3 in the arrays
with io.convert(TORCH_LSTM, "keras", metadata={}):
    metadata={"minirnn.layout": "keras/icfo"} -> keras has no gate order 'icfo'
    metadata={"minirnn.num_units": "0"} -> num_units is 0
    metadata={"minirnn.rnn_mode": "mlp"} -> rnn_mode is 'mlp'
    metadata={"minirnn.forget_bias": "nan"} -> forget_bias is nan
    rnn_mode="LSTM" -> rnn_mode is 'LSTM'
    gru="before" -> gru is 'before'
    num_layers=0 -> num_layers is 0
    num_layers=1.0 -> num_layers is 1.0
    num_proj=-1 -> num_proj is -1
    forget_bias="1" -> forget_bias is '1'
    direction=2 -> direction is 2
io.convert(TORCH_LSTM, "tf.gru_block_cell") -> tf.gru_block_cell holds gru & got lstm
io.convert(TORCH_LSTM, "tf.basic_rnn_cell") -> holds rnn_tanh, rnn_relu & got lstm
io.convert({"params": array(100)}, "torch.nn", source="cudnn.params") -> cudnn.params & not known & command line
io.convert({"params": array(100)}, "torch.nn", source="cudnn.params", **SETTINGS) -> 100
io.convert_weights(TORCH_LSTM, "keras") -> dict & Weights
io.find_layout(TORCH_LSTM, array(I), RNN_Y) -> (3,) & (T, B, I)
io.find_layout(TORCH_LSTM, RNN_X, array(T, 3, H)) -> (7, 2, 3) & (7, 3, 5)
io.find_layout(TORCH_LSTM, "x", RNN_Y) -> input & numbers
io.find_layout(TORCH_LSTM, RNN_X, RNN_Y, initial_h=array(B, 4)) -> initial_h & (2, 4)
io.find_layout(array(8, 20), RNN_X, RNN_Y) -> ndarray & dict or list
io.find_layout(TORCH_LSTM, array(0, B, I), array(0, B, H)) -> (0, 2, 3)
io.find_layout(TORCH_LSTM, RNN_X, RNN_Y, tolerance=-1) -> tolerance is -1
io.find_layout(TORCH_LSTM, RNN_X, RNN_Y, tolerance=0) -> expected above 0
io.find_layout(TORCH_LSTM, RNN_X, RNN_Y, tolerance=NAN) -> expected above 0
io.find_layout(TORCH_LSTM, RNN_X, RNN_Y, initial_c=array(B, I)) -> initial_c has shape (2, 3) & expected (B, H), H = 5
io.find_layout(TORCH_LSTM, RNN_X, RNN_Y, initial_c=array(I)) -> initial_c has shape (1, 3)
io.find_layout(TORCH_LSTM, RNN_X, RNN_Y, initial_c=array(1, B, H)) -> initial_c has shape (1, 2, 5)
io.find_layout([array(4 * H, I), ["a"]], RNN_X, RNN_Y) -> array 1 is not an array of numbers
# no axis of the input is a batch of 3; and others
shapes((6, 2, 3), (3, 5)) -> (T, B, I) and (T, B, H)
shapes((6, 2, 3), (5, 2, 5)) -> (T, B, I) and (T, B, H)
shapes((6, 2, 3), (6, 2, 5, 1)) -> (T, B, I) and (T, B, H)
shapes((6, 2, 3, 1), (6, 2, 5)) -> (T, B, I) and (T, B, H)
shapes((6, 3), (6, 2, 5)) -> (T, B, I) and (T, B, H)
shapes((6, 2, 0), (6, 2, 5)) -> (T, B, I) and (T, B, H)
shapes((6, 2, 3), (6, 2, 0)) -> (T, B, I) and (T, B, H)
shapes((6, 2, 3), (0,)) -> (T, B, I) and (T, B, H)
shapes((6, 3), (7, 5)) -> (T, B, I) and (T, B, H)
""",
)
