from __future__ import annotations

import numpy as np
import pytest

from minirnn.io import convert
from tests.io.layouts.cases import H, I, Kind, start

LSTM = Kind("lstm", None, 1, 1)


def same(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> bool:
    return got.keys() == expected.keys() and all(np.array_equal(got[key], expected[key]) for key in got)


def test_the_input_mode_is_that_of_the_target_and_tells_nothing_of_the_source(rng: np.random.Generator) -> None:
    _, torch, _ = start(rng, LSTM)
    identity = dict(torch, weight_ih_l0=np.tile(np.eye(H, dtype=np.float32), (4, 1)))
    whole = convert(identity, "cudnn.params")
    assert whole.metadata["minirnn.input_mode"] == "linear_input"
    without = convert(identity, "cudnn.params", input_mode="skip_input")
    assert without.arrays["params"].size == whole.arrays["params"].size - 4 * H * H
    assert same(convert(without.arrays, "torch.nn", metadata=without.metadata).arrays, identity)


def test_one_buffer_of_one_axis_is_read_whatever_folder_it_is_in(rng: np.random.Generator) -> None:
    kind = Kind("gru", "reset_after", 1, 1)
    _, torch, _ = start(rng, kind)
    params = convert(torch, "cudnn.params").arrays["params"]
    known = {"rnn_mode": "gru", "num_layers": 1, "num_units": H, "input_size": I}
    other = {"model/bias": np.zeros(3, np.float32)}
    got = convert({"model/rnn/params": params} | other, "torch.nn", source="cudnn.params", **known)
    assert same(got.arrays, torch) and got.notes == ("left out: model/bias",)
    for wrong in ({"params": params[None]}, {"a/params": params, "b/params": params}):
        with pytest.raises(ValueError, match="expected one array called params"):
            convert(wrong, "torch.nn", source="cudnn.params", **known)
