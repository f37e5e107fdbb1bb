"""Every optimizer of torch's database that minirnn has, with each of its settings: values, state, schedules, errors.

Tests `minirnn/optim/`. Documented differences are rows of docs/disagreements.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import minirnn as mr

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="could not import 'torch.testing', which needs expecttest")
import torch  # noqa: E402
from torch.testing._internal.common_optimizers import optim_db  # noqa: E402

from tests.each import each  # noqa: E402
from tests.peers.differences import is_documented  # noqa: E402
from tests.peers.samples import Difference, array, compare, is_own, leaves, to_minirnn  # noqa: E402

INFOS = {info.optim_cls.__name__: info for info in optim_db if hasattr(mr.optim, info.optim_cls.__name__)}
STEPS = 8


@pytest.fixture(params=[torch.float64, torch.float32], ids=str)
def dtype(request: pytest.FixtureRequest) -> Iterator[torch.dtype]:
    """The dtype of parameters, and of the products that NAdam and ASGD keep."""
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(torch.float32)


def closure_of(optimizer: Any, parameters: list[Any]) -> Any:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = sum((p * p * p * 0.3 + (p - 1) * (p - 1)).sum() for p in parameters)
        loss.backward()
        return loss

    return closure


def run(kind: str, kwargs: dict[str, Any], schedules: Any, dtype: torch.dtype) -> None:
    """Raise a `Difference` if parameters, state or step sizes differ in one of the steps."""
    generator = torch.Generator().manual_seed(0)
    theirs = [torch.randn(s, dtype=dtype, generator=generator).requires_grad_() for s in ((2, 3), (4,), ())]
    ours = to_minirnn(theirs)
    a, b = getattr(mr.optim, kind)(ours, **to_minirnn(kwargs)), INFOS[kind].optim_cls(theirs, **kwargs)
    pairs = [(make(mr, a), make(torch, b)) for make in schedules]
    tolerance = 1e-11 if dtype is torch.float64 else 1e-4 if kind == "LBFGS" else 1e-6
    for k in range(STEPS):
        a.step(closure_of(a, ours))
        b.step(closure_of(b, theirs))
        compare("value", ours, theirs, tolerance)
        for mine, other in pairs:
            values = [1.0 / (k + 1)] if "Plateau" in type(other).__name__ else []
            mine.step(*values)
            other.step(*values)
        compare("value", [g["lr"] for g in a.param_groups], [float(g["lr"]) for g in b.param_groups], 1e-12)
    for p, q in zip(ours, theirs, strict=True) if kind != "LBFGS" else []:
        assert set(a.state[p]) == set(b.state[q])
        for key, right in b.state[q].items():
            compare("state", array(a.state[p][key]).astype(array(right).dtype), right, tolerance)


@each("kind", INFOS)
def test_each_setting_of_torchs_database_gives_torchs_steps(kind: str, dtype: torch.dtype) -> None:
    for sample in INFOS[kind].optim_inputs_func("cpu"):
        try:
            run(kind, sample.kwargs, [], dtype)
        except Difference as difference:
            assert is_documented(kind, difference.args[0], str(sample.kwargs)), (sample.kwargs, difference.args)
        except (TypeError, ValueError) as error:
            assert is_own(error) and is_documented(kind, "refused", str(error)), (sample.kwargs, error)


def of_library(make: Any) -> Any:
    """A schedule of torch's database, made from the same arguments by either library."""

    def made(library: Any, optimizer: Any) -> Any:
        if library is torch:
            return make(optimizer)
        schedules = {name: getattr(mr.optim.lr_scheduler, name) for name in mr.optim.lr_scheduler.__all__}
        return type(make)(make.__code__, {**make.__globals__, **schedules})(optimizer)

    return made


@each("kind", INFOS)
def test_the_schedules_of_torchs_database_give_torchs_steps(kind: str, dtype: torch.dtype) -> None:
    for makers in INFOS[kind].scheduler_inputs if dtype is torch.float64 else []:
        run(kind, {"lr": 0.01}, [of_library(make) for make in makers], dtype)


def with_twins(value: Any, twins: dict[Any, Any]) -> Any:
    if isinstance(value, list):
        return [with_twins(v, twins) for v in value]
    if isinstance(value, dict):
        return {key: with_twins(v, twins) for key, v in value.items()}
    return twins.get(value, value)


@each("kind", INFOS)
def test_what_torchs_database_calls_an_error_is_refused_with_a_sentence(kind: str) -> None:
    for sample in INFOS[kind].optim_error_inputs_func("cpu", torch.float64):
        given = sample.optimizer_error_input
        twins = {p: to_minirnn(p) for p in leaves(given.params, torch.Tensor)}  # the same for the same
        with pytest.raises((TypeError, ValueError)) as error:
            getattr(mr.optim, kind)(with_twins(given.params, twins), **to_minirnn(given.kwargs)).step()
        assert is_own(error.value), (kind, given.desc, error.value)
