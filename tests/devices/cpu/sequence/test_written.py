"""The generated NumPy of a sequence: its names and its order, what it computes ahead, and its products.

Tests `minirnn/devices/cpu/sequence/write_forward.py`, `minirnn/devices/cpu/sequence/write_backward.py`,
`minirnn/devices/cpu/sequence/calls.py`, `minirnn/devices/cpu/sequence/slots.py` and
`minirnn/devices/cpu/sequence/forward.py`.
"""

import re
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, exp, sigmoid, tanh, where
from minirnn.devices.cpu.sequence.calls import SCOPE, Calls
from minirnn.devices.cpu.sequence.forward import UNPACKED, left_matrix, product_of_step
from minirnn.devices.cpu.sequence.write_backward import back_of
from minirnn.devices.cpu.sequence.write_forward import loop_of
from minirnn.devices.cpu.workspace import ALIGNMENT
from minirnn.ops.cudnn_rnn.cells import CELLS, ZONED, lstm_zoned_c
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import lstm_block, lstm_block_peephole
from minirnn.ops.sequence.layer import RecurrentLayer, template
from tests.cells import published
from tests.cells.with_torch import gallery
from tests.compare import assert_close
from tests.devices.cells.own_layers import argument_shapes

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


# ---- on cpu, what no state reaches is computed for many steps before the loop over them


def inputs_of(own: Any, rng: np.random.Generator, T: int, B: int, I: int, H: int, D: int) -> list[Any]:
    shapes = argument_shapes(own.plan(), T, B, I, H, D)
    # Recurrent sums of size 1 for any H: larger ones make a chaotic network, which amplifies each rounding.
    scales = [0.5 / max(1, s[1] ** 0.5 / 2) if len(s) == 2 else 0.5 for s in shapes]
    values = [rng.normal(size=s) * k for s, k in zip(shapes, scales, strict=True)]
    return [mr.tensor(value, requires_grad=True) for value in values]


@cell(states=("a", "h"))
def early(x_n, x_s, z_u, a, h, *, w, k=2.0):
    """Values that no state reaches: one is saved, two are compared in the loop, one is a new state."""
    n = tanh(x_n * w)
    p = where(x_s > 0.1, n, k * x_s)
    u = sigmoid(z_u + a)
    h = where(x_s > n, u * h, -h) + (1 - n) * p
    a = exp(-p * p)
    return a, h


OWN = {"early": early, "minlstm": published.minlstm, "rwkv4": published.rwkv4}
SIZES = [(1, 1, 1, 1), (3, 1, 2, 5), (130, 1, 2, 70), (2, 70, 3, 64), (5, 2, 300, 4)]
"""A piece of one step, of several, and of more than are computed at once; a step that is work enough; a wide x."""


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", ["sru", "mingru", *OWN])
def test_kernels_equal_the_composition_at_all_sizes(
    rng: np.random.Generator, name: str, sizes: tuple[int, ...]
) -> None:
    own: Any = OWN.get(name) or gallery(name)
    T, B = sizes[:2]
    inputs = inputs_of(own, rng, *sizes, 2)
    lengths = rng.integers(1, T + 1, B)
    before = [t.numpy().copy() for t in inputs]
    found, seed = [], int(rng.integers(2**32))
    for composed in (False, True):
        plan = own.plan()
        there = template(plan)
        node = RecurrentLayer(plan, [there] * 2, lengths)
        fallbacks = inputs[0].device.fallbacks.copy()
        outputs = list((node.compose if composed else node)(*inputs))
        draw = np.random.default_rng(seed)
        cotangents = [mr.tensor(draw.normal(size=t.shape)) for t in outputs]
        found.append([t.numpy() for t in (*outputs, *mr.grad(outputs, inputs, cotangents))])
        assert composed or inputs[0].device.fallbacks == fallbacks
    for a, b in zip(*found, strict=True):
        assert np.abs(a - b).max() <= 1e-12 * max(np.abs(b).max(), 1)
    assert all(np.array_equal(t.numpy(), a) for t, a in zip(inputs, before, strict=True))


def test_what_no_state_reaches_is_computed_before_the_loop() -> None:
    """minGRU is left with ``h = a * h + b`` in the loop, which is two calls."""
    loop = loop_of(gallery("mingru").plan())
    before, inside = (loop.run.__doc__ or "").split("in steps:")
    assert len(inside.strip().splitlines()) == 2 and "sigmoid" in before
    assert len(loop.ahead.slots) == 5  # a, b, and three values that the gradient reads
    for name in ("lstm", "gru", "indrnn"):
        assert not loop_of(gallery(name).plan()).ahead.slots


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["mingru", "early"])
def test_a_layer_is_its_steps_one_after_the_other(rng: np.random.Generator, name: str, dtype: str) -> None:
    """Also in evaluation, which keeps nothing for a gradient: the same bits."""
    own: Any = OWN.get(name) or gallery(name)
    layer = own.layer(3, 70, dtype=dtype)
    tolerance = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-14}[dtype]
    for T, B in ((130, 1), (9, 3)):
        x = mr.tensor(rng.normal(size=(T, B, 3)), dtype=dtype)
        first = [mr.tensor(rng.normal(size=(B, 70)), dtype=dtype) for _ in own.step.user_states]
        states: Any = first if len(first) > 1 else first[0]
        y, _ = layer(x, states)
        with mr.no_grad():
            again, _ = layer(x, states)
        np.testing.assert_array_equal(y.numpy(), again.numpy())
        for t in range(T):
            y_t, states = layer.step(x[t], states)
            np.testing.assert_allclose(y.numpy()[t], y_t.numpy(), atol=tolerance)


# ---- the product of a step: NumPy's for any number of columns, and what `left_matrix` promises of the weights' memory


SHAPES = [(12, 5, 1), (12, 5, 3), (7, 16, 2), (130, 321, 8), (130, 321, 32), (130, 321, 1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns", "B"), SHAPES)
def test_the_product_is_that_of_plain_sums_and_fills_the_array_given(
    rng: np.random.Generator, rows: int, columns: int, B: int, dtype: type
) -> None:
    R = left_matrix(rows, columns, B, np.dtype(dtype))
    R[...] = rng.standard_normal((rows, columns)) / columns**0.5
    h = rng.standard_normal((columns, B)).astype(dtype)
    out = np.full((rows, B), np.nan, dtype)  # earlier contents must not matter
    product_of_step(rows, columns, B)(R, h, out)
    assert_close(out, (R.astype(np.float64)[:, :, None] * h.astype(np.float64)).sum(1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns", "B"), SHAPES)
def test_rows_of_small_products_lie_whole_cache_lines_apart(rows: int, columns: int, B: int, dtype: type) -> None:
    R = left_matrix(rows, columns, B, np.dtype(dtype))
    assert R.shape == (rows, columns) and R.strides[1] == R.itemsize and R.flags.writeable
    if product_of_step(rows, columns, B) is np.dot or rows * columns * B > UNPACKED:
        assert (
            R.flags.c_contiguous
        )  # np.dot, which takes one column and small products, would copy any other one at every step
    else:
        assert R.strides[0] % ALIGNMENT == 0 and R.strides[0] < columns * R.itemsize + ALIGNMENT
