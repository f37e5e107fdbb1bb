"""Writing into Tensors: values and gradients are torch's, for leaves, results, views and saved values.

Tests `minirnn/engine/writing.py`, `minirnn/ops/primitives/in_place.py` and `minirnn/ops/primitives/indexing.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

SHAPE = (3, 4, 5)


class Both:
    """A program that runs with torch and with minirnn: the same statements on the same values."""

    def __init__(self, rng: np.random.Generator, device: str = "cpu") -> None:
        self.rng, self.device = rng, device
        self.torch = pytest.importorskip("torch")

    def pair(self, shape: tuple[int, ...], requires_grad: bool = False) -> list[Any]:
        values = self.rng.uniform(0.5, 1.5, shape)
        theirs = self.torch.tensor(values, requires_grad=requires_grad)
        return [theirs, mr.tensor(values, requires_grad=requires_grad, device=self.device)]


def do(function: Any, *pairs: list[Any]) -> list[Any]:
    """The function of torch's Tensors, and of ours."""
    return [function(*[p[k] for p in pairs]) for k in range(2)]


def index_of(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A random index of torch's and NumPy's common kinds."""
    parts: list[Any] = []
    for n in shape[: rng.integers(0, len(shape) + 1)]:
        a, b = sorted(rng.integers(0, n + 1, 2))
        kinds = [int(rng.integers(-n, n)), slice(int(a), int(b)), slice(None), slice(None, None, 2)]
        parts.append(kinds[rng.integers(len(kinds))])
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    if len(parts) < len(shape) and rng.random() < 0.3:
        parts.append(Ellipsis)
    return tuple(parts)


def advanced_index(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """A random index with arrays in it, no place named twice."""
    m = int(rng.integers(1, 3))
    parts: list[Any] = []
    for n in shape:
        kinds = [int(rng.integers(-n, n)), slice(None), slice(1, None), rng.permutation(n)[:m].tolist()]
        parts.append(kinds[rng.integers(len(kinds))])
    if rng.random() < 0.3:
        parts.insert(int(rng.integers(0, len(parts) + 1)), None)
    return tuple(parts)


@pytest.mark.parametrize("round", range(40))
def test_any_index_with_integers_and_arrays_reads_and_writes_what_torchs_does(
    rng: np.random.Generator, round: int
) -> None:
    both = Both(rng)
    x, v = both.pair(SHAPE, True), both.pair(())
    index = advanced_index(rng, SHAPE)
    theirs, ours = do(lambda x: x[index], x)
    assert theirs.shape == ours.shape, index
    np.testing.assert_array_equal(ours.numpy(), theirs.detach().numpy(), str(index))
    g = rng.normal(size=ours.shape)
    theirs.backward(both.torch.tensor(g))
    ours.backward(g)
    np.testing.assert_array_equal(x[1].grad.numpy(), x[0].grad.numpy(), str(index))
    y = do(lambda x: x.detach().clone(), x)
    w = both.pair(ours.shape)
    for k, t in enumerate(y):
        t[index] = w[k] * v[k]
    np.testing.assert_array_equal(y[1].numpy(), y[0].numpy(), str(index))
    np.testing.assert_array_equal(
        mr.ops.put_add(SHAPE, index, ours.detach()).numpy(),
        both.torch.zeros(SHAPE, dtype=both.torch.float64)
        .index_put_(
            (
                both.torch.arange(60).reshape(SHAPE)[index] // 20,
                both.torch.arange(60).reshape(SHAPE)[index] // 5 % 4,
                both.torch.arange(60).reshape(SHAPE)[index] % 5,
            ),
            theirs.detach(),
            accumulate=True,
        )
        .numpy(),
    )


def statement(rng: np.random.Generator, names: list[str]) -> tuple[str, Any]:
    """A statement that writes, as its text and a function of (target, other)."""
    kinds: dict[str, Any] = {
        "+=": lambda t, u: t.__iadd__(u),
        "*=": lambda t, u: t.__imul__(u),
        "-= 2u": lambda t, u: t.__isub__(2 * u),
        "/=": lambda t, u: t.__itruediv__(u + 2),
        "mul_(0.5)": lambda t, u: t.mul_(0.5),
        "add_(1)": lambda t, u: t.add_(1),
        "zero_": lambda t, u: t.zero_(),
        "fill_": lambda t, u: t.fill_(0.7),
        "copy_": lambda t, u: t.copy_(u),
        "clamp_": lambda t, u: t.clamp_(0.6, 1.2),
        "tanh_": lambda t, u: t.tanh_(),
        "neg_": lambda t, u: t.neg_(),
        "round_": lambda t, u: t.round_(),
        "ge_(0.9)": lambda t, u: t.ge_(0.9),
    }
    name = names[rng.integers(len(names))] if names else list(kinds)[rng.integers(len(kinds))]
    return name, kinds[name]


VIEWS: dict[str, Any] = {
    "x[0]": lambda x: x[0],
    "x[:, 1]": lambda x: x[:, 1],
    "x[..., 1:3]": lambda x: x[..., 1:3],
    "x[1][0]": lambda x: x[1][0],
    "x.view(-1)": lambda x: x.view(-1),
    "x.view(-1)[3:7]": lambda x: x.view(-1)[3:7],
    "x.transpose(0, 2)": lambda x: x.transpose(0, 2),
    "x.permute(2, 0, 1)[1]": lambda x: x.permute(2, 0, 1)[1],
    "x.unsqueeze(1)": lambda x: x.unsqueeze(1),
    "x.narrow(1, 1, 2)": lambda x: x.narrow(1, 1, 2),
    "x.reshape(4, 15)": lambda x: x.reshape(4, 15),
    "x.t().reshape(-1), a copy": lambda x: x.transpose(0, 2).reshape(-1),
    "x.t().contiguous(), a copy": lambda x: x.transpose(0, 2).contiguous(),
    "x[[0, 2]], a copy": lambda x: x[[0, 2]],
    "x.clone()": lambda x: x.clone(),
    "x.flatten(1)": lambda x: x.flatten(1),
    "x": lambda x: x,
}


@each(
    "copy",
    [
        ("clone of expand", lambda z, row, square: row[:, None].expand(4, 4).clone()),
        ("copy_ of a row", lambda z, row, square: z.copy_(row)),
        ("copy_ of a transpose", lambda z, row, square: z.copy_(square.transpose(0, 1))),
        ("a row written everywhere", lambda z, row, square: z.__setitem__(..., row) or z),
        ("fill_", lambda z, row, square: z.fill_(row[0])),
    ],
    ids=lambda case: case[0],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_a_copy_is_written_into_by_its_own_views_however_its_values_lie_in_memory(
    rng: np.random.Generator, copy: Any, recorded: bool
) -> None:
    both = Both(rng)
    row, square = both.pair((4,), recorded), both.pair((4, 4), recorded)
    z = do(copy[1], both.pair((4, 4)), row, square)
    flat = do(lambda z: z.view(-1), z)
    do(lambda flat: flat.mul_(3), flat)
    for a in (z, flat, row, square):
        np.testing.assert_array_equal(a[1].detach().numpy(), a[0].detach().numpy())


@pytest.mark.parametrize("round", range(150))
def test_random_programs_that_write_have_torchs_values_and_gradients(rng: np.random.Generator, round: int) -> None:
    both = Both(rng)
    leaves = [both.pair(SHAPE, True) for _ in range(2)]
    pool = [do(lambda t: t * 1.25, leaves[0]), do(lambda t: t.tanh(), leaves[1]), both.pair(SHAPE), leaves[0]]
    said = []
    for _ in range(int(rng.integers(2, 9))):
        k = int(rng.integers(len(pool)))
        t, u = pool[k], pool[int(rng.integers(len(pool)))]
        kind = rng.integers(5)
        if kind == 0:  # a new value
            pool.append(do(lambda a, b: a * b + a, t, u))
            said.append("new")
        elif kind == 1:
            index = index_of(rng, SHAPE)
            shape = tuple(t[1][index].shape)
            source = do(lambda u, index=index: u[index] * 0.5, u) if rng.random() < 0.7 else both.pair(shape)
            if k == 3:
                continue
            for a, v in zip(t, source, strict=True):
                a[index] = v
            said.append(f"{k}[{index}] =")
        elif k != 3:
            name, write = statement(rng, [])
            view = list(VIEWS)[rng.integers(len(VIEWS))] if kind == 2 else "x"
            part = do(VIEWS[view], t)
            other = do(lambda u, p: u.reshape(-1)[: p.shape[-1]] * 0.3, u, part)
            do(write, part, other)
            said.append(f"{k} {view} {name}")
    for t in pool:
        np.testing.assert_allclose(t[1].numpy(), t[0].detach().numpy(), rtol=1e-12, atol=1e-300, err_msg=str(said))
    weights = [both.pair(SHAPE) for _ in pool]
    loss = do(
        lambda *ts: sum((a * b).sum() for a, b in zip(ts[: len(pool)], ts[len(pool) :], strict=True)), *pool, *weights
    )
    try:
        loss[0].backward()
    except RuntimeError as error:
        assert "inplace operation" in str(error)
        return
    loss[1].backward()
    for p in leaves:
        theirs = 0 * p[1].numpy() if p[0].grad is None else p[0].grad.numpy()
        ours = 0 * theirs if p[1].grad is None else p[1].grad.numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12, err_msg=str(said))


@each(
    "name", ["zero_", "fill_", "copy_", "round_", "ge_", "uniform_", "zero_ of a view of all", "copy_ of a transpose"]
)
def test_a_value_written_over_another_stays_on_the_tape_and_sends_back_0(rng: np.random.Generator, name: str) -> None:
    a, u = (mr.tensor(rng.uniform(0.5, 1.5, (4, 4)), requires_grad=True) for _ in range(2))
    t, other = a * 2, u * 3
    first, second, g = rng.normal(size=(3, 4, 4))
    before = (t * first).sum()  # reads the old value
    {
        "zero_": lambda: t.zero_(),
        "fill_": lambda: t.fill_(0.3),
        "copy_": lambda: t.copy_(other),
        "round_": lambda: t.round_(),
        "ge_": lambda: t.ge_(1),
        "uniform_": lambda: t.uniform_(),
        "zero_ of a view of all": lambda: t.transpose(0, 1).zero_(),
        "copy_ of a transpose": lambda: t.copy_(other.transpose(0, 1)).view(-1).mul_(2),
    }[name]()
    assert t.requires_grad
    t.backward(g, retain_graph=True)
    np.testing.assert_array_equal(a.grad.numpy(), np.zeros((4, 4)))
    if name.startswith("copy_"):
        np.testing.assert_allclose(u.grad.numpy(), 6 * g.T if "transpose" in name else 3 * g, rtol=1e-15)
    (before + (t * second).sum()).backward()
    np.testing.assert_allclose(a.grad.numpy(), 2 * first, rtol=1e-15)


def test_a_tensor_is_written_into_by_itself(rng: np.random.Generator) -> None:
    """``t += t``: the new value reads the old one twice."""
    both = Both(rng)
    for write in (
        lambda t: t.add_(t),
        lambda t: t.__iadd__(t),
        lambda t: t.sub_(t, alpha=3),
        lambda t: t.copy_(t),
        lambda t: t.add_(t.transpose(0, 1).clone()),
        lambda t: t.__setitem__(0, t[1]),
    ):
        p = both.pair((3, 3), requires_grad=True)

        def program(x: Any, write: Any = write) -> Any:
            t = x * 2
            write(t)
            return (t * t).sum()

        for loss in do(program, p):
            loss.backward()
        np.testing.assert_allclose(p[1].grad.numpy(), p[0].grad.numpy(), rtol=1e-12)


def test_a_tensor_becomes_a_view_of_itself(rng: np.random.Generator) -> None:
    """`unsqueeze_`, `squeeze_`, `t_`, `transpose_`: values, gradients and what a write into them reaches."""
    both = Both(rng)

    def recorded(x: Any) -> Any:
        t = x * 2
        before = t + 1
        t.t_().unsqueeze_(0)
        t.transpose_(1, 2).add_(1)
        t.squeeze_()
        return [(t * t).sum() + before.sum(), t]

    p = both.pair((2, 3), requires_grad=True)
    (theirs, t), (ours, u) = do(recorded, p)
    theirs.backward()
    ours.backward()
    np.testing.assert_allclose(p[1].grad.numpy(), p[0].grad.numpy(), rtol=1e-12)
    assert u.shape == tuple(t.shape)

    def of_data(x: Any) -> Any:
        row = x[1]
        row.unsqueeze_(-1).mul_(3)
        row.squeeze_()[0] = 7
        return x

    theirs, ours = do(of_data, both.pair((2, 3)))
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())

    t = mr.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"unsqueeze_\(\): the Tensor of shape \(2,\) is a leaf that requires"):
        t.unsqueeze_(0)
    y = mr.tensor([[1.0, 2.0]], requires_grad=True) * 1
    z = (y * y).sum()
    with mr.no_grad():
        y.squeeze_(0)
    assert y.requires_grad and y.shape == (2,)
    with pytest.raises(RuntimeError, match=r"was changed by squeeze_\(\) after use"):
        z.backward()


@each("op", ["roll", "diff", "gather", "index_select", "flip"])
def test_what_changes_nothing_is_a_copy_all_the_same(op: str) -> None:
    one, index = mr.tensor([5.0]), mr.tensor(0)
    x = one if op in ("roll", "diff") else mr.tensor(5.0)
    y = {
        "roll": lambda: x.roll(3, 0),
        "diff": lambda: x.diff(0),
        "gather": lambda: x.gather(0, index),
        "index_select": lambda: x.index_select(0, mr.tensor([0])),
        "flip": lambda: x.flip(0),
    }[op]()
    y.mul_(2)
    assert x.item() == 5 and y.item() == 10
