"""What holds for every op with one kernel, beyond its values: the cases are those of `minirnn.proof`.

Values, derivatives and precision are in `tests/ops/test_verified.py`, wrong calls in the tables of `tests/hostile/`.
Tests `minirnn/ops/fused.py` and, with `tests/ops/test_verified.py`, `minirnn/ops/lstm_block/cell.py`,
`minirnn/ops/lstm_block/nodes.py`, `minirnn/ops/lstm_block/sequence.py` and `minirnn/ops/gru_block/cell.py`.
"""

import inspect
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, ops
from minirnn.devices.cpu.sequence import visit
from minirnn.explain.names import explained
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.case import COMPOSED, Case, evaluate
from minirnn.proof.cases import block, canonical, cudnn
from tests.devices.cpu.kernel_checks import LAYOUTS
from tests.each import each
from tests.ops.cudnn_rnn.cudnn_cases import random_call

QUICK = [case for module in (block, cudnn) for case in module.cases() if case.quick and case.variant != "no step"]
FORWARD = [case for case in QUICK if "grad" not in case.op and "backprop" not in case.op]
RAW = [case for case in QUICK if case not in FORWARD]
HALF = [case for case in QUICK if case.op.startswith(("block_lstm", "gru_block"))]
SIZES = (2, cudnn.H, cudnn.I, "bidirectional")
WHOLE = [  # all samples have all steps
    cudnn.forward("cudnn_rnn_v3", Network("lstm", *SIZES, num_proj=cudnn.P), False, True),
    cudnn.forward("cudnn_rnn", Network("rnn_relu", *SIZES), False, True),
    cudnn.backprop("cudnn_rnn_backprop_v3", Network("lstm", *SIZES, num_proj=cudnn.P), False),
    cudnn.backprop("cudnn_rnn_backprop_v2", Network("gru", *SIZES), False),
    cudnn.zoneout(Network("gru", 1, cudnn.H, cudnn.I), False),
]
WEIGHTS = {"w", "wci", "wcf", "wco", "b", "w_ru", "w_c", "b_ru", "b_c", "params"}
"""The arrays without an axis of the batch, which is the last but one of the others."""
TENSORFLOWS = explained()


def name_of(case: Case) -> str:
    return f"{case.op}, {case.variant}, {case.size}"


@pytest.mark.parametrize("case", FORWARD, ids=name_of)
def test_each_output_alone_carries_gradient(case: Case, device: str) -> None:
    """The gradients through one output agree with the composition, whether or not others are used."""
    found = gradients_by_output(case, mr.devices.get(device))
    for name, fused, plain in zip(case.outputs, found, composed(FORWARD.index(case)), strict=True):
        assert any(np.abs(g).max() > 0 for g in fused), name
        for a, b in zip(fused, plain, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=name)


def gradients_by_output(case: Case, place: Any) -> list[list[np.ndarray]]:
    """The gradients through each output alone."""
    found = []
    for k in range(len(case.outputs)):
        inputs = [mr.tensor(a, True, place) for a in case.inputs.values()]
        y = case.call(*inputs)[k]
        seed = mr.tensor(case.cotangent(k, y.shape, "float64"), device=place)
        found.append([g.numpy() for g in mr.grad(y, inputs, seed)])
    return found


@cache
def composed(number: int) -> list[list[np.ndarray]]:
    """The gradients of the composition, computed once for all devices."""
    return gradients_by_output(FORWARD[number], COMPOSED)


@each("case", HALF, ids=name_of)
def test_float16_is_computed_in_float32_and_rounded_once(case: Case, device: str) -> None:
    """To the last bit; only LSTMBlockCell has its own kernels for float16, on a GPU."""
    half = [mr.tensor(a, device=device) for a in case.rounded("float16").values()]
    for got, exact in zip(case.call(*half), case.call(*[t.astype("f4") for t in half]), strict=True):
        assert got.dtype == np.float16
        np.testing.assert_array_equal(got.numpy(), exact.numpy().astype("f2"))


@each("case", RAW, ids=name_of)
def test_a_raw_gradient_without_gradients_to_keep_records_nothing(
    case: Case, device: str, composed_device: str
) -> None:
    for place in (device, composed_device):
        constants = case.call(*[mr.tensor(a, False, place) for a in case.inputs.values()])
        with mr.no_grad():
            unrecorded = case.call(*[mr.tensor(a, True, place) for a in case.inputs.values()])
        assert not any(y.requires_grad for y in (*constants, *unrecorded))


def test_an_input_computed_from_another_one_is_an_input_of_its_own(
    rng: np.random.Generator, device: str, composed_device: str
) -> None:
    x, _, c, params = (t.numpy() for t in random_call(rng, Network("lstm", 1, 3, 3), 3, 2, "cpu"))
    for place in (device, composed_device):
        found = []
        for tied in (True, False):
            leaf = mr.tensor(x, True, place)
            h = leaf[:1] * 2.0
            h = h if tied else h.detach()
            y = ops.cudnn_rnn(leaf, h, c, params)
            ones = [np.ones(t.shape) for t in y[:3]]
            found.append(ops.cudnn_rnn_backprop(leaf, h, c, params, *y[:3], *ones, y.reserve_space))
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


# ---- arrays: empty, in any layout, and values that are not read


def is_weight(name: str) -> bool:
    return name.removesuffix("_grad").removesuffix("_backprop") in WEIGHTS


@each("case", [case for case in QUICK if case.size.count("=") < 5 and case.op[:5] != "cudnn"] + WHOLE, ids=name_of)
@each("dtype", ["float16", "float64"])
def test_an_empty_batch_gives_empty_outputs_and_gradients_of_0_to_second_order(
    case: Case, dtype: str, device: str, composed_device: str
) -> None:
    full = case.call(*[mr.tensor(a) for a in case.inputs.values()])
    shapes = [
        y.shape if is_weight(n) else (*y.shape[:-2], 0, y.shape[-1]) for n, y in zip(case.outputs, full, strict=True)
    ]
    for place in (device, composed_device):
        given = [a if is_weight(n) else a[..., :0, :] for n, a in case.inputs.items()]
        inputs = [mr.tensor(a, True, place, dtype) for a in given]
        outputs = case.call(*inputs)
        assert [(y.shape, y.dtype) for y in outputs] == [(shape, dtype) for shape in shapes]
        assert not any(y.numpy().any() for y in outputs)
        first = mr.grad(sum(y.sum() for y in outputs), inputs, create_graph=True)
        again = sum((g * g + g).sum() for g in first)
        for gradients in (first, *([mr.grad(again, inputs)] if again.requires_grad else [])):
            for g, t in zip(gradients, inputs, strict=True):
                assert (g.shape, g.dtype) == (t.shape, t.dtype) and not g.numpy().any()


@pytest.mark.parametrize("rows", [0, 2])
def test_block_lstm_takes_no_steps(rows: int, device: str) -> None:
    case = block.lstm("block_lstm", "peepholes", 2, 2, 3, 4)
    given = {n: a if is_weight(n) else a[..., :rows, :] for n, a in case.inputs.items()}
    inputs = [mr.tensor(a, True, device) for a in (given | {"x": given["x"][:0]}).values()]
    outputs = ops.block_lstm(0, *inputs)
    assert [y.shape for y in outputs] == [(0, rows, 4)] * 7
    assert not any(g.numpy().any() for g in mr.grad(sum(y.sum() for y in outputs), inputs))


@each("layout", LAYOUTS)
@each("case", [*QUICK, *WHOLE], ids=name_of)
def test_layouts_and_pieces_of_a_sequence_do_not_matter_and_nothing_is_written_to(
    layout: str, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid: list[tuple[np.ndarray, np.ndarray]] = []

    def call(*inputs: mr.Tensor) -> Any:
        for t in inputs:
            laid.append((LAYOUTS[layout](t.array), t.array))
            t.array = laid[-1][0]
        return case.call(*inputs)

    want = evaluate(case, case.inputs, "float64", "cpu")
    monkeypatch.setattr(visit, "CACHED_CELLS", 40)  # pieces of two or three steps
    found = evaluate(replace(case, call=call), case.inputs, "float64", "cpu")
    for name, a in want.items():
        np.testing.assert_allclose(found[name], a, rtol=1e-12, atol=1e-13, err_msg=name)
    for a, b in laid:
        np.testing.assert_array_equal(a, b)


CELL = ("x", "h_prev", "w", "b")
UNREAD = [
    (block.gru_grad(3, 5, 7), ("x", "b_ru", "b_c")),
    (block.lstm_grad("lstm_block_cell_grad", "peepholes", 3, 5, 7), CELL),
    (block.lstm_grad("lstm_block_cell_grad", "plain", 3, 5, 7), (*CELL, "cs", "wci", "wcf", "wco")),
    (block.lstm_grad("block_lstm_grad", "peepholes", 5, 3, 4, 7), ("b",)),
    (block.lstm_grad("block_lstm_grad", "plain", 5, 3, 4, 7), ("b", "wci", "wcf", "wco")),
    (block.lstm("block_lstm", "plain", 5, 3, 4, 7), ("wci", "wcf", "wco")),
    (block.lstm("lstm_block_cell", "plain", 3, 5, 7), ("wci", "wcf", "wco")),
]


@each(("case", "names"), UNREAD, ids=lambda row: name_of(row[0]))
def test_values_that_have_no_use_are_not_read(case: Case, names: tuple[str, ...], device: str) -> None:
    found = []
    for fill in (1.0, np.nan):
        given = case.inputs | {n: np.full_like(case.inputs[n], fill) for n in names}
        if case.op == "block_lstm_grad":  # the last h, and without peepholes the last cs, are read by nothing
            for n in ("h", *["cs"] * (case.variant == "plain")):
                given[n] = given[n].copy()
                given[n][-1] = fill
        found.append([y.numpy() for y in case.call(*[mr.tensor(a, device=device) for a in given.values()])])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.isfinite(a).all()


@each("name", TENSORFLOWS)
def test_an_op_takes_tensorflows_name_and_ignores_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parameter = inspect.signature(getattr(ops, name)).parameters["name"]
    assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, None)
    if name == "cudnn_rnn_params_size":
        assert ops.cudnn_rnn_params_size(1, 2, 3, name="a/node") == ops.cudnn_rnn_params_size(1, 2, 3)
        return
    found = []
    for options in ({}, {"name": "a/node"}):
        monkeypatch.setattr(ops, name, partial(getattr(ops, name), **options))
        all_cases = (case for module in (block, cudnn, canonical) for case in module.cases())
        case = next(case for case in all_cases if case.op == name and case.quick)
        found.append([y.numpy() for y in case.call(*map(mr.tensor, case.inputs.values()))])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("make", [nn.LSTMBlockCell, nn.LSTMBlockFusedCell, nn.GRUBlockCell])
def test_a_cell_of_tensorflow_takes_a_name_and_ignores_it(make: Any) -> None:
    states = []
    for options in ({}, {"name": "cell"}):
        mr.manual_seed(1)
        states.append(make(4, 3, **options).state_dict())
    for key, value in states[0].items():
        np.testing.assert_array_equal(states[1][key], value)
