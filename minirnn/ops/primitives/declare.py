"""Declares primitives. Each is a class with its formula, its value and its derivative.

    class Softsign(Primitive, uses="absolute add divide", reads="x"):
        \"""y = x / (1 + |x|)       dx = dy / (1 + |x|) ** 2\"""

        def forward(self, device: Any, x: Array) -> Array:
            return device.divide(x, device.add(1, device.absolute(x)))

        def backward(self, dy: Any, y: Any, x: Any) -> tuple[Any]:
            return (dy / (1 + abs(x)) ** 2,)


    softsign = unary(Softsign, "``x / (1 + |x|)``: between -1 and 1.", activation=True)

`uses` names the primitives of the device that compute it. If there is only one, `forward` may be left out, and this
primitive computes the value. `reads` lists the values that the derivative needs: "x" for the inputs, "y" for the
output, "others" if each input's gradient needs only the other inputs.

`unary` and `binary` create the function that users call. An activation is a function of `nn.functional` as well. An op
with more arguments, or with two and a `forward`, has its own function, which checks the arguments and calls the node,
``Softmax(axis)(x)``. `@op(Softmax)` declares this, and makes the function a method of Tensor. `minirnn explain` and the
type stubs of the methods (``scripts/method_stubs.py``) read these declarations.

A derivative also calls nodes instead of functions, because its arguments need no checks.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from types import FunctionType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy import ndarray

from minirnn.arguments.names import Function, accepting, called, no_out
from minirnn.cells.expr import Expr, apply
from minirnn.devices.base import Array
from minirnn.engine.operands import float_tensor, mixed_devices, narrowed, pair, shape_error
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor


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

ACTIVATIONS: dict[str, Callable[[Any], Tensor]] = {}
"""The ops that are also functions of `nn.functional`, by their names."""

OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
OTHERS = {"-x": "neg", "~x": "invert", "[]": "getitem"}
OTHERS |= {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class _Missing:
    """No argument was given."""


MISSING = _Missing()


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
        torch's names of arguments, and minirnn's, in addition to those of `accepting`.
    """

    def declare(plain: Function) -> Function:
        function = accepting(plain, **torch or {})
        nodes = tuple(p for p in parts if isinstance(p, type))
        uses = [name for node in nodes for name in getattr(node, "uses", ())] + [p for p in parts if isinstance(p, str)]
        calls = tuple(p.__name__ for p in parts if isinstance(p, FunctionType))
        DECLARED[function] = Declaration(nodes, tuple(dict.fromkeys(uses)), calls)
        for name in (function.__name__ if method is None else method).split():
            setattr(Tensor, name, called(function, name))
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
        setattr(Tensor, name, called(function, name))
    return function


def synonym(function: Function, name: str) -> Function:
    """An op under another name, which Python's messages show."""
    made = called(function, name)
    DECLARED[made] = DECLARED[function]
    return made


# ---- the functions of ops that take one Tensor or two

WHOLE = frozenset(np.dtype(code).type for code in "?bhilqBHILQ")
"""The classes of NumPy scalars that are not floats."""


def unary(
    kind: type[Primitive],
    doc: str,
    takes: Callable[[str, Any], Tensor] = float_tensor,
    method: str | None = None,
    operator: str | None = None,
    activation: bool = False,
) -> Callable[[Any], Tensor]:
    """The function of an op of one Tensor, named after its node.

    `takes` converts the argument first; `float_tensor` raises for integers and bools. Floats are used unchanged. An
    `activation` is a function of `nn.functional` as well.
    """
    name, node = kind.__name__.lower(), kind()
    label = name  # `called` replaces it

    def of_primitive(x: Any = MISSING, *, input: Any = MISSING, out: Any = None) -> Tensor:
        if x.__class__ is not Tensor or x.array.dtype.kind != "f" or input is not MISSING or out is not None:
            x = only_one(label, x, input, "input", out)
            if x.__class__ is Expr:  # a symbol in a cell's function
                return apply(name, x)
            x = takes(label, x)
        device = x.device
        return record(node, device, device.primitive(x.array), (x,))

    def of_forward(x: Any = MISSING, *, input: Any = MISSING, out: Any = None) -> Tensor:
        x = only_one(label, x, input, "input", out)
        return apply(name, x) if x.__class__ is Expr else node(takes(label, x))

    function = of_primitive if kind.forward is Primitive.forward else of_forward
    function.torch_names = {"input": "x"}  # type: ignore[attr-defined]
    made = op(kind, method=method, operator=operator)(named(function, name, doc, kind.uses[0], kind.__module__))
    if activation:
        ACTIVATIONS[name] = made
    return made


def binary(
    kind: type[Primitive], doc: str, method: str | None = None, operator: str | None = None
) -> Callable[[Any, Any], Tensor]:
    """The function of an op of two operands, which broadcast. It is named after its node. One primitive computes it.

    A node may also have a method `of_first`, which computes only the gradient of the first operand. It is used for
    arrays if the second operand is a constant.
    """
    if kind.forward is not Primitive.forward:
        raise TypeError(f"binary: {kind.__name__} has a forward\n  expected one primitive, or @op and a function")
    name, node = kind.__name__.lower(), kind()
    label = name  # `called` replaces it
    alone = kind()
    alone.backward = getattr(alone, "of_first", alone.backward)
    divides = kind.uses[0] == "divide"

    def function(
        a: Any = MISSING, b: Any = MISSING, *, input: Any = MISSING, other: Any = MISSING, out: Any = None
    ) -> Tensor:
        named = input is not MISSING or other is not MISSING or out is not None
        if named or a.__class__ is not Tensor or b.__class__ is not Tensor:
            a, b = only_one(label, a, input, "input", out), only_one(label, b, other, "other", out)
            if a.__class__ is Expr or b.__class__ is Expr:
                return apply(name, a, b)
            a, b = pair(a, b)
        device = a.device
        if b.device is not device:
            raise mixed_devices(label, a, b)
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
            raise shape_error(label, a, b, error) from None
        return record(node, device, y, (a, b))

    function.torch_names = {"input": "a", "other": "b"}  # type: ignore[attr-defined]
    return op(kind, method=method, operator=operator)(named(function, name, doc, kind.uses[0], kind.__module__))


def only_one(name: str, value: Any, torch: Any, torch_name: str, out: Any) -> Any:
    """The argument that was given, by its place or by torch's name."""
    if out is not None:
        raise no_out(name)
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
