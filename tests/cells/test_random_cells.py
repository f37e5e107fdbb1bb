"""Random cells: cpu computes the same from random formulas as the tape.

Tests `minirnn/cells/linear.py`, `minirnn/cells/derive.py`, `minirnn/cells/formulas.py` and
`minirnn/devices/cpu/sequence/`.
"""

import re
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell
from minirnn.cells.words import FUNCTIONS
from minirnn.ops.sequence.layer import RecurrentLayer, template
from minirnn.viz.cell.graph import backward
from tests.devices.cells.own_layers import argument_shapes

T, B, I, H, D = 4, 3, 2, 5, 2
SIZES = [(T, B, I, H), (1, 1, 1, 1), (3, 1, 2, 5), (2, 70, 3, 64), (5, 2, 300, 4)]

ONE = [
    "mr.sigmoid({})",
    "mr.tanh({})",
    "mr.relu({})",
    "mr.softplus({})",
    "mr.abs({})",
    "mr.sin({})",
    "mr.cos({})",
    "mr.floor({})",
    "mr.sign({})",
    "mr.erf({})",
    "-{}",
]
ONE += [
    "mr.exp(mr.tanh({}))",
    "mr.sqrt(1 + {0} * {0})",
    "mr.log(2 + mr.sin({}))",
    "0.5 * {}",
    "{} - 2",
    "k * {}",
    "1 - {}",
]
ONE += [
    "mr.product({})",
    "mr.product({0}) - mr.tanh(mr.product({0}))",
    "mr.unit_mean({})",
    "mr.unit_sum({}) / 5",
    "mr.unit_norm({})",
    "mr.unit_softmax({})",
    "mr.clip({}, -0.5, 0.7)",
    "{} ** 2",
    "w * {}",
]
TWO = ["{} + {}", "{} - {}", "{} * {}", "{} / (1.5 + mr.sin({}))", "mr.maximum({}, {})", "mr.minimum({}, {})"]
TWO += ["mr.where({0} > {1}, {0}, 0.3)", "mr.where({} > 0, {}, 1)"]


def random_cell(rng: np.random.Generator) -> Any:
    """A cell of random lines: every line reads inputs and lines before it; the states add up what is left over."""
    states = ["c", "e", "h"][-int(rng.integers(1, 4)) :]
    gates = [f"{rng.choice(['z', 'x', 'h'])}_{k}" for k in range(rng.integers(1, 5))]
    mask = ["mask_a"] * int(rng.integers(2))
    unread = [*gates, *states, *mask, "w", "k"]
    known = [*gates, *states, *mask]
    lines, products = [], 0
    for n in range(rng.integers(3, 12)):
        forms, count = (ONE, 1) if rng.random() < 0.6 else (TWO, 2)
        form = str(rng.choice(forms))
        products += form.count("product") + form.count("unit_")
        if products > 4 and ("product" in form or "unit_" in form):
            continue
        pick = [str(rng.choice(unread if unread and rng.random() < 0.7 else known)) for _ in range(count)]
        pick = [p if p in known else known[0] for p in pick]
        lines.append(f"v{n} = mr.tanh({form.format(*pick)})" if rng.random() < 0.3 else f"v{n} = {form.format(*pick)}")
        unread = [u for u in unread if u not in pick]
        known.append(f"v{n}")
        unread.append(f"v{n}")
    new = [[] for _ in states]  # type: list[list[str]]
    for k, name in enumerate(unread):
        new[k % len(states)].append(f"0.3 * {name}" if name not in ("w", "k") else f"0.1 * {name}")
    after = [[f"0.2 * mr.tanh({s} * {gates[0]}) + 0.1 * w * k", *terms] for terms, s in zip(new, states, strict=True)]
    text = f"def made({', '.join([*gates, *states, *mask])}, *, w, k=0.7):\n"
    text += "".join(f"    {line}\n" for line in lines) + f"    return {', '.join(map(' + '.join, after))}\n"
    scope: dict[str, Any] = {"mr": mr}
    exec(text, scope)
    made = cell(states=tuple(states))(scope["made"])
    made.text = text
    return made


@pytest.mark.parametrize("seed", range(40))
def test_a_random_cell_is_what_the_tape_makes_of_it(rng: np.random.Generator, seed: int) -> None:
    rng = np.random.default_rng([seed, int(rng.integers(2**32))])
    own, (T, B, I, H) = random_cell(rng), SIZES[seed % len(SIZES)]
    plan = own.plan()
    inputs = [mr.tensor(rng.normal(size=s) * 0.5, requires_grad=True) for s in argument_shapes(plan, T, B, I, H, D)]
    masks = [rng.uniform(size=(D, T, B, H)) for _ in plan.mask_names]
    cotangents = [mr.tensor(rng.normal(size=s)) for s in ((T, B, D * H), (D, B, H), (D, plan.states - 1, B, H))]
    found, lengths = [], rng.integers(1, T + 1, B)
    fallbacks = mr.devices.get("cpu").fallbacks.copy()
    for composed in (False, True):
        there = template(plan)
        node = RecurrentLayer(plan, [there] * D, lengths, masks)
        outputs = list((node.compose if composed else node)(*inputs))
        found.append([t.numpy() for t in (*outputs, *mr.grad(outputs, inputs, cotangents[: len(outputs)]))])
        assert composed or mr.devices.get("cpu").fallbacks == fallbacks
    for k, (a, b) in enumerate(zip(*found, strict=True)):
        assert np.abs(a - b).max() <= 1e-11 * max(np.abs(b).max(), 1), f"{k}\n{own.text}\n{own.backward_formulas()}"


@pytest.mark.parametrize("seed", range(40))
def test_every_name_in_a_printed_backward_pass_is_known(rng: np.random.Generator, seed: int) -> None:
    rng = np.random.default_rng([seed, int(rng.integers(2**32))])
    own = random_cell(rng)
    d, step = own.derivation, own.step
    known = {n for e, n in d.names.items() if not e.varies} | {d.names[e] for e in d.incoming} | {*step.constants}
    known |= {*FUNCTIONS, "unit_mean", "straight_through", "T", "x"} | {f"U{k + 1}" for k in range(own.plan().matrices)}
    for line in own.backward_formulas().splitlines():
        name, _, value = line.partition(" = ")
        read = set(re.findall(r"[A-Za-z]\w*", value.removeprefix("sum of ")))
        assert read <= known, f"{line}\n{own.text}\n{own.backward_formulas()}"
        known.add(name)
    drawn = set(backward(own).texts)
    assert {f"d{d.names[e]}" for e, dv in zip(step.states.values(), d.before, strict=True) if dv.varies} <= drawn
