"""The members of a module: its parameters, buffers and modules, which are found in its attributes.

A subclass may leave out ``super().__init__()``. Two records, which are made when they are needed, hold the information
that is not in the attributes: which Tensors are buffers, and which parameters are None.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from minirnn.arguments.messages import meant, shown
from minirnn.arguments.names import called
from minirnn.engine.tensor import Tensor
from minirnn.lookup.pointers import pointer
from minirnn.nn.parameter import Parameter


class Members:
    """The base class of `Module` that finds, registers and protects its members."""

    # Both are replaced and never written into, so that a shallow copy of a module has its own records.
    _buffer_names: Mapping[str, bool] = MappingProxyType({})  # name -> whether it is saved
    _absent: frozenset[str] = frozenset()  # names of parameters that are None

    # ---- registering

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """The same as assigning a Parameter. None reserves the name, so that only a Parameter can be assigned to it.

        Raises TypeError if `param` is neither a Parameter nor None, or `name` is not a string, and ValueError if `name`
        is empty, has a dot, or belongs to something else.
        """
        old = vars(self).get(name) if isinstance(name, str) else None
        self._check_name("register_parameter", name, isinstance(old, Parameter) or self._has(self._absent, name))
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"register_parameter: {name} is a {type(param).__name__}\n  expected a Parameter or None\n"
                "  nn.Parameter(values) makes one; a computed Tensor belongs in forward()"
            )
        if param is None:
            self._absent = self._absent | {name}
            object.__setattr__(self, name, None)
        else:
            setattr(self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a Tensor that is not a parameter to the module. It is moved with the module, and saved if `persistent`.

        It becomes the attribute `name`, and you can assign another Tensor to replace it. None reserves the name. Raises
        TypeError if `tensor` is neither a Tensor nor None, or is a Parameter, or `name` is not a string, and ValueError
        if `name` is empty, has a dot, or belongs to something else.
        """
        self._check_name("register_buffer", name, self._has(self._buffer_names, name))
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"register_buffer: {name} is a {type(tensor).__name__}\n  expected a Tensor or None: mr.tensor(values)"
            )
        if isinstance(tensor, Parameter):
            raise TypeError(f"register_buffer: {name} is a Parameter\n  expected a Tensor or None; detach() it first")
        self._buffer_names = {**self._buffer_names, name: bool(persistent)}
        object.__setattr__(self, name, tensor)

    def register_module(self, name: str, module: Any) -> None:
        """The same as assigning a module, but the name need not be an identifier, such as "0".

        Raises TypeError if `module` is neither a Module nor None, or `name` is not a string, and ValueError if `name`
        is empty, has a dot, or belongs to something else.
        """
        old = vars(self).get(name, self) if isinstance(name, str) else None
        free = isinstance(name, str) and name in vars(self) and (old is None or isinstance(old, Members))
        self._check_name("register_module", name, free)
        if module is not None and not isinstance(module, Members):
            raise TypeError(f"register_module: {name} is a {type(module).__name__}\n  expected a Module or None")
        setattr(self, name, module)

    add_module = called(register_module, "add_module")

    @staticmethod
    def _has(names: Container[str], name: Any) -> bool:
        return isinstance(name, str) and name in names

    def _check_name(self, op: str, name: Any, replaces: bool) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{op}: name is {shown(name)}\n  expected a string")
        if not name or "." in name:
            raise ValueError(
                f"{op}: name is {shown(name)}\n  expected one without dots: dots separate the names of modules"
            )
        if not replaces and (name in vars(self) or hasattr(type(self), name)):
            raise ValueError(f"{op}: {type(self).__name__} has an attribute {name!r} already\n  expected a free name")

    # ---- assigning

    def __setattr__(self, name: str, value: Any) -> None:
        old = vars(self).get(name)
        if value is None:
            if isinstance(old, Parameter):
                self._absent = self._absent | {name}
        elif isinstance(value, (Parameter, Members)):
            self._forget(name)
        elif isinstance(old, (Parameter, Members)) or name in self._buffer_names or name in self._absent:
            self._check_replacement(name, old, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        self._forget(name)

    def _forget(self, name: str) -> None:
        """Remove a name from the records of buffers and of parameters that are None."""
        if name in self._buffer_names:
            self._buffer_names = {n: saved for n, saved in self._buffer_names.items() if n != name}
        if name in self._absent:
            self._absent = self._absent - {name}

    def _check_replacement(self, name: str, old: Any, value: Any) -> None:
        """Raise TypeError if assigning `value` would silently replace a parameter, buffer or module."""
        got = f"{type(self).__name__}.{name}: got a {type(value).__name__}"
        if isinstance(old, Parameter) or name in self._absent:
            raise TypeError(
                f"{got}\n  expected a Parameter or None: it is a parameter, which parameters() would lose\n"
                f"  for other values {name}.assign(values); for dropout of weights see nn.LSTM(weight_dropout=...)"
            )
        if name in self._buffer_names:
            if not isinstance(value, Tensor):
                raise TypeError(f"{got}\n  expected a Tensor or None: it is a buffer; mr.tensor(values) makes one")
        elif not isinstance(value, (list, tuple, dict)) or next(_nested({name: value}), None) is None:
            raise TypeError(f"{got}\n  expected a Module or None: it is a module, whose parameters would be lost")

    if not TYPE_CHECKING:  # otherwise mypy would assume that every attribute exists

        def __getattr__(self, name: str) -> Any:
            if name[:2] != "__" and hasattr(type(self), name):  # a property that raised: raise its error
                return object.__getattribute__(self, name)
            raise NoAttribute(self, name)

    # ---- finding

    def children(self) -> Iterator[Self]:
        """The modules directly inside, without duplicates."""
        return (child for _, child in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Self]]:
        """Names and modules directly inside, without duplicates, in the order of assignment."""
        seen = set()
        for name, child in self._named_inside():
            if child not in seen:
                seen.add(child)
                yield name, child

    def _named_inside(self) -> Iterator[tuple[str, Self]]:
        for name, value in _nested(vars(self)):
            if isinstance(value, Members):
                yield name, value  # type: ignore[misc]

    def modules(self) -> Iterator[Self]:
        """This module and all modules inside, without duplicates."""
        return (module for _, module in self.named_modules())

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Self]]:
        """Names and modules. The first is this one, with the name `prefix`.

        A module with several names is listed once, under the first, or without `remove_duplicate` under each. Modules
        in `memo` are left out, and those that are found are added to it.
        """
        return self._modules_from(set() if memo is None else memo, prefix, remove_duplicate, ())

    def _modules_from(
        self, memo: set[Any], prefix: str, once: bool, above: tuple[Any, ...]
    ) -> Iterator[tuple[str, Self]]:
        if self in memo or self in above:  # a child may know its parent
            return
        if once:
            memo.add(self)
        yield prefix, self
        for name, child in self._named_inside():
            yield from child._modules_from(memo, f"{prefix}.{name}" if prefix else name, once, (*above, self))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Names and parameters of this module and, if `recurse`, of modules inside. Names begin with `prefix` and a
        dot.

        A parameter with several names is listed once, under the first, or without `remove_duplicate` under each.
        """
        seen: set[Parameter] = set()
        for name, value, _ in self._walk(f"{prefix}." if prefix else "", recurse):
            if isinstance(value, Parameter) and not (remove_duplicate and value in seen):
                seen.add(value)
                yield name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters without duplicates, for an optimizer."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Names and buffers, like `named_parameters`."""
        seen: set[Tensor] = set()
        for name, value, _ in self._walk(f"{prefix}." if prefix else "", recurse):
            if not isinstance(value, Parameter) and not (remove_duplicate and value in seen):
                seen.add(value)
                yield name, value

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers without duplicates."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def _walk(
        self, prefix: str = "", recurse: bool = True, above: tuple[Any, ...] = ()
    ) -> Iterator[tuple[str, Tensor, bool]]:
        """The name, the value and whether it is saved, for all parameters and buffers in torch's order.

        The order is a module's own parameters, then its buffers, then members of lists, tuples, dicts and modules.
        """
        attributes = vars(self)
        for name, value in attributes.items():
            if isinstance(value, Parameter):
                yield prefix + name, value, True
        for name, saved in self._buffer_names.items():
            if attributes.get(name) is not None:
                yield prefix + name, attributes[name], saved
        for name, value in _nested(attributes):
            if isinstance(value, Parameter):
                yield prefix + name, value, True
            elif recurse and value is not self and value not in above:
                yield from value._walk(f"{prefix}{name}.", recurse, (*above, self))

    # ---- torch's own records, which programs read

    @property
    def _parameters(self) -> dict[str, Parameter | None]:
        """This module's own parameters by name."""
        return {n: v for n, v in vars(self).items() if isinstance(v, Parameter) or n in self._absent}

    @property
    def _buffers(self) -> dict[str, Tensor | None]:
        """This module's own buffers by name."""
        return {name: vars(self)[name] for name in self._buffer_names}

    @property
    def _modules(self) -> dict[str, Any]:
        """The modules directly inside by name."""
        return dict(self._named_inside())

    # ---- finding by name

    def get_submodule(self, target: str) -> Any:
        """The module with a name such as "encoder.layers.0"; this one for "". Raises AttributeError without one."""
        return self._named("get_submodule", target, "a module", self.named_modules(remove_duplicate=False))

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a name from `named_parameters`. Raises AttributeError if there is none."""
        return self._named("get_parameter", target, "a parameter", self.named_parameters(remove_duplicate=False))

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a name from `named_buffers`. Raises AttributeError if there is none."""
        return self._named("get_buffer", target, "a buffer", self.named_buffers(remove_duplicate=False))

    def _named(self, op: str, target: Any, what: str, members: Iterator[tuple[str, Any]]) -> Any:
        names = dict(members)
        if target not in names:
            expected = f"expected one of {shown([n for n in names if n])}{meant(str(target), names)}"
            owner = type(self).__name__
            raise AttributeError(f"{op}: {shown(target)} is not the name of {what} of {owner}\n  {expected}")
        return names[target]


def _nested(container: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """The modules among named values, and the modules and parameters inside lists, tuples and dicts."""
    for name, value in container.items():
        if isinstance(value, Members):
            yield str(name), value
        elif isinstance(value, (list, tuple, dict)):
            inside = value if isinstance(value, dict) else dict(enumerate(value))
            for key, member in inside.items():
                if isinstance(member, Parameter):
                    yield f"{name}.{key}", member
            for path, member in _nested(inside):
                yield f"{name}.{path}", member


class NoAttribute(AttributeError):
    """Raised for an unknown attribute. The message finds the closest name when it is read, so ``hasattr`` is fast."""

    def __init__(self, owner: Any, attribute: str) -> None:
        super().__init__(owner, attribute)

    def __str__(self) -> str:
        owner, attribute = self.args
        near = pointer(attribute, "nn.Module") if attribute[:1] != "_" else ""
        near = near or meant(attribute, [n for n in dir(owner) if not n.startswith("_")])
        return f"{type(owner).__name__!r} object has no attribute {attribute!r}{near}"
