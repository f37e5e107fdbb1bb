"""Custom ops by torch's protocol: the same class is run with torch and with minirnn.

Tests `minirnn/autograd/function.py` and `minirnn/autograd/context.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import minirnn as mr


def exp(lib: Any) -> Any:
    """The result is saved."""

    class Exp(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            (y,) = ctx.saved_tensors
            return dy * y

    return Exp.apply


def linear(lib: Any) -> Any:
    """Three inputs, and a gradient for those that need one."""

    class Linear(lib.autograd.Function):
        @staticmethod
        def forward(x: Any, w: Any, b: Any) -> Any:
            return x @ w.T + b

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, w, _ = inputs
            ctx.save_for_backward(x, w)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, w = ctx.saved_tensors
            dx = dy @ w if ctx.needs_input_grad[0] else None
            dw = dy.T @ x if ctx.needs_input_grad[1] else None
            db = dy.sum(0) if ctx.needs_input_grad[2] else None
            return dx, dw, db

    return Linear.apply


def cube(lib: Any) -> Any:
    """An intermediate value is returned, so that it can also be differentiated."""

    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], output[1])

        @staticmethod
        def backward(ctx: Any, dy: Any, d_slope: Any) -> Any:
            x, slope = ctx.saved_tensors
            return dy * slope + d_slope * 6 * x

    return Cube.apply


def clipped(lib: Any) -> Any:
    """A result that carries no gradient."""

    class Clipped(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            inside = (abs(x) < 1) * x / x
            ctx.mark_non_differentiable(inside)
            ctx.save_for_backward(inside)
            return x * inside, inside

        @staticmethod
        def backward(ctx: Any, dy: Any, _: Any) -> Any:
            assert not _.sum()  # zeros
            return dy * ctx.saved_tensors[0]

    return Clipped.apply


def shared_row(lib: Any) -> Any:
    """A gradient that broadcasts from its argument is summed, and additional None values are ignored."""

    class Rows(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, row: Any, x: Any) -> Any:
            return row + x

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            return dy, dy, None, None

    return Rows.apply


CASES: list[tuple[Callable[[Any], Any], list[tuple[int, ...]]]] = [
    (exp, [(2, 3)]),
    (linear, [(5, 3), (2, 3), (2,)]),
    (cube, [(3, 2)]),
    (shared_row, [(4,), (3, 4)]),
    (clipped, [(3, 4)]),
]


@pytest.mark.parametrize(("make", "shapes"), CASES, ids=[make.__name__ for make, _ in CASES])
def test_values_gradients_and_second_derivatives_are_those_of_torch(
    make: Callable[[Any], Any], shapes: list[tuple[int, ...]], rng: np.random.Generator
) -> None:
    torch = pytest.importorskip("torch")
    arrays = [rng.standard_normal(s) for s in shapes]
    again = [rng.standard_normal(s) for s in shapes]
    found: list[list[np.ndarray]] = []
    cotangents: list[np.ndarray] = []
    for lib in (mr, torch):
        xs = [lib.tensor(a, requires_grad=True) for a in arrays]
        y = make(lib)(*xs)
        ys = [t for t in (y if isinstance(y, tuple) else (y,)) if t.requires_grad]
        cotangents = cotangents or [rng.standard_normal(t.shape) for t in ys]
        seeds = [lib.tensor(c) for c in cotangents]
        grad = lib.autograd.grad
        first = grad(ys, xs, seeds, create_graph=True)
        recorded = [(g, lib.tensor(v)) for g, v in zip(first, again, strict=True) if g.requires_grad]
        second: Any = [lib.tensor(0 * a) for a in arrays]
        if recorded:
            options = {"allow_unused": True} if lib is torch else {}
            second = grad([g for g, _ in recorded], xs, [v for _, v in recorded], **options)
            second = [lib.tensor(0 * a) if g is None else g for g, a in zip(second, arrays, strict=True)]
        found.append([t.detach().numpy() for t in (*ys, *first, *second)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("make", "shapes"), CASES[:4], ids=[make.__name__ for make, _ in CASES[:4]])
def test_gradcheck_to_second_order(
    make: Callable[[Any], Any], shapes: list[tuple[int, ...]], rng: np.random.Generator, device: str
) -> None:
    xs = [mr.tensor(rng.standard_normal(s), True, device) for s in shapes]
    assert mr.autograd.gradcheck(make(mr), xs, order=2)


def test_a_call_is_one_node_of_its_name_and_nothing_is_recorded_inside(rng: np.random.Generator) -> None:
    x = mr.tensor(rng.standard_normal(3), requires_grad=True)
    y = exp(mr)(x)
    assert y.op.name == "Exp" and y.parents == (x,)
    with mr.no_grad():
        assert not exp(mr)(x).requires_grad
    assert not exp(mr)(x.detach()).requires_grad


def test_a_mask_carries_no_gradient_and_other_arguments_are_passed_on() -> None:
    class Both(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor) -> Any:
            return x * 2, x.argmax(), "two", x * 3

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            seen.append(grads)
            return grads[0] * 2 + grads[3] * 3

    seen: list[Any] = []
    x = mr.tensor([1.0, 3.0], requires_grad=True)
    a, place, text, b = Both.apply(x)
    assert (place.requires_grad, place.item(), text) == (False, 1, "two")
    (a * b).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 12 * x.numpy())
    b = Both.apply(x)[3]
    b.sum().backward()
    assert seen[1][0].tolist() == [0, 0] and seen[1][2] is None and seen[1][1].item() == 0
    twice = Twice.apply(x)
    twice[1].sum().backward()
    assert x.grad.tolist() == [12 + 3 + 3, 36 + 3 + 3]


class Twice(mr.autograd.Function):
    """Its backward gets None for a result that no gradient reached."""

    @staticmethod
    def forward(ctx: Any, x: mr.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        assert a is None
        return b * 3


def test_a_named_tuple_stays_one_and_an_argument_that_is_returned_is_another_tensor() -> None:
    class Two(NamedTuple):
        same: Any
        twice: Any

    class Named(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor) -> Two:
            return Two(x, x * 2)

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            return a + 2 * b

    x = mr.tensor([1.0, 3.0], requires_grad=True)
    found = Named.apply(x)
    assert type(found) is Two and found.same is not x
    (found.same + found.twice).sum().backward()
    assert x.grad.tolist() == [3, 3]


def through_numpy(mark: Callable[[Any], Any]) -> Any:
    class Sine(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor) -> mr.Tensor:
            ctx.save_for_backward(x)
            return mr.tensor(np.sin(x.numpy()))

        @staticmethod
        @mark
        def backward(ctx: Any, dy: mr.Tensor) -> mr.Tensor:
            (x,) = ctx.saved_tensors
            return mr.tensor(dy.numpy() * np.cos(x.numpy()))

    return Sine.apply


def test_once_differentiable_gives_gradients_and_refuses_second_ones(rng: np.random.Generator) -> None:
    sine = through_numpy(mr.autograd.once_differentiable)
    x = mr.tensor(rng.standard_normal(3), requires_grad=True)
    assert mr.gradcheck(sine, [x])
    (g,) = mr.grad(sine(x).sum(), [x], create_graph=True)
    np.testing.assert_allclose(g.numpy(), np.cos(x.numpy()))
    with pytest.raises(RuntimeError, match="Sine: its backward is marked once_differentiable"):
        g.sum().backward()


def test_without_a_backward_the_gradient_is_that_of_the_composition(rng: np.random.Generator) -> None:
    class Plain(mr.autograd.Function):
        @staticmethod
        def forward(x: mr.Tensor, w: mr.Tensor, k: int) -> Any:
            return (x * w).sin() ** k, x + 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    assert mr.gradcheck(lambda x, w: Plain.apply(x, w, 2), [rng.standard_normal((2, 3)), np.ones(3)], order=2)


def test_it_works_in_vmap_checkpoint_and_a_module(rng: np.random.Generator) -> None:
    call = linear(mr)
    x, w, b = (mr.tensor(rng.standard_normal(s), requires_grad=True) for s in ((5, 4, 3), (2, 3), (2,)))
    expected = mr.grad((x @ w.T + b).sin().sum(), [x, w, b])
    for way in (
        mr.vmap(call, in_dims=(0, None, None))(x, w, b),
        mr.stack([mr.checkpoint(call, x[k], w, b) for k in range(5)]),
    ):
        for ours, theirs in zip(mr.grad(way.sin().sum(), [x, w, b]), expected, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-12)


def test_float32_and_float16_keep_their_dtype() -> None:
    for dtype in ("float32", "float16"):
        x = mr.tensor(np.array([0.5, 1.0], dtype), requires_grad=True)
        y = exp(mr)(x)
        y.sum().backward()
        assert (y.dtype, x.grad.dtype) == (dtype, dtype)


# ---- errors


def returning(*gradients: Any, result: Any = None) -> Any:
    class Wrong(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor, k: int) -> Any:
            return x * k if result is None else result

        @staticmethod
        def backward(ctx: Any, dy: mr.Tensor) -> Any:
            return gradients

    return Wrong.apply


@pytest.mark.parametrize(
    ("gradients", "kind", "words"),
    [
        ((mr.ones(3),), TypeError, "Wrong: backward returned 1 gradients for 2 arguments"),
        ((mr.ones(3), None, mr.ones(3)), TypeError, "returned 3 gradients for 2"),
        ((mr.ones(3), mr.ones(3)), TypeError, "a gradient for argument 1, which is not a Tensor"),
        ((2.0, None), TypeError, "returned a float for argument 0"),
        ((mr.ones(2), None), ValueError, r"shape \(2,\) on cpu for argument 0\n  expected .* \(3,\)"),
        ((mr.ones(()), None), ValueError, r"shape \(\)"),
        ((mr.ones(3, device="cpu-composed"), None), ValueError, "on cpu-composed"),
    ],
)
def test_wrong_gradients_are_named(gradients: Any, kind: type[Exception], words: str) -> None:
    x = mr.ones(3, requires_grad=True)
    with pytest.raises(kind, match=words):
        returning(*gradients)(x, 2).sum().backward()


def test_other_mistakes_are_named() -> None:
    x = mr.ones(3, requires_grad=True)
    Function = mr.autograd.Function
    with pytest.raises(TypeError, match="result 0 of forward is a list"):
        returning(result=[x])(x, 2)
    with pytest.raises(TypeError, match=r"Function cannot be instantiated\n  expected Function.apply"):
        Function()
    with pytest.raises(TypeError, match="argument 0 is a list with Tensors that require grad"):
        returning()([x], 2)

    class Context(Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor, what: str, *given: Any) -> mr.Tensor:
            getattr(ctx, what)(*given)
            return x * 2

    with pytest.raises(TypeError, match=r"save_for_backward got a int\n.*ctx.axis = axis"):
        Context.apply(x, "save_for_backward", 3)
    with pytest.raises(TypeError, match="mark_dirty"):
        Context.apply(x, "mark_dirty", x)
    with pytest.raises(ValueError, match="mark_non_differentiable got a value that forward does not return"):
        Context.apply(x, "mark_non_differentiable", x)
    with pytest.raises(NotImplementedError, match="Context has no backward"):
        Context.apply(x, "save_for_backward").sum().backward()
    with pytest.raises(NotImplementedError, match="needs a static method forward"):
        Function.apply(x)


def test_a_saved_value_that_was_assigned_to_is_noticed() -> None:
    w = mr.ones((2, 3), requires_grad=True)
    y = linear(mr)(mr.ones((5, 3), requires_grad=True), w, mr.ones(2))
    w.assign(np.zeros((2, 3)))
    with pytest.raises(RuntimeError, match=r"Linear: a saved Tensor \(shape \(2, 3\)\) was changed by assign"):
        y.sum().backward()


def test_arguments_by_name_and_defaults_are_torchs() -> None:
    """With setup_context all arguments of forward are there; without one those that were given."""
    torch = pytest.importorskip("torch")

    def programs(lib: Any) -> list[Any]:
        seen: list[Any] = []

        class Joined(lib.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, k: float = 2) -> Any:
                ctx.k = k
                return x * k

            @staticmethod
            def backward(ctx: Any, dy: Any) -> Any:
                seen.append(ctx.needs_input_grad)
                return (dy * ctx.k, None)[: len(ctx.needs_input_grad)]

        class Apart(lib.autograd.Function):
            @staticmethod
            def forward(x: Any, k: float = 2) -> Any:
                return x * k

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                x, ctx.k = inputs
                ctx.save_for_forward(x)

            @staticmethod
            def backward(ctx: Any, dy: Any) -> Any:
                seen.append(ctx.needs_input_grad)
                return dy * ctx.k, None

        for function in (Joined, Apart):
            for named in ({}, {"k": 3}):
                x = lib.ones(2, requires_grad=True)
                function.apply(x, **named).sum().backward()
                seen.append(x.grad.tolist())
        return seen

    assert programs(mr) == programs(torch)

    class Two(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, k: float) -> Any:
            return x * k

    with pytest.raises(TypeError, match=r"Two: missing a required argument: 'k'\n  expected the arguments of forward"):
        Two.apply(x=mr.ones(2))


def test_an_operation_in_place_on_a_saved_value_is_named() -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True) * 1
    y = exp(mr)(x)
    twice = Square.apply(x)
    x.mul_(2)
    y.sum().backward(retain_graph=True)
    with pytest.raises(
        RuntimeError, match=r"Square: a saved Tensor \(shape \(2,\)\) was changed by mul_\(\) after use"
    ):
        twice.sum().backward()


class Square(mr.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * dy * x
