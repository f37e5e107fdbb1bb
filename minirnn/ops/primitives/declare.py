"""Declares primitives. Each is a class with its formula, its value and its derivative.

    class Softsign(Primitive, uses="absolute add divide", reads="x"):
        \"""y = x / (1 + |x|)       dx = dy / (1 + |x|) ** 2\"""

        def forward(self, device, x):
            return device.divide(x, device.add(1, device.absolute(x)))

        def backward(self, dy, y, x):
            return (dy / (1 + abs(x)) ** 2,)


    softsign = unary(Softsign, "``x / (1 + |x|)``: between -1 and 1.")

`uses` names the primitives of the device that compute it. If there is only one, `forward` may be left out, and this
primitive computes the value. `reads` lists the values that the derivative needs: "x" for the inputs, "y" for the
output, "others" if each input's gradient needs only the other inputs.

`unary` and `binary` create the function that users call. An op with more arguments has its own function, which checks
the arguments and calls the node, ``Softmax(axis)(x)``. `@op(Softmax)` declares this, and makes the function a method of
Tensor. `minirnn explain` and the type stubs of the methods (``scripts/method_stubs.py``) read these declarations.

A derivative also calls nodes instead of functions, because its arguments need no checks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy import ndarray

from minirnn.cells.expr import Expr, apply
from minirnn.devices.base import Array
from minirnn.engine.operands import float_tensor, narrowed, pair, shape_error, together
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor

Function = TypeVar("Function", bound=Callable[..., Any])


class Primitive(Op):
    """The node of a primitive. Arguments that are not Tensors, such as an axis, are attributes of the instance."""

    uses: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(
        cls, uses: str | None = None, reads: str | None = None, broadcasts: bool | None = None
    ) -> None:
        if uses is not None:
            cls.uses = tuple(uses.split())
        if reads is not None:
            cls.reads_inputs, cls.saves = "x" in reads or reads == "others", bool(reads)
            cls.only_others = reads == "others"
        if broadcasts is not None:
            cls.broadcasts = broadcasts

    def forward(self, *device_and_arrays: Any, **none: Any) -> Array:  # this signature lets a node name its arrays
        """``forward(device, *arrays)`` returns the value as an array of the device."""
        device, *arrays = device_and_arrays
        return getattr(device, self.uses[0])(*arrays)

    def __call__(self, *xs: Tensor) -> Tensor:
        """The value as a recorded Tensor. The operands must be Tensors of one device."""
        device = xs[0].device
        if len(xs) == 1:  # one and two operands have their own code, because the list takes 0.1 us more
            y = self.forward(device, xs[0].array)
        elif len(xs) == 2:
            y = self.forward(device, xs[0].array, xs[1].array)
        else:
            y = self.forward(device, *[x.array for x in xs])
        return record(self, device, y, xs)


class Arithmetic(Primitive):
    """A node whose derivative uses only ``+ - * / **``. It also works on bare arrays, which is several times faster."""

    arithmetic = True


class Along(Primitive):
    """A node whose primitive runs along one non-negative axis."""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def forward(self, device: Any, *arrays: Any) -> Array:
        return getattr(device, self.uses[0])(*arrays, self.axis)


class View(Primitive, reads=""):
    """A node whose output is its input in another shape or a part of it. Writing into it writes into the input."""

    view = True

    def __call__(self, *xs: Tensor) -> Tensor:
        (x,) = xs
        device = x.device
        y = record(self, device, self.forward(device, x.array), xs)
        if not y.requires_grad:  # the tape has this information for recorded Tensors
            y.viewed = x, self, x.seq
        return y

    def whole(self, x: Tensor, y: Tensor) -> Tensor:
        return self.backward(y, y, x)[0]  # if the view loses no elements, its derivative undoes it


class Declaration(NamedTuple):
    """The declaration of an op's function."""

    nodes: tuple[type[Op], ...]  # that it records
    uses: tuple[str, ...]  # primitives of the device
    calls: tuple[str, ...]  # ops that it calls


DECLARED: dict[Any, Declaration] = {}
"""Function of an op -> its declaration."""

OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
OTHERS = {"-x": "neg", "~x": "invert", "[]": "getitem"}
OTHERS |= {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


TORCH = {"input": "x a t", "other": "b"}
"""torch's names of the first arguments, and minirnn's."""


class _Missing:
    """No argument was given."""


MISSING = _Missing()


def accepting(function: Any, **names: str) -> Any:
    """`function`, which then accepts its arguments under torch's names as well.

    Parameters
    ----------
    names
        torch's name of an argument, and minirnn's. ``"*"`` means all positional arguments after the first.
    """
    own = {name: p for name, p in signature(function).parameters.items() if p.kind is not p.VAR_POSITIONAL}
    known = {torch: name for torch, mine in TORCH.items() for name in mine.split() if name in own} | names
    known = {torch: name for torch, name in known.items() if torch not in own}
    if not known or hasattr(function, "torch_names"):
        return function

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
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


def op(
    *parts: type[Op] | Callable[..., Any] | str,
    method: str | None = None,
    operator: str | None = None,
    torch: dict[str, str] | None = None,
) -> Callable[[Function], Function]:
    """Declare a function as an op.

    Parameters
    ----------
    *parts
        The nodes that it records, the names of other device primitives that it uses, and the ops that it calls.
    method : str, optional
        The name of the method of Tensor, if it differs; several names are separated by spaces, and "" means no method.
    operator : str, optional
        The operator that calls it.
    torch : dict, optional
        torch's names of arguments, and minirnn's, in addition to `TORCH`.
    """

    def declare(plain: Function) -> Function:
        if method:  # Python's messages show this name
            plain.__qualname__ = method.split()[0]
        function = accepting(plain, **torch or {})
        nodes = tuple(p for p in parts if isinstance(p, type))
        uses = [name for node in nodes for name in getattr(node, "uses", ())] + [p for p in parts if isinstance(p, str)]
        calls = tuple(p.__name__ for p in parts if isinstance(p, FunctionType))
        DECLARED[function] = Declaration(nodes, tuple(dict.fromkeys(uses)), calls)
        for name in (function.__name__ if method is None else method).split():
            setattr(Tensor, name, function)
        if operator in OPERATORS:
            setattr(Tensor, f"__{OPERATORS[operator]}__", plain)
            setattr(Tensor, f"__r{OPERATORS[operator]}__", lambda a, b: plain(b, a))
        elif operator is not None:
            setattr(Tensor, f"__{OTHERS[operator]}__", plain)
        return function

    return declare


def method(function: Function, *names: str) -> Function:
    """Make a function that is not an op a method of Tensor, under its own name or the given names."""
    for name in names or (function.__name__,):
        setattr(Tensor, name, function)
    return function


# ---- the functions of ops that take one Tensor or two

WHOLE = frozenset(np.dtype(code).type for code in "?bhilqBHILQ")
"""The classes of NumPy scalars that are not floats."""


def unary(
    kind: type[Primitive],
    doc: str,
    takes: Callable[[str, Any], Tensor] = float_tensor,
    method: str | None = None,
    operator: str | None = None,
) -> Callable[[Any], Tensor]:
    """The function of an op of one Tensor, named after its node.

    `takes` converts the argument first; `float_tensor` raises for integers and bools. Floats are used unchanged.
    """
    name, node = kind.__name__.lower(), kind()

    def of_primitive(x: Any = MISSING, *, input: Any = MISSING) -> Tensor:
        if x.__class__ is not Tensor or x.array.dtype.kind != "f" or input is not MISSING:
            x = only_one(name, x, input, "input")
            if x.__class__ is Expr:  # a symbol in a cell's function
                return apply(name, x)
            x = takes(name, x)
        device = x.device
        return record(node, device, device.primitive(x.array), (x,))

    def of_forward(x: Any = MISSING, *, input: Any = MISSING) -> Tensor:
        return node(takes(name, only_one(name, x, input, "input")))

    function = of_primitive if kind.forward is Primitive.forward else of_forward
    function.torch_names = {"input": "x"}  # type: ignore[attr-defined]
    return op(kind, method=method, operator=operator)(named(function, name, doc, kind.uses[0], kind.__module__))


def binary(
    kind: type[Primitive], doc: str, method: str | None = None, operator: str | None = None
) -> Callable[[Any, Any], Tensor]:
    """The function of an op of two operands, which broadcast. It is named after its node.

    A node may also have a method `of_first`, which computes only the gradient of the first operand. It is used for
    arrays if the second operand is a constant.
    """
    name, node = kind.__name__.lower(), kind()
    alone = kind()
    alone.backward = getattr(alone, "of_first", alone.backward)
    divides = kind.uses[0] == "divide"

    def function(a: Any = MISSING, b: Any = MISSING, *, input: Any = MISSING, other: Any = MISSING) -> Tensor:
        if a.__class__ is not Tensor or b.__class__ is not Tensor or input is not MISSING or other is not MISSING:
            a, b = only_one(name, a, input, "input"), only_one(name, b, other, "other")
            if a.__class__ is Expr or b.__class__ is Expr:
                return apply(name, a, b)
            a, b = pair(a, b)
        device = a.device
        if b.device is not device:
            a, b = together(name, a, b)
            device = a.device
        x, z = a.array, b.array
        if x.__class__ is not z.__class__ or divides and x.__class__ in WHOLE:  # NumPy scalars
            x, z = narrowed(x, z, divides)
        try:
            y = device.primitive(x, z)
            if y.__class__ is ndarray:
                if x.dtype is not z.dtype or (divides and y.dtype is not x.dtype):
                    y = device.primitive(*narrowed(x, z, divides))
                if not b._requires_grad:
                    return record(alone, device, y, (a, b))
        except (ValueError, TypeError) as error:
            raise shape_error(name, a, b, error) from None
        return record(node, device, y, (a, b))

    function.torch_names = {"input": "a", "other": "b"}  # type: ignore[attr-defined]
    return op(kind, method=method, operator=operator)(named(function, name, doc, kind.uses[0], kind.__module__))


def only_one(name: str, value: Any, torch: Any, torch_name: str) -> Any:
    """The argument that was given, by its place or by torch's name."""
    if (value is MISSING) is (torch is MISSING):
        what = "no argument" if value is MISSING else "an argument"
        raise TypeError(f"{name}: got {what} and {'no' if value is MISSING else 'also'} {torch_name}\n  expected one")
    return torch if value is MISSING else value


def named(function: Any, name: str, doc: str, primitive: str, module: str) -> Any:
    """A function with the name and the primitive of its op: ``device.primitive`` becomes ``device.tanh``.

    Looking it up by name in each call would cost a scalar op 50 ns, or 6 %.
    """
    code = function.__code__
    names = tuple(primitive if n == "primitive" else n for n in code.co_names)
    function.__code__ = code.replace(co_names=names, co_name=name, co_qualname=name)
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module, doc
    own = [p.replace(default=Parameter.empty) for p in signature(function).parameters.values() if p.name in "xab"]
    function.__signature__ = Signature(
        own, return_annotation="Tensor"
    )  # without the names of torch, which all functions accept
    return function
