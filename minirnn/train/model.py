"""The character model of ``minirnn train``: embedding, recurrent layers, scores of a character.

    x_t = embedding[id_t]        h_t = recurrent layers(x_t, state)        scores_t = h_t @ weight.T + bias

The layers are `nn.LSTM`, `nn.GRU`, `nn.RNN`, or those of a custom cell: the whole sequence and all directions of a
layer are one node of the tape. `CharModel.trace` computes the same values step by step, each as its own node, to look
inside.

A model with one direction scores the *next* character, given all before it. With two directions that would be too easy,
because the reverse direction has seen it. Such a model reads a text in which some characters are blanked out, and
scores the characters that were there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from minirnn import nn
from minirnn.arguments.messages import meant
from minirnn.engine.tensor import Tensor
from minirnn.nn.cell_file import cell_in, names_a_file
from minirnn.nn.microscope import Opened, Values, opened
from minirnn.train.options import CELLS, REGULARIZATION, Options

State = tuple[Tensor, ...]
EMBEDDING = 64
"""The width of the embedding. A larger one changes little for a hundred characters."""
BLANKED = 0.15
"""The share of the characters that a model with two directions fills in."""


class Trace(NamedTuple):
    """All values of a `CharModel` while it reads a sequence; the lists have T entries, in order of t."""

    x: list[Tensor]
    """(B, I), the embedded characters."""
    steps: list[list[Values]]
    """The values of the layers: for each pseudo-layer p = l*D + d, the T steps."""
    scores: list[Tensor]
    """(B, V), not normalized."""
    state: State
    """The state after the last step."""


class CharModel(nn.Module):
    """Scores of characters.

    Parameters
    ----------
    cell : {"lstm", "gru", "rnn"} or str
        A cell of minirnn, or ``FILE.py:name`` of a custom one.
    V : int
        Size of the vocabulary.
    hidden, layers : int
        H and L.
    dropout : float
        The probability of dropout between layers, while training.
    bidirectional : bool
        Two directions; the vocabulary then has one more id, V, for a blank.
    device : str, optional
    projection : int
        P, the width of h if it is projected (lstm, and custom cells that allow it); 0 for none.
    regularization
        `variational`, `input_dropout`, `weight_dropout`, and for cells of minirnn `zoneout` (one number).

    Attributes
    ----------
    embedding, recurrent, output : Module
    state_names : tuple of str
        The parts of the state: ("h", "c") for the LSTM, ("h",) for GRU and RNN, those of a custom cell.
    """

    def __init__(
        self,
        cell: str,
        V: int,
        hidden: int,
        layers: int = 1,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: str | None = None,
        *,
        projection: int = 0,
        **regularization: Any,
    ) -> None:
        own = names_a_file(cell)
        if not own and cell not in CELLS:
            raise ValueError(f"CharModel: cell is {cell!r}\n  expected one of {', '.join(CELLS)}{meant(cell, CELLS)}")
        self.hidden, self.V, self.bidirectional = hidden, V, bidirectional
        self.embedding = nn.Embedding(V + bidirectional, EMBEDDING, device=device)
        kind = cell_in(cell).layer if own else {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
        more = {"dropout": dropout if layers > 1 else 0.0, "bidirectional": bidirectional, **regularization}
        if projection:
            more["proj_size"] = projection
        self.recurrent: Any = kind(EMBEDDING, hidden, layers, device=device, **more)
        if cell == "lstm":
            self._open_forget_gates()
        one = self.opened
        self.output = nn.Linear(one.P * one.D, V, device=device)
        self.state_names = one.states

    @classmethod
    def of(cls, options: Options, V: int, device: str | None = None) -> Self:
        """The model that the options of a run ask for, by default on their device."""
        o = options
        names = REGULARIZATION[: -1 if names_a_file(o.cell) else None]
        return cls(
            o.cell,
            V,
            o.hidden,
            o.layers,
            o.dropout,
            o.bidirectional,
            device or o.device,
            projection=o.projection,
            **{name: getattr(o, name) for name in names},
        )

    @property
    def opened(self) -> Opened:
        """The recurrent layers, step by step."""
        return opened(self.recurrent)

    def _open_forget_gates(self) -> None:
        """Start with most of the cell state kept, so that gradients reach far back (Jozefowicz et al. 2015)."""
        for name, p in self.recurrent.named_parameters():
            if name.startswith("bias_ih"):
                bias = p.numpy().copy()
                bias[self.hidden : 2 * self.hidden] += 1
                p.assign(bias)

    def size(self) -> int:
        """The number of learned values."""
        return sum(p.size for p in self.parameters())

    def zero_state(self, B: int) -> State:
        """The state before the first character: (L*D, B, width) of each of `state_names`."""
        return self.opened.zeros(B)

    def forward(self, ids: Any, state: State) -> tuple[Tensor, State]:
        """A sequence: ids (T, B) and the state before it -> scores (T, B, V) and the state after it."""
        y, last = self.opened.run(self.embedding(ids), state)
        return self.output(y), last

    def trace(self, ids: Any, state: State) -> Trace:
        """Compute what `forward` computes, but step by step and without dropout: ids (T, B), state before -> all
        values.
        """
        xs: list[Tensor] = [self.embedding(row) for row in ids]
        seen = self.opened.trace(xs, state)
        return Trace(xs, seen.steps, [self.output(y) for y in seen.output], seen.state)


def blanked(ids: np.ndarray, V: int, rng: np.random.Generator) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Blank out about `BLANKED` of the characters: ids (T, B) with V there, and where (at least one place)."""
    hidden = rng.random(ids.shape) < BLANKED
    hidden.flat[int(rng.integers(ids.size))] = True
    return np.where(hidden, V, ids), hidden.nonzero()


def detached(state: Sequence[Tensor]) -> State:
    """The state, detached from its past. This is where truncated backpropagation through time cuts the gradient."""
    return tuple(t.detach() for t in state)
