"""Convert weights between the layouts of torch, Keras, TensorFlow, cuDNN and ONNX.

The arrays do not show what they mean: gates in the orders i, f, n, o and i, n, f, o have the same shapes. A file
written here carries a passport, entries of its metadata that say what it holds::

    minirnn.layout = "tf.lstm_block_cell/icfo"     name of the layout and gate order, letters as in that library
    minirnn.rnn_mode, .num_layers, .num_units, .input_size, .direction, .num_proj
    minirnn.gru = "reset_after" or "reset_before"  which GRU, where it is one
    minirnn.forget_bias, .cell_clip, .input_mode   where the layout has them

Everything goes through one form, `minirnn.io.layouts.hub`, where the formulas of the biases are. Values are moved, not
computed, except that a layout with one bias gets the sum of two, and that forget_bias is added or subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from minirnn.io.checkpoint import as_array
from minirnn.io.layouts.base import Layout
from minirnn.io.layouts.groups import natural
from minirnn.io.layouts.hub import NetworkWeights
from minirnn.io.layouts.registry import LAYOUTS, find, guess
from minirnn.io.layouts.settings import Settings, facts, from_metadata


class Converted(NamedTuple):
    """Result of `convert`.

    Attributes
    ----------
    arrays : dict of str to ndarray
    metadata : dict of str to str
        The passport, for the file.
    source, target : str
        Layout and gate order of the input, and of `arrays`.
    weights : Weights
        The weights in minirnn's common layout.
    notes : tuple of str
        Notes for the user about assumed, omitted or changed values.
    """

    arrays: dict[str, np.ndarray]
    metadata: dict[str, str]
    source: str
    target: str
    weights: NetworkWeights
    notes: tuple[str, ...]


def convert(
    arrays: Mapping[str, Any],
    to: str,
    *,
    source: str | None = None,
    metadata: Mapping[str, str] | None = None,
    prefix: str = "",
    **settings: Any,
) -> Converted:
    """Convert weights to another layout, such that outputs stay equal.

    Parameters
    ----------
    arrays : mapping of str to array_like
        The weights of one network; other arrays in it are left out, and `notes` says so.
    to, source : str
        Layouts: "torch.nn", "keras", "tf.lstm_block_cell", "tf.block_lstm_v2", "tf.gru_block_cell",
        "tf.basic_rnn_cell", "cudnn.params", "tf.canonical", "onnx". Without `source` it follows from the
        metadata, or from names and shapes if only one layout fits them.
    metadata : mapping of str to str, optional
        The passport of the file that the arrays come from.
    prefix : str
        Only arrays whose names begin with this are used: ``"encoder.rnn."``.
    **settings
        What the arrays don't show: rnn_mode, num_layers, num_units, input_size, direction, num_proj, input_mode, gru,
        forget_bias, cell_clip; see `minirnn.io.layouts.Settings`.

    Raises
    ------
    ValueError
        The weights are those of a custom cell, the layout is not clear, the arrays don't fit it, something needed is
        not known or contradicts itself, or the target has no place for what the network does: the other GRU, a
        projection, peepholes, a cell clip. The message says why.
    TypeError
        Arrays that are not of one floating dtype; a setting of the wrong type.

    Examples
    --------
    >>> lstm = {"weight_ih_l0": np.zeros((8, 3)), "weight_hh_l0": np.zeros((8, 2))}
    >>> {name: a.shape for name, a in convert(lstm, "keras").arrays.items()}
    {'kernel': (3, 8), 'recurrent_kernel': (2, 8)}
    """
    target = find(to)
    if not isinstance(arrays, Mapping):
        raise TypeError(f"convert: arrays is a {type(arrays).__name__}\n  expected a dict of name -> array")
    named = {
        key.removeprefix(prefix): as_array("convert", key, a) for key, a in arrays.items() if key.startswith(prefix)
    }
    if not named:
        raise ValueError(
            f"convert: no array's name begins with {prefix!r}\n  expected one of {', '.join(arrays) or 'no arrays'}"
        )
    _refuse_own_cell(named)
    reading, writing = _settings(Settings(**settings), from_metadata(metadata or {}))
    layout = _source(named, source, metadata or {})
    weights = layout.read(named, reading)
    reading.merged(facts(weights), "the settings or the file's metadata", "the arrays")
    notes = _notes_of_reading(layout, named, reading)
    if target.one_bias and not layout.one_bias:
        notes += _lost_split(weights)
    return _write(weights, target, writing, layout.full_name(weights.rnn_mode), notes)


def convert_weights(weights: NetworkWeights, to: str, source: str = "hub", **settings: Any) -> Converted:
    """Convert weights from minirnn's common layout to the layout `to`. Raises what `convert` raises."""
    if not isinstance(weights, NetworkWeights):
        raise TypeError(
            f"convert_weights: got a {type(weights).__name__}\n"
            "  expected NetworkWeights, such as convert(...).weights\n"
            "  convert takes arrays by name"
        )
    given = Settings(**settings)
    given.merged(facts(weights), "the settings", "the weights")
    return _write(weights, find(to), given, source, ())


def _settings(given: Settings, passport: Settings) -> tuple[Settings, Settings]:
    """The known facts about the source, and the requirements of the target."""
    mine, its = given.known(), passport.known()
    if "cell_clip" in mine:
        its.pop("cell_clip", None)  # only the user knows whether the clip was ever reached
    wanted = {name: mine[name] for name in ("forget_bias", "input_mode") if name in mine}
    for name in wanted.keys() & its.keys():
        del mine[name]  # if the passport describes the source, the settings of the user describe the target
    reading = Settings(**mine).merged(Settings(**its), "the settings", "the file's metadata")
    return reading, Settings(**reading.known() | wanted)


def _source(arrays: Mapping[str, np.ndarray], source: str | None, metadata: Mapping[str, str]) -> Layout:
    passport = metadata.get("minirnn.layout")
    if source is None:
        return guess(arrays) if passport is None else find(passport)
    layout = find(source)
    if passport is not None and find(passport) is not layout:
        raise ValueError(
            f"convert: source is {source!r}\n  but the file's metadata says {passport!r}\n"
            "  expected them to agree: leave source (--from) out"
        )
    return layout


def _write(weights: NetworkWeights, target: Layout, wanted: Settings, source: str, notes: tuple[str, ...]) -> Converted:
    target.check_holds(weights)
    arrays, beside = target.write(weights, wanted)
    full_name = target.full_name(weights.rnn_mode)
    metadata = {"minirnn.layout": full_name} | facts(weights).metadata() | beside.metadata()
    # copies, so that no memory is shared with the input
    arrays = {name: np.array(a, order="C") for name, a in arrays.items()}
    if beside.forget_bias is not None:
        notes += (f"to be run with forget_bias {beside.forget_bias:g} and cell_clip {beside.cell_clip:g}",)
    return Converted(arrays, metadata, source, full_name, weights, notes)


def _refuse_own_cell(arrays: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError for the state dict of a custom cell's layer: one `bias` next to a `weight_ih` or `weight_hh`."""
    for name in arrays:
        folder, dot, last = name.rpartition(".")
        part, suffix = last[:9], last[9:]
        if part in ("weight_ih", "weight_hh") and (bias := f"{folder}{dot}bias{suffix}") in arrays:
            raise ValueError(
                f"convert: {name} with {bias} belongs to a layer of a custom cell (mr.cell)\n"
                f"  expected weights of one of {', '.join(LAYOUTS)}: other libraries cannot hold a custom cell\n"
                "  another layer of the same cell takes them by load_state_dict"
            )


def _notes_of_reading(layout: Layout, arrays: Mapping[str, np.ndarray], known: Settings) -> tuple[str, ...]:
    notes = []
    own = layout.own(arrays)
    left = [name for name in arrays if name not in own]
    if left:
        notes.append(f"left out: {', '.join(left)}")
    folders = sorted(set(own.values()), key=natural)
    if len(folders) > 1 and not all(folder.startswith("layer_") for folder in folders):
        notes.append(f"taken as the layers of one network, in this order: {', '.join(folders)}")
    if layout.name == "tf.lstm_block_cell" and known.cell_clip is None:
        notes.append("cell_clip is not known and assumed to be off (the ops clip at 3 unless told otherwise)")
    return tuple(notes)


def _lost_split(weights: NetworkWeights) -> tuple[str, ...]:
    if weights.gru == "reset_after" or not any(np.any(layer.bR) for layer in weights.layers if layer.bR is not None):
        return ()
    return ("the two biases were added: outputs are equal, but the split is lost",)
