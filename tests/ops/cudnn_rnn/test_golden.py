"""The CudnnRNN ops against stored values of torch in float64: raw ops and through the tape.

Tests `minirnn/ops/cudnn_rnn/versions.py` and `minirnn/ops/cudnn_rnn/calls.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.ops.cudnn_rnn.cudnn_cases import FILES, OUTPUTS, STATE, forward, lengths_of, load

# float64: 1e-11 of sums of up to T * B = 30 rows; float32 the same sums with 2^-24 an operation
TOLERANCES = {"f8": 1e-11, "f4": 3e-5}


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest) -> Any:
    path: Path = request.param
    return load(path)


@pytest.fixture(params=list(TOLERANCES))
def dtype(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def tensors(case: dict[str, Any], dtype: str, device: str, requires_grad: bool = False) -> list[mr.Tensor]:
    return [mr.tensor(case[name].astype(dtype), requires_grad, device) for name in STATE]


def close(name: str, got: Any, case: dict[str, Any], dtype: str) -> None:
    got = np.asarray(got)
    assert got.dtype == dtype
    assert got.shape == case[name].shape, name
    np.testing.assert_allclose(got, case[name], rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype], err_msg=name)


def upstream(case: dict[str, Any], lstm: bool, dtype: str, device: str) -> list[mr.Tensor]:
    names = OUTPUTS if lstm else OUTPUTS[:2]
    return [mr.tensor(case[f"{name}_backprop"].astype(dtype), device=device) for name in names]


def test_there_are_golden_files_of_every_kind() -> None:
    names = " ".join(path.stem for path in FILES)
    assert len(FILES) >= 60
    for kind in (
        "lstm",
        "gru",
        "rnn_relu",
        "rnn_tanh",
        "bi_l2",
        "len",
        "skip",
        "proj",
        "auto",
        "batchmajor",
        "dropmask",
    ):
        assert kind in names


def test_forward_equals_torch(golden: Any, dtype: str, device: str) -> None:
    attributes, case = golden
    y = forward(attributes, case, tensors(case, dtype, device))
    for name in OUTPUTS:
        close(name, getattr(y, name), case, dtype)
    assert y.host_reserved.dtype == np.int8 and y.host_reserved.shape == ((2,) if attributes["is_training"] else (0,))


def test_raw_backprop_equals_torch(golden: Any, dtype: str, device: str) -> None:
    attributes, case = golden
    if not attributes["is_training"]:
        return  # these files hold no gradients
    inputs = tensors(case, dtype, device)
    y = forward(attributes, case, inputs)
    gradients = [mr.tensor(case[f"{name}_backprop"].astype(dtype), device=device) for name in OUTPUTS]
    chosen = {
        name: attributes[name]
        for name in ("rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2", "num_proj", "time_major")
    }
    found = ops.cudnn_rnn_backprop_v3(
        *inputs, lengths_of(attributes, case), *y[:3], *gradients, y.reserve_space, y.host_reserved, **chosen
    )
    for name in found._fields:
        close(name, getattr(found, name), case, dtype)


def test_gradients_through_the_tape_equal_torch(golden: Any, dtype: str, device: str) -> None:
    attributes, case = golden
    if not attributes["is_training"]:
        return
    inputs = tensors(case, dtype, device, requires_grad=True)
    y = forward(attributes, case, inputs)
    lstm = attributes["rnn_mode"] == "lstm"
    outputs = list(y[:3] if lstm else y[:2])
    wanted = inputs if lstm else [inputs[0], inputs[1], inputs[3]]
    names = STATE if lstm else (STATE[0], STATE[1], STATE[3])
    found = mr.grad(outputs, wanted, upstream(case, lstm, dtype, device))
    for name, g in zip(names, found, strict=True):
        close(f"{name}_backprop", g, case, dtype)


@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_give_the_same(golden: Any, version: int, device: str) -> None:
    attributes, case = golden
    if attributes["op"] != "CudnnRNN":
        return  # lengths, projection and batch-major are V3's alone
    inputs = tensors(case, "f8", device)
    y = forward(attributes, case, inputs, version)
    for name in OUTPUTS:
        close(name, getattr(y, name), case, "f8")
    if not attributes["is_training"]:
        return
    gradients = [mr.tensor(case[f"{name}_backprop"], device=device) for name in OUTPUTS]
    chosen = {name: attributes[name] for name in ("rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2")}
    backprop = ops.cudnn_rnn_backprop if version == 1 else ops.cudnn_rnn_backprop_v2
    found = backprop(*inputs, *y[:3], *gradients, *y[3:], **chosen)
    for name in found._fields:
        close(name, getattr(found, name), case, "f8")
