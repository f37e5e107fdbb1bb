"""torch's `save` and `load`: dicts, lists and tuples of arrays, numbers and texts.

Tests `minirnn/io/arrays.py`.
"""

import io
import warnings
from pathlib import Path
from typing import Any, NamedTuple

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


def there_and_back(value: Any) -> Any:
    file = io.BytesIO()
    mr.save({"state": value}, file)
    file.seek(0)
    return mr.load(file)["state"]


def test_named_tuples_of_minirnn_come_back_as_what_they_were(rng: np.random.Generator) -> None:
    def draw(*shape: int) -> mr.Tensor:
        return mr.tensor(rng.normal(size=shape), dtype=np.float32)

    packed = mr.nn.utils.rnn.pack_sequence([draw(3, 2), draw(1, 2)])
    lstm, cell = mr.nn.LSTM(2, 3), mr.nn.LSTMBlockCell(3, 2)
    pairs = [mr.nn.LSTMState(c=draw(1, 4, 3), h=draw(1, 4, 3)), mr.nn.LSTMHidden(draw(1, 4, 3), draw(1, 4, 3))]
    for value in (*pairs, packed, draw(2, 3).sort(), (packed, pairs)):
        found = there_and_back(value)
        assert type(found) is type(value)
        if hasattr(value, "_fields"):
            for old, new in zip(value, found, strict=True):
                np.testing.assert_array_equal(*(np.nan if t is None else t.numpy() for t in (old, new)))
    x = draw(5, 4, 2)
    for state in pairs:
        np.testing.assert_array_equal(lstm(x, state)[0].numpy(), lstm(x, there_and_back(state))[0].numpy())
        one = type(state)(*[t[0] for t in state])
        np.testing.assert_array_equal(cell(x[0], one)[0].numpy(), cell(x[0], there_and_back(one))[0].numpy())


def test_the_states_of_an_own_layer_come_back_with_their_names() -> None:
    @mr.cell(states=("slow", "h"))
    def leaky(z_a, slow, h):  # type: ignore[no-untyped-def]
        slow = 0.9 * slow + 0.1 * h
        return slow, mr.tanh(z_a + slow)

    layer = leaky.layer(2, 3)
    states = layer(mr.ones(4, 1, 2))[1]
    found = there_and_back(states)
    assert type(found) is type(states)
    np.testing.assert_array_equal(found.slow.numpy(), states.slow.numpy())


def test_other_named_tuples_are_refused() -> None:
    class Mine(NamedTuple):
        c: float
        h: float

    class Derived(mr.nn.LSTMState):
        pass

    for value in (Mine(1.0, 2.0), Derived(mr.ones(1), mr.ones(1))):
        with pytest.raises(
            TypeError, match=rf"save: got a {type(value).__name__} at 'state'\n.*\n  likely tuple\(value\)"
        ):
            there_and_back(value)


def test_a_pair_of_an_older_file_is_read_with_a_warning() -> None:
    arrays = {"state.0": np.zeros((1, 2)), "state.1": np.ones((1, 2)), "other.0": np.zeros(3), "other.1": np.ones(4)}
    pair = {key: {"tuple": [{"tensor": f"{key}.0"}, {"tensor": f"{key}.1"}]} for key in ("other", "state")}
    for keys, warned in (("other", "state"), True), (("other",), False):
        file = io.BytesIO()
        structure = {"dict": [[{"plain": key}, pair[key]] for key in keys]}
        checkpoint.save(file, arrays, {"minirnn.structure": structure})
        file.seek(0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert type(mr.load(file)[keys[-1]]) is tuple
        assert [str(w.message).splitlines()[0][:49] for w in caught] == (
            ["load: the file has a pair without names at 'state'"[:49]] if warned else []
        )


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
