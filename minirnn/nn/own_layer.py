"""Layers of a user's own cell, as ``my_cell.layer(input_size, hidden_size)`` creates them."""

from __future__ import annotations

import math
import re
import warnings
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.cells.cell import Formulas
from minirnn.cells.plan import Plan
from minirnn.devices.base import Device, Weights
from minirnn.engine import html
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.nn.initial import Factory, redraw_uniform, size
from minirnn.nn.module import Module
from minirnn.nn.parameter import Parameter
from minirnn.nn.regularization import dropped_input, new_seeds, probability, with_masks
from minirnn.nn.sequences import time_major
from minirnn.nn.states import check_place
from minirnn.ops.cudnn_rnn.check import steps_of
from minirnn.ops.cudnn_rnn.dropout import dropout_masks, dropped
from minirnn.ops.fused import zeros
from minirnn.ops.primitives import broadcast_to, chunk, concat, expand_dims, squeeze, stack, transpose
from minirnn.ops.sequence.layer import run_layer


class CellLayer(Module):
    """Layers of a user's own cell over a sequence, with one node for each layer. ``my_cell.layer(...)`` creates it.

    Parameters
    ----------
    cell : minirnn.nn.own_cell.Cell
    input_size, hidden_size, num_layers : int
        I, H and L.
    batch_first : bool
        input and output are (B, T, ..) instead of (T, B, ..).
    dropout : float
        Probability of a zero between layers in training.
    bidirectional : bool
        D = 2 directions.
    proj_size : int
        P > 0: the output is multiplied by weight_hr (P, H), and R reads the product. This needs a cell that reads h
        nowhere else, as in LSTM.
    input_dropout, weight_dropout : float
        The same as for `mr.nn.LSTM`. `weight_dropout` also acts on the matrices of `product`.
    masks : mapping of str to float, optional
        The probability that an element of each mask is 1 in training. In evaluation the mask is this number. The
        default is the value in the cell's function. A mask with neither must be passed in every call.
    variational : bool
        Whether masks and dropout are drawn once for all steps instead of for each step.
    initial : mapping of str to number or array (H,), optional
        Initial values of a gate's bias (``{"z_f": 1}``) or a vector. All others are drawn from -1/sqrt(H) .. 1/sqrt(H).
    device, dtype
        Device and dtype (default float32) of the parameters.

    Attributes
    ----------
    weight_ih : Parameter, (G*H, I)
        Rows: the gates that read x, H rows each, in the order of the cell's arguments. Absent if no gate reads x.
    weight_hh : Parameter, (G*H, P)
        Rows: the gates that read h, likewise.
    bias : Parameter, (G*H,)
        The biases of all gates.
    product_1, product_2, .. : Parameter, (H, H)
        The matrices of the calls of `product`.
    weight_hr : Parameter, (P, H)
        With `proj_size`.

    Each vector of the cell is a parameter (H,) under its own name. With several layers or two directions
    ``_l0``, ``_l0_reverse``, ``_l1`` .. is appended to all names.
    """

    def __init__(
        self,
        cell: Formulas,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: str | Device | None = None,
        dtype: Any = None,
        input_dropout: float = 0.0,
        weight_dropout: float = 0.0,
        masks: Mapping[str, float] | None = None,
        variational: bool = False,
        initial: Mapping[str, Any] | None = None,
    ) -> None:
        self.cell = cell
        self.name = name = cell.__name__
        step = cell.step
        self.input_size = size(name, "input_size", input_size)
        self.hidden_size = H = size(name, "hidden_size", hidden_size)
        self.num_layers = size(name, "num_layers", num_layers)
        self.batch_first = check.flag(name, "batch_first", batch_first)
        self.bidirectional = check.flag(name, "bidirectional", bidirectional)
        self.variational = check.flag(name, "variational", variational)
        self.dropout = probability(name, "dropout", dropout)
        self.input_dropout = probability(name, "input_dropout", input_dropout)
        self.weight_dropout = probability(name, "weight_dropout", weight_dropout)
        if self.weight_dropout and not (cell.plan().reads_h or cell.plan().products):
            raise ValueError(
                f"{name}: weight_dropout is {weight_dropout}, and the cell has no recurrent matrix\n  expected 0"
            )
        if self.dropout > 0 and self.num_layers == 1:
            warnings.warn(
                f"{name}: dropout={dropout} does nothing with num_layers=1, since it acts between layers only",
                stacklevel=3,
            )
        self.proj_size = check.integer(name, "proj_size", proj_size, 0)
        if self.proj_size >= H:
            raise ValueError(
                f"{name}: proj_size is {proj_size}, hidden_size is {hidden_size}\n"
                "  expected proj_size < hidden_size, or 0 for no projection"
            )
        if self.proj_size and not can_project(cell):
            raise ValueError(
                f"{name}: proj_size is {proj_size}, and the step reads {step.output} itself\n"
                f"  expected proj_size=0: only a cell that reads {step.output} through R can be projected"
            )
        self.rates = self._rates(masks or {})
        self.states_given = list(step.user_states)
        """Names of the states that a call takes and returns."""
        self.D, self.P = 2 if self.bidirectional else 1, self.proj_size or H
        make = Factory(device, dtype)
        self.initial = self._checked(initial or {})
        self._make(make)
        self._set_initial()

    @property
    def plan(self) -> Plan:
        """The plan for devices."""
        return self.cell.plan(self.proj_size > 0)

    # ---- parameters

    def _make(self, make: Factory) -> None:
        H, step, L, D = self.hidden_size, self.cell.step, self.num_layers, self.D
        n_x, n_h = (sum(n[0] in kinds for n in step.gates) for kinds in ("zx", "zh"))
        self._names: list[dict[str, str]] = []
        for k in range(L * D):
            suffix = "" if L * D == 1 else f"_l{k // D}" + "_reverse" * (k % D)
            width = self.input_size if k < D else D * self.P
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (n_x * H, width)} if n_x else {}
            shapes |= {"weight_hh": (n_h * H, self.P)} if n_h else {}
            shapes |= {"bias": (len(step.gates) * H,)}
            shapes |= {f"product_{k + 1}": (H, H) for k in range(self.plan.products)}
            shapes |= {"weight_hr": (self.P, H)} if self.proj_size else {}
            for n in step.vectors:
                if hasattr(type(self), n) or n in vars(self) or n in shapes:
                    raise ValueError(
                        f"{self.name}: a vector is called {n!r}, a layer's own name\n  expected another name"
                    )
            shapes |= dict.fromkeys(step.vectors, (H,))
            for n, shape in shapes.items():
                setattr(self, n + suffix, make.uniform(shape, 1 / math.sqrt(H)))
            self._names.append({n: n + suffix for n in shapes})

    def _checked(self, initial: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Initial values of gates and vectors, (H,) each."""
        step, H, found = self.cell.step, self.hidden_size, {}
        for n, value in initial.items():
            if n not in step.gates and n not in step.vectors:
                known = ", ".join([*step.gate_order, *step.vectors])
                raise ValueError(f"{self.name}: initial has {n!r}\n  expected a gate or a vector: {known}")
            try:
                found[n] = np.broadcast_to(np.asarray(value, np.float64), (H,)).copy()
            except (TypeError, ValueError):
                raise ValueError(
                    f"{self.name}: the initial value of {n} is {shown(value)}\n  expected a number or (H,) = ({H},)"
                ) from None
        return found

    def _set_initial(self) -> None:
        order, H = self.cell.step.gate_order, self.hidden_size
        for n, values in self.initial.items():
            for names in self._names:
                p: Parameter = getattr(self, names["bias" if n in order else n])
                start = order.index(n) * H if n in order else 0
                new = p.numpy().copy()
                new[start : start + H] = values
                p.assign(new)

    def reset_parameters(self) -> None:
        """Draw new initial values, as the constructor does."""
        redraw_uniform(self.parameters(), 1 / math.sqrt(self.hidden_size))
        self._set_initial()

    def weights(self, k: int) -> Weights:
        """The weights of pseudo-layer k = l*D + d, gates in the order of the plan."""
        step = self.cell.step
        own = {n: getattr(self, full) for n, full in self._names[k].items()}
        return Weights(
            self._sorted(own.get("weight_ih"), "zx"),
            self._sorted(own.get("weight_hh"), "zh"),
            own.get("weight_hr"),
            self._sorted(own["bias"], "zxh"),
            None,
            tuple(own[f"product_{k + 1}"] for k in range(self.plan.products)),
            tuple(own[n] for n in step.vectors),
        )

    def _sorted(self, rows: Any, kinds: str) -> Any:
        """Rows in the order of the cell's arguments, sorted into the order of the plan."""
        step = self.cell.step
        given = [n for n in step.gate_order if n[0] in kinds]
        wanted = [n for n in step.gates if n[0] in kinds]
        if rows is None or given == wanted:
            return rows
        parts = dict(zip(given, chunk(rows, len(given), 0), strict=True))
        return concat([parts[n] for n in wanted], 0)

    # ---- the call

    def forward(self, input: Any, states: Any = None, lengths: Any = None, masks: Any = None) -> tuple[Tensor, Any]:
        """Run over whole sequences.

        Parameters
        ----------
        input : (T, B, I), or (B, T, I) with batch_first, or (T, I)
        states : Tensor, or a tuple of one for each state of the cell, optional
            Before the first step, (B, H), or (L*D, B, H) with several layers or two directions; the output with P for
            H. Zeros by default.
        lengths : (B,) integers, 1 .. T, optional
            In any order. Past its end, a sequence keeps its states and its output is 0. Values there are not read.
        masks : mapping of str to (T, B, H), optional
            Masks to use instead of random ones; (L*D, T, B, H) with several layers or two directions.

        Returns
        -------
        output : (T, B, D*P)
        states : Tensor, or a named tuple of one for each state of the cell
            After the last step.

        Raises
        ------
        TypeError, ValueError
            If a shape, dtype or length does not fit.
        """
        like: Parameter = getattr(self, self._names[0]["bias"])
        x, batched = time_major(self.name, input, like, self.input_size, self.hidden_size, self.batch_first, lengths)
        T, B, _ = x.shape
        steps = None if lengths is None else steps_of(self.name, lengths, T, B, "lengths")
        L, D = self.num_layers, self.D
        before = self._states(states, B, batched, x)
        all_masks = self._masks(masks or {}, T, B, x)
        weights = [Weights(*self.weights(p)) for p in range(L * D)]  # a subclass may return a plain tuple
        if self.training and self.weight_dropout:
            weights = with_masks(weights, self.weight_dropout)
        if self.training and self.input_dropout:
            x = dropped_input(x, self.input_dropout, self.variational)
        between = None
        if self.training and self.dropout and L > 1:
            shape = (1 if self.variational else T, B, D * self.P)
            between = dropout_masks(L, shape, self.dropout, new_seeds(), x)
        ends: list[list[Tensor]] = []
        y = x
        for k in range(L):
            own = slice(k * D, (k + 1) * D)
            *inner, h0 = [s[own] if L > 1 else s for s in before]
            own_masks = [(m[own] if L > 1 else m).array for m in all_masks]
            c0 = [stack(inner, 1)] if len(inner) > 1 else inner
            y, h_n, *c_n = run_layer(self.plan, [y, h0, *c0], weights[own], lengths=steps, masks=own_masks)
            ends.append([*([c_n[0][:, j] for j in range(len(inner))] if len(inner) > 1 else c_n), h_n])
            if between is not None and k < L - 1:
                y = y * between[k]
        after = [ends[0][j] if L == 1 else concat([e[j] for e in ends], 0) for j in range(self.plan.states)]
        if not batched:
            y = squeeze(y, 1)
        elif self.batch_first:
            y = transpose(y, (1, 0, 2))
        return y, self._returned(after, batched)

    def step(self, input: Any, states: Any = None) -> tuple[Tensor, Any]:
        """Compute one step, ``y, states = layer.step(x, states)``, with x (B, I) or (I,) and states as in a call.

        Raises
        ------
        ValueError
            If the layer runs in both directions, because there is no single step for it.
        """
        if self.bidirectional:
            raise ValueError(f"{self.name}: step of a bidirectional layer\n  expected bidirectional=False")
        like: Parameter = getattr(self, self._names[0]["bias"])
        x = input if isinstance(input, Tensor) else as_tensor(input, device=like.device)
        if x.ndim not in (1, 2):
            raise ValueError(f"{self.name}: step has an input of shape {x.shape}\n  expected (B, I) or (I,)")
        axis = 1 if self.batch_first and x.ndim == 2 else 0
        y, states = self.forward(expand_dims(x, axis), states)
        return squeeze(y, axis), states

    def _states(self, given: Any, B: int, batched: bool, x: Tensor) -> list[Tensor]:
        """The states before the first step in the order of the plan, (L*D, B, width) each."""
        step, names, count = self.cell.step, self.states_given, self.num_layers * self.D
        widths = {n: self.P if n == step.output else self.hidden_size for n in step.order}
        found = dict.fromkeys(step.order)
        if given is not None:
            parts = list(given) if isinstance(given, (tuple, list)) else [given]
            if len(parts) != len(names):
                raise ValueError(
                    f"{self.name}: got {len(parts)} states\n  expected {len(names)}: {', '.join(names)}, in this order"
                )
            found |= dict(zip(names, parts, strict=True))
        states: list[Tensor] = []
        for n, value in found.items():
            if value is None:
                states.append(zeros((count, B, widths[n]), x))
                continue
            state = value if isinstance(value, Tensor) else as_tensor(value, device=x.device)
            check_place(self.name, n, state, x.dtype, x.device)
            letters = [("L*D", count)] * (count > 1) + [("B", B)] * batched
            letters.append(("P" if n == step.output and self.proj_size else "H", widths[n]))
            texts, expected = zip(*letters, strict=True)
            check.shape(self.name, n, state.shape, ", ".join(texts), expected, f"input, time-major {x.shape}")
            state = state if batched else expand_dims(state, -2)
            states.append(state if count > 1 else expand_dims(state, 0))
        return states

    def _returned(self, after: Sequence[Tensor], batched: bool) -> Any:
        by_name = dict(zip(self.cell.step.order, after, strict=True))
        found = []
        for n in self.states_given:
            state = by_name[n] if batched else squeeze(by_name[n], 1)
            found.append(state if self.num_layers * self.D > 1 else squeeze(state, 0))
        return found[0] if len(found) == 1 else states_type(self.name, tuple(self.states_given))(*found)

    # ---- masks

    def _rates(self, given: Mapping[str, Any]) -> dict[str, float | None]:
        rates = dict(self.cell.step.masked)
        for n, rate in given.items():
            if n not in rates:
                known = ", ".join(rates) or "none"
                raise ValueError(f"{self.name}: it has no mask {n!r}\n  expected one of its masks: {known}")
            rates[n] = probability(self.name, n, rate, "the probability that the mask is 1")
        return rates

    def mean_mask(self, name: str) -> float:
        """The value of a mask in evaluation. Raises ValueError if it has no rate."""
        rate = self.rates[name]
        if rate is None:
            raise ValueError(
                f"{self.name}: the mask {name!r} has no rate, and was not given\n"
                f"  expected masks={{{name!r}: (T, B, H)}} in the call, or a rate: .layer(.., masks={{{name!r}: 0.1}})"
            )
        return rate

    def _masks(self, given: Mapping[str, Any], T: int, B: int, x: Tensor) -> list[Tensor]:
        """The masks of the cell, (L*D, T, B, H) each."""
        count, H = self.num_layers * self.D, self.hidden_size
        unknown = sorted(set(given) - set(self.rates))
        if unknown:
            known = ", ".join(self.rates) or "none"
            raise ValueError(f"{self.name}: it has no mask {unknown[0]!r}\n  expected one of its masks: {known}")
        found = []
        for j, n in enumerate(self.rates):
            if n in given:
                m = given[n] if isinstance(given[n], Tensor) else as_tensor(given[n], device=x.device)
                letters = "L*D, " * (count > 1) + "T, B, H"
                expected = (count, T, B, H) if count > 1 else (T, B, H)
                check.shape(self.name, n, m.shape, letters, expected, f"input, time-major {x.shape}")
                if m.requires_grad:
                    raise ValueError(f"{self.name}: the mask {n!r} requires a gradient\n  expected {n}.detach()")
                m = m.detach().astype(x.dtype)
                found.append(m if count > 1 else expand_dims(m, 0))
            elif self.training:
                shape = (count, 1 if self.variational else T, B, H)
                drawn = tensor(dropped(shape, self.mean_mask(n), j, *new_seeds()), device=x.device, dtype=x.dtype)
                found.append(broadcast_to(drawn, (count, T, B, H)) if self.variational else drawn)
            else:
                found.append(tensor(np.full((count, T, B, H), self.mean_mask(n)), device=x.device, dtype=x.dtype))
        return found

    def extra_repr(self) -> str:
        defaults = {"num_layers": 1, "batch_first": False, "dropout": 0.0, "bidirectional": False, "proj_size": 0}
        defaults |= {"input_dropout": 0.0, "weight_dropout": 0.0}
        changed = [f"{k}={getattr(self, k)}" for k, v in defaults.items() if getattr(self, k) != v]
        return ", ".join([self.name, str(self.input_size), str(self.hidden_size), *changed])


def can_project(cell: Formulas) -> bool:
    """Whether the output of a cell can be projected. The step must read it only through R."""
    return cell.step.read and not cell.plan(True).carries


@cache
def states_type(name: str, states: tuple[str, ...]) -> Any:
    """A named tuple for the states of a cell."""
    return html.shows_outputs(namedtuple(re.sub(r"\W", "_", f"{name}_states"), states, rename=True))
