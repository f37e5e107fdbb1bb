"""The proofs that `minirnn verify` makes of its ops, for your own op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import minirnn as mr
from minirnn.autograd.function import Function, composed
from minirnn.gradcheck.function import name_of, outputs, promote
from minirnn.proving.case import COMPOSED, Case
from minirnn.proving.proof import Proof, counts, proof_of
from minirnn.proving.table import FAILED


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

    Kernels (`Function.register_kernel`) are used where they are registered; so each of them is compared with forward.
    A tolerance is the number of roundings, counted on the tape of the composition, times the unit of the dtype.

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

    Raises
    ------
    AssertionError
        If something failed. The text is the table, with a line for each failure.
    ValueError, TypeError
        If there is nothing to check: no float array among the arguments, or no float Tensor among the results.
    """
    found = mr.devices.available() if devices is None else dict.fromkeys(devices)
    at_hand: dict[str, str | None] = {name: None for name, absent in found.items() if not absent}
    cases = _cases(op, args)
    proof = proof_of(cases, at_hand)
    if raise_exception and not proof:
        raise AssertionError(f"prove: {cases[0].op} is wrong\n{proof}{_likely(proof)}")
    return proof


def _likely(proof: Proof) -> str:
    """A hint if gradients are right and only those of the gradients are wrong."""
    wrong = [r.cell for r in proof.results if r.status == FAILED]
    if any(c.way != "second order" and c.variant != "to second order" for c in wrong):
        return ""
    return (
        "\nonly gradients of gradients are wrong; likely backward reads a value that forward computed and saved, which"
        "\ncounts as a constant: save arguments and results of forward, and compute other values again in backward"
    )


def _cases(op: Any, args: Sequence[Any]) -> list[Case]:
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

    def call(only: int | None, *xs: mr.Tensor) -> list[mr.Tensor]:
        given, left = list(constants), iter(xs)
        for k, a in enumerate(given):
            given[k] = next(left) if k in checked else a.to(xs[0].device) if isinstance(a, mr.Tensor) else a
        use_composition = has_definition and xs[0].device is COMPOSED
        found = composed(op, *given) if use_composition else apply(*given)
        tensors = [y for y in (found if isinstance(found, (tuple, list)) else (found,)) if isinstance(y, mr.Tensor)]
        return tensors if only is None else [tensors[only]]

    inputs = {names[k]: promoted[k].numpy() for k in checked}
    count, gradient_count = counts([promoted[k] for k in checked], ys)
    every = call(None, *[promoted[k] for k in checked])
    alone = [k for k, y in enumerate(every) if y.dtype.kind == "f"] if len(every) > 1 else []
    return [
        Case(
            name_of(op),
            "all results" if only is None else f"result {only} alone",
            "x".join(map(str, next(iter(inputs.values())).shape)),
            partial(call, only),
            lambda rng: inputs,
            [f"result {k}" for k in (range(len(every)) if only is None else [only])],
            count,
            gradient_count,
            step=0.0,
            has_definition=has_definition,
            second_order=has_definition,
        )
        for only in (None, *alone)
    ]
