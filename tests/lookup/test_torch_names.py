"""torch's names at the top of minirnn, and pitfalls for programs written for torch.

Tests `minirnn/lookup/at_the_top.py`, `minirnn/lookup/cuda.py`, `minirnn/lookup/pointers.py` and
`minirnn/ops/primitives/numpy_functions.py`.
"""

import importlib
import importlib.util
import math
import operator
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.lookup.pointers import OLD, table
from minirnn.nn import functional as F
from minirnn.ops import at_the_top, primitives
from minirnn.ops.at_the_top import ONLY_BELOW

torch_names = pytest.importorskip("scripts.torch_names", reason="the scripts are in the repository alone")


def room(place: str) -> Any:
    """The module or object that has torch's names of that place."""
    return mr.zeros(2, 2) if place == "Tensor" else operator.attrgetter(place)(mr) if place != "minirnn" else mr


STORED = dict(line.split(": ") for line in (Path(__file__).parents[1] / "torch_names.txt").read_text().splitlines())


@pytest.mark.parametrize("place", STORED)
def test_every_public_name_of_torch_is_here_or_answers(place: str) -> None:
    names = set(STORED[place].split())
    if importlib.util.find_spec("torch"):
        names |= set(torch_names.names(place))
    there = room(place) if place != "nn.Module" else mr.nn.Module()
    for name in names:
        if hasattr(there, name):
            continue
        answer = rf"\n  (instead of|minirnn .* not have) (torch's )?{name}[:;] \S"
        with pytest.raises(AttributeError, match=answer) as error:
            getattr(there, name)
        assert "likely" not in str(error.value) and error.value.name == name


def test_answers_name_what_is_here() -> None:
    """Each minirnn name in the answers of the table exists."""
    for row in (row for rows in table().values() for row in rows):
        for place, name in re.findall(r"\b(mr|F|nn|t|np|math)\.([a-zA-Z_][\w.]*\w)", row.answer):
            there = {"mr": mr, "F": F, "nn": mr.nn, "t": mr.zeros(2, 2), "np": np, "math": math}[place]
            assert operator.attrgetter(name)(there) is not NotImplemented, (row, name)


def test_no_row_says_what_to_write_instead_of_an_op_that_is_at_the_top() -> None:
    """After adding an op, its row goes: minirnn has the name."""
    rows = [row for part, found in table().items() if part != OLD for row in found]
    assert {name for row in rows for name in row.names} & {*primitives.__all__} <= ONLY_BELOW
    assert {*primitives.__all__} >= ONLY_BELOW and not ONLY_BELOW & {*at_the_top.__all__}


def test_the_page_of_names_has_a_line_for_each_row_of_torch(tmp_path: Path) -> None:
    torch_names.write(tmp_path)
    lines = (tmp_path / "names_of_torch.md").read_text(encoding="utf-8").splitlines()
    assert "| `addmv` | `bias + a @ v` |" in lines and "## Arithmetic" in lines
    rows = [row for title, rows in table().items() if title != OLD for row in rows]
    assert sum(line.startswith("| `") for line in lines) == len(rows) > 100


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mr.addmv", "bias + a @ v"),
        ("t.addmv_", "t.copy_(value), with the value of addmv: bias + a @ v"),
        ("mr.clone", "t.clone(...)"),
        ("mr.diagonal_copy", "mr.diagonal, then .clone()"),
        ("mr.sparse_coo_tensor", "there are dense Tensors only"),
        ("mr.autograd.graph", "mr.checkpoint"),
        ("mr.cuda.graph", "records launches itself"),
    ],
)
def test_an_answer_fits_the_place_where_the_name_was_looked_for(name: str, says: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(says)):
        eval(name, {"mr": mr, "t": mr.zeros(2)})


def test_a_name_that_nobody_has_says_nothing_more() -> None:
    t = mr.zeros(2)
    for thing, name in ((mr, "no_such_name"), (mr, "__no_such__"), (t, "no_such_name_")):
        with pytest.raises(AttributeError) as error:
            getattr(thing, name)
        assert "\n" not in str(error.value)


def test_names_that_are_elsewhere_are_no_attributes() -> None:
    t = mr.zeros(2)
    assert not hasattr(t, "addmv") and not hasattr(mr.Tensor, "addmv_") and "addmv" not in dir(t)
    assert type(t).__getattribute__ is object.__getattribute__ and not hasattr(type(t), "__getattr__")


def test_draws_follow_their_weights(rng: np.random.Generator) -> None:
    p = np.array([[0.0, 1, 3], [1, 0, 0]])
    drawn = mr.multinomial(mr.tensor(p), 4000, replacement=True).numpy()
    assert drawn.shape == (2, 4000) and not drawn[1].any() and abs((drawn[0] == 2).mean() - 0.75) < 0.04
    once = mr.multinomial(mr.tensor(p[0]), 2, generator=mr.Generator().manual_seed(1))
    assert sorted(once.tolist()) == [1, 2]


def test_a_constructor_with_a_dtype_in_its_name_is_a_type_too() -> None:
    assert mr.tensor([1, 2]).type(mr.FloatTensor).dtype == np.float32
    assert mr.tensor([1.0]).type(mr.LongTensor).dtype == np.int64


def test_modules_are_imported_by_torchs_names() -> None:
    for name in ("data", "checkpoint"):
        module = importlib.import_module(f"minirnn.utils.{name}")
        assert getattr(mr.utils, name) is module
    assert mr.utils.data is mr.data and mr.utils.checkpoint.checkpoint is mr.checkpoint
    assert mr.optim.lr_scheduler._LRScheduler is mr.optim.lr_scheduler.LRScheduler


@pytest.mark.parametrize(
    ("room", "name", "message"),
    [
        ("nn", "MultiheadAttention", "instead of torch's MultiheadAttention: three nn.Linear"),
        ("distributions", "Categorical", "minirnn does not have torch's distributions: write log_prob"),
        ("cuda.amp", "autocast", "minirnn does not have torch's amp"),
        ("utils.tensorboard", "SummaryWriter", "minirnn does not have torch's tensorboard"),
        ("nn.modules.loss", "_Loss", "instead of torch's modules: mr.nn"),
        ("optim", "RAdam", "instead of torch's RAdam"),
        ("data", "ConcatDataset", "instead of torch's ConcatDataset"),
    ],
)
def test_an_import_of_what_is_not_here_says_what_to_write(room: str, name: str, message: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=re.escape(message)):
        exec(f"from minirnn.{room} import {name}", {})


def test_a_module_of_torch_that_is_not_here_says_what_to_write() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"minirnn does not have torch's distributed: mr\.parallel"):
        importlib.import_module("minirnn.distributed")


def test_an_import_of_what_torch_has_not_either_is_pythons_own_error() -> None:
    name = "nowhere"
    for line in (f"import minirnn.{name}", f"from minirnn.nn import {name}"):
        with pytest.raises(ImportError, match="nowhere'") as caught:
            exec(line, {})
        assert "torch's" not in str(caught.value)
    assert importlib.util.find_spec("minirnn.nowhere") is None


def test_modules_have_torchs_records(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    for make in (
        lambda lib: lib.nn.LSTM(2, 3, 2, bidirectional=True, proj_size=1),
        lambda lib: lib.nn.GRU(2, 3, bias=False),
        lambda lib: lib.nn.Sequential(lib.nn.Linear(2, 3, bias=False), lib.nn.LayerNorm(3)),
        lambda lib: lib.nn.LayerNorm(3, bias=False),
        lambda lib: lib.nn.RMSNorm(3, elementwise_affine=False),
    ):
        theirs, ours = make(torch), make(mr)
        for record in ("_parameters", "_buffers", "_modules"):
            assert list(getattr(ours, record)) == list(getattr(theirs, record))
        if hasattr(theirs, "_all_weights"):
            assert ours._all_weights == theirs._all_weights
            shapes = [[[tuple(w.shape) for w in part] for part in net.all_weights] for net in (ours, theirs)]
            assert shapes[0] == shapes[1]


def test_a_generator_records_nothing_inside_and_what_its_caller_does() -> None:
    @mr.no_grad()
    def numbers() -> Any:
        yield mr.is_grad_enabled()
        yield mr.is_grad_enabled()

    assert [(inside, mr.is_grad_enabled()) for inside in numbers()] == [(False, True)] * 2

    @mr.no_grad
    def plain() -> bool:
        return mr.is_grad_enabled()

    assert not plain() and mr.is_grad_enabled()
    with mr.set_grad_enabled(False):
        assert not mr.is_grad_enabled()
    assert mr.is_grad_enabled()


@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss])
def test_the_curvature_of_a_perfect_fit_is_one(loss: Any) -> None:
    y = np.array([1.0, -2.0])
    found = mr.hessian(lambda x: loss(x, mr.tensor(y), reduction="sum"), mr.tensor(y))
    np.testing.assert_array_equal(found.numpy(), np.eye(2))


def test_what_saves_nothing_is_walked_again_and_one_element_needs_no_gradient() -> None:
    x = mr.tensor([1.5], requires_grad=True)
    y = x + 1
    (y * y).backward()
    (y * 3).backward()
    assert x.grad.tolist() == [8.0]
    x.grad.zero_()
    z = x * 2
    (z + 1).backward(inputs=[x])
    assert x.grad.tolist() == [2.0]


def test_numbers_have_an_axis_and_nothing_has_no_mean() -> None:
    t = mr.tensor(2.0)
    for axis in (0, -1):
        assert t.sum(dim=axis).item() == t.mean(dim=axis).item() == t.squeeze(axis).item() == 2
        assert t.softmax(axis).item() == 1
    assert np.isnan(mr.zeros(0, 3).mean().item())
    assert mr.cat([mr.tensor([]), mr.ones(2, 3)], 1).shape == (2, 3)
    assert mr.ones(2, 3).amax(dim=()).shape == ()
    assert mr.zeros(0, dtype=mr.int8).cumsum(0).dtype == np.int64
    assert (mr.ones(2) * mr.tensor(1.0, dtype=mr.float64)).dtype == np.float32
    assert (t != None) and None in [t, None]  # noqa: E711


def test_what_cannot_have_a_gradient_is_refused_where_it_is_set() -> None:
    t = mr.tensor([1, 2])
    with pytest.raises(TypeError, match="int64 cannot require gradients"):
        t.requires_grad = True
    with pytest.raises(TypeError, match="grad: got a str"):
        t.grad = "no"
    y = mr.ones(2, requires_grad=True) * 2
    assert y.requires_grad_() is y


def test_constructors_take_sizes_or_data_in_the_dtype_of_their_name() -> None:
    for name in ["Float", "Double", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool"]:
        make = getattr(mr, f"{name}Tensor")
        dtype = mr.zeros(1).to(getattr(mr, {"Char": "int8", "Byte": "uint8"}.get(name, name.lower()), "")).dtype
        assert make(2, 3).shape == (2, 3) and make([1, 0]).tolist() == [1, 0] and make().shape == (0,)
        assert make(2).dtype == make([1, 0]).dtype == dtype
    assert mr.Tensor(2, 3).shape == (2, 3) and mr.Tensor([1, 2]).dtype == np.float32
    t = mr.Tensor([[1.0]])
    assert t.is_leaf and (t * 2).tolist() == [[2.0]] and mr.FloatTensor(np.int64(2)).shape == (2,)


def test_the_default_dtype_holds_wherever_none_is_given() -> None:
    try:
        mr.set_default_dtype(mr.float64)
        made = mr.zeros(2), mr.ones(2), mr.tensor(1.5), mr.rand(2), mr.randn(2), mr.linspace(0, 1, 3), mr.eye(2)
        made += mr.arange(1.5), mr.full((2,), 1.5), mr.Tensor([1]), mr.nn.Linear(2, 3).weight
        assert mr.get_default_dtype() == np.float64 and {t.dtype for t in made} == {mr.float64}
        assert mr.arange(3).dtype == mr.tensor(1).dtype == mr.int64
    finally:
        mr.set_default_dtype(mr.float32)
    before = mr.get_default_device()
    mr.set_default_device("cpu:0")
    assert mr.get_default_device() == "cpu"
    mr.use_device(before)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("cut", "rows"), [("split", 2), ("chunk", 2), ("unbind", 1)])
def test_pieces_are_views(recorded: bool, cut: str, rows: int) -> None:
    def pieces(t: mr.Tensor) -> Any:
        return t.unbind() if cut == "unbind" else getattr(t, cut)(6 // rows if cut == "chunk" else rows)

    x = mr.ones(6, 2, requires_grad=recorded)
    t = x * 2
    before = t.sum()
    pieces(t)[1].mul_(3.0)
    expected = np.full((6, 2), 2.0)
    expected[rows : 2 * rows] = 6
    assert t.tolist() == expected.tolist()
    if recorded:
        (t.sum() + before).backward()
        assert x.grad.tolist() == (expected + 2).tolist()
    first, other, *_ = pieces(x.detach() * 2)
    first.zero_()
    with pytest.raises(RuntimeError, match="changed after the view was made"):
        other.zero_()


def test_a_schedule_that_ends_at_nothing_can_be_loaded() -> None:
    p = mr.nn.Parameter([1.0])
    optimizer = mr.optim.Adam([p], lr=0.0)
    schedule = mr.optim.lr_scheduler.CosineAnnealingLR(optimizer, 7)
    for _ in range(40):
        p.grad = mr.ones(1)
        optimizer.step()
        schedule.step()
        optimizer.load_state_dict(optimizer.state_dict())
        assert optimizer.lr >= 0
