"""Wrong calls of io: checkpoints, weight files, converters."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import io, nn
from tests.hostile.wrong_call import Wrong, array, wrong

T, B, I, H = 7, 2, 3, 5
HERE = os.fspath(Path(__file__).parent)
THIS = os.fspath(Path(__file__))
MISSING = os.path.join(HERE, "missing.safetensors")
NO_FOLDER = os.path.join(HERE, "missing", "file.safetensors")
NPZ = os.fspath(sorted((Path(__file__).parents[1] / "golden" / "block_ops").glob("*.npz"))[0])
NAN = float("nan")

GOOD: dict[str, Any] = {"w": array(2, 3)}
FILES: list[Wrong] = [
    wrong("load: no such file", "missing.safetensors & no such file & spelling", io.load, MISSING),
    wrong("load: a folder", "this is a folder", io.load, HERE),
    wrong("load: a device", "no regular file", io.load, os.devnull),
    wrong("load: Python source", "calls_files.py & of another kind", io.load, THIS),
    wrong("load: a zip file", "a zip file, as torch.save and numpy.savez write", io.load, NPZ),
    wrong("load: a number", "int & PathLike", io.load, 3),
    wrong("load: None", "NoneType & PathLike", io.load, None),
    wrong("load: NUL in the name", "no such file", io.load, "a\0b"),
    wrong("load: a name too long", "no such file", io.load, os.path.join(HERE, "a" * 1000)),
    wrong("save: no such folder", "no folder & existing folder", io.save, NO_FOLDER, GOOD, {}),
    wrong("save: onto a folder", "this is a folder & name of a file", io.save, HERE, GOOD, {}),
    wrong("save: onto a device", "no regular file", io.save, os.devnull, GOOD, {}),
    wrong("save: a list of arrays", "arrays & list & dict", io.save, NO_FOLDER, [array(2)], {}),
    wrong("save: a module", "arrays & Linear & state_dict()", io.save, NO_FOLDER, nn.Linear(2, 3), {}),
    wrong("save: text as an array", "'w' & <U3 & metadata", io.save, NO_FOLDER, {"w": "abc"}, {}),
    wrong("save: complex numbers", "'w' & complex64", io.save, NO_FOLDER, {"w": array(2).astype(np.complex64)}, {}),
    wrong("save: a ragged list", "'w' & ragged", io.save, NO_FOLDER, {"w": [[1.0], [1.0, 2.0]]}, {}),
    wrong("save: objects", "'w' & object", io.save, NO_FOLDER, {"w": np.array([None])}, {}),
    wrong("save: a number as name", "3 & string", io.save, NO_FOLDER, {3: array(2)}, {}),
    wrong(
        "save: the name of the metadata",
        "'__metadata__' & string other than",
        io.save,
        NO_FOLDER,
        {"__metadata__": array(2)},
        {},
    ),
    wrong("save: metadata left out", "metadata is NoneType & dict", io.save, NO_FOLDER, GOOD, None),
    wrong(
        "save: a tuple in the metadata", "metadata['size'] is tuple & list", io.save, NO_FOLDER, GOOD, {"size": (1, 2)}
    ),
    wrong(
        "save: an array in the metadata",
        "metadata['a'] is ndarray & .tolist()",
        io.save,
        NO_FOLDER,
        GOOD,
        {"a": array(2)},
    ),
    wrong("save: a NumPy number in the metadata", "is int64 & .item()", io.save, NO_FOLDER, GOOD, {"n": np.int64(3)}),
    wrong("save: a number as key of the metadata", "the key 1 & strings", io.save, NO_FOLDER, GOOD, {"layers": {1: 2}}),
    wrong(
        "save: metadata within itself",
        "metadata & itself",
        io.save,
        NO_FOLDER,
        GOOD,
        (loop := {}) or loop.update(loop=loop) or loop,
    ),
    wrong("save: half a character in a name", "surrogate", io.save, NO_FOLDER, {"\ud800": array(2)}, {}),
    wrong("save: a number as path", "int & PathLike", io.save, 3, GOOD, {}),
    wrong("read_arrays: no such file", "missing.safetensors & safetensors or npz", io.read_arrays, MISSING),
    wrong("read_arrays: Python source", "safetensors or npz", io.read_arrays, THIS),
    wrong("read_arrays: a folder", "directory & safetensors or npz", io.read_arrays, HERE),
    wrong("read_arrays: a number", "int & PathLike", io.read_arrays, 3),
    wrong(
        "write_arrays: another kind of file",
        "safetensors file & *.safetensors",
        io.write_arrays,
        "weights.npz",
        GOOD,
        {},
    ),
    wrong("write_arrays: no such folder", "no folder", io.write_arrays, NO_FOLDER, GOOD, {}),
    wrong(
        "write_arrays: complex numbers",
        "'w' & complex64",
        io.write_arrays,
        NO_FOLDER,
        {"w": array(2).astype(np.complex64)},
        {},
    ),
    wrong(
        "write_arrays: numbers in the metadata", "metadata & 'n' & strings", io.write_arrays, NO_FOLDER, GOOD, {"n": 3}
    ),
    wrong(
        "atomic_write: another mode",
        "'a' & 'w' (text) or 'wb'",
        lambda path, mode: io.atomic_write(path, mode).__enter__(),
        MISSING,
        "a",
    ),
    wrong("atomic_write: no such folder", "no folder", lambda path: io.atomic_write(path).__enter__(), NO_FOLDER),
    wrong("atomic_write: a number", "int & PathLike", lambda path: io.atomic_write(path).__enter__(), 3),
    wrong("atomic_write: NUL in the name", "null", lambda path: io.atomic_write(path).__enter__(), "a\0b"),
]

TORCH_LSTM = nn.LSTM(I, H).state_dict()
TORCH_GRU = nn.GRU(I, H).state_dict()
TF_GRU = nn.GRUBlockCell(H, I).state_dict()
PEEPHOLES = nn.LSTMBlockCell(H, I, use_peephole=True).state_dict()
PROJECTED = nn.LSTM(I, H, proj_size=2).state_dict()
RNN_X, RNN_Y = array(T, B, I), array(T, B, H)

CONVERTERS: list[Wrong] = [
    wrong("convert: to no layout", "'pytorch' & likely 'torch.nn'", io.convert, TORCH_LSTM, "pytorch"),
    wrong("convert: to None", "None & torch.nn", io.convert, TORCH_LSTM, None),
    wrong(
        "convert: from no layout",
        "'tensorflow' & expected one of",
        io.convert,
        TORCH_LSTM,
        "keras",
        source="tensorflow",
    ),
    wrong("convert: to another gate order", "'oifc' & expected", io.convert, TORCH_LSTM, "keras/oifc"),
    wrong("convert: no arrays", "no arrays", io.convert, {}, "keras"),
    wrong("convert: a list", "list & dict", io.convert, [array(2)], "keras"),
    wrong(
        "convert: a prefix that nothing has",
        "'encoder.' & weight_ih_l0",
        io.convert,
        TORCH_LSTM,
        "keras",
        prefix="encoder.",
    ),
    wrong("convert: names of nobody", "expected", io.convert, {"a": array(2, 3), "b": array(3)}, "keras"),
    wrong(
        "convert: a weight missing",
        "weight_hh_l0",
        io.convert,
        {"weight_ih_l0": TORCH_LSTM["weight_ih_l0"]},
        "keras",
        source="torch.nn",
    ),
    wrong(
        "convert: a transposed weight",
        "input matrix of layer 0 & (3, 20) & (G*H, I) & likely transposed",
        io.convert,
        {**TORCH_LSTM, "weight_ih_l0": array(I, 4 * H)},
        "keras",
        source="torch.nn",
    ),
    wrong(
        "convert: integers",
        "int64 & float",
        io.convert,
        {k: (9 * v).astype(int) for k, v in TORCH_LSTM.items()},
        "keras",
        source="torch.nn",
    ),
    wrong(
        "convert: two dtypes",
        "float64 & float32",
        io.convert,
        {**TORCH_LSTM, "weight_hh_l0": array(4 * H, H, dtype=np.float64)},
        "keras",
        source="torch.nn",
    ),
    wrong(
        "convert: text",
        "weight_hh_l0 has shape () & (G*H, P)",
        io.convert,
        {**TORCH_LSTM, "weight_hh_l0": "text"},
        "keras",
        source="torch.nn",
    ),
    wrong(
        "convert: a ragged list",
        "weight_hh_l0 & ragged",
        io.convert,
        {**TORCH_LSTM, "weight_hh_l0": [[1.0], [1.0, 2.0]]},
        "keras",
        source="torch.nn",
    ),
    wrong(
        "convert: the GRU of torch to TensorFlow's cell", "reset & before", io.convert, TORCH_GRU, "tf.gru_block_cell"
    ),
    wrong(
        "convert: TensorFlow's GRU to torch",
        "reset & after",
        io.convert,
        TF_GRU,
        "torch.nn",
        source="tf.gru_block_cell",
    ),
    wrong(
        "convert: peepholes to torch",
        "peephole",
        io.convert,
        PEEPHOLES,
        "torch.nn",
        source="tf.lstm_block_cell",
        forget_bias=1.0,
        cell_clip=0.0,
    ),
    wrong("convert: a projection to Keras", "projection", io.convert, PROJECTED, "keras", source="torch.nn"),
    wrong(
        "convert: a setting that contradicts",
        "num_units is 6 & 5",
        io.convert,
        TORCH_LSTM,
        "keras",
        source="torch.nn",
        num_units=6,
    ),
    wrong("convert: an unknown setting", "units & expected", io.convert, TORCH_LSTM, "keras", units=5),
    wrong(
        "convert: forget_bias NaN",
        "forget_bias is nan",
        io.convert,
        TORCH_LSTM,
        "tf.lstm_block_cell",
        source="torch.nn",
        forget_bias=NAN,
    ),
    wrong("convert: a mode of the wrong type", "rnn_mode is 3", io.convert, TORCH_LSTM, "keras", rnn_mode=3),
    wrong(
        "convert: layers in the metadata that are no number",
        "minirnn.num_layers & 'two' & number",
        io.convert,
        TORCH_LSTM,
        "keras",
        metadata={"minirnn.num_layers": "two"},
    ),
    wrong(
        "convert: a passport of no layout",
        "'nobody' & expected one of",
        io.convert,
        TORCH_LSTM,
        "keras",
        metadata={"minirnn.layout": "nobody"},
    ),
    wrong(
        "convert: a passport of another layout",
        "'torch.nn' & 'keras' & expected",
        io.convert,
        TORCH_LSTM,
        "keras",
        source="torch.nn",
        metadata={"minirnn.layout": "keras"},
    ),
    wrong(
        "convert: a buffer without sizes",
        "cudnn.params & not known & command line",
        io.convert,
        {"params": array(100)},
        "torch.nn",
        source="cudnn.params",
    ),
    wrong(
        "convert: a buffer of another size",
        "100",
        io.convert,
        {"params": array(100)},
        "torch.nn",
        source="cudnn.params",
        rnn_mode="lstm",
        num_layers=1,
        num_units=H,
        input_size=I,
        direction="unidirectional",
    ),
    wrong("convert_weights: arrays", "dict & Weights", io.convert_weights, TORCH_LSTM, "keras"),
    wrong("convert_file: no such file", "missing.safetensors", io.convert_file, MISSING, NO_FOLDER, "keras"),
    wrong("convert_file: another kind of file", "calls_files.py", io.convert_file, THIS, NO_FOLDER, "keras"),
    wrong("find_layout: an input of one axis", "(3,) & (T, B, I)", io.find_layout, TORCH_LSTM, array(I), RNN_Y),
    wrong(
        "find_layout: an output of another batch",
        "(7, 2, 3) & (7, 3, 5)",
        io.find_layout,
        TORCH_LSTM,
        RNN_X,
        array(T, 3, H),
    ),
    wrong("find_layout: text", "input & numbers", io.find_layout, TORCH_LSTM, "x", RNN_Y),
    wrong(
        "find_layout: a state of another width",
        "initial_h & (2, 4)",
        io.find_layout,
        TORCH_LSTM,
        RNN_X,
        RNN_Y,
        initial_h=array(B, 4),
    ),
    wrong("find_layout: one array", "ndarray & dict or list", io.find_layout, array(8, 20), RNN_X, RNN_Y),
    wrong("find_layout: a number for the weights", "float & dict or list", io.find_layout, 3.0, RNN_X, RNN_Y),
    wrong("find_layout: nothing in it", "(0, 2, 3)", io.find_layout, TORCH_LSTM, array(0, B, I), array(0, B, H)),
    wrong(
        "find_layout: a negative tolerance", "tolerance is -1", io.find_layout, TORCH_LSTM, RNN_X, RNN_Y, tolerance=-1
    ),
]

ROWS = [*FILES, *CONVERTERS]
