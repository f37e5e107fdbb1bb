"""Methods and operators of Tensor: they are ops of `mr.ops`, write in place, convert, and go through pieces.

Tests `minirnn/ops/primitives/declare.py`, `scripts/method_stubs.py`, `minirnn/ops/primitives/methods.py`,
`minirnn/ops/primitives/in_place.py`, `minirnn/ops/primitives/gathering.py`,
`minirnn/ops/primitives/conversions.py`, `minirnn/ops/primitives/pieces.py` and `minirnn/engine/outputs.py`.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.cells.expr import CellError, Graph
from minirnn.devices.counting import Counting
from minirnn.engine.outputs import Cotangents
from minirnn.ops.primitives.declare import ACTIVATIONS, Primitive, binary, unary
from minirnn.proof.cases.functional import VALUES as FUNCTIONAL
from minirnn.proof.cases.primitives import UNARY, VALUES
from tests.compare import assert_same
from tests.each import each


def test_every_op_of_the_primitives_is_public() -> None:
    from minirnn.ops import primitives

    assert set(primitives.__all__) <= set(ops.__all__)
    assert all(callable(getattr(ops, name)) for name in primitives.__all__)


def test_tensors_are_keys_by_identity() -> None:
    a, b = mr.tensor([1.0, 2.0]), mr.tensor([1.0, 2.0])
    assert {a: 1, b: 2}[b] == 2
    assert len({a, b, a}) == 2


def test_the_stubs_of_the_methods_are_those_that_the_script_writes() -> None:
    from scripts import method_stubs

    assert method_stubs.PATH.read_text(encoding="utf-8") == method_stubs.text()


class Softsign(Primitive, uses="absolute add divide", reads="x"):
    """y = x / (1 + |x|)       dx = dy / (1 + |x|) ** 2"""

    def forward(self, device: Any, x: Any) -> Any:
        return device.divide(x, device.add(1, device.absolute(x)))

    def backward(self, dy: Any, y: Any, x: Any) -> Any:
        return (dy / (1 + abs(x)) ** 2,)


def test_an_op_of_ones_own_is_declared_as_those_of_minirnn_are(device: str) -> None:
    softsign = unary(Softsign, "``x / (1 + |x|)``: between -1 and 1.", method="")
    assert str(inspect.signature(softsign)) == "(x: 'Any') -> 'Tensor'"
    assert (softsign.__name__, softsign.__doc__) == ("softsign", "``x / (1 + |x|)``: between -1 and 1.")
    x = mr.tensor(np.array([-2.0, 0.5, 3.0]), requires_grad=True, device=device)
    assert softsign(x).op.name == "Softsign"
    assert mr.gradcheck(softsign, x) and mr.gradcheck(lambda t: mr.grad(softsign(t).sum(), t, create_graph=True), x)
    with pytest.raises(TypeError, match="softsign: got dtype int64\n  expected float16"):
        softsign([1, 2])
    with pytest.raises(CellError, match="given to softsign"):  # the language of cells is asked, and lacks it
        softsign(Graph().node("input", (), "z"))


def test_an_op_of_two_operands_and_several_primitives_is_not_made_by_binary() -> None:
    class Hypot(Primitive, uses="multiply add sqrt"):
        def forward(self, device: Any, a: Any, b: Any) -> Any:
            return device.sqrt(device.add(device.multiply(a, a), device.multiply(b, b)))

    with pytest.raises(TypeError, match="binary: Hypot has a forward\n  expected one primitive, or @op and a function"):
        binary(Hypot, "")


def test_an_activation_is_a_function_of_nn_and_is_proven_by_its_declaration_alone() -> None:
    assert {"sigmoid", "tanh"} <= ACTIVATIONS.keys()
    for name, function in ACTIVATIONS.items():
        assert getattr(mr, name) is getattr(mr.nn.functional, name) is function and name in mr.nn.functional.__all__
        assert name in VALUES and name in UNARY.values() and name in FUNCTIONAL


def test_a_traceback_names_the_op() -> None:
    with pytest.raises(ValueError, match="multiply: operands have shapes") as found:
        mr.zeros(2, 3) * mr.zeros(4)
    assert found.traceback[-1].name == "multiply"


# ---- methods of Tensor with torch's names that are not separate ops


def test_what_a_tensor_is(device: str) -> None:
    t = mr.zeros(2, 3, device=device)
    assert (t.numel(), t.nelement(), t.size, t.dim(), t.ndimension(), len(t)) == (6, 6, 6, 2, 2, 2)
    assert t.is_floating_point() and not t.long().is_floating_point() and t.is_contiguous()
    assert t.contiguous() is t and +t is t


def test_membership(device: str) -> None:
    t = mr.tensor([1.0, 2.5], device=device)
    assert 2.5 in t and 1 in t and 3 not in t and np.float64(2.5) in t
    assert mr.tensor(2.5, device=device) in t
    assert 1 not in mr.zeros(0, device=device)


def test_a_clone_is_a_node_of_its_own(device: str) -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True, device=device)
    y = x.clone()
    assert y is not x and not y.is_leaf and y.requires_grad
    assert_same(mr.grad((y * y).sum(), x).numpy(), np.float32([2, 4]))
    x.assign([5.0, 6.0])
    assert y.tolist() == [1, 2]


# ---- a method that writes in place never makes one of its arguments the new value: gradients go to both


INDEX = mr.tensor(0)
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "scatter_": lambda y, s: y.scatter_(0, INDEX, s),
    "copy_": lambda y, s: y.copy_(s),
    "fill_": lambda y, s: y.fill_(s),
    "masked_fill_": lambda y, s: y.masked_fill_(mr.tensor(True), s),
    "y[...] =": lambda y, s: y.__setitem__(..., s),
    "y[()] =": lambda y, s: y.__setitem__((), s),
    "clamp_": lambda y, s: y.clamp_(min=s),
}


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "not recorded"])
@pytest.mark.parametrize("name", WRITES)
def test_the_new_value_is_not_the_argument_itself(name: str, recorded: bool) -> None:
    x, s = mr.tensor(1.0, requires_grad=recorded), mr.tensor(2.0, requires_grad=True)
    y = x.clone()
    WRITES[name](y, s)
    assert y is not s and s.is_leaf and y.item() == 2.0
    if name != "clamp_":  # torch's limits of clamp get gradients, minirnn's are constants
        (y * 3.0).backward()
        assert s.grad is not None and s.grad.item() == 3.0
        assert x.grad is None or x.grad.item() == 0.0
    y = mr.tensor(1.0)
    with mr.no_grad():
        WRITES[name](y, s)
        y.add_(1.0)
    assert s.item() == 2.0 and y.item() == 3.0


def test_scatter_of_a_scalar_is_recorded() -> None:
    x, s = mr.tensor(1.0, requires_grad=True), mr.tensor(2.0, requires_grad=True)
    y = mr.scatter(x, 0, INDEX, s)
    assert y is not s
    np.testing.assert_array_equal([g.item() for g in mr.grad(y * 3.0, [x, s])], [0.0, 3.0])
    assert mr.scatter(x, 0, INDEX, 2.5).requires_grad


# ---- `to` in all its forms, and the methods that abbreviate it


FORMS: dict[str, Any] = {
    "dtype": lambda t, d: t.to(np.float64),
    "a dtype's name": lambda t, d: t.to("float64"),
    "dtype=": lambda t, d: t.to(dtype=mr.float64),
    "Python's float": lambda t, d: t.to(float),
    "device, dtype": lambda t, d: t.to(d, mr.float64),
    "device, dtype=": lambda t, d: t.to(d, dtype=mr.float64, non_blocking=True),
    "device=, dtype=": lambda t, d: ops.to(t, device=d, dtype=mr.float64),
    "other": lambda t, d: t.to(mr.zeros(1, dtype=mr.float64, device=d)),
    "type_as": lambda t, d: t.type_as(mr.zeros(1, dtype=mr.float64, device=d)),
    "double": lambda t, d: t.double().to(d),
}


@each("name", FORMS)
def test_values_arrive_and_gradients_come_back(device: str, name: str) -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True)
    y = FORMS[name](x, device)
    if name not in ("dtype", "a dtype's name", "dtype=", "Python's float"):
        assert y.device == device
    assert y.dtype == np.float64
    g = mr.grad((y * y * y).sum(), x, create_graph=True)
    assert g.device == "cpu"
    assert_same(g, np.float32([3, 12]))
    assert_same(mr.grad(g.sum(), x), np.float32([6, 12]))


def test_what_fits_already_stays_itself(device: str) -> None:
    t = mr.zeros(2, device=device)
    assert t.to(device) is t.to(np.float32) is t.to(t) is t.to(device, "float32") is t.float() is t.type_as(t) is t
    assert t.to(device, copy=True) is not t
    assert mr.zeros(2).cpu() is not t and t.cpu().device == "cpu"


@each(
    ("name", "dtype"),
    {
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "byte": "uint8",
        "short": "int16",
        "int": "int32",
        "long": "int64",
        "bool": "bool",
    }.items(),
)
def test_methods_have_torchs_names_of_dtypes(name: str, dtype: str) -> None:
    a = np.array([0.0, 1.5, 100.0], np.float32)
    assert_same(getattr(mr.tensor(a), name)().numpy(), a.astype(dtype))


PLACES: dict[str, Any] = {
    "t.to()": lambda d: mr.ones(2).to(d),
    "t.to(dtype=)": lambda d: mr.ones(2).to(dtype=d),
    "module.to()": lambda d: mr.nn.Linear(2, 2).to(d),
    "module.to(dtype=)": lambda d: mr.nn.Linear(2, 2).to("cpu", dtype=d),
    "packed.to()": lambda d: mr.nn.utils.rnn.pack_sequence([mr.ones(2, 1)]).to(d),
    "a layer": lambda d: mr.nn.LSTM(2, 2, dtype=d),
    "zeros": lambda d: mr.zeros(2, dtype=d),
    "tensor": lambda d: mr.tensor([1.0], dtype=d),
    "sum": lambda d: mr.ones(2).sum(dtype=d),
    "softmax": lambda d: mr.softmax(mr.ones(2), 0, dtype=d),
    "set_default_dtype": mr.set_default_dtype,
}
MISSING = {"bfloat16": "use mr.float16 or mr.float32", "float8_e4m3fn": "use mr.float16 or mr.float32"}
MISSING |= {"complex64": "there are no complex Tensors", "cfloat": "there are no complex Tensors"}
MISSING |= {"qint8": "there are no quantized Tensors", "uint4": "mr.uint8, mr.int32 or mr.int64"}
MISSING |= {"torch.bfloat16": "use mr.float16 or mr.float32", "torch.float32": "likely mr.float32 is meant"}


@each(("place", "dtype"), [(place, dtype) for place in PLACES for dtype in MISSING])
def test_a_dtype_that_torch_alone_has_is_refused_with_what_to_use(place: str, dtype: str) -> None:
    with pytest.raises(TypeError, match=rf"^[\w.]+: got dtype '?{dtype}'?\n  expected float16/32/64, .*\n") as error:
        PLACES[place](dtype)
    assert MISSING[dtype] in str(error.value)


# ---- chunk, unbind and iteration: against torch, and linear in the number of pieces


def test_what_was_not_walked_over_gets_zeros(device: str) -> None:
    x = mr.tensor(np.float32([[1, 2], [3, 4], [5, 6]]), requires_grad=True, device=device)
    for x_t in x:
        if x_t.numpy()[0] == 3:
            break
    assert_same(mr.grad((x_t * x_t).sum(), x), np.float32([[0, 0], [6, 8], [0, 0]]))
    steps = iter(x)
    first = next(steps)
    assert_same(mr.grad(first.sum(), x, retain_graph=True), np.float32([[1, 1], [0, 0], [0, 0]]))
    assert_same(mr.grad((next(steps) * first).sum(), x), np.float32([[3, 4], [1, 2], [0, 0]]))


def test_pieces_have_hooks_and_gradients_of_their_own() -> None:
    x = mr.tensor(np.float32([[1, 2], [3, 4], [5, 6]]), requires_grad=True)
    a, b, c = x
    a.retain_grad()
    b.register_hook(lambda g: g * 10.0)
    (a * a + b * c).sum().backward()
    assert_same(a.grad, np.float32([2, 4]))
    assert_same(x.grad, np.float32([[2, 4], [50, 60], [3, 4]]))
    a, b, c = x
    assert_same(mr.grad((a * b).sum(), b, retain_graph=True), np.float32([1, 2]))
    da, dx = mr.grad((a * b * b).sum(), [a, x], create_graph=True)
    assert_same(da, np.float32([9, 16]))
    assert_same(mr.grad(dx.sum(), x), np.float32([[6, 8], [6 + 2, 8 + 4], [0, 0]]))


def test_nothing_is_recorded_where_nothing_is_asked_for() -> None:
    x = mr.tensor(np.float32([[1, 2], [3, 4]]), requires_grad=True)
    with mr.no_grad():
        pieces = list(x)
    assert not any(p.requires_grad for p in pieces)


def test_an_empty_axis_is_cut_into_empty_pieces() -> None:
    x = mr.zeros(0, 3)
    assert [p.shape for p in x.chunk(2)] == [(0, 3)] * 2 and [p.shape for p in x.split(2)] == [(0, 3)]
    assert list(x) == [] and x.unbind() == () and [len(p) for p in mr.arange(7).chunk(5)] == [2, 2, 2, 1]


def test_the_work_of_a_walk_grows_with_its_length_and_not_with_its_square() -> None:
    """Each step adds the same number of operations of the device, forward and backward."""

    def counted(T: int) -> int:
        counting = Counting("cpu")
        x = mr.tensor(np.ones((T, 2), np.float32), requires_grad=True, device=counting)
        total = mr.tensor(np.zeros(2, np.float32), device=counting)
        for x_t in x:
            total = total + x_t
        total.sum().backward()
        assert x.grad is not None
        return counting.total().bytes

    few, many, more = (counted(T) for T in (10, 20, 40))
    assert more - many == 2 * (many - few)


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_many_pieces_are_gathered_in_one_place(
    monkeypatch: pytest.MonkeyPatch, create_graph: bool
) -> None:
    """Not in a new dictionary for each: that alone would be quadratic."""
    moved = []
    join = Cotangents.join

    def watched(self: Cotangents, others: Cotangents) -> None:
        moved.append(len(others))
        join(self, others)

    monkeypatch.setattr(Cotangents, "join", watched)
    T = 50
    x = mr.tensor(np.ones((T, 2)), requires_grad=True)
    mr.grad(ops.stack([x_t * x_t for x_t in x]).sum(), x, create_graph=create_graph)
    assert sum(moved) == T - 1
