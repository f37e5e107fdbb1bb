"""The names under which functions and their arguments are called: torch's as well as minirnn's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import CellType, FunctionType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind")

TORCH = {"input": "x a t", "other": "b"}
"""torch's names of the first arguments, and minirnn's."""


def accepting(function: Any, **names: str) -> Any:
    """`function`, which then accepts its arguments under torch's names as well.

    Parameters
    ----------
    names
        torch's name of an argument, and minirnn's. ``"*"`` means all positional arguments after the first.

    Raises
    ------
    TypeError
        For torch's argument `out`, which no function has, and for an argument that is given twice.
    """
    own = {name: p for name, p in signature(function).parameters.items() if p.kind is not p.VAR_POSITIONAL}
    known = {torch: name for torch, mine in TORCH.items() for name in mine.split() if name in own} | names
    known = {torch: name for torch, name in known.items() if torch not in own}
    if hasattr(function, "torch_names"):
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if "out" in kwargs and "out" not in own and kwargs.pop("out") is not None:
                raise no_out(function.__name__)
            for torch in [name for name in known if name in kwargs]:  # the first argument comes first
                value = kwargs.pop(torch)
                if known[torch] == "*":
                    first = [kwargs.pop(next(iter(own)))] if not args else []
                    args = (*args, *first, value)
                elif known[torch] in kwargs:
                    both = f"{known[torch]} and {torch}"
                    raise TypeError(f"{function.__name__}: got {both}\n  expected one: {torch} is torch's name for it")
                else:
                    kwargs[known[torch]] = value
        return function(*args, **kwargs)

    call.torch_names = known  # type: ignore[attr-defined]
    return call


def accepts(**names: str) -> Callable[[Function], Function]:
    """`accepting` as a decorator."""
    return lambda function: accepting(function, **names)


def called(function: Any, name: str) -> Any:
    """`function` under another name. Python's messages about its arguments show the name that was called."""
    if function.__qualname__ == name or not isinstance(function, FunctionType):
        return function
    if hasattr(function, "__wrapped__"):
        return accepting(called(function.__wrapped__, name), **vars(function)["torch_names"])
    own, code = name.rpartition(".")[2], function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    closure = tuple(CellType(own) if free == "label" else cell for free, cell in cells)  # the name in its own messages
    made = FunctionType(code, function.__globals__, own, function.__defaults__, closure)
    made.__dict__.update(function.__dict__)
    for attribute in ("__kwdefaults__", "__doc__", "__module__", "__annotations__"):
        setattr(made, attribute, getattr(function, attribute))
    made.__qualname__ = name
    return made


def own_init(kind: type[Kind]) -> type[Kind]:
    """Decorates a class whose `__init__` or `__new__` is that of its base class, of which Python's messages speak."""
    for name in ("__init__", "__new__"):
        function = getattr(kind, name)
        if name not in vars(kind) and isinstance(function, FunctionType):
            made = called(function, f"{kind.__name__}.{name}")
            setattr(kind, name, staticmethod(made) if name == "__new__" else made)
    return kind


def no_out(name: str) -> TypeError:
    """The error for torch's argument `out`."""
    return TypeError(
        f"{name}: got out\n"
        f"  expected no out, because the result is a new Tensor; to write it into y, use y.copy_({name}(...))"
    )
