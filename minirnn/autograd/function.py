"""Function: an op of your own, with its forward and its backward formula. The protocol is torch's.

One call of `Function.apply` is one node of the tape, whatever forward does. Nothing is recorded in forward; backward
is written with ops on Tensors, so it can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, wraps
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from minirnn.autograd.context import FunctionCtx
from minirnn.autograd.kernels import Kernel, by_kernel, kernel_of, registered
from minirnn.cells.expr import CellError, Expr
from minirnn.devices.precision import chosen
from minirnn.engine.outputs import outputs_of
from minirnn.engine.tape import Op, mode, no_grad, record
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.fused import gradients_through_composition, zeros


class Function:
    """The base class of your own ops; their methods are static. torch.autograd.Function.

    ``forward(ctx, *args)`` computes the results, a Tensor or a tuple, and leaves in `ctx` what backward needs.
    Or ``forward(*args)`` computes alone, and ``setup_context(ctx, inputs, output)`` leaves it there. In this form
    the op can have kernels (`register_kernel`), and backward may be missing: gradients then come from the ops that
    forward is composed of.

    ``backward(ctx, *grads)`` gets the gradient of each result, and returns a gradient, or None, for each argument of
    forward. A gradient has the shape of its argument, or one that this broadcasts to: the sum is taken then.

    Call the op by ``Name.apply(*args)``. Gradients reach the Tensors among the arguments, but not Tensors inside lists.

    Examples
    --------
    ::

        class Cube(mr.autograd.Function):
            \"""y = x ** 3        dx = 3 x ** 2 dy\"""

            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, dy):
                (x,) = ctx.saved_tensors
                return 3 * x**2 * dy

        y = Cube.apply(x)
    """

    kernels: ClassVar[dict[str, Kernel]] = {}
    """The kernels of this op: name of a device -> arrays in, arrays out."""

    def __init__(self) -> None:
        name = type(self).__name__
        raise TypeError(f"{name} cannot be instantiated\n  expected {name}.apply(...)")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.kernels = {}

    @staticmethod
    def forward(*args: Any) -> Any:
        """``forward(ctx, *args)``, or ``forward(*args)`` next to `setup_context`: the results."""
        raise NotImplementedError("a Function needs a static method forward(ctx, *args)")

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> None:
        """Store in `ctx` what backward needs. `inputs` are the arguments of forward, and `output` is its result."""

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Any) -> Any:
        """The gradients of the arguments of forward, from those of its results."""

    @classmethod
    def register_kernel(cls, device_types: str | Sequence[str], func: Kernel | None = None) -> Any:
        """Let a kernel compute forward on the devices of these names; a decorator if `func` is left out.

        A kernel takes the arguments of forward with arrays of the device (in C order) for Tensors, and returns an array
        or a tuple of arrays. It must not write into its arguments. Kernels see no float16: they get float32, and their
        results are rounded. A kernel for "cpu" also serves "native", and one for "cuda" also "cuda-sim". Raises
        TypeError if the op has no `setup_context`, or `func` cannot be called.
        """
        if not _separate(cls):
            raise TypeError(
                f"{cls.__name__}: forward takes a context, but a kernel has none\n"
                "  expected forward(*args), and setup_context(ctx, inputs, output) next to it"
            )
        return registered(cls.__name__, cls.kernels, device_types, func)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """The results of forward, recorded as one node. Raises TypeError or ValueError if an argument or result does
        not fit.

        As in torch backward returns a gradient for each argument of forward, also for one that was given by its name.
        """
        if kwargs or _separate(cls):
            args = _by_position(cls, args, kwargs)
        _check_nested(cls.__name__, args)
        ctx = FunctionCtx(cls.__name__, args)
        with no_grad():
            if _separate(cls):
                kernel = kernel_of(cls.__name__, cls.kernels, args)
                output = cls.forward(*args) if kernel is None else by_kernel(cls.__name__, kernel, args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        outputs = output if isinstance(output, tuple) else (output,)
        ctx._settle(args, outputs)
        found = _recorded(cls, ctx, args, outputs)
        if not isinstance(output, tuple):
            return found[0]
        return type(output)(*found) if hasattr(output, "_fields") else tuple(found)


def composed(function: type[Function], *args: Any) -> Any:
    """The results of forward as a composition: each op in it is recorded, and the formula of backward is not used."""
    return function.forward(*args) if _separate(function) else function.forward(FunctionCtx("", args), *args)


def _by_position(function: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of forward except the context, with their defaults if `setup_context` sees them."""
    known, context = signature_of(function.forward), () if _separate(function) else (None,)
    if not kwargs and len(args) == len(known.parameters):
        return args
    try:
        bound = known.bind(*context, *args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{function.__name__}: {error}\n  expected the arguments of forward{known}") from None
    bound.apply_defaults()
    return bound.args[len(context) :]


signature_of = cache(signature)


def _separate(function: type[Function]) -> bool:
    """Whether forward has no context."""
    return function.setup_context is not Function.setup_context


def _check_nested(name: str, args: Sequence[Any]) -> None:
    for k, a in enumerate(args):
        if isinstance(a, Expr):
            raise CellError(
                f"{name}.apply was called inside a cell's step, where its backward would be ignored\n"
                "  write straight_through(value, surrogate): the value of the first, the derivative of the second"
            )
        if isinstance(a, (list, tuple)) and any(isinstance(t, Tensor) and t.requires_grad for t in a):
            raise TypeError(
                f"{name}: argument {k} is a {type(a).__name__} with Tensors that require grad\n"
                f"  expected each Tensor as a separate argument: {name}.apply(*tensors); gradients do not reach "
                "nested Tensors"
            )


def _recorded(function: type[Function], ctx: FunctionCtx, args: Sequence[Any], outputs: tuple[Any, ...]) -> list[Any]:
    """The results as Tensors of the tape. Other values are passed on."""
    numbers = [k for k, y in enumerate(outputs) if isinstance(y, Tensor)]
    for k, y in enumerate(outputs):
        if isinstance(y, (list, tuple, np.ndarray)):
            raise TypeError(
                f"{function.__name__}: result {k} of forward is a {type(y).__name__}\n"
                "  expected a Tensor, or a tuple of Tensors"
            )
    parents = tuple(a for a in args if isinstance(a, Tensor))
    found = [leaf(y.device, y.array) if isinstance(y, Tensor) else y for y in outputs]
    carried = [k for k in numbers if outputs[k].dtype.kind == "f" and not any(outputs[k] is t for t in ctx._constant)]
    if not mode.enabled or not carried or not any(p.requires_grad for p in parents):
        return found
    device = outputs[carried[0]].device
    if any(outputs[k].device is not device for k in carried):
        raise ValueError(f"{function.__name__}: the results are on different devices\n  expected one device")
    node = _Node(function, ctx, args, outputs, carried)
    if len(outputs) == 1:
        return [record(node, device, outputs[0].array, parents)]
    recorded = record(node, device, tuple(outputs[k].array for k in numbers), parents)
    made = dict(zip(numbers, outputs_of(recorded), strict=False))
    for k in carried:
        found[k] = made[k]
    return found


class _Node(Op):
    """What `Function.apply` records."""

    broadcasts = True
    reads_inputs = False  # the context takes care of the values that it saved

    def __init__(
        self,
        function: type[Function],
        ctx: FunctionCtx,
        args: Sequence[Any],
        outputs: Sequence[Any],
        carried: Sequence[int],
    ) -> None:
        self.function, self.ctx, self.carried = function, ctx, carried
        # The values that are not Tensors, with None in place of each Tensor, and which results are Tensors.
        self.others = [None if isinstance(a, Tensor) else a for a in args]
        self.places = [k for k, a in enumerate(args) if isinstance(a, Tensor)]
        self.results = [isinstance(y, Tensor) for y in outputs]
        self.precision = chosen.precision

    @property
    def name(self) -> str:
        return self.function.__name__

    def backward(self, dy: Any, y: Any, *inputs: Tensor) -> list[Tensor | None]:
        single = len(self.results) == 1
        ys, dys = ([y], [dy]) if single else (self._spread(y), self._spread(dy))
        if self.ctx._materialize:
            dys = [zeros(t.shape, t) if g is None and t is not None else g for g, t in zip(dys, ys, strict=True)]
        if self.function.backward is Function.backward:
            return self._through_forward(dys, inputs)
        self.ctx._outputs = [t if k in self.carried or t is None else t.detach() for k, t in enumerate(ys)]
        try:
            given = self.function.backward(self.ctx, *dys)
        finally:
            self.ctx._outputs = ()
        return self._checked(given, inputs)

    def _spread(self, values: Sequence[Any]) -> list[Any]:
        """One value for each result, or None if it is not a Tensor."""
        left = iter(values)
        return [next(left) if is_tensor else None for is_tensor in self.results]

    def _through_forward(self, dys: Sequence[Tensor | None], inputs: Sequence[Tensor]) -> list[Tensor | None]:
        def compose(*xs: Tensor) -> list[Tensor]:
            args = list(self.others)
            for k, t in zip(self.places, xs, strict=True):
                args[k] = t
            output = self.function.forward(*args)
            ys = [t for t in (output if isinstance(output, tuple) else (output,)) if isinstance(t, Tensor)]
            if not any(t.requires_grad for t in ys):
                raise NotImplementedError(
                    f"{self.name} has no backward, and its forward was not recorded\n"
                    "  expected a static method backward(ctx, *grads), or a forward made of ops on Tensors"
                )
            return ys

        if not _separate(self.function):
            raise NotImplementedError(f"{self.name} has no backward\n  expected a static method backward(ctx, *grads)")
        carried = [g for g, is_tensor in zip(dys, self.results, strict=True) if is_tensor]
        return gradients_through_composition(compose, inputs, carried, [t.requires_grad for t in inputs])

    def _checked(self, given: Any, inputs: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradients of the Tensors among the arguments."""
        gs = list(given) if isinstance(given, (tuple, list)) else [given]
        n = len(self.others)
        if len(gs) < n or any(g is not None for g in gs[n:]):
            raise TypeError(
                f"{self.name}: backward returned {len(gs)} gradients for {n} arguments of forward\n"
                "  expected one for each, with None where there is no gradient"
            )
        for k, g in enumerate(gs[:n]):
            if g is not None and k not in self.places:
                raise TypeError(
                    f"{self.name}: backward returned a gradient for argument {k}, which is not a Tensor\n"
                    "  expected None"
                )
        for k, x in zip(self.places, inputs, strict=True):
            g = gs[k]
            if g is None:
                continue
            if not isinstance(g, Tensor):
                raise TypeError(
                    f"{self.name}: backward returned a {type(g).__name__} for argument {k}\n  expected a Tensor or None"
                )
            if g.device is not x.device or not _broadcasts_to(x.shape, g.shape):
                raise ValueError(
                    f"{self.name}: backward returned a gradient of shape {g.shape} on {g.device} for argument {k}\n"
                    f"  expected the shape of the argument: {x.shape} on {x.device}"
                )
        return [gs[k] for k in self.places]


def _broadcasts_to(shape: tuple[int, ...], larger: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, larger) == larger
    except ValueError:
        return False


# ---- backward passes that cannot be differentiated


class _Once(Op):
    """The gradients returned by a backward that is marked `once_differentiable`."""

    def __init__(self, name: str) -> None:
        self.function = name

    def backward(self, *_: Any) -> Any:
        raise RuntimeError(
            f"{self.function}: its backward is marked once_differentiable, so it cannot be differentiated again\n"
            "  expected first derivatives only, or a backward of ops on Tensors without the mark"
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator under ``@staticmethod`` for a `backward` that leaves the tape, through NumPy for example.

    Its gradients are right. Differentiating them again raises an error instead of giving a wrong number.
    """

    if not callable(backward):
        raise TypeError(f"once_differentiable: got a {type(backward).__name__}\n  expected the method backward")

    @wraps(backward)
    def once(ctx: FunctionCtx, *grads: Any) -> Any:
        with no_grad():
            found = backward(ctx, *grads)
        parents = tuple(t for t in (*grads, *ctx.saved_tensors) if isinstance(t, Tensor) and t.requires_grad)
        if not mode.enabled or not parents:
            return found
        node = _Once(ctx._name)
        given = found if isinstance(found, (tuple, list)) else (found,)
        marked = [record(node, g.device, g.array, parents) if isinstance(g, Tensor) else g for g in given]
        return marked if given is found else marked[0]

    return once
