"""Own cells: a backward pass derived by hand, the values that a step saves for it, and a long memory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from minirnn.cells.cell import Formulas
from minirnn.cells.expr import apply
from minirnn.learn.catalog.edited import mistakes
from minirnn.learn.catalog.stages import sample_stages, zero
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage
from minirnn.learn.formulas import cells

# ---- ex43: the backward pass of a cell


def patient(z_k: Any, z_n: Any, z_o: Any, c: Any, h: Any, *, slow: Any) -> Any:
    """The cell of tutorial 17."""
    k = apply("sigmoid", z_k + slow)
    n = apply("tanh", z_n)
    c = k * c + (1 - k) * n
    o = apply("sigmoid", z_o)
    h = o * apply("tanh", c)
    return c, h


def one_step(rng: np.random.Generator, s: Sizes) -> Inputs:
    z_k, z_n, z_o, c_prev, c_grad, dh = rng.normal(size=(6, s.B, s.H))
    slow = rng.normal(size=s.H)
    k, n, o = 1 / (1 + np.exp(-z_k - slow)), np.tanh(z_n), 1 / (1 + np.exp(-z_o))
    tanh_c = np.tanh(k * c_prev + (1 - k) * n)
    return dict(c_prev=c_prev, slow=slow, k=k, n=n, o=o, tanh_c=tanh_c, c_grad=c_grad, dh=dh)


STEP_STAGES = (
    Stage("with a gradient into c only (dh = 0)", "the paths from c to the gates and to c_prev", change=zero("dh")),
    Stage("with a gradient into h only (c_grad = 0)", "how dh reaches the output gate and c", change=zero("c_grad")),
    *sample_stages("the sum over the samples", "dslow"),
)

# ---- ex44: what a step saves


def lstm(z_i: Any, z_f: Any, z_n: Any, z_o: Any, c: Any, h: Any) -> Any:
    i, f, n = apply("sigmoid", z_i), apply("sigmoid", z_f), apply("tanh", z_n)
    c = f * c + i * n
    h = apply("sigmoid", z_o) * apply("tanh", c)
    return c, h


def gru(z_r: Any, z_z: Any, x_n: Any, h_n: Any, h: Any) -> Any:
    r, z = apply("sigmoid", z_r), apply("sigmoid", z_z)
    h = (1 - z) * apply("tanh", x_n + r * h_n) + z * h
    return h


def indrnn(x_a: Any, h: Any, *, u: Any) -> Any:
    h = apply("relu", x_a + u * h)
    return h


CELLS = ((patient, ("c", "h")), (lstm, ("c", "h")), (gru, ("h",)), (indrnn, ("h",)))


@cache
def graph(which: int) -> tuple[np.ndarray, ...]:
    """The values of a cell, operands first: there, cheap, read (n,), operands (n, n), and which ones are saved."""
    own = Formulas(*CELLS[which])
    d, step = own.derivation, own.step
    nodes = [e for e in step.nodes if e.op not in ("number", "constant")]
    at = {e: v for v, e in enumerate(nodes)}
    here = {*step.states.values(), *step.vectors.values(), *step.after}
    read = set(d.leaves(d.formulas()))
    operands = np.zeros((len(nodes), len(nodes)))
    for e in nodes:
        operands[at[e], [at[a] for a in e.args if a in at]] = 1
    there, reads, saved = (np.array([e in found for e in nodes], float) for found in (here, read, d.saved))
    cheap = np.array([e.op in ("add", "sub", "mul", "relu") for e in nodes], float)
    return there, cheap, reads, operands, saved


def values(rng: np.random.Generator, s: Sizes) -> Inputs:
    """One of the cells, followed by random values, because a cell alone does not need every rule."""
    *kinds, operands, _ = graph(s.B % len(CELLS))
    n, more = len(operands), 30
    grown = np.zeros((n + more, n + more))
    grown[:n, :n] = operands
    for v in range(n, n + more):
        grown[v, rng.integers(0, v, size=2)] = 1
    rates = (0.1, 0.7, 0.6)
    there, cheap, read = (np.append(k, rng.random(more) < rate) for k, rate in zip(kinds, rates, strict=True))
    return dict(there=there, cheap=cheap, read=read, operands=grown, T=s.T, B=s.B, H=s.H)


OPERANDS = " and all(have[a] for a in range(v) if operands[v, a])"
SAVED_MISTAKES = mistakes(
    cells.what_is_saved,
    (
        "values that no line of the backward pass reads are saved, too",
        "read[v] and not",
        "not",
        "again or read[v]",
        "True",
    ),
    ("cheap values are saved, although they can be computed again", f"cheap[v]{OPERANDS}", "False"),
    ("states and vectors are saved once more, although they are there already", "bool(v) for v", "False for v"),
    ("a cheap value is not saved, although some of its operands are not available to compute it again", OPERANDS, ""),
    ("bytes: 8 bytes per number are counted, but a float32 has 4", "* 4", "* 8"),
)

# ---- ex45: a long memory


def gates(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(z=rng.normal(size=(s.T, s.B, s.H)) + 1, steps=rng.uniform(2, 100, size=s.H))


REACH, KEEP = "reach[t + 1] * f[t + 1]", "0.5 ** (1 / steps)"
MEMORY_MISTAKES = mistakes(
    cells.long_memory,
    ("reach[t] includes f[t], which the gradient passes only on its way to c[t-1]",
     "np.ones_like(f)", "f.copy()", REACH, "reach[t + 1] * f[t]"),
    ("reach[t] is the product of the gates up to step t, but it must be that of the gates after it",
     "np.ones_like(f)", "np.cumprod(f, axis=0)", REACH, "reach[t]"),
    ("the factors along a path are added, but they must be multiplied",
     "np.ones_like(f)", "np.zeros_like(f)", REACH, "reach[t + 1] + f[t + 1]"),
    ("bias: this is the gate f itself, but the bias is its argument, before the sigmoid",
     "np.log(keep / (1 - keep))", "keep"),
    ("bias: the sign is wrong, because a larger bias must keep more", "keep / (1 - keep)", "(1 - keep) / keep"),
    ("bias: log(n / log(2)) is the approximation for many steps, but the exact bias is asked for",
     "np.log(keep / (1 - keep))", "np.log(steps / np.log(2))"),
    ("bias: f * n is one half, but what is left after n steps is f ** n", KEEP, "0.5 / steps"),
    ("bias: f is exp(-1/n), a time constant, which leaves 1/e after n steps, not one half", KEEP, "np.exp(-1 / steps)"),
    ("bias: f is 1 - 1/n, which leaves 1/e after n steps, not one half", KEEP, "1 - 1 / steps"),
)  # fmt: skip

EXERCISES = (
    Exercise(
        "12_cells/ex43_own_cell_backward.py", one_step, cells.patient_cell_backward,
        {"dz_k": "(B, H)", "dz_n": "(B, H)", "dz_o": "(B, H)", "dc_prev": "(B, H)", "dslow": "(H,)"},
        stages=STEP_STAGES,
    ),
    Exercise(
        "12_cells/ex44_what_is_saved.py", values, cells.what_is_saved, {"saved": "(n,)", "bytes": "()"},
        wrong=SAVED_MISTAKES,
    ),
    Exercise(
        "12_cells/ex45_long_memory.py", gates, cells.long_memory, {"reach": "(T, B, H)", "bias": "(H,)"},
        wrong=MEMORY_MISTAKES,
    ),
)  # fmt: skip
