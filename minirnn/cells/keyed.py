"""The plan of a cell with keys for the devices: what a layer of it reads, saves and computes, with the axes of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from minirnn.cells.derive import Derivation
from minirnn.cells.expr import NUMBERS, Expr, needed
from minirnn.cells.formulas import both_passes
from minirnn.cells.text import write

Shape = tuple[int, ...]


class KeyedPlan:
    """The plan of a cell with keys.

    Its gates read x alone, so all of them are known before the first step.

    Attributes
    ----------
    name : str
    keys : int
        N
    gates, learned : list of Expr
        In the order of the function's parameters.
    static : list of Expr
        What a step reads and computes from learned parameters alone. A layer computes it once.
    states : list of Expr
        Before the step. `after` are the new ones, in the same order.
    output : Expr
    saved : list of Expr
        What a step saves for its backward pass, in addition to its states.
    d_after, d_output : Expr or list of Expr
        The gradients that arrive. If the output is a state, `d_output` is that of the state.
    d_gates, d_states, d_learned : list of Expr
    forward, backward : list of Expr
        All that a step and its backward pass compute, operands first.
    made : dict of str to anything
        A cache in which devices keep the code that they generate.
    """

    def __init__(self, d: Derivation) -> None:
        step = d.step
        assert step.keys is not None
        self.derivation, self.keys = d, step.keys
        self.name = re.sub(r"\W", "_", step.name)
        self.constants = tuple(step.constants.values())
        self.made: dict[str, Any] = {}
        self.gates, self.learned = list(step.gates.values()), list(step.vectors.values())
        own = [k for k, n in enumerate(step.order) if n in step.user_states]
        self.state_names = tuple(step.order[k] for k in own)
        self.states = [step.states[n] for n in self.state_names]
        self.after, self.d_after, self.d_states = (
            [found[k] for k in own] for found in (step.after, d.incoming, d.before)
        )
        self.output, self.d_output = step.after[-1], d.incoming[-1]
        self.d_gates, self.d_learned, self.saved = d.gates, d.vectors, d.saved
        static = set(step.static())
        self.backward = self.computed([*self.d_gates, *self.d_states, *self.d_learned])
        self.forward = self.computed([self.output, *self.after, *self.saved])
        read = {a for e in (*self.forward, *self.backward) if e not in static for a in e.args}
        read |= {e for e in (*self.d_gates, *self.d_states, *self.d_learned) if e in static}
        self.static = [e for e in step.static() if e in read]
        self.forward = [e for e in self.forward if e not in static]
        self.backward = [e for e in self.backward if e not in static]

    def computed(self, ends: Sequence[Expr]) -> list[Expr]:
        """What `ends` need, without what is in memory: inputs and, if these are gradients, saved values and states."""
        there = {*self.gates, *self.states, *self.learned, *self.d_after, self.d_output}
        if any(e.varies for e in ends):
            there |= {*self.saved, *self.after}
        found: set[Expr] = set()
        waiting = list(ends)
        while waiting:
            e = waiting.pop()
            if e not in found and e not in there and e.op not in NUMBERS:
                found.add(e)
                waiting.extend(e.args)
        return [e for e in needed(ends) if e in found]

    def shape(self, e: Expr, H: int) -> Shape:
        """The shape of a value for one sample."""
        return (H,) * ("u" in e.axes) + (self.keys,) * ("k" in e.axes)

    def width(self, e: Expr, H: int) -> int:
        """The number of its elements for one sample."""
        return (H if "u" in e.axes else 1) * (self.keys if "k" in e.axes else 1)

    def starts(self, values: Sequence[Expr], H: int) -> list[int]:
        """The first column of each of these values if they are next to each other, and the number of columns."""
        found = [0]
        for e in values:
            found.append(found[-1] + self.width(e, H))
        return found

    @cached_property
    def formulas(self) -> str:
        """`both_passes`, for a comment above the code of a device."""
        return both_passes(self.derivation)

    @cached_property
    def fingerprint(self) -> str:
        """The same for equal plans."""
        names = {e: f"v{e.index}" for e in (*self.forward, *self.backward)} | self.derivation.names
        lines = [(names[e], write(e, names, "cpp", top=True)) for e in (*self.forward, *self.backward)]
        axes = [(names[e], sorted(e.axes)) for e in (*self.gates, *self.states, *self.learned)]
        return hashlib.sha256(repr([self.name, self.keys, lines, axes, self.formulas]).encode()).hexdigest()[:32]
