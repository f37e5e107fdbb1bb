"""Scenarios of several ranks, each compared with one process: run in threads and, as a program, over MPI.

mpiexec -n 3 python -m tests.parallel.scenarios [NAME ...]
"""

import math
import sys
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import nn
from minirnn.parallel import DistributedDataParallel, World, init

B, T, I, H = 7, 5, 4, 6
_draw = np.random.default_rng(3)
X, Y = _draw.standard_normal((T, B, I)), _draw.standard_normal((T, B, H))


class Net(nn.Module):
    def __init__(self, dtype: Any = np.float64, layers: int = 2, device: str | None = None) -> None:
        mr.manual_seed(1)
        self.recurrent = nn.LSTM(I, H, layers, dtype=dtype, device=device)
        self.output = nn.Linear(H, H, dtype=dtype, device=device)

    def forward(self, x: Any) -> mr.Tensor:
        return self.output(self.recurrent(x)[0])


def loss_of(
    model: nn.Module, rows: slice = slice(None), dtype: Any = np.float64, device: str | None = None
) -> mr.Tensor:
    x, y = (mr.tensor(a[:, rows].astype(dtype), device=device) for a in (X, Y))
    return ((model(x) - y) ** 2).mean()


@cache
def whole() -> list[np.ndarray]:
    """The gradients of the whole batch in one process: the reference for every rank of every scenario."""
    net = Net()
    loss_of(net).backward()
    return gradients(net)


def gradients(net: nn.Module) -> list[np.ndarray]:
    return [p.grad.numpy() for p in net.parameters()]  # type: ignore[union-attr]


def assert_equal(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float = 1e-12) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-3 * tolerance)


def uneven_parts(world: World, order: str) -> None:
    net = Net()
    model = DistributedDataParallel(net, world, bucket_bytes=64, order=order)
    rows = world.rows(B)
    for _ in range(2):
        net.zero_grad()
        model.weight = rows.stop - rows.start
        if model.weight:
            loss_of(model, rows).backward()
        else:
            model.idle()
        assert_equal(gradients(net), whole())
    names = [event.name for event in model.events]
    assert names == ["backward", *(f"bucket {k}" for k in range(len(names) - 2)), "wait"] and len(names) > 4
    assert all(event.begin <= event.end for event in model.events)
    assert model.bytes_sent > 8 * sum(p.size for p in net.parameters())


def one_rank_works_alone(world: World, order: str) -> None:
    net = Net()
    model = DistributedDataParallel(net, world, order=order)
    model.weight = B
    for k in range(2):  # the second pass adds to the first one's gradient
        if world.rank == 0:
            loss_of(model).backward()
        else:
            model.idle()
        assert_equal(gradients(net), [(k + 1) * g for g in whole()])
    if world.rank == 0:  # `grad` sends nothing, or the next pass would mix with it or wait forever
        found = mr.grad(loss_of(model), list(net.parameters()))
        assert_equal([g.numpy() for g in found], whole())
    world.barrier()


class Three(nn.Module):
    def __init__(self) -> None:
        mr.manual_seed(2)
        self.everywhere, self.on_rank_0, self.nowhere = (nn.Linear(I, 3, dtype=np.float64) for _ in range(3))


def parameters_that_are_not_used(world: World, order: str) -> None:
    net = Three()
    DistributedDataParallel(net, world, order=order)
    loss = (net.everywhere(mr.tensor(X)) ** 2).mean()
    if world.rank == 0:
        loss = loss + (net.on_rank_0(mr.tensor(X)) ** 2).mean()
    loss.backward()
    assert net.nowhere.weight.grad is None
    gradient = net.on_rank_0.weight.grad.numpy()  # type: ignore[union-attr]
    own = Three()
    (own.on_rank_0(mr.tensor(X)) ** 2).mean().backward()
    np.testing.assert_allclose(gradient, own.on_rank_0.weight.grad.numpy() / world.size, rtol=1e-12)  # type: ignore[union-attr]
    before = gradient.copy()  # and a later pass leaves the arrays of an earlier one alone
    net.zero_grad()
    (net.everywhere(mr.tensor(X)) ** 2).mean().backward()
    np.testing.assert_array_equal(gradient, before)
    assert net.on_rank_0.weight.grad is None
    assert len({value.tobytes() for value in world.all_gather(gradient)}) == 1


def stopping_together(world: World, order: str) -> None:
    net = Net()
    model = DistributedDataParallel(net, world, order=order)
    for step in range(4):
        model.stop = world.rank == world.size - 1 and step == 2
        loss_of(model).backward()
        assert model.stopping == (step == 2)


def refusals(world: World, order: str) -> None:
    net = Net()
    model = DistributedDataParallel(net, world, order=order)
    try:
        loss_of(model).backward(create_graph=True)
        raise AssertionError("not refused")
    except RuntimeError as error:
        assert "create_graph" in str(error)
    loss_of(model).backward()
    assert_equal(gradients(net), whole())
    model.weight = 0.0
    try:
        model.idle()
        raise AssertionError("not refused")
    except ValueError as error:
        assert "no rank has an example" in str(error)


def everybody_begins_with_rank_0(world: World, order: str) -> None:
    net = Net()
    net.register_buffer("steps", mr.tensor(np.full(2, float(world.rank))))
    for p in net.parameters():
        p.assign(p.numpy() + world.rank)
    model = DistributedDataParallel(net, world, order=order)
    assert_equal([p.numpy() for p in net.parameters()], [p.numpy() for p in Net().parameters()])
    assert net.steps.tolist() == [0, 0]
    net.steps.assign(np.full(2, 5.0 + world.rank))
    loss_of(model)
    assert net.steps.tolist() == [5, 5]
    different = Net(layers=1 + (world.rank == world.size - 1 > 0))
    try:
        DistributedDataParallel(different, world, order=order)
        assert world.size == 1
    except ValueError as error:
        assert "expected the same" in str(error)


def drift_is_noticed(world: World, order: str) -> None:
    net = Net()
    model = DistributedDataParallel(net, world, order=order, check_every=2)
    loss_of(model).backward()
    loss_of(model).backward()
    if world.rank == world.size - 1 > 0:
        net.output.bias.assign(net.output.bias.numpy() * (1 + 1e-15) + 1e-300)
    loss_of(model).backward()
    try:
        loss_of(model).backward()
        assert world.size == 1
    except RuntimeError as error:
        assert f"the parameters of rank {world.size - 1} differ" in str(error)


def half_precision_and_another_device(world: World, order: str) -> None:
    for dtype, device, tolerance in ((np.float16, None, 0.02), (np.float32, "cuda-sim", 1e-5)):
        if device and mr.devices.available()[device] is not None:
            continue
        net = Net(dtype, device=device)
        model = DistributedDataParallel(net, world, order=order)
        rows = world.rows(B)
        model.weight = rows.stop - rows.start
        if model.weight:
            loss_of(model, rows, dtype, device).backward()
        else:
            model.idle()
        for p, g in zip(net.parameters(), whole(), strict=True):
            assert p.grad is not None and p.grad.dtype == dtype and p.grad.device == p.device
            np.testing.assert_allclose(p.grad.numpy(), g, rtol=tolerance, atol=0.1 * tolerance)


SCENARIOS: dict[str, Callable[[World, str], None]] = {
    f.__name__: f
    for f in (
        uneven_parts,
        one_rank_works_alone,
        parameters_that_are_not_used,
        stopping_together,
        refusals,
        everybody_begins_with_rank_0,
        drift_is_noticed,
        half_precision_and_another_device,
    )
}


def bits(world: World, shards: int, dtype: Any = np.float32, order: str = "tree") -> int:
    """A fingerprint of the parameters after three steps of Adam with the batch in `shards` parts."""
    net = Net(dtype)
    model = DistributedDataParallel(net, world, bucket_bytes=200, order=order, shards=shards)
    optimizer = mr.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        for shard in world.shards(shards):
            rows = slice(shard % B, shard % B + 1 + shard % 2)  # parts of different sizes
            model.weight = len(range(B)[rows])
            loss_of(model, rows, dtype).backward()
        mr.optim.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
    value = 0
    for p in net.parameters():
        value = zlib.crc32(p.numpy().tobytes(), value)
    return value


def losses(world: World, steps: int = 50, order: str = "fast") -> list[float]:
    """The loss of the whole batch in float64 before each of so many steps of Adam."""
    net = Net()
    model = DistributedDataParallel(net, world, bucket_bytes=200, order=order)
    optimizer = mr.optim.Adam(net.parameters(), lr=0.01)
    rows = world.rows(B)
    model.weight = rows.stop - rows.start
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, rows)
        loss.backward()
        optimizer.step()
        found.append(math.fsum(world.all_gather(loss.item() * model.weight)) / B)
    return found


def main() -> None:
    world = init()
    for order in ("fast", "tree"):
        for name in sys.argv[1:] or SCENARIOS:
            SCENARIOS[name](world, order)
            world.barrier()
    if not sys.argv[1:]:
        told = losses(world)
        if world.rank == 0:
            print("losses", *map(float.hex, told))
    found = [bits(world, 12, dtype) for dtype in (np.float32, np.float64)] if 12 % world.size == 0 else []
    if world.rank == 0:
        print("ok on", world.size, *found)


if __name__ == "__main__":
    main()
