"""The call of the function to be differentiated: its inputs on a separate tape, its outputs and vectors checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minirnn.arguments.messages import shown
from minirnn.engine.backward import run_backward
from minirnn.engine.tensor import Tensor, leaf
from minirnn.ops.primitives.elementwise import astype, identity


def tensors_of(name: str, what: str, given: Any) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether `given` is a tuple, and the Tensors in it."""
    many = isinstance(given, tuple)
    found = given if many else (given,)
    if not found:
        raise ValueError(f"{name}: {what} is an empty tuple\n  expected at least one Tensor")
    for k, t in enumerate(found):
        if not isinstance(t, Tensor):
            place = f"entry {k} of {what}" if many else what
            raise TypeError(
                f"{name}: {place} is {shown(t)}, a {type(t).__name__}\n  expected a Tensor or a tuple of Tensors"
            )
    return many, found


def starts_of(name: str, inputs: Any, create_graph: bool) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether `inputs` is a tuple, and new Tensors of their values: what the function is called with.

    They are new, so that an input differs from the same Tensor in the function's closure. With `create_graph`, the tape
    connects them with the given ones.
    """
    many, xs = tensors_of(name, "inputs", inputs)
    for k, x in enumerate(xs):
        if x.dtype.kind != "f":
            raise TypeError(
                f"{name}: input {k} has dtype {x.dtype}\n  expected float16, float32 or float64\n"
                "  put other arguments into a lambda: lambda x: func(x, indices)"
            )
    return many, tuple(identity(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in xs)


def outputs_of(name: str, func: Callable[..., Any], xs: Sequence[Tensor], strict: bool) -> tuple[bool, tuple[Any, ...]]:
    """Whether ``func(*xs)`` returned a tuple, and the Tensors in it."""
    if not callable(func):
        raise TypeError(f"{name}: func is a {type(func).__name__}\n  expected a callable")
    many, ys = tensors_of(name, "what the function returned", func(*xs))
    for k, y in enumerate(ys):
        if strict and not y.requires_grad:
            raise RuntimeError(
                f"{name}: output {k} (shape {y.shape}, {y.dtype}) was not recorded\n"
                "  expected, with strict=True, outputs that are computed from the inputs\n"
                "  likely numpy(), detach() or an integer dtype on the way"
            )
    return many, ys


def number_of(name: str, func: Callable[..., Any], xs: Sequence[Tensor], strict: bool) -> Tensor:
    """``func(*xs)``, which has to be one Tensor of one element."""
    many, ys = outputs_of(name, func, xs, strict)
    if many or ys[0].size != 1:
        got = f"{len(ys)} Tensors, a tuple" if many else f"shape {ys[0].shape}"
        raise ValueError(f"{name}: the function returned {got}\n  expected one Tensor of one element, such as a loss")
    return ys[0]


def vectors_of(name: str, v: Any, like: Sequence[Tensor], whose: str, create_graph: bool) -> list[Tensor]:
    """The vector `v`: for each Tensor of `like` (the `whose`), a Tensor of its shape. If there is only one number, it
    may be left out and is 1.
    """
    if v is None:
        if len(like) != 1 or like[0].size != 1:
            raise ValueError(
                f"{name}: v is None for {whose}s of shapes {[t.shape for t in like]}\n"
                f"  expected v, a Tensor of the shape of each {whose}; it may be left out for a single number"
            )
        return [filled(1, like[0])]
    _, vs = tensors_of(name, "v", v)
    if len(vs) != len(like):
        raise ValueError(f"{name}: v has {len(vs)} Tensors for {len(like)} {whose}s\n  expected one for each")
    for k, (a, t) in enumerate(zip(vs, like, strict=True)):
        if a.shape != t.shape or a.device is not t.device:
            raise ValueError(
                f"{name}: entry {k} of v has shape {a.shape} on {a.device}\n"
                f"  expected that of {whose} {k}: {t.shape} on {t.device}"
            )
    vs = vs if create_graph else tuple(a.detach() for a in vs)
    return [a if a.dtype == t.dtype else astype(a, t.dtype) for a, t in zip(vs, like, strict=True)]


def filled(value: float, like: Tensor, requires_grad: bool = False) -> Tensor:
    """A new leaf of the shape, dtype and device of `like`."""
    return leaf(like.device, like.device.full(like.shape, value, like.dtype), requires_grad)


def gradients(
    ys: Sequence[Tensor | None],
    xs: Sequence[Tensor],
    vs: Sequence[Tensor],
    create_graph: bool,
    retain_graph: bool = False,
) -> list[Tensor | None]:
    """Gradients of sum <v, y> with respect to `xs`; None where there is no path on the tape."""
    pairs = [(y, v) for y, v in zip(ys, vs, strict=True) if y is not None and y.requires_grad]
    if not pairs:
        return [None] * len(xs)
    border = min(x.seq for x in xs) - 1  # older nodes stay unchanged: tapes of closures are not even walked
    found = run_backward([y for y, _ in pairs], [v for _, v in pairs], xs, create_graph, retain_graph, border)
    return [None if (g := found.get(x)) is None else g if create_graph else leaf(x.device, g) for x in xs]


def finish(found: Sequence[Tensor], create_graph: bool) -> tuple[Tensor, ...]:
    """The returned results, without a history unless it was requested."""
    return tuple(found) if create_graph else tuple(t.detach() for t in found)


# ---- strict=True: derivatives that would be filled with zeros are errors


def reached(name: str, found: Sequence[Tensor | None], like: Sequence[Tensor], strict: bool, what: str) -> list[Tensor]:
    """`found` with zeros in place of None, or an error if `strict`. `what` is the message, with a placeholder {k}."""
    for k, g in enumerate(found):
        if strict and g is None:
            raise independent(name, what.format(k=k))
    return [filled(0, t) if g is None else g for g, t in zip(found, like, strict=True)]


def varying(name: str, found: Sequence[Tensor | None], strict: bool, what: str) -> None:
    """If `strict`, raise an error if one of `found` is a constant, because it could not be differentiated again."""
    for k, g in enumerate(found):
        if strict and (g is None or not g.requires_grad):
            raise independent(name, what.format(k=k))


def independent(name: str, what: str) -> RuntimeError:
    return RuntimeError(
        f"{name}: {what}\n  expected, with strict=True, a dependence that the tape has seen\n"
        "  strict=False gives zeros instead"
    )
