"""Wrong calls of load_state_dict and of optimizers: state that belongs to something else."""

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import nn, optim
from minirnn.optim import lr_scheduler as s
from tests.hostile.calls_nn import (  # noqa: F401, the table names them  # noqa: F401, the table names them
    H,
    I,
    embedding,
    gru,
    gru_block_cell,
    linear,
    lstm,
    lstm_block_cell,
    lstm_fused_cell,
    rnn,
    rnn_cell,
)
from tests.hostile.table import rows
from tests.hostile.wrong_call import array


def state_of(module: nn.Module, **changes: Any) -> dict[str, Any]:
    return {**module.state_dict(), **changes}


LINEAR, LSTM_STATE = state_of(linear), state_of(lstm)

P = [nn.Parameter(array(2, 3)), nn.Parameter(array(4))]
SGD, ADAM = optim.SGD(P, 0.1, momentum=0.9), optim.Adam(P)


def stepped_adam() -> optim.Adam:
    parameters = [nn.Parameter(array(2, 3)), nn.Parameter(array(4))]
    adam = optim.Adam(parameters)
    for p in parameters:
        p.grad = mr.tensor(np.ones(p.shape, np.float32))
    adam.step()
    return adam


STEPPED = stepped_adam()
SAVED = STEPPED.state_dict()
WITHOUT_LR = {k: v for k, v in SAVED["param_groups"][0].items() if k != "lr"}
PLAIN = optim.SGD(P, 0.1)
STEP, PLATEAU = s.StepLR(SGD, 3), s.ReduceLROnPlateau(SGD)
LAMBDA, RESTARTS = s.LambdaLR(SGD, abs), s.CosineAnnealingWarmRestarts(SGD, 3)

ROWS = rows(
    globals(),
    r"""
# load_state_dict of modules
linear.load_state_dict([array(H, I)]) -> load_state_dict & list & dict
linear.load_state_dict((LINEAR, {})) -> load_state_dict & tuple & dict & likely all that io.checkpoint.load returned
linear.load_state_dict({**LINEAR, "scale": array(1)}) -> load_state_dict & unexpected scale
linear.load_state_dict({"weights": array(H, I), "bias": array(H)}) ->
    load_state_dict & likely weights is another spelling of weight
linear.load_state_dict({f"net.{k}": v for k, v in LINEAR.items()}) -> load_state_dict & likely & larger module & 'net.'
linear.load_state_dict({**LINEAR, "bias": np.zeros(H, int)}) -> load_state_dict & int64 & floating
linear.load_state_dict({"weight": array(I, H)}, strict=False) -> load_state_dict & (3, 5)
lstm.load_state_dict(state_of(lstm_block_cell)) -> load_state_dict & missing weight_ih_l0 & unexpected w
lstm.load_state_dict({**LSTM_STATE, "weight_hh_l0": array(H, 4 * H)}) ->
    load_state_dict & weight_hh_l0 has shape (5, 20), expected (20, 5) & likely transposed
lstm.load_state_dict(nn.GRU(I, H).state_dict()) ->
    load_state_dict & (15, 3), expected (20, 3) & likely the weights of a GRU (gates: 3) & an LSTM (gates: 4)
gru.load_state_dict(nn.LSTM(I, H, 2, bidirectional=True).state_dict()) ->
    load_state_dict & expected (15, 3) & likely the weights of an LSTM (gates: 4)
rnn.load_state_dict(LSTM_STATE) -> load_state_dict & expected (5, 3) & likely the weights of an LSTM (gates: 4)
gru.load_state_dict(state_of(gru_block_cell)) -> load_state_dict & another kind of network & reset before the product
gru_block_cell.load_state_dict(nn.GRU(I, H).state_dict()) -> load_state_dict & another kind of network & reset after it
lstm_block_cell.load_state_dict(LSTM_STATE) -> load_state_dict & missing w & unexpected weight_ih_l0
lstm_block_cell.load_state_dict(state_of(lstm_block_cell, w=array(4 * H, I + H))) ->
    load_state_dict & w has shape (20, 8), expected (8, 20) & likely transposed
lstm_fused_cell.load_state_dict({}) -> load_state_dict & missing w
embedding.load_state_dict({"weight": array(9, I)}) -> load_state_dict & weight has shape (9, 3), expected (4, 3)
rnn_cell.load_state_dict(state_of(rnn_cell, weight_ih=array(I, H))) ->
    load_state_dict & weight_ih has shape (3, 5), expected (5, 3) & likely transposed

# optimizers
optim.Optimizer(3, {}) -> Optimizer & int & list
optim.Optimizer(P, None) -> Optimizer & defaults is None & dict
optim.SGD([], 0.1) -> SGD & no parameters & likely an iterator
optim.SGD([*linear.named_parameters()]) -> SGD & parameter 0 is a tuple & named_parameters() instead of parameters()
optim.SGD([{"params": set(P)}]) -> SGD & set & no order & list
optim.SGD([{"lr": 0.1}]) -> SGD & 'lr' & 'params'
optim.SGD([{"params": P[:1]}, P[1]]) -> SGD & group 1 is a Parameter & dict
optim.SGD([{"params": P}, {"params": P[:1]}]) -> SGD & two groups
optim.SGD(P, 0.1, 0.9, 0.5, nesterov=True) -> SGD & dampening 0
optim.SGD(P, foreach=True) -> SGD & foreach is True & None or False
optim.SGD(P, differentiable=True) -> SGD & differentiable is True
SGD.add_param_group(P) -> SGD & list & dict with 'params'
SGD.add_param_group({"params": P[0]}) -> SGD & in two groups
SGD.zero_grad(1) -> SGD & set_to_none is 1
SGD.step(3) -> SGD & closure is 3 & function
SGD.state_dict(layout="keras") -> SGD.state_dict & layout is 'keras' & 'torch'
optim.AdamW([{"params": P, "decoupled_weight_decay": False}]) -> AdamW & Adam
optim.NAdam(P, betas=3) -> NAdam & betas & pair
optim.ASGD(P, capturable=True) -> ASGD & capturable is True
optim.LBFGS(P, max_iter=0) -> LBFGS & max_iter is 0
optim.LBFGS(P, line_search_fn="armijo") -> LBFGS & line_search_fn is 'armijo' & 'strong_wolfe'
optim.LBFGS([{"params": P}, {"params": P}]) -> LBFGS & second group & one vector
optim.LBFGS(P).step() -> LBFGS & closure is None & function
optim.LBFGS(P).load_state_dict(SAVED) -> LBFGS.load_state_dict & the state of Adam & expected LBFGS
optim.NAdam(P, capturable=True) -> NAdam & capturable is True
optim.SGD([array(3)], 0.1) -> SGD & ndarray & Tensor
optim.SGD([P[0] * 2], 0.1) -> SGD & Multiply & leaf
optim.SGD([P[0], P[0]], 0.1) -> SGD & twice
optim.SGD(P, 0.1, nesterov=True) -> SGD & nesterov & momentum above 0
optim.Adam(P, betas=(1.0, 0.9)) -> Adam & 1.0 & beta < 1
optim.Adam(P, eps=-1e-8) -> Adam & eps is -1e-08
optim.Adam(iter([])) -> Adam & no parameters
SGD.load_state_dict(SAVED) -> SGD.load_state_dict & Adam & SGD
ADAM.load_state_dict([]) -> Adam.load_state_dict & list & dict
ADAM.load_state_dict({}) -> Adam.load_state_dict & None & Adam
STEPPED.load_state_dict({**SAVED, "param_groups": [WITHOUT_LR]}) -> missing lr
STEPPED.load_state_dict({k: v for k, v in SAVED.items() if k != "0.v"}) -> missing 0.v
STEPPED.load_state_dict({**SAVED, "0.m": array(3, 2)}) ->
    0.m has shape (3, 2) & (2, 3) & likely parameters in another order
STEPPED.load_state_dict({**SAVED, "2.m": array(3)}) -> unexpected 2.m & below 2
STEPPED.load_state_dict({**SAVED, "param_groups": [{**SAVED["param_groups"][0], "lr": -1.0}]}) -> lr is -1.0
STEPPED.load_state_dict({**SAVED, "param_groups": SAVED["param_groups"] * 2}) -> got 2 groups & expected 1
STEPPED.load_state_dict({"state": {0: {"momentum_buffer": array(2, 3)}}, "param_groups": SAVED["param_groups"]}) ->
    unexpected momentum_buffer & likely the state of another optimizer
STEPPED.load_state_dict({"optimizer": "Adam", "lr": 0.1, "beta2": 0.9, "eps": 0.1, "weight_decay": 0.0}) ->
    missing param_groups
STEPPED.load_state_dict({**SAVED, "0.step": 1.5}) -> 0.step
with optim.SGD(P, lr=0.1, momentum=0.9):
    lr momentum dampening weight_decay: a number
    nesterov maximize: a flag
with optim.ASGD(P):
    lr lambd alpha t0 weight_decay: a number
    maximize: a flag
for NAME in Adam AdamW NAdam:
    with optim.NAME(P):
        lr eps weight_decay: a number
        maximize: a flag
with optim.RMSprop(P):
    lr alpha eps weight_decay momentum: a number
    centered maximize: a flag
with optim.Adagrad(P):
    lr lr_decay weight_decay initial_accumulator_value eps: a number
with optim.Adadelta(P):
    lr rho eps weight_decay: a number

# schedules
s.LRScheduler(P) -> LRScheduler & list & Optimizer
s.StepLR(linear, 3) -> StepLR & Linear & Optimizer
s.StepLR(SGD, 0) -> StepLR & step_size is 0 & 1 or more
s.StepLR(SGD, 3, 0.1, -2) -> StepLR & last_epoch is -2
STEP.step(3) -> StepLR & step() got the epoch 3 & load_state_dict()
PLATEAU.step(1.0, 3) -> step() got the epoch 3 & next epoch
s.StepLR(ADAM, 3, last_epoch=4) -> raises KeyError: initial_lr & expected
STEP.load_state_dict([]) -> StepLR.load_state_dict & list & dict
STEP.load_state_dict({}) -> missing base_lrs
STEP.load_state_dict(RESTARTS.state_dict()) -> missing gamma, step_size & likely the state of another schedule
STEP.load_state_dict({**STEP.state_dict(), "base_lrs": [0.1, 0.2]}) -> base_lrs has 2 values & expected 1
s.MultiStepLR(SGD, 3) -> MultiStepLR & milestones is 3 & list
s.MultiStepLR(SGD, [1.5]) -> MultiStepLR & milestones is 1.5 & integer
s.ConstantLR(SGD, 2) -> ConstantLR & factor is 2 & 0 .. 1
s.LinearLR(SGD, 0) -> LinearLR & start_factor is 0 & above 0
s.LinearLR(SGD, 0.5, 2) -> LinearLR & end_factor is 2
s.LinearLR(SGD, total_iters=0) -> LinearLR & total_iters is 0
s.ExponentialLR(SGD, "a") -> ExponentialLR & gamma is 'a' & number
s.PolynomialLR(SGD, 0) -> PolynomialLR & total_iters is 0
s.CosineAnnealingLR(SGD, 0) -> CosineAnnealingLR & T_max is 0
s.CosineAnnealingWarmRestarts(SGD, 0) -> T_0 is 0 & 1 or more
RESTARTS.step(-1) -> epoch is -1.0 & 0 or more
s.LambdaLR(SGD, [abs, abs]) -> LambdaLR & 2 functions & 1, one per group
s.MultiplicativeLR(SGD, None) -> MultiplicativeLR & None & function
s.OneCycleLR(SGD, 0.1) -> OneCycleLR & total_steps & epochs
s.OneCycleLR(SGD, 0.1, 0) -> OneCycleLR & total_steps is 0
s.OneCycleLR(SGD, 0.1, 9, pct_start=2) -> pct_start is 2 & 0 .. 1
s.OneCycleLR(SGD, 0.1, 9, anneal_strategy="cosine") -> 'cosine' & likely 'cos'
s.OneCycleLR(SGD, [0.1, 0.2], 9) -> max_lr has 2 values & 1, one per group
s.OneCycleLR(SGD, 0.1, 9, div_factor=0) -> div_factor is 0 & above 0
s.OneCycleLR(optim.Adagrad(P), 0.1, 9) -> OneCycleLR & Adagrad & cycle_momentum=False
s.CyclicLR(SGD, 0.1, 0.2, mode="square") -> CyclicLR & mode is 'square'
s.CyclicLR(SGD, 0.1, 0.2, 0) -> step_size_up is 0
s.CyclicLR(SGD, 0.1, 0.2, scale_fn=0.5) -> scale_fn is a float & function
s.ReduceLROnPlateau(SGD, "less") -> mode is 'less' & 'min', 'max'
s.ReduceLROnPlateau(SGD, factor=1) -> factor is 1 & below 1
s.ReduceLROnPlateau(SGD, min_lr=[0.1, 0.2]) -> min_lr has 2 values
PLATEAU.step("low") -> metrics is 'low' & one number
s.SequentialLR(SGD, [], []) -> SequentialLR & no schedules
s.SequentialLR(SGD, [STEP], [3]) -> 1 schedules and 1 milestones & 0
s.SequentialLR(SGD, [STEP, LAMBDA, RESTARTS], [5, 3]) -> rising epochs
s.SequentialLR(SGD, [STEP], [], last_epoch=-2) -> last_epoch is -2
s.SequentialLR(PLAIN, [STEP], []) -> schedule 0 & another optimizer
s.SequentialLR(SGD, [SGD], []) -> schedule 0 is a SGD
s.ChainedScheduler(STEP) -> ChainedScheduler & list of schedules
s.ChainedScheduler([PLATEAU]) -> ReduceLROnPlateau & no metric
""",
)
