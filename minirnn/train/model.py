"""The character model of ``minirnn train``: embedding, recurrent layers, scores of a character.

    x_t = embedding[id_t]        h_t = recurrent layers(x_t, state)        scores_t = h_t @ weight.T + bias

The layers are `nn.LSTM`, `nn.GRU`, `nn.RNN`, or those of a custom cell: the whole sequence and all directions of a
layer are one node of the tape. `CharModel.trace` computes the same values step by step, each as its own node, to look
inside. `gradient_norms` measures how the gradient flows through them.

A model with one direction scores the *next* character, given all before it. With two directions that would be too easy,
because the reverse direction has seen it. Such a model reads a text in which some characters are blanked out, and
scores the characters that were there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minirnn import nn
from minirnn.engine.backward import grad
from minirnn.engine.tensor import Tensor
from minirnn.nn.microscope import Opened, Values, opened
from minirnn.nn.own.file import cell_in, names_a_file
from minirnn.ops import cross_entropy
from minirnn.train.options import REGULARIZATION, Options

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
    """Scores of characters: the model that the options of a run ask for, by default on their device.

    `V` is the size of the vocabulary. With two directions it has one more id, V, for a blank.

    Attributes
    ----------
    embedding, recurrent, output : Module
    state_names : tuple of str
        The parts of the state: ("h", "c") for the LSTM, ("h",) for GRU and RNN, those of a custom cell.
    """

    def __init__(self, options: Options, V: int, device: str | None = None) -> None:
        o, device, own = options, device or options.device, names_a_file(options.cell)
        self.hidden, self.V, self.bidirectional = o.hidden, V, o.bidirectional
        self.embedding = nn.Embedding(V + o.bidirectional, EMBEDDING, device=device)
        kind = cell_in(o.cell).layer if own else {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[o.cell]
        more: dict[str, Any] = {name: getattr(o, name) for name in REGULARIZATION[: -1 if own else None]}
        more |= {"dropout": o.dropout if o.layers > 1 else 0.0, "bidirectional": o.bidirectional}
        if o.projection:
            more["proj_size"] = o.projection
        self.recurrent: Any = kind(EMBEDDING, o.hidden, o.layers, device=device, **more)
        if o.cell == "lstm":
            self._open_forget_gates()
        one = self.opened
        self.output = nn.Linear(one.P * one.D, V, device=device)
        self.state_names = one.states

    @property
    def opened(self) -> Opened:
        """The recurrent layers, step by step."""
        return opened(self.recurrent, "train")

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


def row_names(model: CharModel) -> list[str]:
    """Names of the rows of `gradient_norms`: x, then each state of each layer (and direction)."""
    one, rows = model.opened, ["x"]
    for p in range(one.L * one.D):
        place = f"{p // one.D}" if one.L > 1 else ""
        arrow = ("\u2192", "\u2190")[p % one.D] if one.D > 1 else ""  # in the direction in which it reads
        rows += [f"{name}{place}{arrow}" for name in one.states]
    return rows


def gradient_norms(model: CharModel, ids: Any, target: Any, at: int = -1) -> np.ndarray:
    """Compute how the gradient of the loss at one step flows to all steps.

    The sequence is computed step by step. Every value is its own node, so its gradient can be read.

    Parameters
    ----------
    ids : (T, B)
    target : (B,)
        The right characters at step `at`.
    at : int
        The time step whose loss is taken, by default the last.

    Returns
    -------
    ndarray, (rows, T)
        The 2-norm of the gradient of one sequence's loss with respect to x or a state at one step; the mean over
        the batch. The rows are `row_names`. The gradient of c includes what comes through h of the same step.
    """
    seen = model.trace(ids, model.zero_state(ids.shape[1]))
    loss = cross_entropy(seen.scores[at], target, "sum")  # a sum: rows do not share anything
    series = [seen.x]
    series += [[values.states[name] for values in steps] for steps in seen.steps for name in model.state_names]
    grads = grad(loss, [t for values in series for t in values])  # (B, n) each
    norms = [np.linalg.norm(g.numpy().astype(np.float64), axis=1).mean() for g in grads]
    return np.array(norms).reshape(len(series), -1)
