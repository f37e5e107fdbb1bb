"""LBFGS and ASGD against torch. Tests `lbfgs.py`, `line_search.py` and `asgd.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.optim.line_search import Point, strong_wolfe


def losses(lib: Any, a: Any, b: Any, optimizer: Any, steps: int) -> list[float]:
    """A valley that bends, of two parameters; the loss of each call of the closure."""
    found = []

    def closure() -> Any:
        optimizer.zero_grad()
        z = a.reshape(2, 3)
        loss = ((b - z * z) ** 2).sum() * 3 + ((1 - a) ** 2).sum() + ((a[1:] - a[:-1] ** 2) ** 2).sum() * 10
        loss.backward()
        found.append(loss.item())
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return found


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({"lr": 0.05, "history_size": 3}, 3),
        ({"lr": 0.02, "max_iter": 4}, 5),
        ({"line_search_fn": "strong_wolfe"}, 3),
        ({"line_search_fn": "strong_wolfe", "history_size": 2, "max_eval": 7}, 4),
        ({"line_search_fn": "strong_wolfe", "lr": 40.0, "tolerance_grad": 1e-2, "tolerance_change": 1e-4}, 8),
    ],
    ids=str,
)
def test_lbfgs_calls_its_closure_where_torchs_does(
    rng: np.random.Generator, options: dict[str, Any], steps: int
) -> None:
    torch = pytest.importorskip("torch")
    a, b = rng.normal(size=6), 2 * rng.normal(size=(2, 3))
    ours, theirs = [mr.nn.Parameter(v) for v in (a, b)], [torch.nn.Parameter(torch.tensor(v)) for v in (a, b)]
    mine, other = mr.optim.LBFGS(ours, **options), torch.optim.LBFGS(theirs, **options)
    found, expected = losses(mr, *ours, mine, steps), losses(torch, *theirs, other, steps)
    n = min(len(expected), 25)  # each step magnifies the rounding of those before
    assert len(found) >= n
    np.testing.assert_allclose(found[:n], expected[:n], rtol=1e-6, atol=1e-12)
    assert {k: v for k, v in mine.param_groups[0].items() if k != "params"} == {
        k: v for k, v in other.param_groups[0].items() if k != "params"
    }


def test_lbfgs_goes_on_from_its_state(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=6), 2 * rng.normal(size=(2, 3))
    one, two = ([mr.nn.Parameter(v) for v in (a, b)] for _ in range(2))
    whole, first = (mr.optim.LBFGS(ps, line_search_fn="strong_wolfe", max_iter=4) for ps in (one, two))
    expected = losses(mr, *one, whole, 4)
    found = losses(mr, *two, first, 2)
    second = mr.optim.LBFGS(two)
    second.load_state_dict(first.state_dict())
    assert found + losses(mr, *two, second, 2) == expected


def test_a_line_search_ends_at_the_strong_wolfe_conditions() -> None:
    def at(t: float) -> Point:
        loss, slope = (t - 3) ** 4 + np.sin(3 * t), 4 * (t - 3) ** 3 + 3 * np.cos(3 * t)
        return Point(t, float(loss), mr.tensor([slope]), float(slope))

    start = at(0.0)
    for t in (1e-3, 0.3, 1.0, 5.0, 40.0):
        found, calls = strong_wolfe(at, t, start, 1.0)
        assert found.loss <= start.loss + 1e-4 * found.t * start.slope and abs(found.slope) <= -0.9 * start.slope
        assert calls <= 26


def test_asgd_is_torchs_and_takes_its_state(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    options = {"lr": 0.1, "lambd": 0.02, "alpha": 0.6, "t0": 3, "weight_decay": 0.1, "maximize": True}
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # else torch keeps eta and mu in float32
    try:
        a = rng.normal(size=(2, 3))
        p, q = mr.nn.Parameter(a), torch.nn.Parameter(torch.tensor(a))
        ours, theirs = mr.optim.ASGD([p], **options), torch.optim.ASGD([q], **options)
        for k in range(8):
            if k == 5:
                saved = ours.state_dict(layout="torch")
                ours.load_state_dict(theirs.state_dict())
                theirs.load_state_dict(saved)
            for optimizer, x in ((ours, p), (theirs, q)):
                optimizer.zero_grad()
                (x**3).sum().backward()
                optimizer.step()
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-12)
        np.testing.assert_allclose(ours.state[p]["ax"].numpy(), theirs.state[q]["ax"].numpy(), rtol=1e-12)
    finally:
        torch.set_default_dtype(before)
