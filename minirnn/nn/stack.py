"""What all recurrent layers have in common, torch's and those of own cells: settings, parameters, and a call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.devices.base import Weights
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.initial import Factory, redraw_uniform, size
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter
from minirnn.nn.regularization import dropped_input, new_seeds, probability, with_masks
from minirnn.nn.states import check_place, exchanged
from minirnn.ops.cudnn_rnn.check import steps_of
from minirnn.ops.cudnn_rnn.dropout import dropout_masks
from minirnn.ops.fused import zeros
from minirnn.ops.primitives import expand_dims, reshape, transpose

DEFAULTS = {"num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False, "proj_size": 0}
DEFAULTS |= {"input_dropout": 0.0, "variational": False, "weight_dropout": 0.0, "zoneout": 0.0}


class Stack(Module):
    """The base class of recurrent layers: L layers in D directions of one cell, H units wide."""

    _single = False
    """Whether the states of a call have no axis L*D."""

    def __init__(
        self,
        name: str,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        batch_first: bool,
        dropout: float,
        bidirectional: bool,
        proj_size: int,
        input_dropout: float,
        variational: bool,
        weight_dropout: float,
    ) -> None:
        self.name = name
        self.input_size = size(name, "input_size", input_size)
        self.hidden_size = size(name, "hidden_size", hidden_size)
        self.num_layers = size(name, "num_layers", num_layers)
        self.batch_first = check.flag(name, "batch_first", batch_first)
        self.bidirectional = check.flag(name, "bidirectional", bidirectional)
        self.variational = check.flag(name, "variational", variational)
        self.dropout = probability(name, "dropout", dropout)
        self.input_dropout = probability(name, "input_dropout", input_dropout)
        self.weight_dropout = probability(name, "weight_dropout", weight_dropout)
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"{name}: dropout={dropout} does nothing with num_layers=1, since it acts between layers only",
                stacklevel=4,
            )
        self.proj_size = check.integer(name, "proj_size", proj_size, 0)
        if self.proj_size >= self.hidden_size:
            raise ValueError(
                f"{name}: proj_size is {proj_size}, hidden_size is {hidden_size}\n"
                "  expected proj_size < hidden_size, or 0 for no projection"
            )
        self.D, self.P = 2 if self.bidirectional else 1, self.proj_size or self.hidden_size

    # ---- parameters

    def _draw(self, shapes: Sequence[Mapping[str, Sequence[int]]], make: Factory) -> None:
        """Make the parameters of each pseudo-layer p = l*D + d, and give them their first values."""
        self._names: list[dict[str, str]] = []
        for p, own in enumerate(shapes):
            suffix = "" if self._single else f"_l{p // self.D}" + "_reverse" * (p % self.D)
            self._names.append({n: n + suffix for n in own})
            for n, shape in own.items():
                setattr(self, n + suffix, make.uniform(shape, 1 / math.sqrt(self.hidden_size)))
        self._set_initial()

    def _set_initial(self) -> None:
        """Set the parameters that are not drawn."""

    def reset_parameters(self) -> None:
        """Draw new initial values, like the constructor."""
        redraw_uniform(self.parameters(), 1 / math.sqrt(self.hidden_size))
        self._set_initial()

    def weights(self, p: int) -> Weights:
        """The weights of pseudo-layer p = l*D + d, gates stacked, in the order of the cell's plan."""
        raise NotImplementedError

    # ---- the call

    def _read(self, input: Any, batch_first: bool, lengths: Any) -> tuple[Tensor, bool, np.ndarray | None]:
        """x (T, B, I) with the dtype and device of the parameters, whether the input has a batch axis, and the lengths.

        Raises TypeError or ValueError if a shape, the dtype or the device does not fit, T is 0, or `lengths` are given
        without a batch.
        """
        like: Parameter = getattr(self, next(iter(self._names[0].values())))
        name, I = self.name, self.input_size
        letters = "(B, T, I)" if batch_first else "(T, B, I)"
        if isinstance(input, (tuple, list)) and any(isinstance(part, Tensor) and part.ndim > 1 for part in input):
            raise TypeError(
                f"{name}: input is a {type(input).__name__} of {len(input)}\n  expected one Tensor {letters}\n"
                "  several inputs are one: mr.concat([x, gap], -1); steps are one: mr.stack(steps)"
            )
        x = input if isinstance(input, Tensor) else as_tensor(input, device=like.device)
        if x.device is not like.device or x.dtype != like.dtype:
            check_place(name, "input", x, like.dtype, like.device)
        batched = x.ndim == 3
        if x.ndim not in (2, 3):
            raise ValueError(f"{name}: input has shape {x.shape}\n  expected {letters}, or (T, I) without a batch")
        if x.shape[-1] != I:
            swapped = "\n  likely features and time are exchanged" if I in x.shape else ""
            if not swapped and x.shape[-1] == self.hidden_size:
                swapped = f"\n  {exchanged(name, ('input_size', 'hidden_size'))}"
            raise ValueError(f"{name}: input has shape {x.shape}\n  expected {I} (I = input_size) at its end{swapped}")
        if not batched:
            if lengths is not None:
                raise ValueError(f"{name}: lengths were given for an input of shape {x.shape}\n  expected {letters}")
            x = expand_dims(x, 1)
        elif batch_first:
            x = transpose(x, (1, 0, 2))
        T, B, _ = x.shape
        if not T:
            check.positive(name, "T", 0, "input")
        return x, batched, None if lengths is None else steps_of(name, lengths, T, B, "lengths")

    def _before(self, given: Mapping[str, Any], output: str, batched: bool, x: Tensor) -> list[Tensor]:
        """The states (L*D, B, width) before the first step; zeros for None. The one called `output` is P wide."""
        count, found, none = self.num_layers * self.D, [], dict[int, Tensor]()
        for what, value in given.items():
            width, letter = self.hidden_size, "H"
            if what == output and self.proj_size:
                width, letter = self.P, "P"
            if value is not None:
                found.append(self._state(what, value, letter, (count, x.shape[1], width), batched, x))
                continue
            if width not in none:  # otherwise states share the same zeros
                none[width] = zeros((count, x.shape[1], width), x)
            found.append(none[width])
        return found

    def _state(
        self, what: str, value: Any, own: Sequence[str], full: tuple[int, ...], batched: bool, x: Tensor
    ) -> Tensor:
        """The user's initial state with all axes, L*D, B and its `own`, after checks."""
        state = value if isinstance(value, Tensor) else as_tensor(value, device=x.device)
        check_place(self.name, what, state, x.dtype, x.device)
        axes = zip(("L*D", "B", *own), full, (not self._single, batched, *[True] * len(own)), strict=True)
        letters, expected = zip(*[(axis, size) for axis, size, there in axes if there], strict=True)
        note = "states are (L*D, B, H) also with batch_first" if self.batch_first and not self._single else ""
        check.shape(self.name, what, state.shape, ", ".join(letters), expected, f"input, time-major {x.shape}", note)
        return state if state.shape == full else reshape(state, full)

    def _dropped(self, x: Tensor) -> tuple[Tensor, list[Weights], Sequence[Tensor] | None]:
        """x and all weights, and in training with the masks of this call, and the masks between layers."""
        L = self.num_layers
        weights = [self.weights(p) for p in range(L * self.D)]
        between = None
        if self.training and (self.dropout or self.input_dropout or self.weight_dropout):
            if self.weight_dropout:
                weights = with_masks(weights, self.weight_dropout)
            if self.input_dropout:
                x = dropped_input(x, self.input_dropout, self.variational)
            if self.dropout and L > 1:
                shape = (1 if self.variational else x.shape[0], x.shape[1], self.D * self.P)
                between = dropout_masks(L, shape, self.dropout, new_seeds(), x)
        return x, weights, between

    def extra_repr(self) -> str:
        own = {k: vars(self).get(k, v) for k, v in DEFAULTS.items()}  # `bias` is a parameter of a custom cell
        changed = [f"{k}={v}" for k, v in own.items() if not isinstance(v, Tensor) and v != DEFAULTS[k]]
        return ", ".join([str(self.input_size), str(self.hidden_size), *changed])
