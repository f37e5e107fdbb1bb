"""Conv1d and F.conv1d against torch, for all options of stride, padding and dilation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.nn.against import alike

OPTIONS: list[dict[str, Any]] = [
    {},
    {"stride": 2, "padding": 3},
    {"dilation": 2, "padding": "same"},
    {"padding": "valid", "stride": (4,)},
    {"groups": 2, "stride": (3,), "padding": 1},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_it_is_torchs(rng: np.random.Generator, options: dict[str, Any], batch: tuple[int, ...], device: str) -> None:
    torch = pytest.importorskip("torch")
    w = rng.normal(size=(6, 4 // options.get("groups", 1), 3))
    arrays = rng.normal(size=(*batch, 4, 11)), w, rng.normal(size=6)
    ours, theirs = (
        lambda f: lambda x, w, b: f(x, w, b, **options),
        torch.nn.functional.conv1d,
    )
    alike(ours(F.conv1d), lambda x, w, b: theirs(x, w, b, **options), rng, *arrays, device=device)


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
def test_the_module_pads_as_torchs(rng: np.random.Generator, mode: str) -> None:
    torch = pytest.importorskip("torch")
    options = {"padding": 2, "dilation": 2, "groups": 2, "padding_mode": mode, "bias": mode != "reflect"}
    ours = mr.nn.Conv1d(4, 6, 3, **options, dtype="float64")
    theirs = torch.nn.Conv1d(4, 6, 3, **options, dtype=torch.float64)
    ours.load_state_dict(theirs.state_dict())
    assert str(ours) == str(theirs)
    alike(ours, theirs, rng, rng.normal(size=(2, 4, 9)))


def test_initial_values_are_bounded_by_the_fan_in() -> None:
    mr.manual_seed(0)
    conv = mr.nn.Conv1d(8, 50, 5, groups=2)
    conv.reset_parameters()
    for p in conv.parameters():
        assert 0.8 / 20**0.5 < abs(p).max().item() <= 1 / 20**0.5
