"""Modules with options, which get a constructor, attributes and ``repr`` for them.

::

    @calls(functional.elu)
    class ELU(WithOptions):
        ...

The parameters of the function after its inputs become options: parameters of the constructor and attributes that are
passed to the function. A class that defines its own `forward` declares its options itself, with `declared`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import Field, dataclass, field, fields
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from minirnn.arguments import check
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.activations import divisor
from minirnn.nn.functional.arguments import ANY_INTEGER, above_0, no_legacy, weight_of
from minirnn.nn.module import Module

Class = TypeVar("Class", bound="type[WithOptions]")


def option(
    default: Any,
    read: Callable[..., Any] | None = None,
    *limits: Any,
    buffer: bool = False,
    stored: bool = True,
    by_name: bool = False,
) -> Any:
    """An option of a module.

    Parameters
    ----------
    default
        Its default value.
    read : callable, optional
        ``read(module, option, value, *limits)`` gets two names and the value, and returns the value to store or raises,
        like the functions of `minirnn.arguments.check`. Without it, the value is stored unchanged.
    buffer : bool
        Whether it is a buffer, which is saved and moved with the module.
    stored : bool
        Whether it becomes an attribute and is passed to the function. Otherwise it is only checked.
    by_name : bool
        Whether the constructor takes it by name only.
    """
    metadata = dict(read=read, limits=limits, buffer=buffer, stored=stored)
    return field(default=default, kw_only=by_name, metadata=metadata)


@dataclass_transform(eq_default=False)
def declared(cls: Class) -> Class:
    """The class with a constructor for the options that it declares and inherits."""
    dataclass(eq=False, repr=False)(cls)
    for each in fields(cls):
        if each.name in vars(cls):  # a class attribute would shadow a buffer of that name
            delattr(cls, each.name)
    cls._options = tuple(each.name for each in fields(cls) if each.metadata["stored"])
    cls._in_repr = ("reduction",) if "reduction" in cls._options else cls._options
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


READERS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("inplace", "log_target", "zero_infinity"), (check.flag,)),
    **dict.fromkeys(("alpha", "negative_slope", "threshold"), (check.number,)),
    "dim": (check.integer,),
    "beta": (divisor,),
    "delta": (above_0,),
    "approximate": (check.choice, ("none", "tanh")),
    "ignore_index": (check.integer, *ANY_INTEGER),
    "label_smoothing": (check.number, 0, 1),
    "blank": (check.integer, 0),
    "reduction": (lambda module, name, value: check.reduction(module, value),),
    **dict.fromkeys(("weight", "pos_weight"), (weight_of,)),
    **dict.fromkeys(("size_average", "reduce"), (lambda module, name, value: no_legacy(module, **{name: value}),)),
}
"""Option -> its reader and limits, for all modules that call a function."""
BUFFERS, PASSED_ON = ("weight", "pos_weight"), ("size_average", "reduce", "axis")


def calls(
    function: Callable[..., Tensor], inputs: int = 1, without: Collection[str] = (), **readers: tuple[Any, ...]
) -> Callable[[Class], Class]:
    """A class that calls `function`. The parameters after the inputs, but for `without`, are its options, unless it
    declares its own.
    """

    def complete(cls: Class) -> Class:
        cls._function = staticmethod(function)
        parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in without]
        if not any(isinstance(value, Field) for value in vars(cls).values()):
            cls.__annotations__ = {p.name: p.annotation for p in parameters[inputs:]}
            for p in parameters[inputs:]:
                read, *limits = (READERS | readers).get(p.name, (None,))
                how = {"buffer": p.name in BUFFERS, "stored": p.name not in PASSED_ON}
                setattr(cls, p.name, option(p.default, read, *limits, by_name=p.kind == p.KEYWORD_ONLY, **how))
        return declared(cls)

    return complete


@dataclass(eq=False, repr=False)
class WithOptions(Module):
    """A module that checks, stores and shows its options, and calls a function with them."""

    _function: ClassVar[Callable[..., Tensor]]
    _options: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:  # the parameters are those of the function

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __post_init__(self) -> None:
        """Check the options, in the order of their declaration."""
        for each in fields(self):
            value, how = vars(self).pop(each.name), each.metadata
            if how["read"] is not None:
                value = how["read"](type(self).__name__, each.name, value, *how["limits"])
            if how["buffer"]:
                self.register_buffer(each.name, value)
            elif how["stored"]:
                setattr(self, each.name, value)

    def _call(self, *inputs: Any) -> Tensor:
        return self._function(*inputs, **{name: getattr(self, name) for name in self._options})
