"""torch's `save` and `load`: dicts, lists and tuples of arrays, numbers and texts.

Tests `minirnn/io/arrays.py`.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.io import checkpoint


def test_a_checkpoint_as_programs_write_it_comes_back(tmp_path: Path, rng: np.random.Generator) -> None:
    net = mr.nn.LSTM(2, 3)
    optimizer = mr.optim.Adam(net.parameters(), lr=0.1)
    net(mr.tensor(rng.normal(size=(4, 1, 2)), dtype=np.float32))[0].sum().backward()
    optimizer.step()
    loss = mr.tensor(2.5)
    mr.save(
        {
            "epoch": 3,
            "model": net.state_dict(),
            "optimizer": optimizer.state_dict(),
            "loss": loss,
            "best": np.float64(0.1),
        },
        tmp_path / "run.pt",
    )
    found = mr.load(tmp_path / "run.pt", map_location="cpu", weights_only=True)
    assert found["epoch"] == 3 and type(found["loss"]) is mr.Tensor and found["loss"].item() == 2.5
    assert type(found["best"]) is np.float64 and found["best"] == 0.1
    other = mr.nn.LSTM(2, 3)
    again = mr.optim.Adam(other.parameters(), lr=1.0)
    other.load_state_dict(found["model"])
    again.load_state_dict(found["optimizer"])
    assert again.param_groups[0]["lr"] == 0.1
    for p, q in zip(net.parameters(), other.parameters(), strict=True):
        assert mr.equal(p, q)
        np.testing.assert_array_equal(again.state[q]["exp_avg"], optimizer.state[p]["exp_avg"])


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": [1, 2.5, ("x", None, True)], 3: {"": float("inf")}},
        [np.arange(3), {"b": np.zeros((0, 2), np.int8)}],
        {"a": {"b": np.ones(1)}, "a.b": np.zeros(2)},
        np.float32(1.5),
        {},
    ],
    ids=str,
)
def test_what_is_saved_comes_back(value: Any) -> None:
    file = io.BytesIO()
    mr.save(value, file)
    file.seek(0)
    found = mr.load(file)
    assert type(found) is type(value) or isinstance(found, np.ndarray)
    np.testing.assert_equal(found, value)


def test_a_state_dict_is_a_plain_file_of_arrays(tmp_path: Path) -> None:
    net = mr.nn.Linear(2, 3)
    with open(tmp_path / "net.pt", "wb") as file:
        mr.save(net.state_dict(), file)
    arrays, metadata = checkpoint.load(tmp_path / "net.pt")
    assert sorted(arrays) == ["bias", "weight"] and metadata == {}
    with open(tmp_path / "net.pt", "rb") as file:
        mr.nn.Linear(2, 3).load_state_dict(mr.load(file))


def test_invalid_data_is_rejected_with_its_place(tmp_path: Path) -> None:
    for value, message in (
        (mr.nn.Linear(2, 3), r"save: got a Linear\n.*\n  likely its state_dict\(\) is meant"),
        ({"net": [mr.nn.Linear(2, 3)]}, r"save: got a Linear at 'net.0'"),
        ({"f": print}, r"save: got a builtin_function_or_method at 'f'\n  expected arrays, numbers and texts"),
        ({(1, 2): print}, "save: got a builtin_function_or_method"),
    ):
        with pytest.raises(TypeError, match=message):
            mr.save(value, tmp_path / "file")
    assert not (tmp_path / "file").exists()


def test_a_damaged_open_file_is_named() -> None:
    with pytest.raises(ValueError, match="checkpoint 'an open file': 0 bytes"):
        mr.load(io.BytesIO())
