"""Layers of a user's own cell, as ``my_cell.layer(input_size, hidden_size)`` creates them."""

from __future__ import annotations

import re
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
from minirnn.nn.initial import Factory
from minirnn.nn.parameter import Parameter
from minirnn.nn.regularization import new_seeds, probability
from minirnn.nn.stack import Stack
from minirnn.ops.cudnn_rnn.dropout import dropped
from minirnn.ops.fused import zeros
from minirnn.ops.primitives import broadcast_to, chunk, concat, expand_dims, squeeze, stack, transpose
from minirnn.ops.sequence.stack import run_layers
from minirnn.proof.own import prove_layer
from minirnn.proof.proof import Proof


class CellLayer(Stack):
    """Layers of a user's own cell over a sequence, with one node for each layer. ``my_cell.layer(...)`` creates it.

    Parameters
    ----------
    cell : minirnn.nn.own.decorator.Cell
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
    initial : mapping of str to number, array or function, optional
        Initial values of a gate's bias (``{"z_f": 1}``), of another parameter by its name (``{"U": np.eye(5)}``, or
        ``{"weight_hh": mr.nn.init.orthogonal_}``), or of a state before the first step, if a call has none. States
        begin at 0 otherwise; all other values are drawn from -1/sqrt(H) .. 1/sqrt(H).
    learned : sequence of str, optional
        States whose value before the first step is a parameter, ``initial_NAME``.
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
        The matrices of the calls of `product`; a matrix with a name, ``product(v, "U")``, has this name.
    weight_hr : Parameter, (P, H)
        With `proj_size`.

    initial_h, .. : Parameter, (H,)
        For each state in `learned`.

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
        learned: Sequence[str] = (),
    ) -> None:
        name, step = cell.__name__, cell.step
        sizes = input_size, hidden_size, num_layers
        more = input_dropout, variational, weight_dropout
        super().__init__(name, *sizes, batch_first, dropout, bidirectional, proj_size, *more)
        self.cell = cell
        if self.weight_dropout and not (cell.plan().reads_h or cell.plan().products):
            raise ValueError(
                f"{name}: weight_dropout is {weight_dropout}, and the cell has no recurrent matrix\n  expected 0"
            )
        if self.proj_size and not can_project(cell):
            raise ValueError(
                f"{name}: proj_size is {proj_size}, and the step reads {step.output} itself\n"
                f"  expected proj_size=0: only a cell that reads {step.output} through R can be projected"
            )
        masks, meaning = masks or {}, "the probability that the mask is 1"
        self._check_names(masks)
        self.rates = step.masked | {n: probability(name, n, rate, meaning) for n, rate in masks.items()}
        self.states_given = list(step.user_states)
        """Names of the states that a call takes and returns."""
        self._single = self.num_layers * self.D == 1
        make = Factory(device, dtype)
        self.learned = (learned,) if isinstance(learned, str) else tuple(learned)
        if unknown := [n for n in self.learned if n not in self.states_given]:
            known = ", ".join(self.states_given)
            raise ValueError(f"{name}: learned has {shown(unknown[0])}\n  expected some of its states: {known}")
        self.initial = self._checked(initial or {})
        self._draw([self._shapes(p) for p in range(self.num_layers * self.D)], make)

    @property
    def plan(self) -> Plan:
        """The plan for devices."""
        return self.cell.plan(self.proj_size > 0)

    # ---- parameters

    def _shapes(self, p: int) -> dict[str, tuple[int, ...]]:
        """The parameters of pseudo-layer p = l*D + d."""
        H, step = self.hidden_size, self.cell.step
        n_x, n_h = (sum(n[0] in kinds for n in step.gates) for kinds in ("zx", "zh"))
        width = self.input_size if p < self.D else self.D * self.P
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (n_x * H, width)} if n_x else {}
        shapes |= {"weight_hh": (n_h * H, self.P)} if n_h else {}
        shapes |= {"bias": (len(step.gates) * H,)}
        named = {n: (H, H) for n, text in step.matrices.items() if n == text}
        shapes |= {n: (H, H) for n in step.matrices if n not in named}
        shapes |= {"weight_hr": (self.P, H)} if self.proj_size else {}
        shapes |= {f"initial_{n}": self._place(n)[2] for n in self.learned}
        return self._with_learned(shapes, {**named, **dict.fromkeys(step.vectors, (H,))})

    def _with_learned(
        self, shapes: dict[str, tuple[int, ...]], learned: Mapping[str, tuple[int, ...]]
    ) -> dict[str, tuple[int, ...]]:
        """`shapes` and those of the cell's own parameters."""
        for n in learned:
            if hasattr(type(self), n) or n in shapes or not isinstance(vars(self).get(n), Parameter | None):
                kind = "vector" if n in self.cell.step.vectors else "matrix"
                raise ValueError(f"{self.name}: a {kind} is called {n!r}, a layer's own name\n  expected another name")
        return shapes | dict(learned)

    def _place(self, n: str, p: int = 0) -> tuple[str, int, tuple[int, ...]]:
        """Where an initial value goes in pseudo-layer p: the parameter, the first element, and the shape."""
        order, H = self.cell.step.gate_order, self.hidden_size
        if n in self.states_given:
            return f"initial_{n}", 0, (self.P if n == self.cell.step.output else H,)
        return ("bias", order.index(n) * H, (H,)) if n in order else (n, 0, self._shapes(p)[n])

    def _checked(self, initial: Mapping[str, Any]) -> dict[str, Any]:
        """Initial values of gates, parameters and states: arrays, or functions that set a parameter."""
        found: dict[str, Any] = {}
        known = [*self.cell.step.gate_order, *self._shapes(0), *self.states_given]
        for n, value in initial.items():
            if n not in known:
                raise ValueError(
                    f"{self.name}: initial has {n!r}\n  expected a gate, a parameter or a state: {', '.join(known)}"
                )
            name, _, shape = self._place(n)
            if callable(value) and name == n:
                found[n] = value
                continue
            try:
                found[n] = np.asarray(value, np.float64).copy()
                for p in range(self.num_layers * self.D):
                    np.broadcast_to(found[n], self._place(n, p)[2])
            except (TypeError, ValueError):
                letters = "(H,) = " if shape == (self.hidden_size,) else ""
                more = ", or a function such as mr.nn.init.orthogonal_" if name == n else ""
                raise ValueError(
                    f"{self.name}: the initial value of {n} is {shown(value)}\n"
                    f"  expected a number or {letters}{shape}{more}"
                ) from None
        return found

    def _set_initial(self) -> None:
        for n, value in {**dict.fromkeys(self.learned, 0.0), **self.initial}.items():
            for k, names in enumerate(self._names):
                name, start, shape = self._place(n, k)
                if name not in names:  # a state that is not learned
                    continue
                p: Parameter = getattr(self, names[name])
                if callable(value):
                    value(p)
                    continue
                new = p.numpy().copy()
                part = new if shape == new.shape else new[start : start + shape[0]]
                part[...] = value
                p.assign(new)

    def first_state(self, n: str, B: int) -> Tensor:
        """The state called n before the first step, (L*D, B, ..), if a call has none."""
        like: Parameter = getattr(self, self._names[0]["bias"])
        shape = (self.num_layers * self.D, B, *self._place(n)[2])
        if n in self.learned:
            rows = stack([getattr(self, names[f"initial_{n}"]) for names in self._names])
            return broadcast_to(expand_dims(rows, 1), shape)
        if n not in self.initial:
            return zeros(shape, like)
        return tensor(np.broadcast_to(self.initial[n], shape), device=like.device, dtype=like.dtype)

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
            tuple(own[n] for n in step.matrices),
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
        """Run over whole sequences. Raises TypeError or ValueError if a shape, dtype or length does not fit.

        Parameters
        ----------
        input : (T, B, I), or (B, T, I) with batch_first, or (T, I)
        states : Tensor, or a tuple of one for each state of the cell, optional
            Before the first step, (B, H), or (L*D, B, H) with several layers or two directions; the output with P for
            H. Zeros by default. A named tuple, such as the state of ``nn.LSTM``, or a dict is read by its names.
        lengths : (B,) integers, 1 .. T, optional
            In any order. Past its end, a sequence keeps its states and its output is 0. Values there are not read.
        masks : mapping of str to (T, B, H) or (T, B, 1), optional
            Masks to use instead of random ones; (L*D, T, B, H) with several layers or two directions.

        Returns
        -------
        output : (T, B, D*P)
        states : Tensor, or a named tuple of one for each state of the cell
            After the last step.
        """
        x, batched, steps = self._read(input, self.batch_first, lengths)
        L, D = self.num_layers, self.D
        *inner, h0 = self._states(states, batched, x)
        all_masks = [m.array if L == 1 else m for m in self._masks(masks or {}, x)]
        x, weights, between = self._dropped(x)
        for name, w in weights[0]._asdict().items():
            found = w if isinstance(w, (tuple, list)) else [w]  # with weight_dropout, U is a list
            others = [v for v in found if v is not None and not isinstance(v, Tensor)]
            if others:
                kind = type(others[0]).__name__
                raise TypeError(f"{self.name}: {name} of weights is of type {kind}\n  expected a Tensor: mr.tensor(..)")
        c0 = [stack(inner, 1)] if len(inner) > 1 else inner
        own = [[m if L == 1 else m[k : k + D].array for m in all_masks] for k in range(0, L * D, D)]
        cells = [(self.plan, m, None) for m in own]
        (y, h_n, *c_n), _ = run_layers(cells, x, [h0, *c0], weights, lengths=steps, masks=between)
        if len(inner) > 1:
            c_n = [c_n[0][:, j] for j in range(len(inner))]
        return self._returned(y, dict(zip(self.cell.step.order, [*c_n, h_n], strict=True)), batched)

    def step(self, input: Any, states: Any = None) -> tuple[Tensor, Any]:
        """Compute one step, ``y, states = layer.step(x, states)``, with x (B, I) or (I,) and states as in a call.

        Raises ValueError if the layer runs in both directions, because there is no single step for it.
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

    def verify(self, devices: Sequence[str] | None = None, seed: int = 0) -> Proof:
        """Test this layer as `cell.verify` tests a cell, with what `weights` of a subclass makes of the parameters."""
        return prove_layer(self, devices, seed)

    def _states(self, given: Any, batched: bool, x: Tensor) -> list[Tensor]:
        """The states before the first step in the order of the plan, (L*D, B, width) each."""
        found = dict.fromkeys(self.cell.step.order) | self._by_name(given)
        before = zip(found, self._before(found, self.cell.step.output, batched, x), strict=True)
        first = {*self.initial, *self.learned}
        return [self.first_state(n, x.shape[1]) if found[n] is None and n in first else s for n, s in before]

    def _by_name(self, given: Any) -> dict[str, Any]:
        """The states that a call was given, or None, by their names."""
        names = self.states_given
        if given is None:
            return dict.fromkeys(names)
        by_name = given if isinstance(given, Mapping) else None
        if hasattr(given, "_asdict") and given._fields != states_type(self.name, tuple(names))._fields:
            by_name = given._asdict()
        if by_name is not None:
            if by_name.keys() != {*names}:
                raise TypeError(
                    f"{self.name}: states is a {type(given).__name__} with the names {', '.join(map(str, by_name))}\n"
                    f"  expected {', '.join(names)}, which are read by name, or a plain tuple in this order"
                )
            given = [by_name[n] for n in names]
        parts = list(given) if isinstance(given, (tuple, list)) else [given]
        if len(parts) != len(names):
            raise ValueError(
                f"{self.name}: got {len(parts)} states\n  expected {len(names)}: {', '.join(names)}, in this order"
            )
        return dict(zip(names, parts, strict=True))

    def _returned(self, y: Tensor, after: Mapping[str, Tensor], batched: bool) -> tuple[Tensor, Any]:
        """The output and the states of a call, in the layout of its input."""
        y = squeeze(y, 1) if not batched else transpose(y, (1, 0, 2)) if self.batch_first else y
        found = [after[n] if batched else squeeze(after[n], 1) for n in self.states_given]
        found = [squeeze(s, 0) if self._single else s for s in found]
        return y, found[0] if len(found) == 1 else states_type(self.name, tuple(self.states_given))(*found)

    # ---- masks

    def _check_names(self, given: Mapping[str, Any]) -> None:
        """Raise ValueError if the cell does not have one of these masks."""
        if unknown := sorted(given.keys() - self.cell.step.masked):
            known = ", ".join(self.cell.step.masked) or "none"
            raise ValueError(f"{self.name}: it has no mask {unknown[0]!r}\n  expected one of its masks: {known}")

    def mean_mask(self, name: str) -> float:
        """The value of a mask in evaluation. Raises ValueError if it has no rate."""
        rate = self.rates[name]
        if rate is None:
            raise ValueError(
                f"{self.name}: the mask {name!r} has no rate, and was not given\n"
                f"  expected masks={{{name!r}: (T, B, H)}} in the call, or a rate: .layer(.., masks={{{name!r}: 0.1}})"
            )
        return rate

    def _masks(self, given: Mapping[str, Any], x: Tensor) -> list[Tensor]:
        """The masks of the cell, (L*D, T, B, H) each."""
        (T, B, _), count, H = x.shape, self.num_layers * self.D, self.hidden_size
        self._check_names(given)
        found = []
        for j, n in enumerate(self.rates):
            if n in given:
                m = given[n] if isinstance(given[n], Tensor) else as_tensor(given[n], device=x.device)
                letters = "L*D, " * (count > 1) + "T, B, H"
                expected = (count, T, B, H) if count > 1 else (T, B, H)
                if m.shape == (*expected[:-1], 1):  # the same for all units
                    m = broadcast_to(m, expected)
                check.shape(self.name, n, m.shape, letters, expected, f"input, time-major {x.shape}")
                if m.requires_grad:
                    instead = f"{n}.detach(); for a gradient, concatenate it to x, and let a gate x_NAME read it"
                    raise ValueError(f"{self.name}: the mask {n!r} requires a gradient\n  expected {instead}")
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
        return f"{self.name}, {super().extra_repr()}"


def can_project(cell: Formulas) -> bool:
    """Whether the output of a cell can be projected. The step must read it only through R."""
    return cell.step.read and not cell.plan(True).carries


@cache
def states_type(name: str, states: tuple[str, ...]) -> Any:
    """A named tuple for the states of a cell."""
    return html.shows_outputs(namedtuple(re.sub(r"\W", "_", f"{name}_states"), states, rename=True))
