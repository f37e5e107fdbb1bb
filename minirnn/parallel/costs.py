"""The cost of an all-reduce by the alpha-beta model, computed and not measured.

A message of n bytes takes ``alpha + n * beta`` seconds, with alpha the latency and beta the time per byte; adding a
byte takes gamma. An all-reduce gives each of P ranks the sum of their arrays of n bytes::

    parameter server    all send to one, which adds and sends back     2 (P-1) (alpha + n beta) + (P-1) n gamma
    tree                to the root by pairs, and back                 log2(P) (2 alpha + 2 n beta + n gamma)
    ring                each handles 1/P of the array, 2 (P-1) times   2 (P-1) alpha + n (P-1)/P (2 beta + gamma)
    halving             halves, quarters, ... are exchanged            2 log2(P) alpha + n (P-1)/P (2 beta + gamma)

The logarithms are rounded up. Sources: Thakur, Rabenseifner and Gropp 2005 for all but the parameter server, which is
the sum of its messages. What `order="tree"` of `DistributedDataParallel` sends is what the ring sends.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log2
from typing import NamedTuple


class Network(NamedTuple):
    """The three constants of the model, in seconds, seconds per byte, and seconds per byte."""

    alpha: float
    beta: float
    gamma: float = 1e-10


NETWORKS = {"1 Gb/s Ethernet": Network(50e-6, 8e-9), "100 Gb/s fabric": Network(2e-6, 8e-11)}
"""Two networks with round numbers: a cheap one and one of a cluster."""


def parameter_server(P: int, n: float, network: Network) -> float:
    """Seconds when one rank receives, adds and sends everything."""
    return 2 * (P - 1) * (network.alpha + n * network.beta) + (P - 1) * n * network.gamma


def tree(P: int, n: float, network: Network) -> float:
    """Seconds when whole arrays go up a binary tree to the root and back."""
    return _levels(P) * (2 * network.alpha + 2 * n * network.beta + n * network.gamma)


def ring(P: int, n: float, network: Network) -> float:
    """Seconds when every rank hands pieces of 1/P to its neighbor."""
    return 2 * (P - 1) * network.alpha + n * (P - 1) / P * (2 * network.beta + network.gamma)


def halving(P: int, n: float, network: Network) -> float:
    """Seconds when ranks exchange halves, distant ranks first, and collect them in the reverse order (Rabenseifner
    2004).
    """
    return 2 * _levels(P) * network.alpha + n * (P - 1) / P * (2 * network.beta + network.gamma)


def _levels(P: int) -> int:
    return ceil(log2(P))


ALGORITHMS: dict[str, Callable[[int, float, Network], float]] = {
    "parameter server": parameter_server,
    "tree": tree,
    "ring": ring,
    "halving": halving,
}
