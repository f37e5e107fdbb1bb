"""Modules with options. A class declares its options, and gets a constructor, attributes and ``repr`` for them.

::

    @calls(functional.elu)
    class ELU(WithOptions):
        alpha: float = option(1.0, check.number)

This class has a constructor with the parameter `alpha`, an attribute that is passed to the function, and a ``repr``
that shows it. Type checkers, editors and ``inspect.signature`` see a dataclass. Use `declared` for a class that defines
its own `forward`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from types import FunctionType
from typing import Any, ClassVar, TypeVar, dataclass_transform

from minirnn.engine.tensor import Tensor
from minirnn.nn.module import Module

Class = TypeVar("Class", bound="type[WithOptions]")


def option(
    default: Any, read: Callable[..., Any] | None = None, *limits: Any, buffer: bool = False, kept: bool = True
) -> Any:
    """An option of a module.

    Parameters
    ----------
    default
        Its default value.
    read : callable, optional
        ``read(module, option, value, *limits)`` gets two names and the value, and returns the value to store or raises,
        like the functions of `minirnn.check`. Without it, the value is stored unchanged.
    buffer : bool
        Whether it is a buffer, which is saved and moved with the module.
    kept : bool
        Whether it becomes an attribute and is passed to the function. Otherwise it is only checked.
    """
    return field(default=default, metadata=dict(read=read, limits=limits, buffer=buffer, kept=kept))


@dataclass_transform(eq_default=False)
def declared(cls: Class) -> Class:
    """The class with a constructor for the options that it declares and inherits."""
    dataclass(eq=False, repr=False)(cls)
    for each in fields(cls):
        if each.name in vars(cls):  # a class attribute would shadow a buffer of that name
            delattr(cls, each.name)
    cls._options = tuple(each.name for each in fields(cls) if each.metadata["kept"])
    _name_forward(cls)
    return cls


def _name_forward(cls: type) -> None:
    """Give `cls` a copy of an inherited `forward` with the name of `cls`, which Python puts into messages."""
    shared: Any = getattr(cls, "forward", None)
    if isinstance(shared, FunctionType) and "forward" not in vars(cls):
        own = FunctionType(shared.__code__, shared.__globals__, "forward", shared.__defaults__, shared.__closure__)
        own.__doc__, own.__annotations__ = shared.__doc__, shared.__annotations__
        own.__module__, own.__qualname__ = cls.__module__, f"{cls.__qualname__}.forward"
        setattr(cls, "forward", own)  # noqa: B010


@dataclass_transform(eq_default=False)
def calls(function: Callable[..., Tensor]) -> Callable[[Class], Class]:
    """`declared`, for a class that calls `function`, whose parameters have the names of the options."""

    def complete(cls: Class) -> Class:
        cls._function = staticmethod(function)
        return declared(cls)

    return complete


@dataclass(eq=False, repr=False)
class WithOptions(Module):
    """A module that checks, stores and shows its options, and calls a function with them."""

    _function: ClassVar[Callable[..., Tensor]]
    _options: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        """Check the options, in the order of their declaration."""
        for each in fields(self):
            value, how = vars(self).pop(each.name), each.metadata
            if how["read"] is not None:
                value = how["read"](type(self).__name__, each.name, value, *how["limits"])
            if how["buffer"]:
                self.register_buffer(each.name, value)
            elif how["kept"]:
                setattr(self, each.name, value)

    def _call(self, *inputs: Any) -> Tensor:
        return self._function(*inputs, **{name: getattr(self, name) for name in self._options})

    def extra_repr(self) -> str:
        said = {name: getattr(self, name) for name in self._options}
        return ", ".join(f"{name}={value!r}" for name, value in said.items() if (name, value) != ("inplace", False))
