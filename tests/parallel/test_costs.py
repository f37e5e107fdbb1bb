"""The cost model, against counting the messages one by one."""

import pytest

from minirnn.parallel.costs import ALGORITHMS, Network, halving, parameter_server, ring, tree

NETWORK = Network(3.0, 0.5, 0.25)


def test_a_ring_counted_message_by_message() -> None:
    """P - 1 times a piece is sent and added, P - 1 times it is only sent."""
    P, n = 5, 40.0
    piece = n / P
    send = NETWORK.alpha + piece * NETWORK.beta
    assert ring(P, n, NETWORK) == pytest.approx((P - 1) * (send + piece * NETWORK.gamma) + (P - 1) * send)


def test_halving_counted_message_by_message() -> None:
    """8 ranks send and add a half, a quarter and an eighth, then send an eighth, a quarter and a half."""
    n = 64.0
    pieces = [n / 2, n / 4, n / 8]
    there = sum(NETWORK.alpha + m * NETWORK.beta + m * NETWORK.gamma for m in pieces)
    back = sum(NETWORK.alpha + m * NETWORK.beta for m in pieces)
    assert halving(8, n, NETWORK) == pytest.approx(there + back)


def test_a_tree_and_a_server_counted_message_by_message() -> None:
    n, send = 10.0, NETWORK.alpha + 10 * NETWORK.beta
    assert tree(8, n, NETWORK) == pytest.approx(3 * (send + n * NETWORK.gamma) + 3 * send)
    assert parameter_server(4, n, NETWORK) == pytest.approx(3 * (send + n * NETWORK.gamma) + 3 * send)


def test_one_rank_sends_nothing_and_latency_decides_for_many() -> None:
    assert {name: cost(1, 1e6, NETWORK) for name, cost in ALGORITHMS.items()} == dict.fromkeys(ALGORITHMS, 0)
    few, many = 1e3, 1e9  # bytes
    fast = Network(1e-5, 1e-9)
    assert tree(1024, few, fast) < ring(1024, few, fast)  # 2 * 1023 latencies
    assert ring(1024, many, fast) < tree(1024, many, fast)  # whole arrays, ten times
    assert halving(1024, few, fast) < ring(1024, few, fast) and halving(1024, many, fast) < tree(1024, many, fast)
