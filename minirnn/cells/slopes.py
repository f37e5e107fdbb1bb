"""Whether a step is linear in its states, unit by unit: then a scan can compute all steps at once.

A step is linear if the derivatives of its new states do not contain the old ones. They come from the `rules`, applied
forward.
"""

from __future__ import annotations

from minirnn.cells.expr import CUTS, SUMS, Expr, add, is_number, mul, needed, neg
from minirnn.cells.rules import RULES
from minirnn.cells.text import write
from minirnn.cells.trace import Step

Slopes = dict[str, Expr]
"""Old state -> the derivative of a value with respect to it."""


def slopes(step: Step) -> dict[str, Slopes] | str:
    """The derivatives of each new state, if none of them contains a state; otherwise the reason why the step is not
    linear, unit by unit.
    """
    if step.keys is None and (reads := [n for n in step.gates if n[0] in "zh"]):
        return f"{reads[0]} reads {step.output} of all units"
    after = {n: e for n, e in zip(step.order, step.after, strict=True) if n in step.user_states}
    found: dict[Expr, Slopes] = {step.states[n]: {n: step.graph.number(1)} for n in after}
    for e in needed(list(after.values())):
        read = e.args[:1] if e.op == "straight_through" else e.args  # its value
        if e in found or not any(a in found for a in read):
            continue
        if e.op in (*CUTS, *SUMS):
            return f"{write(e, step.names, top=True)} is a sum over {'keys' if e.op == 'sum_k' else 'units'}"
        found[e] = slopes_of(e, found)
        if not found[e]:  # a comparison
            return f"it jumps where {write(e, step.names, top=True)} changes"
    linear = {n: found.get(e, {}) for n, e in after.items()}
    for n, of_n in linear.items():
        for m, slope in of_n.items():
            inside = needed([slope])
            if any(a in found for a in inside):
                names = [step.names[a] for a in inside if a in step.states.values()]
                return f"d{n}/d{m}_prev contains {', '.join(names)}"
    return linear


def slopes_of(e: Expr, found: dict[Expr, Slopes]) -> Slopes:
    """The derivatives of a value, from those of its operands."""
    rule = RULES[e.op].derivative
    parts = rule(e.graph.number(1), e, *e.args) if rule else ()
    if e.op == "straight_through":  # the derivative of its value, not the one that a gradient gets
        parts = parts[::-1]
    total: Slopes = {}
    for a, part in zip(e.args, parts, strict=False):
        for n, slope in found.get(a, {}).items() if part is not None and not is_number(part, 0) else ():
            term = neg(slope) if is_number(part, -1) else mul(part, slope)
            total[n] = add(total[n], term) if n in total else term
    return total
