"""Every module of torch's database that minirnn has, with torch's samples: outputs, derivatives, buffers.

Tests `minirnn/nn/`. Documented differences are rows of docs/disagreements.md.
"""

from __future__ import annotations

from typing import Any

import pytest

import minirnn as mr

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="could not import 'torch.testing', which needs expecttest")
import torch  # noqa: E402
from torch.testing._internal.common_modules import module_db  # noqa: E402

from tests.peers.differences import is_documented  # noqa: E402
from tests.peers.samples import Difference, compare, outcome, to_minirnn  # noqa: E402

INFOS = {info.module_cls.__name__: info for info in module_db if hasattr(mr.nn, info.module_cls.__name__)}


def both(info: Any, sample: Any, dtype: torch.dtype, training: bool) -> tuple[Any, Any]:
    """minirnn's and torch's module of a sample, with the same parameters."""
    args, kwargs = sample.constructor_input.args, sample.constructor_input.kwargs
    theirs = info.module_cls(*args, **kwargs).to(dtype).train(training)
    ours = getattr(mr.nn, info.module_cls.__name__)(*to_minirnn(args), **to_minirnn(kwargs))
    ours = ours.to(to_minirnn(dtype)).train(training)
    ours.load_state_dict(to_minirnn(theirs.state_dict()))
    return ours, theirs


@pytest.mark.parametrize("name", INFOS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_torchs_samples_give_torchs_outputs_gradients_and_buffers(name: str, dtype: torch.dtype) -> None:
    info, found = INFOS[name], []
    order = 2 if dtype is torch.float64 and info.supports_gradgrad else 1
    for training in (True, False) if info.train_and_eval_differ or "RNN" in name else (True,):
        for sample in info.module_inputs_func(info, "cpu", dtype, True, training):
            call = sample.forward_input
            if call is None:
                continue
            ours, theirs = both(info, sample, dtype, training)
            parameters = list(ours.parameters()), list(theirs.parameters())
            kind, text = outcome(ours, theirs, call.args, call.kwargs, order, parameters=parameters)
            try:
                if kind == "same":
                    compare("value", list(ours.buffers()), list(theirs.buffers()))
            except Difference as difference:
                kind, text = difference.args
            given = f"{dtype} {text} {sample.constructor_input.args} {sample.constructor_input.kwargs}"
            if kind != "same" and not is_documented(name, kind, given):
                found.append(f"{name} {kind} {given}")
    assert not found, "\n".join(found)[:3000]


@pytest.mark.parametrize("name", [name for name, info in INFOS.items() if info.module_error_inputs_func])
def test_what_torchs_database_calls_an_error_ends_with_a_sentence(name: str) -> None:
    info = INFOS[name]
    for wrong in info.module_error_inputs_func(info, "cpu", torch.float64, False, True):
        sample = wrong.module_error_input

        def run(*args: Any, sample: Any = sample, **kwargs: Any) -> Any:
            made = getattr(mr.nn, name)(*to_minirnn(sample.constructor_input.args), **sample.constructor_input.kwargs)
            return made.to("float64")(*args, **kwargs)

        call = sample.forward_input
        args, kwargs = (call.args, call.kwargs) if call else ((), {})
        kind, text = outcome(run, lambda *args, **kwargs: None, args, kwargs)
        kind = "accepted" if kind == "structure" else kind  # a result, where torch has none
        given = f"{text} {sample.constructor_input.args} {sample.constructor_input.kwargs}"
        assert kind == "refused" or is_documented(name, kind, given), (sample.desc, kind, text)
