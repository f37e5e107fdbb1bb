"""Every public function, called wrongly in many ways: the message says what is wrong, and nothing changes."""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine import random
from minirnn.engine.tape import mode
from minirnn.ops.primitives.methods import CASTS
from tests.hostile.wrong_call import Wrong, check, check_all

TABLES = [path.stem.removeprefix("calls_") for path in sorted(Path(__file__).parent.glob("calls_*.py"))]


def table(name: str) -> ModuleType:
    """The module of a table, which makes its calls when it is imported: not while tests are collected."""
    return importlib.import_module(f"tests.hostile.calls_{name}")


def all_rows() -> list[Wrong]:
    return [row for name in TABLES for row in table(name).ROWS]


# Public names without arguments that could be wrong, or that pass them to checked functions.
NO_WRONG_CALL = {
    "Identity",  # takes anything
    "FunctionCtx",  # made by Function.apply
    "between_steps",  # takes nothing
    "LSTMHidden",  # a named tuple
    "LSTMState",
    "PackedSequence",
    "Size",  # a tuple
    "finfo",  # NumPy's
    "iinfo",
    "is_tensor",  # takes anything
    "Task",
    "Picture",
    "ColoredText",
    "LayerValues",
    "CellDrawing",
    "available",
    "is_grad_enabled",  # takes nothing
    "get_default_dtype",
    "get_default_device",
    "enable_grad",
    "no_grad",
    "python_source_text",
}


@pytest.mark.parametrize("name", TABLES)
def test_wrong_calls_say_what_is_wrong_and_change_nothing(name: str) -> None:
    check_all(table(name).ROWS)


def test_wrong_calls_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They leave no half-drawn picture in the caller's axes, and make no figure before the check."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("drew before it had checked")

    monkeypatch.setattr("matplotlib.figure.Figure.__init__", refuse)
    monkeypatch.setattr("matplotlib.axes.Axes.plot", refuse)
    check_all(table("viz").ROWS)


OPERATORS = {
    "add": "__add__", "multiply": "__mul__", "power": "__pow__", "contains": "__contains__", "positive": "__pos__",
    "_reshape": "reshape", "_transpose": "transpose", "_flip": "flip", "_view_as": "view_as", "subtract": "sub",
    "divide": "div", "negative": "neg", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "where_method": "where",
}  # fmt: skip


def moved(value: Any, device: str) -> Any:
    """`value` with all leaves of the cpu in it, and the owners of methods, on another device."""
    if isinstance(value, mr.Tensor):
        return mr.tensor(value, value.requires_grad, device) if value.device == "cpu" and value.is_leaf else value
    if type(value) in (list, tuple):
        return type(value)(moved(v, device) for v in value)
    if isinstance(value, dict):
        return {k: moved(v, device) for k, v in value.items()}
    owner = getattr(value, "__self__", None)
    if not isinstance(owner, mr.Tensor):
        return value
    return getattr(moved(owner, device), OPERATORS.get(value.__name__, value.__name__))


ON_ANY_DEVICE = {"tensor": "METHODS", "cudnn": "FORWARD BUFFERS"}
ON_ANY_DEVICE |= dict.fromkeys(("ops", "block"), "ROWS")


@pytest.mark.parametrize(("name", "lists"), ON_ANY_DEVICE.items())
def test_the_simulator_refuses_the_same_calls_in_the_same_words(name: str, lists: str) -> None:
    if (reason := mr.devices.available()["cuda-sim"]) is not None:
        pytest.skip(f"cuda-sim: {reason}")
    there = []
    for row in (row for one in lists.split() for row in getattr(table(name), one)):
        if not any("cpu" in words for words in row.says):
            function, args, kwargs = (moved(part, "cuda-sim") for part in (row.function, row.args, row.kwargs))
            there.append(replace(row, function=function, args=args, kwargs=kwargs))
    check_all(there)


def test_the_tables_are_long_and_have_each_row_once() -> None:
    titles = [row.title for row in all_rows()]
    assert len(titles) >= 2000
    assert len(set(titles)) == len(titles), sorted(title for title in set(titles) if titles.count(title) > 1)


def called_by(rows: list[Wrong]) -> set[str]:
    """The names of functions, classes and classes of bound methods that the rows call."""
    found = set()
    for row in rows:
        owner = getattr(row.function, "__self__", None)
        found |= {getattr(row.function, "__name__", ""), type(owner).__name__, type(row.function).__name__}
        found.add(row.title.split("(")[0].split(".")[-1])
    return found


def public() -> set[str]:
    """The public callables of minirnn and of its public modules."""
    nn = (mr.nn, mr.nn.functional, mr.nn.init, mr.nn.utils, mr.nn.utils.rnn)
    places = (mr, mr.ops, *nn, mr.optim, mr.optim.lr_scheduler, mr.data, mr.io, mr.viz, mr.devices, mr.autograd)
    names = {name for place in places for name in place.__all__ if callable(getattr(place, name))}
    return names | {
        name for name, value in vars(mr.cudnn_rnn).items() if inspect.isclass(value) and "RNNParams" in name
    }


def test_every_public_function_has_a_wrong_call() -> None:
    missing = public() - called_by(all_rows()) - NO_WRONG_CALL - {"Device", "DeviceUnavailable"}
    assert not missing, f"no row of tests/hostile/calls_*.py calls {', '.join(sorted(missing))}"


def test_every_public_method_of_a_tensor_that_takes_an_argument_has_a_wrong_call() -> None:
    methods = {name for name, f in vars(mr.Tensor).items() if not name.startswith("_") and inspect.isfunction(f)}
    # take nothing, or what an op of the table checks
    harmless = {
        "abs",
        "detach",
        "detach_",
        "numpy",
        "retain_grad",
        "tolist",
        "clone",
        "contiguous",
        "cpu",
        "cuda",
        "dim",
    }
    harmless |= {"ndimension", "is_contiguous", "is_floating_point", "nelement", "numel", *CASTS}
    missing = methods - called_by(all_rows()) - harmless
    assert not missing, f"no row of tests/hostile/calls_*.py calls {', '.join(sorted(missing))}"


# ---- controls: functions that misbehave, each in one way


def refuse(*_: Any) -> None:
    raise ValueError("refuse: got something\n  expected something else")


def at_length(*_: Any) -> None:
    raise ValueError(f"refuse: got something {[0.5] * 1000}\n  expected something else")


def complain(*_: Any) -> None:
    raise ValueError("refuse: wrong")


def and_changes(change: Callable[[Any], Any]) -> Callable[[Any], None]:
    def function(x: Any) -> None:
        change(x)
        refuse()

    return function


def write(x: np.ndarray) -> None:
    x += 1


PARAMETER = mr.nn.Parameter([1.0])
LINEAR = mr.nn.Linear(2, 3)


@pytest.mark.parametrize(
    ("function", "argument", "complaint"),
    [
        (lambda x: x, 1, "nothing was raised"),
        (lambda x: {}[x], 1, "KeyError"),
        (lambda x: refuse(), 1, "not a word of 'bananas'"),
        (at_length, 1, "a message of 5"),
        (complain, 1, "not a word of what was expected"),
        (and_changes(write), np.zeros(3), "an argument was changed"),
        (and_changes(lambda x: x.assign([2.0])), PARAMETER, "an argument was changed"),
        (and_changes(lambda x: setattr(x, "grad", mr.tensor([1.0]))), PARAMETER, "an argument was changed"),
        (and_changes(lambda x: x.requires_grad_(not x.requires_grad)), PARAMETER, "an argument was changed"),
        (and_changes(lambda x: x.bias.assign(x.bias.numpy() + 1)), LINEAR, "an argument was changed"),
        (and_changes(lambda x: x.append(1)), [], "an argument was changed"),
        (and_changes(lambda x: x.update(a=1 + len(x))), {}, "an argument was changed"),
        (and_changes(lambda x: random.generator().random()), 1, "changed random state"),
        (and_changes(lambda x: np.random.random()), 1, "changed NumPy's global random state"),
    ],
)
def test_the_check_notices(function: Callable[[Any], Any], argument: Any, complaint: str) -> None:
    says = "bananas" if "bananas" in complaint else "refuse"
    with pytest.raises(AssertionError, match=complaint):
        check(Wrong("control", (says,), function, (argument,)))


@pytest.mark.parametrize("change", ["recording", "default device"])
def test_the_check_notices_a_switch_left_on(change: str) -> None:
    def switch(_: Any) -> None:
        if change == "recording":
            mode.enabled = False
        else:
            mr.use_device("cpu-composed")

    try:
        with pytest.raises(AssertionError, match=f"changed {change}"):
            check(Wrong("control", ("refuse",), and_changes(switch), (1,)))
    finally:
        mode.enabled = True
        mr.devices.registry._default.device = None


def test_the_check_lets_a_good_refusal_pass() -> None:
    check(Wrong("control", ("refuse", "something"), refuse, (np.zeros(2), [PARAMETER], {"a": LINEAR})))
