"""Programs written for torch run with minirnn after only their import lines are changed, and learn the same.

torch's results are stored in `tests/golden/ports/`.

Tests `minirnn/lookup/at_the_top.py`, `minirnn/lookup/utils.py`, `minirnn/autograd/gradients.py` and
`minirnn/nn/utils/packing.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from tests.ports.running import PROGRAMS, losses, source

STORED = Path(__file__).parents[1] / "golden" / "ports" / "losses.npz"
TOLERANCE = {"rtol": 3e-5, "atol": 3e-5}
"""Sums of float32 in another order, accumulated over the steps. They differed by 3e-6 when the test was written."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_learns_what_it_learns_with_torch(program: str) -> None:
    with np.load(STORED, allow_pickle=False) as stored:
        expected = stored[program]
    np.testing.assert_allclose(losses(program, "minirnn"), expected, **TOLERANCE)


@pytest.mark.parametrize("program", [pytest.param(p, marks=pytest.mark.slow) for p in PROGRAMS])
def test_what_is_stored_is_what_torch_gives(program: str) -> None:
    torch = pytest.importorskip("torch")
    # Programs set flags of torch, which torch forbids once its own test tools are imported, as in tests/peers.
    with torch.backends.__allow_nonbracketed_mutation(), np.load(STORED, allow_pickle=False) as stored:
        np.testing.assert_allclose(losses(program, "torch"), stored[program], **TOLERANCE)


def test_every_program_is_stored_and_none_other() -> None:
    with np.load(STORED, allow_pickle=False) as stored:
        assert sorted(stored) == PROGRAMS


def test_nothing_but_import_lines_is_changed() -> None:
    for program in PROGRAMS:
        theirs, ours = source(program, "torch").splitlines(), source(program, "minirnn").splitlines()
        changed = [a for a, b in zip(theirs, ours, strict=True) if a != b]
        assert changed and all(line.startswith(("import ", "from ")) for line in changed)


def test_autograd_grad_gives_a_tuple_and_takes_torchs_order() -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True)
    found = mr.autograd.grad((x**3).sum(), x, None, True, True)
    assert isinstance(found, tuple)
    (second,) = mr.autograd.grad(found[0].sum(), [x])
    np.testing.assert_array_equal(second.numpy(), [6.0, 12.0])
    with pytest.raises(ValueError, match=r"is_grads_batched is True\n  expected False; mr.vmap"):
        mr.autograd.grad(x.sum(), x, is_grads_batched=True)


def test_requires_grad_may_be_set_on_leaves_of_any_shape() -> None:
    for t in (mr.zeros(2, 3), mr.zeros(0), mr.tensor(0.0)):
        t.requires_grad = True
        assert t.requires_grad


def test_as_tensor_copies_nothing_that_fits() -> None:
    t = mr.tensor([1.0, 2.0])
    assert mr.as_tensor(t) is t and mr.as_tensor(t, dtype=mr.float64).dtype == np.float64
    assert mr.asarray([1, 2]).tolist() == [1, 2]


def test_methods_take_the_options_of_torchs_arithmetic() -> None:
    t = mr.tensor([3.0, -3.0])
    assert t.add(t, alpha=2).tolist() == [9.0, -9.0] and t.sub(t, alpha=3).tolist() == [-6.0, 6.0]
    assert t.div(2, rounding_mode="trunc").tolist() == [1.0, -1.0]
    t.add_(mr.tensor([1.0, 1.0]), alpha=-2).div_(2, rounding_mode="floor")
    assert t.tolist() == [0.0, -3.0]


def test_small_names_mean_what_they_do_in_torch() -> None:
    torch = pytest.importorskip("torch")
    a = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    for value in (a, a[0], np.array(2.0), np.array(0.0), np.zeros((0, 2))):
        found, expected = mr.nonzero(mr.tensor(value)), torch.nonzero(torch.tensor(value))
        assert found.shape == expected.shape and found.tolist() == expected.tolist()
    pairs = zip(mr.tensor(a).nonzero(as_tuple=True), torch.tensor(a).nonzero(as_tuple=True), strict=True)
    assert all(ours.tolist() == theirs.tolist() for ours, theirs in pairs)
    x = mr.tensor(a)
    assert mr.numel(x) == 6 and type(x.numel()) is int and np.shape(x.size) == ()
    assert mr.Size([2, 3]) == x.size() and mr.is_tensor(x) and not mr.is_tensor(a)
    assert mr.finfo(mr.float32).eps == torch.finfo(torch.float32).eps
    assert mr.device("cpu").type == "cpu" and mr.eq(x, x).all() and mr.neg(x).sum() == -6
    v = mr.autograd.Variable(x, requires_grad=True)
    assert v.requires_grad and not x.requires_grad and mr.autograd.Variable(x) is x
    assert mr.utils.data.DataLoader is mr.data.DataLoader and mr.utils.checkpoint.checkpoint is mr.checkpoint
