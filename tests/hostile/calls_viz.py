"""Wrong calls of the pictures."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from minirnn import nn, optim, viz
from tests.hostile.calls_tensor import CHANGED, FREED
from tests.hostile.wrong_call import Wrong, array, tensor, wrong

T, B, H = 7, 2, 5
NAN = float("nan")
NORMS, GATE = np.abs(array(2, T)), np.abs(array(T, B, H))
LOSS = (tensor(2, 3) * 2).sum()
ROW = [array(T, H) for _ in range(5)]
W = array(3 + H, 4 * H)
SHARES = array(T, 4, 3)
JACOBIANS = array(T + 1, H, H)
STEP = {"a kernel": (1e9, 1e6, 1e-3)}
PICTURE = os.fspath(Path(__file__).parent / "missing" / "picture.png")
COUNTS = ("launches", "product bytes", "kernel bytes", "gathered", "block barriers", "cluster barriers")
LADDER = {"rows": [{"size": [T, B, 3, H], "rung": "steps", "pass": "forward", "counts": dict.fromkeys(COUNTS, 1)}]}
PARAMETER = nn.Parameter(array(2, 3))
SGD = optim.SGD([PARAMETER], 0.1)

ROWS: list[Wrong] = [
    wrong("gradient_flow: negative norms", "norms has -1 & 0 or above", viz.gradient_flow, [[1.0, -1.0]]),
    wrong("gradient_flow: one axis", "(7,) & (L, T)", viz.gradient_flow, array(T)),
    wrong("gradient_flow: ragged lists", "norms & (L, T)", viz.gradient_flow, [[1.0], [1.0, 2.0]]),
    wrong("gradient_flow: text", "norms & <U1", viz.gradient_flow, "n"),
    wrong("gradient_flow: names of other layers", "3 names & (L, T)", viz.gradient_flow, NORMS, layers=["a", "b", "c"]),
    wrong("gradient_flow: no columns", "max_columns is 0", viz.gradient_flow, NORMS, max_columns=0),
    wrong("gradient_flow: half a column", "max_columns is 1.5", viz.gradient_flow, NORMS, max_columns=1.5),
    wrong("gradient_flow: a figure as axes", "ax is str & Axes", viz.gradient_flow, NORMS, ax="figure"),
    wrong("gate_activity: nothing", "no gates & (T, B, H)", viz.gate_activity, {}),
    wrong("gate_activity: one array", "ndarray & dict", viz.gate_activity, GATE),
    wrong("gate_activity: two axes", "(7, 5) & (T, B, H)", viz.gate_activity, {"i": array(T, H)}),
    wrong(
        "gate_activity: pre-activations", "gates['i'] & 3 & 0 .. 1", viz.gate_activity, {"i": 3 * np.ones((T, B, H))}
    ),
    wrong("gate_activity: two lengths", "one T & (T, B, H)", viz.gate_activity, {"i": GATE, "f": GATE[:-1]}),
    wrong("gate_map: nothing", "no gates & (T, H)", viz.gate_map, {}),
    wrong("gate_map: one array", "ndarray & dict", viz.gate_map, GATE),
    wrong("gate_map: a batch", "(7, 2, 5) & (T, H)", viz.gate_map, {"i": GATE}),
    wrong("gate_map: a cell state", "gates['ci'] & 2 & -1 .. 1", viz.gate_map, {"ci": np.full((T, H), 2.0)}),
    wrong("gate_map: two shapes", "one (T, H)", viz.gate_map, {"i": GATE[:, 0], "f": GATE[1:, 0]}),
    wrong("gate_map: a short text", "2 characters & T = 7", viz.gate_map, {"i": GATE[:, 0]}, text="ab"),
    wrong("gate_map: an order of another gate", "'f' & one of i", viz.gate_map, {"i": GATE[:, 0]}, order="f"),
    wrong("gate_map: other axes", "axes & (1,)", viz.gate_map, {"i": GATE[:, 0]}, axes=[None, None]),
    wrong("colored_text: a short text", "7 time steps & 2 characters & T", viz.colored_text, array(T), "ab"),
    wrong("colored_text: nothing", "0 characters & 1 ..", viz.colored_text, [], ""),
    wrong("colored_text: a book", "10001 characters & 10000", viz.colored_text, np.zeros(10001), "a" * 10001),
    wrong("colored_text: numbers", "text & ndarray", viz.colored_text, array(T), array(T)),
    wrong("colored_text: a number among words", "text & list", viz.colored_text, [1.0, 2.0], ["a", 2]),
    wrong("colored_text: a batch", "(7, 2, 5) & (T, U)", viz.colored_text, GATE, "a" * T),
    wrong("colored_text: ragged states", "states & (T,)", viz.colored_text, [[1.0], [1.0, 2.0]], "ab"),
    wrong("colored_text: text as states", "<U1 & (T,)", viz.colored_text, ["a"], "a"),
    wrong("colored_text: labels of others", "2 labels & 5", viz.colored_text, array(T, H), "a" * T, labels=["a", "b"]),
    wrong("colored_text: no width", "width is 0", viz.colored_text, array(T), "a" * T, width=0),
    wrong("colored_text: other axes", "axes & (1,)", viz.colored_text, array(T), "a" * T, axes=[None, None]),
    wrong("loss_curve: two lengths", "(3,) & (2,) & (N,)", viz.loss_curve, [1, 2, 3], [0.5, 0.4]),
    wrong("loss_curve: no pair", "validation & pair", viz.loss_curve, [1, 2], [0.5, 0.4], validation=3),
    wrong("loss_curve: nothing", "(0,)", viz.loss_curve, [], []),
    wrong("loss_curve: text", "<U1", viz.loss_curve, [1], ["a"]),
    wrong(
        "loss_curve: a baseline of text",
        "baselines & 'low' & number",
        viz.loss_curve,
        [1, 2],
        [0.5, 0.4],
        baselines={"unigram": "low"},
    ),
    wrong("gradient_shares: a scalar", "() & (T, ...)", viz.gradient_shares, 1.0),
    wrong("gradient_shares: nothing", "(0, 3) & (T, ...)", viz.gradient_shares, array(0, 3)),
    wrong("gradient_shares: ragged lists", "shares & (T, ...)", viz.gradient_shares, [[1.0], [1.0, 2.0]]),
    wrong("jacobian_spectrum: two axes", "(5, 5) & (T+1, n, n)", viz.jacobian_spectrum, array(H, H)),
    wrong("jacobian_spectrum: not square", "(8, 5, 4) & (T+1, n, n)", viz.jacobian_spectrum, array(T + 1, H, 4)),
    wrong("jacobian_spectrum: NaN", "NaN & finite", viz.jacobian_spectrum, JACOBIANS * np.nan),
    wrong("state_jacobians: no steps", "T is 0", viz.state_jacobians, lambda t, h: h, tensor(H), 0),
    wrong(
        "state_jacobians: a step that changes the shape",
        "step 0 & (5, 1) & (5,)",
        viz.state_jacobians,
        lambda t, h: h.reshape(H, 1),
        tensor(H),
        T,
    ),
    wrong("state_jacobians: an array as state", "ndarray & Tensor", viz.state_jacobians, lambda t, h: h, array(H), T),
    wrong(
        "state_jacobians: a step that returns nothing",
        "step 0 & NoneType & Tensor",
        viz.state_jacobians,
        lambda t, h: None,
        tensor(H),
        T,
    ),
    wrong(
        "per_step_gradients: no steps",
        "T is 0",
        viz.per_step_gradients,
        lambda t, w, s: s,
        PARAMETER,
        tensor(H),
        0,
        lambda s: s.sum(),
    ),
    wrong(
        "per_step_gradients: a constant weight",
        "requires_grad=True",
        viz.per_step_gradients,
        lambda t, w, s: s,
        tensor(2, requires_grad=False),
        tensor(H),
        T,
        lambda s: s.sum(),
    ),
    wrong(
        "per_step_gradients: an array as weight",
        "ndarray & Tensor",
        viz.per_step_gradients,
        lambda t, w, s: s,
        array(2),
        tensor(H),
        T,
        lambda s: s.sum(),
    ),
    wrong("cell_paths: a third gate order", "'ifgo' & 'icfo'", viz.cell_paths, *ROW, W, gate_order="ifgo"),
    wrong("cell_paths: one step", "(1, 5) & T at least 2", viz.cell_paths, *[a[:1] for a in ROW], W),
    wrong("cell_paths: a whole batch", "(7, 2, 5) & (T, H)", viz.cell_paths, *[GATE] * 5, W),
    wrong("cell_paths: a transposed w", "w & (20, 8) & (I+H, 4H) & likely transposed", viz.cell_paths, *ROW, W.T),
    wrong("path_strengths: two shapes", "(T-1, H, H)", viz.path_strengths, {"a": array(2, 3, 3), "b": array(3, 3, 3)}),
    wrong("path_strengths: nothing", "paths & (T-1, H, H)", viz.path_strengths, {}),
    wrong("precision_over_time: a scalar", "exact & () & (T, ...)", viz.precision_over_time, {"f4": 1.0}, 1.0),
    wrong("precision_over_time: two shapes", "f4 & (2,) & (3,)", viz.precision_over_time, {"f4": array(2)}, array(3)),
    wrong("precision_over_time: nothing", "values & dict", viz.precision_over_time, {}, array(3)),
    wrong("precision_over_time: a list", "values & list & dict", viz.precision_over_time, [array(3)], array(3)),
    wrong("roofline: no work", "0 pieces & positive", viz.roofline, {}, peak=1e12, bandwidth=1e11),
    wrong("roofline: no bandwidth", "bandwidth 0 & positive", viz.roofline, STEP, peak=1e12, bandwidth=0),
    wrong("roofline: NaN", "peak nan & positive", viz.roofline, STEP, peak=NAN, bandwidth=1e11),
    wrong(
        "roofline: two numbers", "(flops, bytes, seconds)", viz.roofline, {"a": (1.0, 2.0)}, peak=1e12, bandwidth=1e11
    ),
    wrong("backward_timeline: no events", "events [] & of a backward pass", viz.backward_timeline, {"rank 0": []}),
    wrong("backward_timeline: a figure as axes", "ax is str & Axes", viz.backward_timeline, {}, ax="figure"),
    wrong("all_reduce_costs: no bytes", "nbytes is 0 & above 0", viz.all_reduce_costs, 0),
    wrong("all_reduce_costs: one rank", "most is 1 & 2 or more", viz.all_reduce_costs, 1e6, most=1),
    wrong("all_reduce_costs: a network", "'tin' & Ethernet", viz.all_reduce_costs, 1e6, network="tin"),
    wrong("ladder_counts: no such file", "missing & bench --ladder", viz.ladder_counts, PICTURE),
    wrong("ladder_counts: no report", "KeyError: 'rows' & bench --ladder", viz.ladder_counts, {}),
    wrong(
        "ladder_counts: a third pass",
        "'sideways' & 'forward' & 'backward'",
        viz.ladder_counts,
        LADDER,
        which="sideways",
    ),
    wrong("ladder_counts: one size", "as many inputs as units", viz.ladder_counts, LADDER),
    wrong("between_steps: one axes", "(1,) & (2,)", viz.between_steps, axes=[None]),
    wrong("between_steps: no axes", "NoneType & Axes", viz.between_steps, axes=[None, None]),
    wrong("parameter_buffer: no layers", "parameter_buffer & num_layers is 0", viz.parameter_buffer, 0, H, 3),
    wrong(
        "parameter_buffer: an unknown mode",
        "parameter_buffer & 'lstn' & likely 'lstm'",
        viz.parameter_buffer,
        1,
        H,
        3,
        rnn_mode="lstn",
    ),
    wrong("tape_graph: an array", "ndarray & Tensor", viz.tape_graph, array(3)),
    wrong("tape_graph: a freed tape", "freed & retain_graph=True", viz.tape_graph, FREED).raises(RuntimeError),
    wrong("tape_graph: no nodes", "max_nodes is 0", viz.tape_graph, LOSS, max_nodes=0),
    wrong("tape_graph: names of no Tensors", "names['w'] is a str & Tensor", viz.tape_graph, LOSS, names={"w": "w"}),
    wrong("tape_svg: an array", "ndarray & Tensor", viz.tape_svg, array(3)),
    wrong("tape_svg: a freed tape", "freed", viz.tape_svg, FREED).raises(RuntimeError),
    wrong("tape_svg: no nodes", "max_nodes is -1", viz.tape_svg, LOSS, max_nodes=-1),
    wrong("tape_player: an array", "ndarray & Tensor", viz.tape_player, array(3)),
    wrong("tape_player: many values", "(2, 3) & ()", viz.tape_player, tensor(2, 3) * 2),
    wrong("tape_player: a freed tape", "freed", viz.tape_player, FREED).raises(RuntimeError),
    wrong("tape_player: a changed input", "assign", viz.tape_player, CHANGED).raises(RuntimeError),
    wrong("TapePlayer: a leaf", "expected", viz.TapePlayer, tensor(3)),
    wrong("thread_map: no rows", "rows 0 & counts", viz.thread_map, 0, 3, grid=(1, 1), block=(32, 1)),
    wrong("thread_map: a block of text", "block & counts", viz.thread_map, 2, 3, grid=1, block="x"),
    wrong("weight_holders: another way", "'shared' & 'plain', 'persistent'", viz.weight_holders, "shared"),
    wrong("weight_holders: no way", "None & 'plain', 'persistent'", viz.weight_holders, None),
    wrong("weight_holders: no units", "H is 0 & 1 or more", viz.weight_holders, "plain", 0),
    wrong("weight_holders: half a warp", "warps is 0.5 & an integer", viz.weight_holders, "plain", warps=0.5),
    wrong("weight_holders: gates by name", "gates is 'lstm' & an integer", viz.weight_holders, "plain", gates="lstm"),
    wrong("weight_holders: three bytes", "itemsize is 3 & 2, 4 or 8", viz.weight_holders, "persistent", itemsize=3),
    wrong("weight_holders: one axes", "(1,) & (2,)", viz.weight_holders, "plain", axes=[None]),
    wrong("warp_accesses: no trace", "ndarray & trace", viz.warp_accesses, array(3), 3),
    wrong("bank_conflicts: no trace", "ndarray & trace", viz.bank_conflicts, array(3), 3),
    wrong("timings: no such file", "missing", viz.timings, PICTURE),
    wrong("timings: an empty report", "expected", viz.timings, {}),
    wrong("timings: a list", "list & expected", viz.timings, []),
    wrong("show: an array", "ndarray & Picture", viz.show, array(3)),
    wrong("show: two pictures in a list", "list & one picture in a call", viz.show, [1, 2]),
    wrong("update_ratios: two lengths", "lengths & one number", viz.update_ratios, {"a": [1.0], "b": [1.0, 2.0]}),
    wrong("update_ratios: nothing", "expected", viz.update_ratios, {}),
    wrong("UpdateRatios: no parameters", "no parameters & named_parameters()", viz.UpdateRatios, SGD, []),
    wrong(
        "UpdateRatios: parameters without names",
        "Parameter & pairs & named_parameters()",
        viz.UpdateRatios,
        SGD,
        [PARAMETER],
    ),
    wrong("UpdateRatios: no optimizer", "optimizer & str & step()", viz.UpdateRatios, "sgd", [("w", PARAMETER)]),
    wrong("save: no picture", "ndarray & Picture", viz.save, array(3), PICTURE),
    wrong("signed_norm: text", "'a' & array", viz.signed_norm, "a"),
]
