import numpy as np
import pytest

import minirnn as mr
from minirnn.viz import parameter_buffer


@pytest.mark.parametrize(
    ("mode", "direction", "input_mode"),
    [
        ("lstm", "unidirectional", "linear_input"),
        ("gru", "bidirectional", "skip_input"),
        ("rnn_tanh", "bidirectional", "linear_input"),
        ("lstm", "unidirectional", "skip_input"),
    ],
)
def test_the_blocks_fill_the_buffer_without_gaps(mode, direction, input_mode):
    sizes = (2, 5, 5)
    picture = parameter_buffer(*sizes, rnn_mode=mode, direction=direction, input_mode=input_mode)
    offset, size = picture.data["offset"], picture.data["size"]
    order = np.argsort(offset, kind="stable")
    filled = [k for k in order if size[k]]
    assert offset[filled[0]] == 0
    np.testing.assert_array_equal(offset[filled][1:], (offset + size)[filled][:-1])
    total = mr.ops.cudnn_rnn_params_size(*sizes, rnn_mode=mode, direction=direction, input_mode=input_mode)
    assert (offset + size)[filled[-1]] == total
    assert len(set(picture.data["name"])) == len(picture.data["name"]) == len(picture.artists)


def test_rectangles_lie_where_the_blocks_are_and_rows_are_layers():
    picture = parameter_buffer(2, 4, 3, direction="bidirectional", num_proj=2)
    for name, offset, size in zip(*(picture.data[k] for k in ("name", "offset", "size")), strict=True):
        rectangle = picture.artists[name]
        assert (rectangle.get_x(), rectangle.get_width()) == (offset, size), name
    rows = [label.get_text() for label in picture.ax.get_yticklabels()]
    assert rows == ["layer 0\nforward", "layer 0\nbackward", "layer 1\nforward", "layer 1\nbackward"]
    assert "biases from" in picture.ax.get_xlabel()


def test_gates_whose_blocks_are_too_narrow_for_a_letter_are_explained_beside():
    narrow = parameter_buffer(4, 64, 32, direction="bidirectional", num_proj=16).ax.get_legend()
    assert [text.get_text() for text in narrow.get_texts()] == ["i", "f", "n", "o", "P"]
    assert parameter_buffer(1, 5, 3).ax.get_legend() is None
