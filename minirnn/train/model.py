"""The character model of ``minirnn train``: embedding, recurrent layers, scores of a character.

    x_t = embedding[id_t]        h_t = recurrent layers(x_t, state)        scores_t = h_t @ weight.T + bias

The layers are `nn.LSTM`, `nn.GRU` or `nn.RNN`: the whole sequence and all directions of a layer are one node of the
tape. `CharModel.trace` computes the same numbers step by step, every value as its own node, to
look inside.

A model of one direction scores the *next* character, given all before it. With two directions that would be too easy,
since the reverse direction has seen it: such a model reads a text in which some characters are blanked out, and
scores what stood there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from minirnn import nn
from minirnn.engine.tensor import Tensor, tensor
from minirnn.messages import meant
from minirnn.ops import concat, stack
from minirnn.ops.cudnn_rnn.compose import step
from minirnn.ops.cudnn_rnn.zoneout import zoned
from minirnn.train.options import Options

State = tuple[Tensor, ...]
CELLS = ("lstm", "gru", "rnn")
EMBEDDING = 64
"""A character becomes so many numbers; more change little for a hundred characters."""
BLANKED = 0.15
"""The share of the characters that a model of two directions has to fill in."""


class Trace(NamedTuple):
    """All that happens in a `CharModel` while it reads a sequence; each list is over T steps, in order of t."""

    x: list[Tensor]
    """(B, I), the embedded characters."""
    h: list[list[Tensor]]
    """The hidden states of each pseudo-layer p = l*D + d, (B, P) a step."""
    c: list[list[Tensor]]
    """The cell states in the same order, (B, H) a step; empty unless lstm."""
    gates: list[list[dict[str, Tensor]]]
    """The gates by name in the same order; plain cells have none."""
    scores: list[Tensor]
    """(B, V), not normalized."""
    state: State
    """The state after the last step."""


class CharModel(nn.Module):
    """Scores of characters.

    Parameters
    ----------
    cell : {"lstm", "gru", "rnn"}
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
        P, the width of h if it is projected (lstm only); 0 for none.
    regularization
        `input_dropout`, `variational`, `weight_dropout`, `zoneout` (one number) of the recurrent layers.

    Attributes
    ----------
    embedding, recurrent, output : Module
    state_names : tuple of str
        What the state consists of: ("h", "c") for the LSTM, else ("h",).
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
        if cell not in CELLS:
            raise ValueError(f"CharModel: cell is {cell!r}\n  expected one of {', '.join(CELLS)}{meant(cell, CELLS)}")
        self.hidden, self.V, self.bidirectional = hidden, V, bidirectional
        self.embedding = nn.Embedding(V + bidirectional, EMBEDDING, device=device)
        kind = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[cell]
        more = {"dropout": dropout if layers > 1 else 0.0, "bidirectional": bidirectional, **regularization}
        if projection:
            more["proj_size"] = projection
        self.recurrent: nn.LSTM | nn.GRU | nn.RNN = kind(EMBEDDING, hidden, layers, device=device, **more)
        if cell == "lstm":
            self._open_forget_gates()
        self.output = nn.Linear(self.recurrent.net.P * self.recurrent.net.D, V, device=device)
        self.state_names = ("h", "c") if cell == "lstm" else ("h",)

    @classmethod
    def of(cls, options: Options, V: int, device: str | None = None) -> Self:
        """The model that the options of a run ask for, by default on their device."""
        o = options
        regularization = {name: getattr(o, name) for name in ("input_dropout", "variational", "weight_dropout")}
        return cls(
            o.cell,
            V,
            o.hidden,
            o.layers,
            o.dropout,
            o.bidirectional,
            device or o.device,
            projection=o.projection,
            zoneout=o.zoneout,
            **regularization,
        )

    def _open_forget_gates(self) -> None:
        """Start with most of the cell state kept, so that gradients reach far back (Jozefowicz et al. 2015)."""
        for name, p in self.recurrent.named_parameters():
            if name.startswith("bias_ih"):
                bias = p.numpy().copy()
                bias[self.hidden : 2 * self.hidden] += 1
                p.assign(bias)

    def size(self) -> int:
        """How many numbers are learned."""
        return sum(p.size for p in self.parameters())

    def zero_state(self, B: int) -> State:
        """The state before the first character: h (L*D, B, P), and c (L*D, B, H) of an LSTM."""
        net = self.recurrent.net
        widths = (net.P, net.H)[: len(self.state_names)]
        zeros = [np.zeros((net.L * net.D, B, width), np.float32) for width in widths]
        return tuple(tensor(zero, device=self.output.weight.device) for zero in zeros)

    def forward(self, ids: Any, state: State) -> tuple[Tensor, State]:
        """A sequence: ids (T, B) and the state before it -> scores (T, B, V) and the state after it."""
        lstm = isinstance(self.recurrent, nn.LSTM)
        y, last = self.recurrent(self.embedding(ids), state if lstm else state[0])
        return self.output(y), tuple(last) if lstm else (last,)

    def trace(self, ids: Any, state: State) -> Trace:
        """Do as `forward`, but step by step with dropout off: ids (T, B) and the state before -> all that happens."""
        net = self.recurrent.net
        xs: list[Tensor] = [self.embedding(row) for row in ids]
        T, layer_input = len(xs), xs
        found = Trace(xs, [], [], [], [], state)
        last_h, last_c = [], []
        for layer in range(net.L):
            outputs: list[list[Tensor]] = []
            for d in range(net.D):
                p = layer * net.D + d
                h, c = state[0][p], state[1][p] if len(state) == 2 else None
                hs, cs = [h] * T, [c] * T
                gates: list[dict[str, Tensor]] = [{}] * T
                for t in reversed(range(T)) if d else range(T):
                    h, c, gates[t] = self._step(layer_input[t], h, c, p)
                    hs[t], cs[t] = h, c
                outputs.append(hs)
                found.h.append(hs)
                found.gates.append(gates)
                last_h.append(h)
                if c is not None:
                    found.c.append(cs)  # type: ignore[arg-type]
                    last_c.append(c)
            layer_input = outputs[0] if net.D == 1 else [concat(list(pair), 1) for pair in zip(*outputs, strict=True)]
        found.scores.extend(self.output(y) for y in layer_input)
        return found._replace(state=(stack(last_h), stack(last_c)) if last_c else (stack(last_h),))

    def _step(self, x: Tensor, h: Tensor, c: Tensor | None, p: int) -> tuple[Tensor, Tensor | None, dict[str, Tensor]]:
        """One step of pseudo-layer p in evaluation: there zoneout takes the mean of old and new."""
        h_new, c_new, gates = step(self.recurrent.net.rnn_mode, x, h, c, self.recurrent.weights(p))
        if z := self.recurrent.zoneout:
            h_new = zoned(z, h, h_new)
            c_new = None if c is None else zoned(z, c, c_new)
        return h_new, c_new, gates


def blanked(ids: np.ndarray, V: int, rng: np.random.Generator) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Blank out about `BLANKED` of the characters: ids (T, B) with V there, and where (at least one place)."""
    hidden = rng.random(ids.shape) < BLANKED
    hidden.flat[int(rng.integers(ids.size))] = True
    return np.where(hidden, V, ids), hidden.nonzero()


def detached(state: Sequence[Tensor]) -> State:
    """The state with its past forgotten: here truncated backpropagation through time is truncated."""
    return tuple(t.detach() for t in state)
