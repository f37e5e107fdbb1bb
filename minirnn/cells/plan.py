"""The plan of a cell for the devices. It consists of stages, each with the values that it reads, computes and stores.

A step with products inside it has a stage before the first product and one after each. The same holds for its backward
pass. A stage is a list of statements in the order of the cell's function. Every device generates its code (a C++
header, or NumPy calls) from these stages, so all devices compute the same lines in the same order.
"""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from minirnn.cells.derive import Derivation
from minirnn.cells.expr import CUTS, LEAVES, Expr, needed
from minirnn.cells.formulas import both_passes
from minirnn.cells.text import write
from minirnn.cells.trace import Step
from minirnn.cells.words import FUNCTIONS

CPP = """ alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const
consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid
typename union unsigned using virtual void volatile wchar_t while xor xor_eq real acc V Stage Step Gradient
"""
RESERVED = frozenset([*CPP.split(), *FUNCTIONS, *keyword.kwlist])
"""Names that no value may have in C++, CUDA or NumPy's calls."""


class Place(NamedTuple):
    """A value in memory: ``gates[0]``, ``d_before[1]``, ..; the arrays are those of ``devices/cells/form.h``.

    A step reads gates, before, vectors, masks, products and sets saved, after, multiplied. A gradient reads saved,
    before, after, vectors, masks, d_after, d_multiplied, carried and sets d_gates, d_before, d_vectors, d_products,
    carried. A stage may also read values that an earlier stage set.
    """

    array: str
    index: int  # type: ignore[assignment]  # tuple has a method of that name

    def __str__(self) -> str:
        return f"{self.array}[{self.index}]"


class Load(NamedTuple):
    name: str
    value: Expr
    place: Place


class Statement(NamedTuple):
    name: str
    value: Expr


class Store(NamedTuple):
    place: Place
    value: Expr
    """The value has a name in this stage, or is computed in the store itself."""


class Stage(NamedTuple):
    """Loads, then statements, then stores. Names are unique within a stage and are legal in C++ and Python."""

    loads: tuple[Load, ...]
    statements: tuple[Statement, ...]
    stores: tuple[Store, ...]

    @property
    def names(self) -> dict[Expr, str]:
        """The named values of a stage after its last statement."""
        return {load.value: load.name for load in self.loads} | {one.value: one.name for one in self.statements}


class Cut(NamedTuple):
    """An operation between two stages, for all units of a sample at once.

    Forward, after stage `forward`: ``products[k] = multiplied[k] @ U.T`` for a product, with U the matrix number
    `matrix`, or the mean of ``multiplied[k]`` over units, the same for every unit, for a unit_mean. Backward, after
    stage `backward`: ``d_multiplied[k] = d_products[k] @ U``, or the mean of ``d_products[k]``. k is the index in
    `Plan.cuts`.
    """

    kind: str
    matrix: int
    forward: int
    backward: int


class Plan:
    """The plan of a cell, with all the information that devices need.

    Attributes
    ----------
    name : str
    projected : bool
        Whether the new h goes through a projection. A gradient then reads `after` of h from `saved`, or sets it.
    of_both, of_x, of_h : int
        Gates of each kind, in this order.
    gate_names, state_names, vector_names, mask_names : tuple of str
        In the order of the arrays; the last state is h.
    value_names : tuple of str
        The values that a step saves.
    states, saved, vectors, masks : int
        The number of each.
    reads_h : bool
        Whether any gate reads h through R.
    cuts : tuple of Cut
    products, means : int
        The number of cuts that are products, and of those that are means.
    matrices, matrix_names : int, tuple of str
        The number of matrices of products, and their names in formulas. Several products may have the same matrix.
    carried : int
        The number of gradients that one stage stores for a later one.
    reads_before, reads_after : int
        The states that the backward pass reads, with bit k for state k.
    carries : bool
        Whether the step reads h' directly.
    forward, backward : tuple of Stage
    constants : tuple of float
        The values of the constants, `constant_names`. They are arguments of a kernel and no part of its text, so plans
        that differ only in them have the same fingerprint and code.
    fingerprint : str
        The same for equal plans.
    made : dict of str to anything
        A cache in which devices keep the code that they generate.
    """

    def __init__(self, d: Derivation) -> None:
        step = d.step
        self.derivation, self.projected = d, d.projected
        self.name = re.sub(r"\W", "_", step.name)  # the name of a lambda is <lambda>
        self.names = identifiers(d)
        self.constants = tuple(step.constants.values())
        self.constant_names = tuple(step.constants)
        self.made: dict[str, Any] = {}
        kinds = [n[0] for n in step.gates]
        self.of_both, self.of_x, self.of_h = (kinds.count(k) for k in "zxh")
        self.gate_names, self.state_names = tuple(step.gates), tuple(step.order)
        self.vector_names, self.mask_names = tuple(step.vectors), tuple(step.masks)
        self.states, self.saved, self.vectors, self.masks = (
            len(step.states),
            len(d.saved),
            len(step.vectors),
            len(step.masks),
        )
        self.reads_x, self.reads_h = self.of_both + self.of_x > 0, self.of_both + self.of_h > 0
        self.carry = self.crossing(d)
        self.carried = len(self.carry)
        self.cuts = tuple(
            Cut(m.op, step.matrix_of.get(m, -1), m.args[0].stage, d.stage(dm))
            for m, (dm, _) in zip(step.cuts, d.cuts, strict=True)
        )
        self.products, self.matrices = len(step.matrix_of), len(step.matrices)
        self.means, self.matrix_names = len(step.cuts) - self.products, tuple(step.matrices.values())
        self.reads_before = sum(1 << k for k in d.reads(list(step.states.values())))
        self.reads_after = sum(1 << k for k in d.reads(step.after))
        if d.projected:
            self.reads_after &= ~(1 << self.states - 1)
        self.carries = step.states[step.order[-1]] in set(step.nodes)
        self.saved_values = tuple(sorted(d.saved, key=lambda e: e.stage))
        self.value_names = tuple(d.names[e] for e in self.saved_values)
        last = max([e.stage for e in (*step.after, *self.saved_values)], default=0)
        self.forward = tuple(self.step_stage(d, k) for k in range(1 + last))
        ends = [e for e in d.ends.values() if e.varies]
        last = max([d.stage(e) for e in (*ends, *[dv for _, dv in d.cuts if dv.varies])], default=0)
        self.backward = tuple(self.grad_stage(d, k) for k in range(1 + last))

    # ---- stages

    def step_stage(self, d: Derivation, stage: int) -> Stage:
        step = d.step
        places = self.inputs(step)
        places |= {e: Place("gates", k) for k, e in enumerate(step.gates.values())}
        places |= {m: Place("products", k) for k, m in enumerate(step.cuts) if m.stage == stage}
        for array, found in (("saved", self.saved_values), ("after", step.after)):
            places |= {e: Place(array, k) for k, e in enumerate(found) if e.stage < stage}
        stores = [Store(Place("saved", k), e) for k, e in enumerate(self.saved_values) if e.stage == stage]
        stores += [Store(Place("after", k), e) for k, e in enumerate(step.after) if e.stage == stage]
        stores += [
            Store(Place("multiplied", k), m.args[0]) for k, m in enumerate(step.cuts) if m.args[0].stage == stage
        ]
        page = [e for e in needed([store.value for store in stores]) if e.stage == stage and e in self.names]
        return self.stage(stores, places, self.names, [e for e in page if e.op not in LEAVES])

    def grad_stage(self, d: Derivation, stage: int) -> Stage:
        step = d.step
        places = self.inputs(step)
        last = len(step.after) - 1
        places |= {e: Place("after", k) for k, e in enumerate(step.after) if not (d.projected and k == last)}
        places |= {e: Place("saved", k) for k, e in enumerate(self.saved_values)}
        places |= {e: Place("d_after", k) for k, e in enumerate(d.incoming)}
        places |= {
            dv: Place("d_multiplied", k) for k, (_, dv) in enumerate(d.cuts) if dv.varies and d.stage(dv) <= stage
        }
        places |= {e: Place("carried", k) for k, e in enumerate(self.carry) if d.stage(e) < stage}
        ends = {"d_gates": d.gates, "d_before": d.before, "d_vectors": d.vectors}
        ends |= {"d_products": [dm for dm, _ in d.cuts], "carried": list(self.carry)}
        stores = [
            Store(Place(array, k), e)
            for array, found in ends.items()
            for k, e in enumerate(found)
            if d.stage(e) == stage
        ]
        if d.projected and stage == 0:
            stores.append(Store(Place("after", last), step.after[last]))
        return self.stage(stores, places, self.names, [e for e in d.page if d.stage(e) == stage])

    def inputs(self, step: Step) -> dict[Expr, Place]:
        groups = {"before": step.states, "vectors": step.vectors, "masks": step.masks}
        return {e: Place(array, k) for array, found in groups.items() for k, e in enumerate(found.values())}

    def stage(
        self,
        stores: list[Store],
        places: Mapping[Expr, Place],
        names: Mapping[Expr, str],
        page: Sequence[Expr] = (),
    ) -> Stage:
        loads: list[Load] = []
        statements: list[Statement] = []
        done: set[Expr] = set()

        def need(e: Expr) -> None:
            if e in done:
                return
            done.add(e)
            if e in places:
                loads.append(Load(names[e], e, places[e]))
                return
            for a in e.args if e.op not in CUTS else ():
                need(a)
            if e in names:
                statements.append(Statement(names[e], e))

        for e in (*page, *[store.value for store in stores]):
            need(e)
        loads.sort(key=lambda load: load.value.index)
        return Stage(tuple(loads), tuple(statements), tuple(stores))

    def crossing(self, d: Derivation) -> tuple[Expr, ...]:
        """Gradients that are named in one stage and read in a later one. Others are computed where they are read."""
        found: dict[Expr, None] = {}

        def visit(e: Expr, stage: int) -> None:
            for a in e.args:
                if not a.varies or a.op == "gradient":
                    continue
                if d.stage(a) < stage and a in d.names:
                    found[a] = None
                else:
                    visit(a, stage)

        for e in d.formulas():
            visit(e, d.stage(e))
        return tuple(found)

    # ---- what identifies it

    @cached_property
    def formulas(self) -> str:
        """`both_passes`, for a comment above the code of a device."""
        return both_passes(self.derivation)

    @cached_property
    def fingerprint(self) -> str:
        lines = [self.name, self.gate_names, self.cuts, self.projected, self.masks, self.states, self.carries]
        lines += [self.reads_before, self.reads_after, self.carried]
        for stage in (*self.forward, *self.backward):
            names = stage.names
            lines += [(one.name, one.place) for one in stage.loads]
            lines += [(one.name, write(one.value, names, number=literal, top=True)) for one in stage.statements]
            lines += [(one.place, write(one.value, names, number=literal)) for one in stage.stores]
        return hashlib.sha256(repr(lines).encode()).hexdigest()[:32]


def identifiers(d: Derivation) -> dict[Expr, str]:
    """The names of a derivation, made unique and legal in C++."""
    found: dict[Expr, str] = {}
    taken = set(RESERVED)
    for e, name in d.names.items():
        name = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
        while name in taken:
            name += "_"
        taken.add(name)
        found[e] = name
    return found


def literal(e: Expr) -> str:
    """The exact value of a number, or the name of a constant."""
    return str(e.value[0]) if e.op == "constant" else repr(e.value)
