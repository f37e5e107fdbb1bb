"""BatchNorm1d and F.batch_norm against torch: values, gradients, running statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close
from tests.nn.against import alike

SHAPES = [(5, 3), (5, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"momentum": None, "eps": 0.1}, {"affine": False}, {"bias": False}, {"track_running_stats": False}],
    ids=str,
)
def test_it_is_torchs_while_training_and_afterwards(
    rng: np.random.Generator, shape: tuple[int, ...], options: dict[str, Any], device: str
) -> None:
    torch = pytest.importorskip("torch")
    ours = mr.nn.BatchNorm1d(3, **options, device=device, dtype="float64")
    try:
        theirs = torch.nn.BatchNorm1d(3, **options, dtype=torch.float64)
    except TypeError:
        pytest.skip("this torch has no bias=")
    for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
        p.assign(rng.normal(size=3))
        q.data = torch.tensor(p.numpy().copy())
    for _ in range(3):
        alike(ours, theirs, rng, rng.normal(size=shape), device=device)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    for name, value in ours.state_dict().items():
        assert_close(value, state[name].numpy(), what=name)
    ours.eval(), theirs.eval()
    alike(ours, theirs, rng, rng.normal(size=shape), device=device)
    theirs.load_state_dict({name: torch.tensor(value) for name, value in ours.state_dict().items()})
    ours.load_state_dict(theirs.state_dict())
    ours.reset_parameters()
    assert all(value.sum() in (0, 3) for value in ours.state_dict().values())


def test_its_derivatives_are_right_to_second_order(rng: np.random.Generator) -> None:
    x, w, b = (mr.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((4, 2, 3), (2,), (2,)))
    assert mr.gradcheck(lambda *a: F.batch_norm(a[0], None, None, a[1], a[2], True), [x, w, b], order=2)


def test_float16_is_computed_in_float32(rng: np.random.Generator) -> None:
    x = (100 + rng.normal(size=(64, 2))).astype(np.float16)
    y = F.batch_norm(mr.tensor(x), None, None, training=True)
    wide = F.batch_norm(mr.tensor(x.astype(np.float64)), None, None, training=True)
    assert y.dtype == np.float16
    assert_close(y.numpy().astype(np.float64), wide, 2e-3, "float16: half the spacing of numbers around 3")
