"""ex42: a ring of ranks that add up their numbers, over a network that counts bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from minirnn.learn.catalog.edited import slips
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage, Wrong


class NetworkError(ValueError):
    """Raised if the answer sends or expects a message that the exercise does not allow."""


class Ring:
    """P ranks in a ring, each of which can send to its right neighbor; counts the bytes that each has sent."""

    def __init__(self, parts: np.ndarray) -> None:
        self.parts = parts
        P, n = parts.shape
        self.wires: list[deque[np.ndarray]] = [deque() for _ in range(P)]
        self.messages: list[list[np.ndarray]] = [[] for _ in range(P)]
        self.bytes = np.zeros(P, np.int64)
        self.enough = 2 * (n - n // P) * parts.itemsize  # 2 n (P-1) / P numbers, plus what a longer piece adds

    def rank(self, r: Any) -> int:
        if not isinstance(r, int | np.integer) or not 0 <= r < len(self.wires):
            raise NetworkError(f"there is no rank {r!r}: they count from 0 to {len(self.wires) - 1}")
        return int(r)

    def send(self, r: int, values: Any) -> None:
        """Rank r sends values to its right neighbor."""
        r, message = self.rank(r), np.array(values, float)
        if self.bytes[r] + message.nbytes > self.enough:
            raise NetworkError(
                f"rank {r} has sent {self.bytes[r]} bytes and wants to send {message.nbytes} more: "
                f"{self.enough} are enough, so send single pieces"
            )
        self.bytes[r] += message.nbytes
        self.messages[r].append(message)
        self.wires[(r + 1) % len(self.wires)].append(message)

    def receive(self, r: int) -> np.ndarray:
        """The oldest message that rank r has not received yet."""
        wire = self.wires[self.rank(r)]
        if not wire:
            raise NetworkError(f"nothing is on its way to rank {r}: its left neighbor must send first")
        return wire.popleft()

    def sent(self) -> np.ndarray:
        """The bytes that each rank has sent so far."""
        return self.bytes.copy()

    def wrong_message(self) -> str:
        """The first message that is missing or does not hold sums of what its rank has and what has reached it."""
        P, n = self.parts.shape
        pieces = np.array_split(np.arange(n), P)
        for r, messages in enumerate(self.messages):
            for k in range(2 * (P - 1)):
                ranks = [(r - j) % P for j in range(min(k, P - 1) + 1)]  # whose numbers have reached rank r
                sums = self.parts[ranks].sum(0)
                if k >= len(messages):
                    return (
                        f"rank {r} sends {len(messages)} messages: each must send {2 * (P - 1)}, and use what arrives"
                    )
                if not any(np.shape(messages[k]) == p.shape and np.allclose(messages[k], sums[p]) for p in pieces):
                    return f"message {k} of rank {r} does not hold the sums of a piece so far: use what arrives"
        return ""


def on_a_ring(parts: np.ndarray) -> Inputs:
    ring = Ring(parts)
    return dict(parts=parts, send=ring.send, receive=ring.receive, sent=ring.sent)


def cheated(inputs: Inputs, right: Sequence[str]) -> str:
    """What is wrong with the messages of an answer whose sums are right."""
    return inputs["send"].__self__.wrong_message() if "sums" in right else ""


def ranks(rng: np.random.Generator, s: Sizes) -> Inputs:
    """T ranks with I*H numbers each, which T does not divide."""
    n = s.I * s.H
    return on_a_ring(rng.normal(size=(s.T, n + (n % s.T == 0))))


def one_number_each(inputs: Inputs) -> Inputs:
    P = len(inputs["parts"])
    return on_a_ring(inputs["parts"][:, :P].copy())


def equal_pieces(inputs: Inputs) -> Inputs:
    P, n = inputs["parts"].shape
    return on_a_ring(inputs["parts"][:, : n - n % P].copy())


def ring_with(
    parts: Any, send: Any, receive: Any, sent: Any, *, second: bool = True, adds: bool = False, rest: bool = True,
    shift: int = 0, short: int = 0, mean: bool = False,
) -> Any:  # fmt: skip
    """`ring_all_reduce` with lists in place of a network, or with a planted mistake."""
    P, n = parts.shape
    pieces = np.array_split(np.arange(n if rest else n - n % P), P)
    sums, count = parts.copy(), np.zeros(P, np.int64)

    def step(piece_of: Any, add: bool) -> None:
        messages = [sums[r, pieces[piece_of(r)]].copy() for r in range(P)]
        for r, message in enumerate(messages):
            count[r] += message.nbytes
            target = (r + 1) % P
            there = pieces[piece_of(r)]
            sums[target, there] = message + (sums[target, there] if add else 0.0)

    for s in range(P - 1 - short):
        step(lambda r, s=s: (r - s) % P, add=True)
    for s in range(P - 1 - short if second else 0):
        step(lambda r, s=s: (r + 1 + shift - s) % P, add=adds)
    return sums / P if mean else sums, count


def ring_all_reduce(parts: Any, send: Any, receive: Any, sent: Any) -> Any:
    """Computes the expected result. The course's solutions show how to do it over the network."""
    return ring_with(parts, send, receive, sent)


MISTAKES = tuple(Wrong(says, partial(ring_with, **wrong)) for says, wrong in (
    ("every rank has the complete sum of one piece only, because the second round is missing",
     dict(second=False)),
    ("in the second round the sums that arrive are added to the rank's piece, but they must replace it",
     dict(adds=True)),
    ("the second round begins with the wrong piece: rank r has the complete sum of piece (r + 1) % P", dict(shift=-1)),
    ("the last n % P numbers are never sent, because all pieces are equally long (see np.array_split)",
     dict(rest=False)),
    ("the last of the P - 1 steps of a round is missing", dict(short=1)),
    ("these are means, but an all-reduce only adds", dict(mean=True)),
))  # fmt: skip

FIRST = "send(r, sums[r, pieces[(r - s) % P]])"
SLIPS = slips(
    ("every message is the whole array", "are enough", FIRST, "send(r, sums[r])",
     "sums[r, pieces[(r - 1 - s) % P]] += receive(r)", "sums[r] += receive(r)"),
    ("ranks receive before anybody has sent", "is on its way", f'            {FIRST}', "            pass"),
    ("the parts themselves are added to", "changes an input", "parts.copy()", "parts"),
    ("the last rank sends to nobody", "is on its way", "for r in range(P):", "for r in range(P - 1):"),
)  # fmt: skip

EXERCISES = (
    Exercise(
        "11_beneath/ex42_ring.py", ranks, ring_all_reduce, {"sums": "(P, n)", "sent": "(P,)"},
        wrong=MISTAKES, slips=SLIPS, broken=cheated,
        stages=(
            Stage("for one number per piece (n = P)", "which piece a rank sends in a step", change=one_number_each),
            Stage("for pieces of equal length", "whether a piece has all its numbers", change=equal_pieces),
            Stage("for pieces of different lengths", "the n % P numbers that are left over"),
        ),
    ),
)  # fmt: skip
