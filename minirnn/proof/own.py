"""Proofs of what a user wrote: an op, or the cell of a recurrent layer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from minirnn import devices as registry
from minirnn.autograd.function import Function, composed
from minirnn.cells.cell import Formulas
from minirnn.devices.registry import BUILT_IN
from minirnn.engine.backward import grad
from minirnn.engine.creation import ones_like
from minirnn.engine.order import in_order
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, tensor
from minirnn.gradcheck.function import name_of, outputs, promote
from minirnn.ops.sequence.functions import StraightThrough
from minirnn.ops.sequence.layer import RecurrentLayer, template
from minirnn.proof.case import COMPOSED, Arrays, Case, Kinks
from minirnn.proof.proof import Proof, described, proof_of
from minirnn.proof.table import FAILED
from minirnn.proof.tolerance import ACTIVATION, Count
from minirnn.proof.ways import comparisons


def prove(
    op: type[Function] | Callable[..., Any],
    *args: Any,
    devices: Sequence[str] | None = None,
    raise_exception: bool = True,
) -> Proof:
    """Prove your own op, as `minirnn verify` proves those of minirnn.

    * differences: gradients, and gradients of gradients, against central differences in float64;
    * definition: values and gradients against the ops that forward is composed of, in float64, float32 and float16,
      for all results together and for each alone; and that recording the backward pass changes no bit of it;
    * second order: gradients of gradients against those of the composition;
    * check mode: the same in the simulator, with every access of the CUDA kernels checked, in three orders of threads.

    Kernels (`Function.register_kernel`) are used where they are registered; so each of them is compared with forward. A
    tolerance is the number of roundings, counted on the tape of the composition, times the unit of the dtype. Raises
    AssertionError if something failed. The text is the table, with a line for each failure. Raises ValueError or
    TypeError if there is no such device, or nothing to check: no float array among the arguments, or no float Tensor
    among the results.

    Parameters
    ----------
    op : Function or callable
        A callable, or a forward that is not made of ops on Tensors, has no composition. The device `cpu` takes its
        place, and only differences find wrong gradients.
    *args
        Its arguments. Gradients are checked with respect to all float arrays among them.
    devices : sequence of str, optional
        By default all devices that work here.
    raise_exception : bool
        If false, the proof is returned even if something failed.
    """
    cases = list(_cases_of_op(op, args))
    proof = _proof(cases, _asked_for(devices))
    if raise_exception and not proof:
        raise AssertionError(f"prove: {cases[0].op} is wrong\n{proof}{_likely(proof)}")
    return proof


def prove_cell(cell: Formulas, devices: Sequence[str] | None = None, seed: int = 0) -> Proof:
    """Prove a cell by a layer in both directions, with sequences of different lengths and random numbers."""
    return _proof_of_layers(_case_of_cell(cell, seed), cell, devices)


def prove_layer(layer: Any, devices: Sequence[str] | None = None, seed: int = 0) -> Proof:
    """Prove a layer of a cell in evaluation, with its parameters and the matrices that its `weights` makes of them."""
    return _proof_of_layers(_case_of_layer(layer, seed), layer.cell, devices)


def _proof_of_layers(case: Case, cell: Formulas, devices: Sequence[str] | None) -> Proof:
    found, plan = _asked_for(devices), cell.plan() if cell.step.keys is None else cell.keyed_plan()
    for name, absent in found.items():
        if absent is None and _composes(case, name):
            found[name] = "it has no kernel for this cell, and composes it"
        elif name == "native" and None in plan.made.values():
            found[name] = "the C++ of this cell does not compile, so the code of cpu runs"
    return _proof([case], found)


def _asked_for(names: Sequence[str] | None) -> dict[str, str | None]:
    """The devices, each with None or with the reason why it can't be used; by default those that minirnn has or that
    work here.
    """
    if names is None:
        found = registry.available().items()
        return {name: absent for name, absent in found if absent is None or name in BUILT_IN}
    names = [names] if isinstance(names, str) else names
    for name in names:
        registry.get(name)
    return dict.fromkeys(names)


def _proof(cases: Sequence[Case], devices: Mapping[str, str | None]) -> Proof:
    return proof_of(comparisons(cases, devices), described(devices))


def _likely(proof: Proof) -> str:
    """A hint if gradients are right and only those of the gradients are wrong."""
    wrong = [r.cell for r in proof.results if r.status == FAILED]
    if any(c.way != "second order" and c.variant != "to second order" for c in wrong):
        return ""
    return (
        "\nonly gradients of gradients are wrong; likely backward reads a value that forward computed and saved, which"
        "\ncounts as a constant: save arguments and results of forward, and compute other values again in backward"
    )


def _counts(xs: Sequence[Tensor], ys: Sequence[Tensor]) -> tuple[Count, Count]:
    """How many roundings can add up in a result and in a gradient: 8 per node of its tape, plus the longest sum."""
    recorded = [y for y in ys if y.requires_grad]
    gs = grad(recorded, xs, [ones_like(y) for y in recorded], create_graph=True) if recorded else ()
    summands = max(t.size for t in (*xs, *ys))
    found = []
    for roots in (ys, gs):
        nodes = max(8, len(in_order([t for t in roots if t.requires_grad], None, 0).nodes))
        formula = f"{ACTIVATION} nodes + n, nodes = {nodes}, n = {summands} summands"
        found.append(Count(ACTIVATION * nodes + summands, formula, nodes, "nodes"))
    return found[0], found[1]


# ---- an op


def _cases_of_op(op: Any, args: Sequence[Any]) -> Iterator[Case]:
    """All results together, then each one separately if there are several."""
    is_function = isinstance(op, type) and issubclass(op, Function)
    apply = op.apply if is_function else op
    forward = op.forward if is_function else op
    if is_function and op.setup_context is Function.setup_context:
        forward = partial(forward, None)  # without its context
    names, promoted, checked, _ = promote(forward, args)
    ys = outputs(partial(composed, op) if is_function else apply, promoted)
    has_definition = is_function and all(y.requires_grad for y in ys)
    constants = [None if k in checked else a for k, a in enumerate(promoted)]

    def call(only: int | None, *xs: Tensor) -> list[Tensor]:
        given, left = list(constants), iter(xs)
        for k, a in enumerate(given):
            given[k] = next(left) if k in checked else a.to(xs[0].device) if isinstance(a, Tensor) else a
        use_composition = has_definition and xs[0].device is COMPOSED
        found = composed(op, *given) if use_composition else apply(*given)
        tensors = [y for y in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(y, Tensor)]
        return tensors if only is None else [tensors[only]]

    inputs = {names[k]: promoted[k].numpy() for k in checked}
    every = call(None, *[promoted[k] for k in checked])
    alone = [k for k, y in enumerate(every) if y.dtype.kind == "f"] if len(every) > 1 else []
    for only in (None, *alone):
        yield Case(
            name_of(op),
            "all results" if only is None else f"result {only} alone",
            "x".join(map(str, next(iter(inputs.values())).shape)),
            partial(call, only),
            lambda rng: inputs,
            [f"result {k}" for k in (range(len(every)) if only is None else [only])],
            *_counts([promoted[k] for k in checked], ys),
            step=0.0,
            has_definition=has_definition,
            second_order=has_definition,
            to_second_order={} if only is None else None,
            recorded=only is None,
        )


# ---- a cell

T, B, I, H, D = 4, 3, 2, 5, 2
LENGTHS = np.array([2, 4, 3])
ALONG = {"max_entries": 12, "directions": 2}
"""Inputs with more entries are compared with central differences along two random directions."""


FAR, DRAWS = 2.0**-6, 32
"""How near to a kink float16 may round a value of size 1 in a few steps, and how many inputs are drawn."""


def _away_from_kinks(draw: Callable[[], Arrays], run: Callable[..., Any]) -> Arrays:
    """The first of some draws whose values are all `FAR` from kinks and jumps, else the one that is farthest."""
    best, farthest = draw(), 0.0
    values = best
    for _ in range(DRAWS):
        device = Kinks()
        with no_grad():
            run(*[tensor(a, device=device) for a in values.values()])
        if device.nearest > farthest:
            best, farthest = values, device.nearest
        if farthest >= FAR:
            break
        values = draw()
    return best


def _case_of_cell(cell: Formulas, seed: int) -> Case:
    plan, rng = cell.plan(), np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"W": ((plan.of_both + plan.of_x) * H, I)} if plan.reads_x else {}
    shapes |= {"R": ((plan.of_both + plan.of_h) * H, H)} if plan.reads_h else {}
    shapes |= {"b": (len(plan.gate_names) * H,)}
    shapes |= {f"matrix {n}": (H, H) for n in plan.matrix_names}
    shapes |= {f"vector {n}": (H,) for n in plan.vector_names}

    def draw() -> Arrays:
        found: Arrays = {"x": rng.normal(size=(T, B, I)), "h0": rng.normal(size=(D, B, H))}
        if plan.states > 1:
            found["c0"] = rng.normal(size=(D, plan.states - 1, B, H))
        for d in range(D):
            found |= {n + "_reverse" * d: rng.normal(size=s) * 0.5 for n, s in shapes.items()}
        return found

    weights = [template(plan)] * D
    masks = [rng.integers(0, 2, (D, T, B, H)).astype(float) for _ in plan.mask_names]

    def run(*inputs: Tensor) -> list[Tensor]:
        like = inputs[0]
        given = [tensor(m, device=like.device, dtype=like.dtype).array for m in masks]
        return list(RecurrentLayer(plan, weights, LENGTHS, given)(*inputs))

    outputs = ["y", "h_n", *["c_n"][: plan.states - 1]]
    return _case(cell, cell.__name__, "two directions", (I, H), run, _away_from_kinks(draw, run), outputs)


def _case_of_layer(layer: Any, seed: int) -> Case:
    size = (B, T, layer.input_size) if layer.batch_first else (T, B, layer.input_size)
    parameters = {n: p.numpy().astype(np.float64) for n, p in layer.named_parameters()}
    rng = np.random.default_rng(seed)

    def run(x: Tensor, *given: Tensor) -> list[Tensor]:
        own = copy.deepcopy(layer).eval()
        for n, p in zip([n for n in values if n != "x"], given, strict=True):
            path, _, last = n.rpartition(".")
            vars(own.get_submodule(path))[last] = p
        y, states = own(x, lengths=LENGTHS)
        return [y, *(states if isinstance(states, tuple) else [states])]

    values: Arrays = parameters  # whose names `run` reads
    values = _away_from_kinks(lambda: {"x": rng.normal(size=size), **parameters}, run)
    xs = {n: tensor(a, True, COMPOSED) for n, a in values.items()}
    nodes = in_order(run(*xs.values()), None, 0).nodes
    reached = {p for n in nodes for p in n.parents}
    values = {n: a for n, a in values.items() if xs[n] in reached}  # `weights` of a subclass may leave some out
    name = layer.name if type(layer).__module__.startswith("minirnn.") else type(layer).__name__
    outputs = ["y", *[f"{n}_n" for n in layer.states_given]]
    straight = any(isinstance(n.op, StraightThrough) for n in nodes)
    return _case(layer.cell, name, layer.name, (layer.input_size, layer.hidden_size), run, values, outputs, straight)


def _case(
    cell: Formulas, name: str, variant: str, sizes: tuple[int, int], run: Callable[..., Any], values: Arrays,
    outputs: Sequence[str], straight: bool = False,
) -> Case:  # fmt: skip
    """The case of a layer. A gradient that is passed `straight` through is not a derivative."""
    straight |= any(e.op == "straight_through" for e in cell.step.nodes)
    xs = [tensor(a, True, COMPOSED) for a in values.values()]
    return Case(
        name,
        f"{variant}, lengths {', '.join(map(str, LENGTHS))}",
        f"T{T} B{B} I{sizes[0]} H{sizes[1]}",
        run,
        lambda _: values,
        outputs,
        *_counts(xs, run(*xs)),
        step=0.0,
        second_order=True,
        to_second_order=None if straight else ALONG,
        recorded=True,
    )


def _composes(case: Case, name: str) -> bool:
    """Whether a device computes the cell by its composition, which would then be compared with itself."""
    device = registry.get(name)
    kernels = ("cell_sequence", "keyed_sequence")
    before = [device.fallbacks[name] for name in kernels]
    try:
        case.call(*[tensor(a, device=device) for a in case.inputs.values()])
    except Exception:  # the table reports the error
        return False
    return [device.fallbacks[name] for name in kernels] != before
