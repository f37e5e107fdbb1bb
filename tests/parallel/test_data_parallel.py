"""Gradients of a batch in parts are those of the whole one, in every order and number of ranks, as threads.

Tests `minirnn/parallel/data_parallel.py` and `minirnn/parallel/buckets.py`.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, parallel
from minirnn.parallel import DistributedDataParallel, World
from minirnn.parallel.buckets import in_buckets
from tests.parallel.scenarios import SCENARIOS, Net, bits, gradients, loss_of, losses, whole
from tests.slow import slow_unless


@pytest.mark.parametrize(
    ("size", "order"),
    slow_unless([(3, "fast"), (8, "tree")], [(size, order) for size in (1, 2, 3, 5, 8) for order in ("fast", "tree")]),
)
@pytest.mark.parametrize("name", SCENARIOS)
def test_ranks_together_do_what_one_does(name: str, size: int, order: str) -> None:
    parallel.simulate(lambda world: SCENARIOS[name](world, order), size)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shards", slow_unless([6], [4, 6, 12]))
def test_in_the_order_of_the_tree_any_number_of_ranks_gives_the_same_bits(shards: int, dtype: Any) -> None:
    found = {
        P: parallel.simulate(lambda world: bits(world, shards, dtype), P)
        for P in (1, 2, 3, 4, 6, 12)
        if shards % P == 0
    }
    assert len({value for values in found.values() for value in values}) == 1


@cache
def losses_alone() -> list[float]:
    return losses(World())


@pytest.mark.parametrize(
    ("size", "order"), slow_unless([(3, "tree")], [(size, order) for size in (2, 3, 4) for order in ("fast", "tree")])
)
def test_the_loss_of_ranks_is_that_of_one_process_over_fifty_steps(size: int, order: str) -> None:
    """In float64, relative to 1e-15: the last bits differ, because a BLAS rounds a smaller batch differently."""
    alone = losses_alone()
    assert alone[-1] < 0.8 * alone[0]
    for found in parallel.simulate(lambda world: losses(world, order=order), size):
        np.testing.assert_allclose(found, alone, rtol=1e-15)


def test_shards_of_one_rank_are_the_whole_batch_and_come_with_the_last_pass() -> None:
    net = Net()
    model = DistributedDataParallel(net, World(), shards=3)
    for rows in (slice(0, 2), slice(2, 3)):
        model.weight = rows.stop - rows.start
        loss_of(model, rows).backward()
        assert all(p.grad is None for p in net.parameters())
    model.weight = 4
    loss_of(model, slice(3, 7)).backward()
    for a, b in zip(gradients(net), whole(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)
    with pytest.raises(AttributeError, match=r"no_sync: shards="):
        model.no_sync()


def test_upper_layers_are_sent_before_the_lower_ones_are_computed() -> None:
    def work(world: World) -> list[str]:
        net = Net(layers=3)
        model = DistributedDataParallel(net, world, bucket_bytes=1)  # each parameter is sent separately
        order: list[str] = []
        start = world.communicator.start_sum

        def sent(buffer: np.ndarray) -> Any:
            order.append("sent")
            return start(buffer)

        world.communicator.start_sum = sent  # type: ignore[method-assign]
        for layer in range(3):
            p = getattr(net.recurrent, f"weight_hh_l{layer}")
            p.register_hook(lambda g, layer=layer: order.append(f"layer {layer}"))
        loss_of(model).backward()
        return order

    for order in parallel.simulate(work, 2):
        # 2 parameters of the output, then 4 of a layer, whose hook here is that of one of them
        sent = [order[: order.index(f"layer {layer}")].count("sent") for layer in (2, 1, 0)]
        assert [2 <= sent[0] < 6, 6 <= sent[1] < 10, 10 <= sent[2] < 14] == [True] * 3


def test_hooks_of_users_come_first_and_a_frozen_parameter_stays_out() -> None:
    net = Net()
    net.output.bias.requires_grad_(False)
    DistributedDataParallel(net, World())
    net.output.weight.register_hook(lambda g: g * 2.0)
    loss_of(net).backward()
    assert net.output.bias.grad is None
    names = [name for name, _ in net.named_parameters()]
    expected = whole()[names.index("output.weight")]
    np.testing.assert_allclose(net.output.weight.grad.numpy(), 2 * expected, rtol=1e-12)  # type: ignore[union-attr]


def test_a_pass_that_fails_does_not_spoil_the_next_one() -> None:
    net = Net()
    model = DistributedDataParallel(net, World())
    handle = net.recurrent.weight_ih_l0.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loss_of(model).backward()
    handle.remove()
    loss_of(model).backward()
    for a, b in zip(gradients(net), whole(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_buckets_begin_with_the_last_parameter_and_hold_one_dtype() -> None:
    parameters = [
        mr.tensor(np.zeros(n, dtype)) for n, dtype in ((10, "f4"), (3, "f8"), (4, "f8"), (2, "f8"), (5, "f2"))
    ]
    buckets = in_buckets(parameters, 40)
    assert [bucket.members for bucket in buckets] == [[4], [3, 2], [1], [0]]
    assert [bucket.dtype for bucket in buckets] == [np.float32, np.float64, np.float64, np.float32]
    assert [bucket.members for bucket in in_buckets(parameters, 17)] == [[4], [3, 2], [1], [0]]  # 16 are too few
    flat = buckets[1].new()
    buckets[1].part(flat, 2)[...] = 7
    assert flat.tolist() == [0, 0, 7, 7, 7, 7]


def test_it_is_a_module_like_torchs() -> None:
    net = Net()
    assert DistributedDataParallel(Net(), World(), check_every=0).check_every == 0
    model = DistributedDataParallel(net, World())
    assert list(model.state_dict()) == [f"module.{key}" for key in net.state_dict()]
    assert model.module is net and model.train(False).module.training is False


WRONG = {
    "module": (lambda: DistributedDataParallel(3), TypeError, "module is 3"),  # type: ignore[arg-type]
    "world": (lambda: DistributedDataParallel(Net(), 4), TypeError, "world is 4"),  # type: ignore[arg-type]
    "order": (lambda: DistributedDataParallel(Net(), World(), order="ring"), ValueError, "order is 'ring'"),
    "shards": (lambda: DistributedDataParallel(Net(), World(), shards=0), ValueError, "count is 0"),
    "bytes": (lambda: DistributedDataParallel(Net(), World(), bucket_bytes=0), ValueError, "bucket_bytes is 0"),
    "twice": (
        lambda: [DistributedDataParallel(net, World()) for net in [Net()] * 2],
        ValueError,
        "the module is already wrapped in another one",
    ),
    "nothing": (lambda: DistributedDataParallel(nn.ReLU(), World()), ValueError, "something to train"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls_say_what_came_and_what_was_expected(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()
