"""The character model of ``minirnn train``: embedding, one recurrent layer, scores of the next character.

    x_t = embedding[id_t]        state_t, h_t = cell(x_t, state_{t-1})        scores_t = h_t @ weight.T + bias

`CharModel.step` computes one step and shows all that happens in it; `CharModel.forward` computes a sequence, which for
the LSTM is one node of the tape. Both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn import nn
from minirnn.ops import expand_dims, stack
from minirnn.tensor import Tensor, tensor

State = tuple[Tensor, ...]
EMBEDDING = 64  # numbers a character is given; more than that changes little for a hundred characters


class Step(NamedTuple):
    """One time step of a `CharModel`."""

    x: Tensor
    """(B, I), the embedded characters."""
    state: State
    """(B, H) each, named by `CharModel.state_names`; h is the last."""
    gates: dict[str, Tensor]
    """(B, H) each: what the cell computed on the way, by the names of its op."""
    scores: Tensor
    """(B, V), not normalized."""


class LSTM(nn.LSTMBlockFusedCell):
    """`nn.LSTMBlockFusedCell`, and one step of it."""

    state_names = ("c", "h")

    def step(self, x: Tensor, state: State) -> tuple[State, dict[str, Tensor]]:
        y = self.gates(expand_dims(x, 0), state)
        return (y.cs[0], y.h[0]), {name: getattr(y, name)[0] for name in ("i", "f", "o", "ci", "co")}


class GRU(nn.GRUBlockCell):
    """`nn.GRUBlockCell` with its step in the form of the other cells."""

    state_names = ("h",)

    def step(self, x: Tensor, state: State) -> tuple[State, dict[str, Tensor]]:
        y = self.gates(x, *state)
        return (y.h,), {"r": y.r, "u": y.u, "c": y.c}


class RNN(nn.RNNCell):
    """`nn.RNNCell` with its step in the form of the other cells."""

    state_names = ("h",)

    def step(self, x: Tensor, state: State) -> tuple[State, dict[str, Tensor]]:
        h = self(x, *state)
        return (h,), {"h": h}


CELLS = ("lstm", "gru", "rnn")


class CharModel(nn.Module):
    """Scores of the next character, given all before it.

    Parameters
    ----------
    cell : {"lstm", "gru", "rnn"}
    V : int
        Size of the vocabulary.
    hidden : int
        H, units of the recurrent layer.
    device : str, optional

    Attributes
    ----------
    embedding, recurrent, output : Module
    state_names : tuple of str
        What the state consists of: ("c", "h") for the LSTM, else ("h",).
    """

    def __init__(self, cell: str, V: int, hidden: int, device: str | None = None) -> None:
        I = EMBEDDING
        self.hidden = hidden
        self.embedding = nn.Embedding(V, I, device=device)
        self.recurrent: LSTM | GRU | RNN
        if cell == "lstm":
            self.recurrent = LSTM(hidden, I, device=device)
        elif cell == "gru":
            self.recurrent = GRU(hidden, I, device=device)
        elif cell == "rnn":
            self.recurrent = RNN(I, hidden, device=device)
        else:
            raise ValueError(f"CharModel: cell is {cell!r}\n  expected one of {', '.join(CELLS)}")
        self.output = nn.Linear(hidden, V, device=device)
        self.state_names = self.recurrent.state_names

    def size(self) -> int:
        """How many numbers are learned."""
        return sum(p.size for p in self.parameters())

    def zero_state(self, B: int) -> State:
        """The state before the first character, (B, H) each."""
        zeros = np.zeros((B, self.hidden), np.float32)
        return tuple(tensor(zeros, device=self.output.weight.device) for _ in self.state_names)

    def forward(self, ids: Any, state: State) -> tuple[Tensor, State]:
        """A sequence: ids (T, B) and the state before it -> scores (T, B, V) and the state after it."""
        if isinstance(self.recurrent, LSTM):
            h, final = self.recurrent(self.embedding(ids), state)
            return self.output(h), tuple(final)
        hs = []
        for row in ids:
            # Embedded step by step: the gradient of x[t] would be an array of the size of all x, for each t.
            state, _ = self.recurrent.step(self.embedding(row), state)
            hs.append(state[-1])
        return self.output(stack(hs)), state

    def step(self, ids: Any, state: State) -> Step:
        """One step: ids (B,) and the state before it -> all that happens in it."""
        x = self.embedding(ids)
        state, gates = self.recurrent.step(x, state)
        return Step(x, state, gates, self.output(state[-1]))

    def steps(self, ids: Any, state: State) -> list[Step]:
        """A sequence as single steps, each a node of the tape: ids (T, B) and the state before it -> T steps."""
        found: list[Step] = []
        for row in ids:
            found.append(self.step(row, found[-1].state if found else state))
        return found


def detached(state: Sequence[Tensor]) -> State:
    """The state with its past forgotten: here truncated backpropagation through time is truncated."""
    return tuple(t.detach() for t in state)
