"""Functions, methods and modules accept torch's names of their arguments as well as minirnn's.

Tests `minirnn/arguments/names.py` and `minirnn/ops/primitives/declare.py`.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

X, Y = mr.tensor([[1.0, 2.0], [3.0, 4.0]]), mr.tensor([[2.0, 0.5], [1.0, 3.0]])
CALLS: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: mr.cat(tensors=[X, Y], dim=0), lambda: mr.cat([X, Y])),
    (lambda: mr.stack(tensors=[X, Y]), lambda: mr.stack([X, Y])),
    (lambda: mr.matmul(input=X, other=Y), lambda: X @ Y),
    (lambda: mr.mm(input=X, mat2=Y), lambda: X @ Y),
    (lambda: mr.mv(input=X, vec=Y[0]), lambda: X @ Y[0]),
    (lambda: mr.dot(input=X[0], tensor=Y[0]), lambda: X[0] @ Y[0]),
    (lambda: mr.outer(input=X[0], vec2=Y[0]), lambda: mr.outer(X[0], Y[0])),
    (lambda: mr.topk(input=X, k=1).values, lambda: X.topk(1).values),
    (lambda: mr.softmax(input=X, dim=0), lambda: X.softmax(0)),
    (lambda: mr.softmax(X, 0, dtype=mr.float64), lambda: X.double().softmax(0)),
    (lambda: X.log_softmax(0, dtype=mr.float64), lambda: X.double().log_softmax(0)),
    (lambda: mr.sum(input=X, dim=0), lambda: X.sum(0)),
    (lambda: mr.clamp(input=X, min=2.0), lambda: X.clamp(2.0)),
    (lambda: mr.clip(input=X, min=2.0, max=3.0), lambda: X.clamp(2.0, 3.0)),
    (lambda: mr.where(condition=X > 2, input=X, other=Y), lambda: mr.where(X > 2, X, Y)),
    (lambda: mr.max(input=X, other=Y), lambda: mr.maximum(X, Y)),
    (lambda: mr.tanh(input=X), lambda: X.tanh()),
    (lambda: mr.abs(input=-X), lambda: X),
    (lambda: mr.pow(input=X, exponent=2), lambda: X * X),
    (lambda: X.pow(exponent=2), lambda: X * X),
    (lambda: X.mul(other=Y), lambda: X * Y),
    (lambda: mr.div(input=X, other=Y), lambda: X / Y),
    (lambda: mr.sub(input=X, other=Y, alpha=2), lambda: X - 2 * Y),
    (lambda: mr.add(input=X, other=Y, alpha=2), lambda: X + 2 * Y),
    (lambda: X.clone().mul_(other=Y), lambda: X * Y),
    (lambda: mr.masked_select(input=X, mask=Y > 1), lambda: mr.tensor([1.0, 4.0])),
    (lambda: mr.repeat_interleave(X, [2, 1], dim=0), lambda: mr.stack([X[0], X[0], X[1]])),
    (lambda: X.split(split_size=1)[1], lambda: X[1:]),
    (lambda: mr.split(X, split_size_or_sections=1)[1], lambda: X[1:]),
    (lambda: X.view(size=(4,)), lambda: X.reshape(4)),
    (lambda: X.reshape(shape=(4,)), lambda: X.reshape(4)),
    (lambda: X.permute(dims=(1, 0)), lambda: X.T),
    (lambda: mr.permute(input=X, dims=(1, 0)), lambda: X.T),
    (lambda: X[:1].expand(size=(3, 2)), lambda: X[:1].expand(3, 2)),
    (lambda: mr.broadcast_to(input=X[0], size=(3, 2)), lambda: X[0].expand(3, 2)),
    (lambda: mr.tile(input=X, dims=(2, 1)), lambda: mr.cat([X, X])),
    (lambda: mr.repeat_interleave(input=X, repeats=2, output_size=8), lambda: X.reshape(4, 1).expand(4, 2).reshape(8)),
    (lambda: X.scatter(0, mr.tensor([[1, 0]]), value=7.0), lambda: X.scatter(0, mr.tensor([[1, 0]]), 7.0)),
    (lambda: mr.nn.Linear(2, 2).double()(input=X.double()).shape, lambda: (2, 2)),
    (lambda: mr.zeros(2).uniform_(**{"from": 3.0, "to": 3.0}), lambda: mr.full((2,), 3.0)),
    (lambda: mr.zeros(2).random_(**{"from": 4, "to": 5}), lambda: mr.full((2,), 4.0)),
    (lambda: mr.randint(high=1, size=(2,)), lambda: mr.zeros(2)),
    (lambda: mr.nn.ModuleList([mr.nn.Tanh()]).pop(key=0)(X), lambda: X.tanh()),
]


def test_calls_with_the_names_of_torch() -> None:
    for call, right in CALLS:
        found, expected = call(), right()
        if isinstance(found, mr.Tensor):
            np.testing.assert_array_equal(found.numpy(), expected.numpy(), err_msg=inspect.getsource(call))
        else:
            assert found == expected


def test_the_names_of_minirnn_stay() -> None:
    assert mr.tanh(x=X).tolist() == X.tanh().tolist() and mr.mul(a=X, b=Y).tolist() == (X * Y).tolist()
    assert str(inspect.signature(mr.matmul)).startswith("(a: ") and str(inspect.signature(mr.tanh)).startswith("(x: ")


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: mr.cat([X], xs=[X], tensors=[X]), "^cat: got xs and tensors\n  expected one"),
        (lambda: mr.tanh(), "tanh: got no argument and no input\n  expected one"),
        (lambda: mr.tanh(X, input=X), "tanh: got an argument and also input\n  expected one"),
        (lambda: X.mul(Y, other=Y), "^mul: got an argument and also other\n  expected one"),
        (lambda: mr.abs(X, 1), r"^abs\(\) takes"),
        (lambda: mr.pow(X, 1, 2), r"^pow\(\) takes"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        call()


# ---- the name in messages

PLACES = {"mr": mr, "mr.ops": mr.ops, "mr.nn.functional": mr.nn.functional, "mr.nn": mr.nn, "Tensor": mr.Tensor}
PLACES |= {"mr.optim.lr_scheduler": mr.optim.lr_scheduler, "mr.cudnn_rnn": mr.cudnn_rnn, "mr.devices": mr.devices}
NAMES = [(place, name) for place in PLACES for name in sorted(getattr(PLACES[place], "__all__", dir(PLACES[place])))]
NAMES = [(place, name) for place, name in NAMES if name[0] != "_" and callable(getattr(PLACES[place], name, None))]
NOT_OURS = {"Size", "DeviceUnavailable"}  # Python's tuple and exception


@each("place, name", [(place, name) for place, name in NAMES if name not in NOT_OURS])
def test_a_message_about_arguments_names_what_was_called(place: str, name: str) -> None:
    function = getattr(PLACES[place], name)
    first = (X,) if place == "Tensor" else ()
    signature = inspect.signature(function)
    kinds = {p.kind for p in signature.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        with pytest.raises(TypeError, match=rf"^(\w+\.)*{name}(\.__\w+__)?\(\) (.*'no_such'|takes no arguments)"):
            function(*first, no_such=1)
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        with pytest.raises(
            TypeError, match=rf"^(\w+\.)*{name}(\.__\w+__)?\(\) takes (.* but 4\d were given|no arguments)"
        ):
            function(*first, *range(40))


OUT = """add addmm all amax amin arange bmm cat ceil clamp clip concat cos cumprod cumsum div dot empty eq erf exp expm1
eye floor full gather ge gt index_select le lerp linspace log log1p logaddexp logical_and logical_not logical_or
logsumexp lt masked_select matmul max maximum min minimum mm mul multinomial mv ne neg nonzero ones ones_like outer pow
rand randint randn randperm reciprocal round rsqrt sigmoid sign sin sort sqrt stack std sub take_along_dim tan tanh topk
tril triu trunc var var_mean where zeros zeros_like any logical_xor prod"""
"""The functions of torch 2.13 that take ``out=``, of those that minirnn has."""


@each("name", OUT.split())
def test_out_has_a_sentence_that_says_what_to_write(name: str) -> None:
    with pytest.raises(TypeError) as error:
        getattr(mr, name)(out=mr.zeros(2, 2))
    assert str(error.value) == (
        f"{name}: got out\n"
        f"  expected no out, because the result is a new Tensor; to write it into y, use y.copy_({name}(...))"
    )


def test_what_the_sentence_says_works_and_none_is_no_out() -> None:
    y = mr.zeros(2, 2)
    y.copy_(mr.matmul(X, Y))
    assert y.tolist() == mr.matmul(X, Y, out=None).tolist() == (X @ Y).tolist()
    assert mr.tanh(X, out=None).tolist() == X.tanh().tolist() and mr.mul(X, Y, out=None).tolist() == (X * Y).tolist()
    assert mr.zeros(2, out=None).tolist() == [0.0, 0.0]
