"""Wrong calls of the pictures."""

import os
from pathlib import Path

import numpy as np

from minirnn import cell, nn, optim, tanh
from tests.hostile.calls_tensor import CHANGED, FREED  # noqa: F401, the table names them
from tests.hostile.table import rows
from tests.hostile.wrong_call import array, tensor

T, B, H = 7, 2, 5
NORMS, GATE = np.abs(array(2, T)), np.abs(array(T, B, H))
LOSS = (tensor(2, 3) * 2).sum()
ROW = [array(T, H) for _ in range(5)]
W = array(3 + H, 4 * H)
LSTM, INPUT = nn.LSTM(3, H), array(T, B, 3).astype("f4")
UNRATED = cell(states=("h",))(lambda z_a, h, mask_z: mask_z * tanh(z_a)).layer(3, H)
STEP = {"a kernel": (1e9, 1e6, 1e-3)}
PICTURE = os.fspath(Path(__file__).parent / "missing" / "picture.png")
COUNTS = ("launches", "product bytes", "kernel bytes", "gathered", "block barriers", "cluster barriers")
LADDER = {"rows": [{"size": [T, B, 3, H], "rung": "steps", "pass": "forward", "counts": dict.fromkeys(COUNTS, 1)}]}
PARAMETER = nn.Parameter(array(2, 3))
SGD = optim.SGD([PARAMETER], 0.1)

ROWS = rows(
    globals(),
    r"""
viz.gradient_flow([[1.0, -1.0]]) -> norms contains -1 & 0 or above
viz.gradient_flow(array(T)) -> (7,) & (L, T)
viz.gradient_flow(NORMS, layers=["a", "b", "c"]) -> 3 names & (L, T)
viz.gradient_flow(NORMS, max_columns=0) -> max_columns is 0
viz.gradient_flow(NORMS, first=0.5) -> first is 0.5
viz.gradient_flow(NORMS, ax="figure") -> ax is str & Axes
viz.gate_map({}) -> no gates & (T, H)
viz.gate_map(GATE) -> ndarray & dict
viz.gate_map({"i": GATE}) -> (7, 2, 5) & (T, H)
viz.gate_map({"ci": np.full((T, H), 2.0)}) -> gates['ci'] & 2 & -1 .. 1
viz.gate_map({"i": GATE[:, 0], "f": GATE[1:, 0]}) -> the same (T, H)
viz.gate_map({"i": GATE[:, 0]}, text="ab") -> 2 characters & T = 7
viz.gate_map({"i": GATE[:, 0]}, most=1) -> most is 1 & 2 or more
viz.gate_map({"i": GATE[:, 0]}, order="f") -> 'f' & one of i
viz.cell_graph("elman") -> 'elman' & one of lstm
viz.cell_graph(array(T)) -> ndarray & a cell
viz.colored_text(array(T), "ab") -> 7 time steps & 2 characters & T
viz.colored_text([], "") -> 0 characters & 1 ..
viz.colored_text(np.zeros(10001), "a" * 10001) -> 10001 characters & 10000
viz.colored_text(array(T), array(T)) -> text & ndarray
viz.colored_text([1.0, 2.0], ["a", 2]) -> text & list
viz.colored_text([[1.0], [1.0, 2.0]], "ab") -> states & (T,)
viz.colored_text(array(T, H), "a" * T, labels=["a", "b"]) -> 2 labels & 5
viz.colored_text(array(T), "a" * T, width=0) -> width is 0
viz.loss_curve([1, 2, 3], [0.5, 0.4]) -> (3,) & (2,) & (N,)
viz.loss_curve([1, 2], [0.5, 0.4], validation=3) -> validation & pair
viz.loss_curve([1, 2], [3, 2], ax=3) -> ax is int & add_subplot
viz.loss_curve([], []) -> (0,)
viz.loss_curve([1], ["a"]) -> <U1
viz.loss_curve([1, 2], [0.5, 0.4], baselines={"unigram": "low"}) -> baselines & 'low' & number
viz.gradient_shares(array(0, 3)) -> (0, 3) & (T, ...)
viz.gradient_shares([["a"]]) -> gradient_shares: shares & (T, ...)
viz.gradient_shares([[1.0], [1.0, 2.0]]) -> shares & (T, ...)
viz.state_jacobians(lambda t, h: h, tensor(H), 0) -> T is 0
viz.state_jacobians(lambda t, h: h.reshape(H, 1), tensor(H), T) -> step 0 & (5, 1) & (5,)
viz.state_jacobians(lambda t, h: h, array(H), T) -> ndarray & Tensor
viz.state_jacobians(lambda t, h: None, tensor(H), T) -> step 0 & NoneType & Tensor
viz.per_step_gradients(lambda t, w, s: s, PARAMETER, tensor(H), 0, lambda s: s.sum()) -> T is 0
viz.per_step_gradients(lambda t, w, s: s, tensor(2, requires_grad=False), tensor(H), T, lambda s: s.sum()) ->
    requires_grad=True
viz.per_step_gradients(lambda t, w, s: s, array(2), tensor(H), T, lambda s: s.sum()) -> ndarray & Tensor
viz.look_inside(3, INPUT) -> look_inside: model is a int & Module
viz.look_inside(nn.Linear(3, 2), INPUT) -> look_inside: no recurrent layer of this Linear & nn.LSTM
viz.layer_values(GATE, GATE) -> layer_values: got a ndarray & nn.LSTM & custom cell
viz.layer_values(LSTM, GATE[0]) -> (2, 5) & (T, B, I) & I = 3
viz.layer_values(LSTM, GATE) -> (7, 2, 5) & I = 3
viz.layer_values(LSTM, INPUT, reverse=True) -> reverse=True & one direction
viz.layer_jacobians(nn.LSTMCell(3, H), INPUT[:, 0]) -> layer_jacobians: got a LSTMCell & nn.LSTM
viz.layer_jacobians(nn.GRU(3, H, 2), INPUT[:, 0], index=2) -> layer_jacobians: index is 2 & -2 & 1
viz.layer_values(LSTM, INPUT, index=1.0) -> layer_values: index is 1.0 & integer
viz.layer_paths(LSTM, INPUT[:, 0], reverse=True) -> reverse=True & one direction
viz.layer_jacobians(LSTM, INPUT) -> (7, 2, 3) & (T, I)
viz.layer_jacobians(UNRATED, INPUT[:, 0]) -> 'mask_z' & no rate
viz.layer_paths(nn.GRU(3, H), INPUT[:, 0]) -> layer_paths: got a GRU & nn.LSTM & custom cell
viz.layer_paths(nn.LSTM(3, H, proj_size=2), INPUT[:, 0]) -> without projection
viz.layer_paths(LSTM, INPUT[:1, 0]) -> 1 step & T at least 2
viz.cell_paths(*ROW, W, gate_order="ifgo") -> 'ifgo' & 'icfo'
viz.cell_paths(*[a[:1] for a in ROW], W) -> (1, 5) & T at least 2
viz.cell_paths(*[GATE] * 5, W) -> (7, 2, 5) & (T, H)
viz.cell_paths(*ROW, W.T) -> w & (20, 8) & (I+H, 4H) & likely transposed
viz.path_strengths({}) -> [] & (T-1, H, H)
viz.path_strengths({"a": array(2, 3, 3), "b": array(3, 3, 3)}) -> (T-1, H, H)
viz.roofline({}, peak=1e12, bandwidth=1e11) -> 0 pieces & positive
viz.roofline(STEP, peak=1e12, bandwidth=0) -> bandwidth 0 & positive
viz.roofline(STEP, peak=NAN, bandwidth=1e11) -> peak nan & positive
viz.roofline({"a": (1.0, 2.0)}, peak=1e12, bandwidth=1e11) -> (flops, bytes, seconds)
viz.backward_timeline({"rank 0": []}) -> events [] & of a backward pass
viz.all_reduce_costs(0) -> nbytes is 0 & above 0
viz.all_reduce_costs(1e6, network="tin") -> 'tin' & Ethernet
viz.parameter_buffer(0, H, 3) -> parameter_buffer & num_layers is 0
viz.parameter_buffer(1, H, 3, rnn_mode="lstn") -> parameter_buffer & 'lstn' & likely 'lstm'
viz.tape_graph(array(3)) -> ndarray & Tensor
viz.tape_graph(FREED) -> raises RuntimeError: freed & retain_graph=True
viz.tape_graph(LOSS, max_nodes=0) -> max_nodes is 0
viz.tape_graph(LOSS, names={"w": "w"}) -> names['w'] is a str & Tensor
viz.TapePlayer(array(3)) -> ndarray & Tensor
viz.TapePlayer(tensor(2, 3) * 2) -> (2, 3) & ()
viz.TapePlayer(FREED) -> raises RuntimeError: freed
viz.TapePlayer(CHANGED) -> raises RuntimeError: assign
viz.TapePlayer(tensor(3)) -> expected
viz.thread_map(0, 3, grid=(1, 1), block=(32, 1)) -> rows 0 & counts
viz.thread_map(2, 3, grid=1, block="x") -> block & counts
viz.warp_accesses(array(3), 3) -> ndarray & trace
viz.bank_conflicts(array(3), 3) -> ndarray & trace
viz.show(array(3)) -> ndarray & Picture
viz.save(array(3), PICTURE) -> ndarray & Picture
""",
)
