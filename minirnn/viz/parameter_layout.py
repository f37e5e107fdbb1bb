"""The contents of CudnnRNN's parameter buffer, in which every weight and bias has its place."""

from __future__ import annotations

import numpy as np

from minirnn.ops.cudnn_rnn.params import Network
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED
from minirnn.viz.picture import Picture, new_axes

NAMES = {"lstm": "LSTM", "gru": "GRU", "rnn_relu": "ReLU RNN", "rnn_tanh": "tanh RNN"}
GATE_COLORS = (BLUE, ORANGE, GREEN, PURPLE)


def parameter_buffer(
    num_layers: int,
    num_units: int,
    input_size: int,
    *,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    num_proj: int = 0,
) -> Picture:
    """Draw the flat parameter buffer of a CudnnRNN network.

    Each row is one layer and direction. In memory, the biases come after the weights of all layers. The width of a
    block is its share of the elements, and its color shows the gate. Blocks that read the input of the layer are
    filled, those that read the previous state are hatched, and biases are outlined.

    Parameters
    ----------
    num_layers, num_units, input_size, rnn_mode, input_mode, direction, num_proj
        The network, as for `minirnn.ops.cudnn_rnn_params_size`.

    Returns
    -------
    Picture
        ``data``: name, offset and size of each block, in the order of memory. ``artists``: a rectangle by name.
    """
    net = Network(rnn_mode, num_layers, num_units, input_size, direction, input_mode, num_proj, op="parameter_buffer")
    blocks = [*net.weights, *net.biases]
    gates = {"lstm": ("i", "f", "n", "o"), "gru": ("r", "z", "n")}.get(rnn_mode, ("h",))
    G = len(gates)
    rows = num_layers * net.D
    ax = new_axes(10, 1.6 + 0.55 * rows)
    artists = {}
    meaning: dict[str, str] = {}  # letter of a gate -> its color
    written: set[str] = set()
    per_row = len(net.weights) // rows
    for k, block in enumerate(blocks):
        is_bias = k >= len(net.weights)
        row, inside = divmod(k - len(net.weights), 2 * G) if is_bias else divmod(k, per_row)
        size = int(np.prod(block.shape))
        projection = not is_bias and inside == 2 * G
        color = RED if projection else GATE_COLORS[inside % G]
        recurrent = inside >= G and not projection
        artists[block.name] = ax.barh(
            rows - 1 - row, size, left=block.offset, height=0.72,
            facecolor="white" if is_bias else color, edgecolor=color if is_bias else "white",
            linewidth=1.2, hatch="///" if recurrent and not is_bias else None,
        )[0]  # fmt: skip
        letter = "P" if projection else gates[inside % G]
        meaning[letter] = color
        if size > 0.035 * net.size:
            written.add(letter)
            ax.text(block.offset + size / 2, rows - 1 - row, letter, ha="center", va="center", fontsize=9,
                    color="white" if not is_bias else color, fontweight="bold",
                    bbox={"facecolor": "white" if is_bias else color, "edgecolor": "none", "pad": 1.5})  # fmt: skip
    directions = ("forward", "backward") if net.D == 2 else ("",)
    labels = [f"layer {row // net.D}" + (f"\n{directions[row % net.D]}" if net.D == 2 else "") for row in range(rows)]
    ax.set_yticks(range(rows - 1, -1, -1), labels)
    first_bias = net.biases[0].offset
    ax.axvline(first_bias, color=GRAY, linestyle="--", linewidth=1)
    ax.set_xlim(0, net.size)
    ax.set_xlabel(
        f"place in the buffer of {net.size:,} numbers  biases from {first_bias:,} on\n"
        "solid: matrices of the input  hatched: matrices of the state  outlined: biases"
    )
    if written != meaning.keys():  # blocks too narrow for their letters
        ax.legend(
            [ax.barh(0, 0, color=color) for color in meaning.values()], meaning.keys(), loc="lower left", frameon=False
        )
    layers = "layers" if num_layers > 1 else "layer"
    ax.set_title(f"The parameter buffer of {num_layers} {NAMES[rnn_mode]} {layers}, {num_units} units")
    data = {
        "name": np.array([b.name for b in blocks]),
        "offset": np.array([b.offset for b in blocks]),
        "size": np.array([int(np.prod(b.shape)) for b in blocks]),
    }
    return Picture(ax, artists, data)
