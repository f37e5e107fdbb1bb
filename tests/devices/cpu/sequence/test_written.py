"""The generated NumPy of a sequence has the names of the cell's page, in its order, and no name hides another.

Tests `minirnn/devices/cpu/sequence/write_forward.py`, `minirnn/devices/cpu/sequence/write_backward.py`,
`minirnn/devices/cpu/sequence/calls.py` and `minirnn/devices/cpu/sequence/slots.py`.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import minirnn as mr
from minirnn.devices.cpu.sequence.calls import SCOPE, Calls
from minirnn.devices.cpu.sequence.write_backward import back_of
from minirnn.devices.cpu.sequence.write_forward import loop_of
from minirnn.ops.cudnn_rnn.cells import CELLS, ZONED, lstm_zoned_c
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import lstm_block, lstm_block_peephole

PAGES = {c.__name__: c.plan() for c in (*CELLS.values(), *ZONED.values(), gru_block, lstm_block, lstm_block_peephole)}
PAGES["lstm_zoned_c"] = lstm_zoned_c.plan(True)
OURS = {"steps", "dot", "scratch", "bools", "products", "numbers", "vectors", "factors", "values", "operands"}
OURS |= {"HALF", "R_and_b", "Wp", "U", "h_prev_and_1", "gates_of_h", "gates_of_both", "W_x", "R_T", "Wp_T", "U_T"}
OURS |= {"d_gates", "carried", "through_R", "through_Wp", "nothing", "dy_t", "dy", "dy_next", "zoneout", "difference"}
PYTHON = {"def", "for", "in", "return", "out", "where", "fill"}


def texts(plan: Any) -> tuple[str, str, str]:
    back = back_of(plan)
    return loop_of(plan).run.__doc__ or "", back.factors.__doc__ or "", back.runs[False, False].__doc__ or ""


@pytest.mark.parametrize("name", PAGES)
def test_every_name_is_one_of_the_page_or_says_what_is_made_of_them(name: str) -> None:
    plan = PAGES[name]
    page = {*plan.names.values(), *(f"d{n}" for n in (*plan.gate_names, *plan.vector_names)), *SCOPE}
    page |= {f"U{k + 1}" for k in range(plan.matrices)}
    for text in texts(plan):
        words = {w for w in re.findall(r"[A-Za-z_]\w*", re.sub(r"def \w+", "", text)) if not w.startswith("_")}
        for word in words - page - OURS - PYTHON:
            parts = re.split(r"_by_|_to_", word)
            if len(parts) == 1:  # neighboring rows
                assert all(re.search(rf"(^|_){w}(_|$)", word) for w in page if f"_{w}_" in f"_{word}_"), word
                assert any(word.startswith(f"{w}_") for w in page), word
            else:
                assert any(word.startswith(w) for w in page) and any(word.endswith(w) for w in page), word


def test_the_loops_of_the_lstm_are_those_of_the_book() -> None:
    forward, factors, backward = texts(PAGES["lstm"])
    assert forward.splitlines()[-5:] == [
        "        multiply(f, c_prev, c)",
        "        multiply(i, n, _t0)",
        "        add(c, _t0, c)",
        "        tanh(c, _t0)",
        "        multiply(o, _t0, h)",
    ]
    lines = [line.strip() for line in backward.splitlines()]
    assert lines[3:] == [
        "add(dh, dy_t, dh)",
        "multiply(dz_o_dc, dh, dz_o_dc)",
        "add(dc, c_grad, dc)",
        "multiply(dc_prev_dz_i_dz_f_dz_n, dc, dc_prev_dz_i_dz_f_dz_n)",
        "c_grad = dc_prev",
        "dot(R_T, d_gates, dh)",
        "return (c_grad, )",
    ]
    made = dict.fromkeys(re.findall(r"\w+_by_\w+(?=\)$)", factors, re.M))
    assert list(made) == ["dc_by_dh", "dz_o_by_dh", "dz_i_by_dc", "dz_f_by_dc", "dz_n_by_dc"]


@mr.cell(states=("steps", "dy_next"))
def hostile(z_add, z_r0, x__t0, h_D, steps, dy_next, mask_p0, *, factors, _1, dot=0.5, k0=2.0):
    mean, T, s0, out = mr.sigmoid(z_add + factors * steps), mr.tanh(z_r0), mr.sigmoid(x__t0 * h_D), mr.tanh(k0 * z_add)
    numbers, g0 = mean * T + s0 * out, mr.product(mean * dy_next)
    _t0 = mr.unit_mean(numbers)
    dh = mr.where(numbers > _t0, numbers * _1, dot * g0)
    steps = mask_p0 * steps + (1 - mask_p0) * dh
    dy_next = mr.tanh(steps) * mean
    return steps, dy_next


def test_names_of_a_user_hide_nothing() -> None:
    """The composition on the tape and finite differences agree with the generated functions."""
    proof = hostile.verify(devices=["cpu"])
    assert proof, str(proof)


def test_a_temporary_array_is_used_again() -> None:
    step = hostile.step
    at = {e: f"s{k}" for k, e in enumerate([*step.gates.values(), *step.states.values(), *step.vectors.values()])}
    calls = Calls(step.after, at | dict.fromkeys(step.masks.values(), "z0"))
    for e in step.after:
        calls.into(e)
    assert 2 <= calls.count["t"] < sum(e.op != "input" for e in step.nodes) / 2
