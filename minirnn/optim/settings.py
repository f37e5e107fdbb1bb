"""The settings of an optimizer: limits and defaults, the attributes that read those of the first group, and the
constructor and the documentation that follow from them.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor


class HasGroups(Protocol):
    """The part of an `Optimizer` that its settings and its state use."""

    _settings: ClassVar[dict[str, Callable[[str, str, Any], Any]]]
    _remembered: ClassVar[dict[str, str]]
    _needed: ClassVar[tuple[str, ...]]
    _one_vector: ClassVar[bool]
    defaults: dict[str, Any]
    param_groups: list[dict[str, Any]]
    state: defaultdict[Tensor, dict[str, Any]]

    @property
    def parameters(self) -> list[Tensor]: ...

    def _checked(self, group: Mapping[str, Any]) -> dict[str, Any]: ...


MEANINGS = {
    "lr": "The step size, 0 or more.",
    "betas": "How much of the means m and v is kept in each step; 0 <= beta < 1.",
    "eps": "Keeps the divisor away from 0; 0 or more.",
    "weight_decay": "How much of each parameter is added to its gradient, 0 or more.",
    "maximize": "Whether to climb: the sign of the gradient is changed.",
    "decoupled_weight_decay": "Whether weight decay shrinks the parameters themselves, as in `AdamW`.",
}
"""The meaning of settings that several optimizers have."""


def at_least_zero(optimizer: str, name: str, value: Any) -> float:
    """Check a number that must not be negative."""
    return check.number(optimizer, name, value, 0)


def share(optimizer: str, name: str, value: Any) -> float:
    """Check a number from 0 to 1."""
    return check.number(optimizer, name, value, 0, 1)


def two_betas(optimizer: str, name: str, value: Any) -> tuple[float, float]:
    """Check the decay rates of the two running means: a pair of numbers from 0 to below 1."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"{optimizer}: {name} is {shown(value)}\n  expected a pair of numbers")
    beta1, beta2 = (at_least_zero(optimizer, f"beta{k}", beta) for k, beta in enumerate(value, 1))
    if beta1 >= 1 or beta2 >= 1:
        raise ValueError(f"{optimizer}: betas are {beta1} and {beta2}\n  expected 0 <= beta < 1")
    return beta1, beta2


def only_default(optimizer: str, name: str, value: Any) -> bool | None:
    """Check a switch between torch's implementations, which must be off because minirnn has only one implementation."""
    if value is not None and value is not False:
        raise ValueError(
            f"{optimizer}: {name} is {shown(value)}\n"
            "  expected None or False: there is one implementation, the plain one"
        )
    return value


class Setting:
    """A setting as an attribute: reading it reads the first group, writing it writes to all groups.

    Parameters
    ----------
    check : function of (optimizer, name, value)
        Returns the converted value, or raises if it is invalid.
    meaning : str
        The text in the documentation of the optimizer; by default that of its name in `MEANINGS`.
    default
        The value if none is given.
    init : bool
        Whether the constructor takes it.
    name, part
        For a part of another setting, which is a pair: ``beta1`` is part 0 of ``betas``.
    """

    def __init__(
        self,
        check: Callable[[str, str, Any], Any] | None = None,
        meaning: str = "",
        *,
        default: Any = None,
        init: bool = True,
        name: str = "",
        part: int | None = None,
    ) -> None:
        self.check, self.meaning, self.default, self.init = check, meaning, default, init
        self.name, self.part = name, part

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __get__(self, optimizer: HasGroups | None, owner: type) -> Any:
        if optimizer is None:
            return self
        value = optimizer.param_groups[0][self.name]
        return value if self.part is None else value[self.part]

    def __set__(self, optimizer: HasGroups, value: Any) -> None:
        changed = []
        for group in optimizer.param_groups:
            if self.part is None:
                new = value
            else:
                pair = list(group[self.name])
                pair[self.part] = value
                new = tuple(pair)
            changed.append(optimizer._checked({**group, self.name: new}))
        for group, settings in zip(optimizer.param_groups, changed, strict=True):
            group[self.name] = settings[self.name]


def setting(check: Callable[[str, str, Any], Any], meaning: str = "", *, default: Any, init: bool = True) -> Any:
    """Declare a setting of an optimizer: its check, its meaning and its default (see `Setting`)."""
    return Setting(check, meaning, default=default, init=init)


def declare(cls: Any, begin: Callable[[Any, Any, dict[str, Any]], None]) -> None:
    """Give an optimizer that declares settings their documentation, and a constructor that takes ``params`` and them.

    As in a dataclass, those after ``_: KW_ONLY`` are given by name, and a subclass may redeclare some of them.
    """
    if not any(isinstance(vars(cls).get(name), Setting) for name in inspect.get_annotations(cls)):
        return
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

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}") from None
        begin(self, given.pop("params"), defaults | given)

    with_self = [inspect.Parameter("self", by_place), *signature.parameters.values()]
    vars(__init__)["__signature__"] = signature.replace(parameters=with_self)
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__
    if cls.__doc__:  # python -OO removes it
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__)}\n\n{documentation(declared, parameters)}"
    cls._settings = {name: one.check for name, one in declared.items() if one.check is not None}


def documentation(declared: Mapping[str, Setting], parameters: Mapping[str, inspect.Parameter]) -> str:
    """The part of a docstring about the arguments and errors of the constructor."""
    lines = ["Parameters", "----------", "params : iterable of Tensor, or of dict"]
    lines += ["    Parameters, or groups of them (see `Optimizer`)."]
    taken = {name: one for name, one in declared.items() if one.init}
    for name, one in taken.items():
        if one.check is not only_default:
            lines += [f"{name} : {parameters[name].annotation}", f"    {one.meaning or MEANINGS[name]}"]
    if off := [name for name, one in taken.items() if one.check is only_default]:
        lines += [", ".join(off), "    As in torch, but only with their defaults, None and False."]
    lines += ["", "Raises", "------", "TypeError, ValueError", "    A parameter or a setting is not valid."]
    return "\n".join(lines) + "\n"
