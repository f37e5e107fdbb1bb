"""Formulas as data: how a function is read, what its mutants are, and that they compute what the kernels compute.

Tests `minirnn/learn/formula.py` and `minirnn/learn/formulas/`.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import minirnn as mr
from minirnn.learn.catalog import EXERCISES
from minirnn.learn.catalog.lstm import cell, sequence, weights
from minirnn.learn.exercise import Sizes
from minirnn.learn.formula import Formula
from tests.compare import assert_close

WITH_FORMULA = [id for id, exercise in EXERCISES.items() if exercise.formula is not None and exercise.kind == "python"]


def example(a, b, dy):
    other = a + b
    da = dy * b * (1 - a * a) - other
    db = (dy * a).sum(0)
    for t in reversed(range(2)):
        dc = dy[t] if t else b[t]
        db += dc
    return da, db


def test_a_line_is_split_into_terms_and_factors():
    lines = Formula(example).lines
    assert [line.text for line in lines] == [
        "da = dy * b * (1 - a * a) - other",
        "db = (dy * a).sum(0)",
        "dc = dy[t] if t else b[t]",
        "db += dc",
    ]
    assert [(t.sign, t.factors, t.summed) for t in lines[0].terms] == [
        (1, ("dy", "b", "(1 - a * a)"), False),
        (-1, ("other",), False),
    ]
    assert [(t.factors, t.summed) for t in lines[1].terms] == [(("dy", "a"), True)]


def test_every_kind_of_mutant_is_made():
    codes = {m.code: m.kind for m in Formula(example, {"b": "a"}).mutants}
    expected = {
        "da = -other": "missing",
        "da = dy * b * (1 - a * a) + dy * b * (1 - a * a) - other": "doubled",
        "da = -dy * b * (1 - a * a) - other": "sign",
        "da = dy * b * (1 - a * a) + other": "sign",
        "da = dy * (1 - a * a) - other": "factor",
        "da = dy * b * (1 - a) - other": "square",
        "da = dy * a * (1 - a * a) - other": "step",
        "db = dy.sum(0)": "factor",
        "db = dc": "overwritten",
    }
    assert {code: codes.get(code) for code in expected} == expected


@pytest.mark.parametrize("id", WITH_FORMULA)
def test_the_table_computes_what_the_function_computes(id):
    exercise = EXERCISES[id]
    inputs = exercise.case([0])
    evaluated = exercise.formula.evaluate(inputs)
    for name, value in exercise.expected(inputs).items():
        np.testing.assert_array_equal(evaluated[name], value)


@pytest.mark.parametrize("id", WITH_FORMULA)
def test_a_formula_says_which_outputs_a_line_reaches(id):
    """Changing a line changes no output outside of its reach, and at least one inside."""
    exercise = EXERCISES[id]
    inputs = exercise.case([0])
    right = exercise.expected(inputs)
    changed_some = Counter()
    for mutant in exercise.formula.mutants:
        with np.errstate(all="ignore"):
            outputs = exercise.formula.evaluate(inputs, {mutant.line.number: mutant.code})
        changed = {n for n in right if not np.array_equal(outputs[n], right[n])}
        assert changed <= exercise.formula.reach[mutant.line.number], mutant.code
        changed_some[mutant.line.number] += bool(changed)
    assert all(changed_some[line.number] for line in exercise.formula.lines)


# ---- the tables against the kernels

S = Sizes(T=4, B=2, I=3, H=5)


@pytest.mark.parametrize("peephole", [False, True])
def test_the_lstm_cell_table_is_the_kernel(device, rng, peephole):
    a = cell(rng, S, peephole)
    exercise = EXERCISES["ex08" if peephole else "ex07"]
    expected = exercise.expected(a)
    zero = np.zeros(S.H)
    peepholes = [a.get(name, zero) for name in ("wci", "wcf", "wco")]
    b = np.zeros(4 * S.H)
    tensors = [mr.tensor(v, device=device) for v in (a["x"], a["cs_prev"], a["h_prev"], a["w"], *peepholes, b)]
    saved = [mr.tensor(a[n], device=device) for n in ("i", "cs", "f", "o", "ci", "co", "dcs", "dh")]
    got = mr.ops.lstm_block_cell_grad(*tensors, *saved, use_peephole=peephole)
    assert_close(got.cs_prev_grad.numpy(), expected["dcs_prev"], what="cs_prev_grad")
    assert_close(got.dicfo.numpy().sum(0), expected["db"], what="db")
    assert_close(np.hstack([a["x"], a["h_prev"]]).T @ got.dicfo.numpy(), expected["dw"], what="dw")
    if peephole:
        for mine, theirs in (("dwci", got.wci_grad), ("dwcf", got.wcf_grad), ("dwco", got.wco_grad)):
            assert_close(theirs.numpy(), expected[mine], what=mine)


def test_the_lstm_sequence_table_is_the_kernel(device, rng):
    a = sequence(rng, S)
    expected = EXERCISES["ex09"].expected(a)
    zero = np.zeros(S.H)
    inputs = [a["x"], a["cs0"], a["h0"], a["w"], zero, zero, zero, np.zeros(4 * S.H)]
    tensors = [mr.tensor(v, device=device) for v in inputs]
    saved = [mr.tensor(a[n], device=device) for n in ("i", "cs", "f", "o", "ci", "co", "h")]
    grads = [mr.tensor(v, device=device) for v in (np.zeros_like(a["dh"]), a["dh"])]
    got = mr.ops.block_lstm_grad(S.T, *tensors, *saved, *grads, use_peephole=False)
    for mine, theirs in zip(
        ("dx", "dcs0", "dh0", "dw", "db"),
        (got.x_grad, got.cs_prev_grad, got.h_prev_grad, got.w_grad, got.b_grad),
        strict=True,
    ):
        assert_close(theirs.numpy(), expected[mine], what=mine)


def test_the_gru_tables_are_the_kernels(device, rng):
    exercise = EXERCISES["ex10"]
    a = exercise.make(rng, S)
    inputs = [
        a["x"],
        a["h_prev"],
        a["w_ru"],
        a["w_c"],
        np.zeros(2 * S.H),
        np.zeros(S.H),
        a["r"],
        a["u"],
        a["c"],
        a["d_h"],
    ]
    got = mr.ops.gru_block_cell_grad(*(mr.tensor(v, device=device) for v in inputs))
    expected = exercise.expected(a)
    assert_close(got.d_x.numpy(), expected["d_x"], what="d_x")
    assert_close(got.d_h_prev.numpy(), expected["d_h_prev"], what="d_h_prev")
    assert_close(got.d_r_bar_u_bar.numpy().sum(0), expected["d_b_ru"], what="d_b_ru")
    assert_close(got.d_c_bar.numpy().sum(0), expected["d_b_c"], what="d_b_c")


@pytest.mark.parametrize("cell_name", ["RNN", "GRU"])
def test_the_layers_of_nn_agree_with_the_tables(device, rng, cell_name):
    """The tanh RNN through time with lengths, and cuDNN's GRU for one step, both by the tape of mr.nn."""
    mr.manual_seed(1)
    layer = getattr(mr.nn, cell_name)(S.I, S.H, device=device, dtype=np.float64)
    weights_ = {name: p.numpy() for name, p in layer.named_parameters()}
    W, R = weights_["weight_ih_l0"], weights_["weight_hh_l0"]
    if cell_name == "RNN":
        from minirnn.learn.catalog.rnn import run

        x, h0 = rng.normal(size=(S.T, S.B, S.I)), rng.normal(size=(S.B, S.H))
        lengths = np.array([S.T, S.T - 2])
        b = weights_["bias_ih_l0"] + weights_["bias_hh_l0"]
        dy, dh_n = rng.normal(size=(S.T, S.B, S.H)), rng.normal(size=(S.B, S.H))
        inputs = dict(x=x, h0=h0, W=W.T, R=R.T, h=run(x, h0, W.T, R.T, b, lengths), lengths=lengths, dy=dy, dh_n=dh_n)
        expected = EXERCISES["ex12"].expected(inputs)
        tx, th = (mr.tensor(v, requires_grad=True, device=device) for v in (x, h0[None]))
        y, h_n = layer(tx, th, lengths=lengths)
        ((y * mr.tensor(dy, device=device)).sum() + (h_n[0] * mr.tensor(dh_n, device=device)).sum()).backward()
        assert_close(layer.weight_hh_l0.grad.numpy(), expected["dR"].T, what="dR")
        assert_close(tx.grad.numpy(), expected["dx"], what="dx")
        assert_close(th.grad.numpy()[0], expected["dh0"], what="dh0")
    else:
        a = EXERCISES["ex11"].make(rng, S)
        tx, th = (mr.tensor(v, requires_grad=True, device=device) for v in (a["x"][None], a["h_prev"][None]))
        A = a["x"] @ W.T + weights_["bias_ih_l0"]
        A2 = a["h_prev"] @ R.T + weights_["bias_hh_l0"]
        sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
        H = S.H
        r, z, q = sigmoid(A[:, :H] + A2[:, :H]), sigmoid(A[:, H : 2 * H] + A2[:, H : 2 * H]), A2[:, 2 * H :]
        n = np.tanh(A[:, 2 * H :] + r * q)
        expected = EXERCISES["ex11"].expected({**a, "W": W, "R": R, "r": r, "z": z, "n": n, "q": q})
        y, _ = layer(tx, th)
        (y[0] * mr.tensor(a["dh"], device=device)).sum().backward()
        assert_close(layer.weight_ih_l0.grad.numpy(), expected["dW"], what="dW")
        assert_close(layer.bias_hh_l0.grad.numpy(), expected["dbR"], what="dbR")
        assert_close(tx.grad.numpy()[0], expected["dx"], what="dx")
        assert_close(th.grad.numpy()[0], expected["dh_prev"], what="dh_prev")


def test_weights_of_the_cells_are_generic(rng):
    assert all(np.abs(v).min() > 0 for v in weights(rng, S).values())
