"""Every function of torch's database that minirnn has, with torch's samples: values, dtypes, two derivatives.

Tests `minirnn/ops/`, `minirnn/nn/functional/` and `minirnn/engine/` as functions, methods, methods that write in place,
operators, and by the names of torch's arguments. Documented differences are rows of docs/disagreements.md.
"""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minirnn as mr

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="could not import 'torch.testing', which needs expecttest")
import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from tests.peers.differences import is_documented  # noqa: E402
from tests.peers.samples import leaves, outcome, with_minirnn  # noqa: E402

MANY = 6  # samples of a function and dtype; and every ninth of the others, up to as many again
LARGE = 3000  # elements
RANDOM = {"rand_like", "randn_like", "randint", "randn", "empty"}
RANDOM |= {"bernoulli", "multinomial", "nn.functional.dropout"}
DTYPES = [torch.float64, torch.float32, torch.int64, torch.uint8, torch.bool, torch.float16]
PARAMETERS = torch.overrides.get_testing_overrides()

Call = Callable[..., Any]


def find(root: Any, name: str) -> Any:
    try:
        return operator.attrgetter(name)(root)
    except AttributeError:
        return None


OPS = {
    f"{op.name}, {op.variant_test_name}" if op.variant_test_name else op.name: op
    for op in op_db
    if find(mr, op.name) is not None or find(mr.Tensor, op.name) is not None
}


def method(name: str) -> Call:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def in_place(name: str) -> Call:
    return lambda x, *args, **kwargs: getattr(x.clone(), name)(*args, **kwargs)


def forms(op: Any) -> Iterator[tuple[str, Call, Call]]:
    """The ways to call an op: what each is called, minirnn's and torch's."""
    if isinstance(op.op, types.FunctionType) and op.op.__name__ == "<lambda>":
        yield "function", with_minirnn(op.op), op.op
    elif callable(mine := find(mr, op.name)):
        yield "function", mine, op.op
    else:
        yield "method", method(op.name), op.op
        return
    if op.method_variant and find(mr.Tensor, op.name) and not isinstance(op.method_variant, types.LambdaType):
        yield "method", method(op.name), method(op.name)
    if op.inplace_variant and find(mr.Tensor, op.name + "_"):
        yield "in place", in_place(op.name + "_"), in_place(op.name + "_")
    if op.operator_variant:
        yield "operator", op.operator_variant, op.operator_variant


def picked(op: Any, dtype: torch.dtype, requires_grad: bool) -> Iterator[Any]:
    """Some samples, evenly from all kinds; the special values of elementwise functions are behind the first."""
    make = op.reference_inputs if dtype in DTYPES[:3] else op.sample_inputs
    taken, samples = 0, enumerate(make("cpu", dtype, requires_grad=requires_grad))
    while True:
        try:
            k, sample = next(samples)
        except (StopIteration, ValueError):  # the end, or a sample of integers that cannot require gradients
            return
        small = not isinstance(sample.input, torch.Tensor) or sample.input.numel() <= LARGE
        if small and (k < MANY or k % 9 == 0):
            yield sample
            taken += 1
        if taken == 2 * MANY:
            return


def problems(name: str, op: Any, dtype: torch.dtype) -> Iterator[str]:
    """What differs from torch and is not in the table."""
    grad = op.supports_autograd and dtype in DTYPES[:2]
    order = (2 if dtype is torch.float64 and op.supports_gradgrad else 1) if grad else 0
    for k, sample in enumerate(picked(op, dtype, grad)):
        values = op.name not in RANDOM and not sample.kwargs.get("dropout_p")
        for form, mine, theirs in forms(op):
            if form != "function" and k >= MANY:
                continue
            try:
                kind, text = outcome(
                    mine,
                    theirs,
                    (sample.input, *sample.args),
                    sample.kwargs,
                    order if form == "function" else min(order, 1),
                    values,
                )
            except (RuntimeError, TypeError, IndexError) as error:  # torch refuses its own sample in this form
                kind, text = "same", str(error)
            given = f"{dtype} {form} {text} {sample.args} {sample.kwargs}"
            if kind not in ("same", "missing") and not is_documented(op.name, kind, given):
                yield f"{name} {kind} {given} {getattr(sample.input, 'shape', '')}"


@pytest.mark.parametrize("name", OPS)
def test_torchs_samples_give_torchs_values_and_derivatives(name: str) -> None:
    op = OPS[name]
    found = [p for dtype in DTYPES if op.supports_dtype(dtype, "cpu") for p in problems(name, op, dtype)]
    assert not found, "\n".join(found)[:3000]


def by_name(root: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """Arguments by torch's names, or None where torch does not say them."""
    function = find(root, name)
    try:
        names = list(inspect.signature(PARAMETERS.get(function, function)).parameters)
    except (TypeError, ValueError):
        return None
    return {**dict(zip(names, args, strict=False)), **kwargs} if len(names) >= len(args) else None


def test_every_argument_of_torch_has_torchs_name() -> None:
    found, calls = [], 0
    for name, op in OPS.items():
        if name.startswith("__"):  # a method of Python's operators, which have no names of arguments
            continue
        seen = set()
        for sample in picked(op, torch.float64, False) if op.supports_dtype(torch.float64, "cpu") else []:
            args = (sample.input, *sample.args)
            for root, here, first in ((torch, mr, ()), (torch.Tensor, mr.Tensor, (sample.input,))):
                given = by_name(root, op.name, args, sample.kwargs)
                if given is None or find(here, op.name) is None or (root, *given) in seen or "out" in given:
                    continue
                seen.add((root, *given))
                if first:
                    given = dict(list(given.items())[1:])
                try:
                    kind, text = outcome(
                        find(here, op.name), find(root, op.name), first, given, values=op.name not in RANDOM
                    )
                except Exception:  # torch's own list of names is not right everywhere
                    continue
                calls += 1
                text = f"by name {text} {given}"
                if kind not in ("same", "missing") and not is_documented(op.name, kind, text):
                    found.append(f"{name} {kind} {list(given)} {text}")
    assert calls > 300 and not found, f"{calls} calls\n" + "\n".join(found)[:3000]


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.error_inputs_func])
def test_what_torchs_database_calls_an_error_ends_with_a_sentence_or_a_result(name: str) -> None:
    op = OPS[name]
    for wrong in op.error_inputs("cpu"):
        sample = wrong.sample_input
        tensors = list(leaves((sample.input, sample.args, sample.kwargs), torch.Tensor))
        if "out" in sample.kwargs or any(t.is_meta or t.is_complex() or t.ndim > 64 for t in tensors):
            continue
        if find(mr, op.name) is None and not isinstance(sample.input, torch.Tensor):  # a number has no methods
            continue
        _, mine, _ = next(forms(op))
        kind, text = outcome(mine, lambda *args, **kwargs: None, (sample.input, *sample.args), sample.kwargs)
        assert kind != "crash" or is_documented(op.name, kind, text), (sample, text)
