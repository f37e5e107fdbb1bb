"""The arguments of `Module.to`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.nn.to_arguments import destination

CPU = mr.devices.get("cpu")
F8 = np.dtype(np.float64)


@pytest.mark.parametrize(
    ("args", "place", "dtype", "expected"),
    [
        (("cpu",), None, None, (CPU, None)),
        ((CPU,), None, None, (CPU, None)),
        ((np.float64,), None, None, (None, F8)),
        (("float64",), None, None, (None, F8)),
        ((F8,), None, None, (None, F8)),
        (("cpu", F8), None, None, (CPU, F8)),
        ((F8,), "cpu", None, (CPU, F8)),
        ((), "cpu", "f8", (CPU, F8)),
        ((mr.tensor(np.ones(2)),), None, None, (CPU, F8)),
    ],
)
def test_a_destination_is_understood(args: Any, place: Any, dtype: Any, expected: Any) -> None:
    assert destination(args, place, dtype) == expected


def test_only_what_changes_is_made_anew(composed_device: str) -> None:
    net = nn.Identity()
    net.register_buffer("mean", mr.tensor(np.array([1.0, 2.0])))
    net.register_buffer("count", mr.tensor([3]))
    net.register_buffer("none", None)
    net.scale = nn.Parameter([1.0])
    mean, count = net.mean, net.count
    assert net.to("cpu").mean is mean and net.to(np.float64).mean is mean
    array = net.float().scale.array
    net.float()
    assert net.count is count
    assert net.scale.array is array
    assert (net.mean.dtype, net.mean.device) == (np.float32, "cpu")
    net.to(composed_device)
    assert (net.mean.dtype, net.mean.device, net.mean.tolist()) == (np.float32, composed_device, [1, 2])
    assert (net.count.dtype, net.count.device) == (np.int64, composed_device)
    assert (net.scale.dtype, net.scale.device) == (np.float32, composed_device)
    net.to("cpu", np.float16)
    assert (net.mean.dtype, net.mean.device) == (np.float16, "cpu")
    assert (net.scale.dtype, net.scale.device) == (np.float16, "cpu")
    assert net.none is None
