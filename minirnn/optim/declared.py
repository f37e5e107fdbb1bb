"""The constructor and the documentation of an optimizer, made from the settings that its class declares."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeVar, dataclass_transform

from minirnn.optim.optimizer import Optimizer
from minirnn.optim.settings import MEANINGS, Setting, only_default, setting

Kind = TypeVar("Kind", bound=type[Optimizer])


@dataclass_transform(eq_default=False, field_specifiers=(setting,))
def declares_settings(cls: Kind) -> Kind:
    """Give a class `settings`, their documentation, and a constructor that takes ``params`` and these settings.

    As in a dataclass, those after ``_: KW_ONLY`` are given by name, and a subclass may redeclare some of them.
    """
    by_place, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = {"params": inspect.Parameter("params", by_place, annotation="Params")}
    declared: dict[str, Setting] = {}
    for base in reversed(cls.__mro__):
        kind: Any = by_place
        for name, annotation in inspect.get_annotations(base).items():
            found = vars(base).get(name)
            if annotation == "KW_ONLY":
                kind = by_name
            elif isinstance(found, Setting):
                declared[name] = found
                parameters[name] = inspect.Parameter(name, kind, default=found.default, annotation=annotation)
    defaults = {name: one.default for name, one in declared.items()}
    taken = [p for name, p in parameters.items() if name == "params" or declared[name].init]
    signature = inspect.Signature(sorted(taken, key=lambda p: p.kind), return_annotation=None)

    def __init__(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}") from None
        Optimizer.__init__(self, given.pop("params"), defaults | given)

    with_self = [inspect.Parameter("self", by_place), *signature.parameters.values()]
    vars(__init__)["__signature__"] = signature.replace(parameters=with_self)
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[method-assign]
    if cls.__doc__:  # python -OO removes it
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n{documentation(declared, parameters)}"
    cls.settings = {name: one.check for name, one in declared.items() if one.check is not None}
    return cls


def documentation(declared: Mapping[str, Setting], parameters: Mapping[str, inspect.Parameter]) -> str:
    """The part of a docstring about the arguments and errors of the constructor."""
    lines = ["Parameters", "----------", "params : iterable of Tensor, of (str, Tensor), or of dict"]
    lines += ["    Parameters, or groups of them (see `Optimizer`)."]
    taken = {name: one for name, one in declared.items() if one.init}
    for name, one in taken.items():
        if one.check is not only_default:
            lines += [f"{name} : {parameters[name].annotation}", f"    {one.meaning or MEANINGS[name]}"]
    if off := [name for name, one in taken.items() if one.check is only_default]:
        lines += [", ".join(off), "    As in torch, but only with their defaults, None and False."]
    lines += ["", "Raises", "------", "TypeError, ValueError", "    A parameter or a setting is not valid."]
    return "\n".join(lines) + "\n"
