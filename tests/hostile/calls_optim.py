"""Wrong calls of load_state_dict and of optimizers: state that belongs to something else."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import nn, optim
from minirnn.optim import lr_scheduler as s
from tests.hostile.calls_nn import MODULES, H, I
from tests.hostile.wrong_call import Wrong, array, tensor, wrong

NAN = float("nan")


def load(module: str, title: str, says: str, state: Any, **kwargs: Any) -> Wrong:
    return wrong(
        f"{module}.load_state_dict: {title}",
        f"load_state_dict & {says}",
        MODULES[module].load_state_dict,
        state,
        **kwargs,
    )


def state_of(module: str, **changes: Any) -> dict[str, Any]:
    return {**MODULES[module].state_dict(), **changes}


LINEAR, LSTM_STATE = state_of("Linear"), state_of("LSTM")
LOADING: list[Wrong] = [
    load("Linear", "a list", "list & dict", [array(H, I)]),
    load(
        "Linear", "all that load returned", "tuple & dict & likely all that io.checkpoint.load returned", (LINEAR, {})
    ),
    load("Linear", "None", "NoneType & dict", None),
    load("Linear", "a name missing", "missing bias & weight, bias", {"weight": array(H, I)}),
    load("Linear", "a name too many", "unexpected scale", {**LINEAR, "scale": array(1)}),
    load(
        "Linear",
        "another spelling",
        "likely weights is another spelling of weight",
        {"weights": array(H, I), "bias": array(H)},
    ),
    load(
        "Linear",
        "names of a larger module",
        "likely & larger module & 'net.'",
        {f"net.{k}": v for k, v in LINEAR.items()},
    ),
    load(
        "Linear",
        "a transposed weight",
        "weight has shape (3, 5), expected (5, 3) & likely transposed & TensorFlow",
        {**LINEAR, "weight": array(I, H)},
    ),
    load("Linear", "another size", "(6, 3) & (5, 3) & likely & another size", {**LINEAR, "weight": array(6, I)}),
    load("Linear", "integers", "int64 & floating", {**LINEAR, "bias": np.zeros(H, int)}),
    load("Linear", "text", "bias & <U & floating", {**LINEAR, "bias": "bias"}),
    load("Linear", "ragged lists", "bias & ragged", {**LINEAR, "bias": [[1.0], [1.0, 2.0]]}),
    load("Linear", "strict=False does not help a wrong shape", "(3, 5)", {"weight": array(I, H)}, strict=False),
    load("LSTM", "names of TensorFlow's cell", "missing weight_ih_l0 & unexpected w", state_of("LSTMBlockCell")),
    load(
        "LSTM",
        "a transposed weight_hh",
        "weight_hh_l0 has shape (5, 20), expected (20, 5) & likely transposed",
        {**LSTM_STATE, "weight_hh_l0": array(H, 4 * H)},
    ),
    load(
        "LSTM",
        "the weights of a GRU",
        "(15, 3), expected (20, 3) & likely the weights of a GRU (gates: 3) & an LSTM (gates: 4)",
        nn.GRU(I, H).state_dict(),
    ),
    load(
        "GRU",
        "the weights of an LSTM",
        "expected (15, 3) & likely the weights of an LSTM (gates: 4)",
        nn.LSTM(I, H, 2, bidirectional=True).state_dict(),
    ),
    load("RNN", "the weights of an LSTM", "expected (5, 3) & likely the weights of an LSTM (gates: 4)", LSTM_STATE),
    load(
        "GRU",
        "the GRU that resets before the product",
        "another kind of network & reset before the product",
        state_of("GRUBlockCell"),
    ),
    load(
        "GRUBlockCell",
        "the GRU of torch and cuDNN",
        "another kind of network & reset after it",
        nn.GRU(I, H).state_dict(),
    ),
    load("LSTMBlockCell", "names of torch's LSTM", "missing w & unexpected weight_ih_l0", LSTM_STATE),
    load(
        "LSTMBlockCell",
        "a transposed w",
        "w has shape (20, 8), expected (8, 20) & likely transposed",
        state_of("LSTMBlockCell", w=array(4 * H, I + H)),
    ),
    load("LSTMBlockFusedCell", "an empty dict", "missing w", {}),
    load("Embedding", "another vocabulary", "weight has shape (9, 3), expected (4, 3)", {"weight": array(9, I)}),
    load(
        "RNNCell",
        "a transposed weight",
        "weight_ih has shape (3, 5), expected (5, 3) & likely transposed",
        state_of("RNNCell", weight_ih=array(I, H)),
    ),
]

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

OPTIMIZERS: list[Wrong] = [
    wrong("Optimizer: a number", "Optimizer & int & list", optim.Optimizer, 3, {}),
    wrong("Optimizer: no defaults", "Optimizer & defaults is None & dict", optim.Optimizer, P, None),
    wrong("SGD: one Tensor", "SGD & one Tensor & list", optim.SGD, P[0], 0.1),
    wrong("SGD: no parameters", "SGD & no parameters & likely an iterator", optim.SGD, [], 0.1),
    wrong("SGD: None", "SGD & NoneType & list", optim.SGD, None, 0.1),
    wrong("SGD: a module", "SGD & Linear & parameters()", optim.SGD, MODULES["Linear"], 0.1),
    wrong(
        "SGD: names for some",
        "SGD & 2 of 3 & all or none",
        optim.SGD,
        [*MODULES["Linear"].named_parameters(), P[0]],
    ),
    wrong("SGD: a set", "SGD & set & no order & list", optim.SGD, [{"params": set(P)}]),
    wrong("SGD: a group of nothing", "SGD & 'lr' & 'params'", optim.SGD, [{"lr": 0.1}]),
    wrong("SGD: groups and parameters", "SGD & group 1 is a Parameter & dict", optim.SGD, [{"params": P[:1]}, P[1]]),
    wrong("SGD: a group's step", "SGD & lr is -1", optim.SGD, [{"params": P, "lr": -1}]),
    wrong("SGD: a parameter in two groups", "SGD & two groups", optim.SGD, [{"params": P}, {"params": P[:1]}]),
    wrong("SGD: dampening with nesterov", "SGD & dampening 0", optim.SGD, P, 0.1, 0.9, 0.5, nesterov=True),
    wrong("SGD: dampening of text", "SGD & dampening is 'a' & number", optim.SGD, P, 0.1, 0.9, "a"),
    wrong("SGD: maximize 1", "SGD & maximize is 1", optim.SGD, P, maximize=1),
    wrong("SGD: foreach", "SGD & foreach is True & None or False", optim.SGD, P, foreach=True),
    wrong("SGD: differentiable", "SGD & differentiable is True", optim.SGD, P, differentiable=True),
    wrong("SGD.add_param_group: a list", "SGD & list & dict with 'params'", SGD.add_param_group, P),
    wrong("SGD.add_param_group: what it has", "SGD & in two groups", SGD.add_param_group, {"params": P[0]}),
    wrong("SGD.zero_grad: 1", "SGD & set_to_none is 1", SGD.zero_grad, 1),
    wrong("SGD.step: a loss", "SGD & closure is 3 & function", SGD.step, 3),
    wrong("SGD.state_dict: a layout", "SGD.state_dict & layout is 'keras' & 'torch'", SGD.state_dict, layout="keras"),
    wrong("AdamW: not decoupled", "AdamW & Adam", optim.AdamW, [{"params": P, "decoupled_weight_decay": False}]),
    wrong("AdamW: a negative decay", "AdamW & weight_decay is -1", optim.AdamW, P, weight_decay=-1),
    wrong("RMSprop: alpha", "RMSprop & alpha is -1", optim.RMSprop, P, alpha=-1),
    wrong("RMSprop: centered 1", "RMSprop & centered is 1 & True or False", optim.RMSprop, P, centered=1),
    wrong("Adagrad: lr_decay NaN", "Adagrad & lr_decay is nan", optim.Adagrad, P, lr_decay=NAN),
    wrong("Adagrad: start", "Adagrad & accumulator & -1", optim.Adagrad, P, initial_accumulator_value=-1),
    wrong("Adadelta: rho of 2", "Adadelta & rho is 2.0 & 0 .. 1", optim.Adadelta, P, rho=2),
    wrong("NAdam: betas", "NAdam & betas & pair", optim.NAdam, P, betas=3),
    wrong("NAdam: capturable", "NAdam & capturable is True", optim.NAdam, P, capturable=True),
    wrong("SGD: arrays", "SGD & ndarray & Tensor", optim.SGD, [array(3)], 0.1),
    wrong("SGD: an inner node", "SGD & Multiply & leaf", optim.SGD, [P[0] * 2], 0.1),
    wrong("SGD: a parameter twice", "SGD & twice", optim.SGD, [P[0], P[0]], 0.1),
    wrong("SGD: a negative step", "SGD & lr is -0.1 & 0 or more", optim.SGD, P, -0.1),
    wrong("SGD: step NaN", "SGD & lr is nan", optim.SGD, P, NAN),
    wrong("SGD: step infinite", "SGD & lr is inf & finite", optim.SGD, P, float("inf")),
    wrong("SGD: step of text", "SGD & lr is '0.1' & number", optim.SGD, P, "0.1"),
    wrong("SGD: a Tensor as step", "SGD & lr & number", optim.SGD, P, tensor()),
    wrong("SGD: negative momentum", "SGD & momentum is -1", optim.SGD, P, 0.1, -1),
    wrong("SGD: nesterov without momentum", "SGD & nesterov & momentum above 0", optim.SGD, P, 0.1, nesterov=True),
    wrong("SGD: nesterov 1", "SGD & nesterov is 1", optim.SGD, P, 0.1, 0.9, nesterov=1),
    wrong("Adam: betas of 1", "Adam & 1.0 & beta < 1", optim.Adam, P, betas=(1.0, 0.9)),
    wrong("Adam: one beta", "Adam & betas is 0.9 & pair", optim.Adam, P, betas=0.9),
    wrong("Adam: three betas", "Adam & pair", optim.Adam, P, betas=(0.9, 0.9, 0.9)),
    wrong("Adam: negative eps", "Adam & eps is -1e-08", optim.Adam, P, eps=-1e-8),
    wrong("Adam: weight_decay None", "Adam & weight_decay is None & number", optim.Adam, P, weight_decay=None),
    wrong("Adam: a used-up iterator", "Adam & no parameters", optim.Adam, iter([])),
    wrong("SGD.load_state_dict: of Adam", "SGD.load_state_dict & Adam & SGD", SGD.load_state_dict, SAVED),
    wrong("Adam.load_state_dict: no dict", "Adam.load_state_dict & list & dict", ADAM.load_state_dict, []),
    wrong("Adam.load_state_dict: empty", "Adam.load_state_dict & None & Adam", ADAM.load_state_dict, {}),
    wrong(
        "Adam.load_state_dict: a setting missing",
        "missing lr",
        STEPPED.load_state_dict,
        {**SAVED, "param_groups": [{k: v for k, v in SAVED["param_groups"][0].items() if k != "lr"}]},
    ),
    wrong(
        "Adam.load_state_dict: a moment missing",
        "missing 0.v",
        STEPPED.load_state_dict,
        {k: v for k, v in SAVED.items() if k != "0.v"},
    ),
    wrong(
        "Adam.load_state_dict: another model",
        "0.m has shape (3, 2) & (2, 3) & likely parameters in another order",
        STEPPED.load_state_dict,
        {**SAVED, "0.m": array(3, 2)},
    ),
    wrong(
        "Adam.load_state_dict: too many parameters",
        "unexpected 2.m & below 2",
        STEPPED.load_state_dict,
        {**SAVED, "2.m": array(3)},
    ),
    wrong(
        "Adam.load_state_dict: a bad setting",
        "lr is -1.0",
        STEPPED.load_state_dict,
        {**SAVED, "param_groups": [{**SAVED["param_groups"][0], "lr": -1.0}]},
    ),
    wrong(
        "Adam.load_state_dict: groups of another model",
        "got 2 groups & expected 1",
        STEPPED.load_state_dict,
        {**SAVED, "param_groups": SAVED["param_groups"] * 2},
    ),
    wrong(
        "Adam.load_state_dict: torch's state of SGD",
        "unexpected momentum_buffer & likely the state of another optimizer",
        STEPPED.load_state_dict,
        {"state": {0: {"momentum_buffer": array(2, 3)}}, "param_groups": SAVED["param_groups"]},
    ),
    wrong(
        "Adam.load_state_dict: no groups",
        "missing param_groups",
        STEPPED.load_state_dict,
        {"optimizer": "Adam", "lr": 0.1, "beta2": 0.9, "eps": 0.1, "weight_decay": 0.0},
    ),
    wrong("Adam.load_state_dict: text as a moment", "0.m", STEPPED.load_state_dict, {**SAVED, "0.m": "text"}),
    wrong("Adam.load_state_dict: a float as step", "0.step", STEPPED.load_state_dict, {**SAVED, "0.step": 1.5}),
    wrong("Adam.load_state_dict: a negative step", "0.step is -1", STEPPED.load_state_dict, {**SAVED, "0.step": -1}),
    wrong("Adam.load_state_dict: an integer as moment", "0.m", STEPPED.load_state_dict, {**SAVED, "0.m": 3}),
]

PLAIN = optim.SGD(P, 0.1)
STEP, PLATEAU = s.StepLR(SGD, 3), s.ReduceLROnPlateau(SGD)
LAMBDA, RESTARTS = s.LambdaLR(SGD, abs), s.CosineAnnealingWarmRestarts(SGD, 3)

SCHEDULES: list[Wrong] = [
    wrong("LRScheduler: no optimizer", "LRScheduler & list & Optimizer", s.LRScheduler, P),
    wrong("StepLR: no optimizer", "StepLR & Linear & Optimizer", s.StepLR, MODULES["Linear"], 3),
    wrong("StepLR: every 0 epochs", "StepLR & step_size is 0 & 1 or more", s.StepLR, SGD, 0),
    wrong("StepLR: last_epoch -2", "StepLR & last_epoch is -2", s.StepLR, SGD, 3, 0.1, -2),
    wrong("StepLR.step: an epoch", "StepLR & step() got the epoch 3 & load_state_dict()", STEP.step, 3),
    wrong("ReduceLROnPlateau.step: an epoch", "step() got the epoch 3 & next epoch", PLATEAU.step, 1.0, 3),
    wrong("StepLR: nothing loaded", "initial_lr & expected", s.StepLR, ADAM, 3, last_epoch=4).raises(KeyError),
    wrong("StepLR.load_state_dict: a list", "StepLR.load_state_dict & list & dict", STEP.load_state_dict, []),
    wrong("StepLR.load_state_dict: empty", "missing base_lrs", STEP.load_state_dict, {}),
    wrong(
        "StepLR.load_state_dict: another schedule",
        "missing gamma, step_size & likely the state of another schedule",
        STEP.load_state_dict,
        RESTARTS.state_dict(),
    ),
    wrong(
        "StepLR.load_state_dict: more groups",
        "base_lrs has 2 values & expected 1",
        STEP.load_state_dict,
        {**STEP.state_dict(), "base_lrs": [0.1, 0.2]},
    ),
    wrong("MultiStepLR: one number", "MultiStepLR & milestones is 3 & list", s.MultiStepLR, SGD, 3),
    wrong("MultiStepLR: halves", "MultiStepLR & milestones is 1.5 & integer", s.MultiStepLR, SGD, [1.5]),
    wrong("ConstantLR: factor of 2", "ConstantLR & factor is 2 & 0 .. 1", s.ConstantLR, SGD, 2),
    wrong("LinearLR: from 0", "LinearLR & start_factor is 0 & above 0", s.LinearLR, SGD, 0),
    wrong("LinearLR: to 2", "LinearLR & end_factor is 2", s.LinearLR, SGD, 0.5, 2),
    wrong("LinearLR: in no epochs", "LinearLR & total_iters is 0", s.LinearLR, SGD, total_iters=0),
    wrong("ExponentialLR: gamma of text", "ExponentialLR & gamma is 'a' & number", s.ExponentialLR, SGD, "a"),
    wrong("PolynomialLR: in no epochs", "PolynomialLR & total_iters is 0", s.PolynomialLR, SGD, 0),
    wrong("CosineAnnealingLR: T_max of 0", "CosineAnnealingLR & T_max is 0", s.CosineAnnealingLR, SGD, 0),
    wrong("CosineAnnealingWarmRestarts: T_0", "T_0 is 0 & 1 or more", s.CosineAnnealingWarmRestarts, SGD, 0),
    wrong("CosineAnnealingWarmRestarts.step: before", "epoch is -1.0 & 0 or more", RESTARTS.step, -1),
    wrong("LambdaLR: a number", "LambdaLR & lr_lambda is 0.5 & function", s.LambdaLR, SGD, 0.5),
    wrong("LambdaLR: two functions", "LambdaLR & 2 functions & 1, one a group", s.LambdaLR, SGD, [abs, abs]),
    wrong("MultiplicativeLR: None", "MultiplicativeLR & None & function", s.MultiplicativeLR, SGD, None),
    wrong("OneCycleLR: no steps", "OneCycleLR & total_steps & epochs", s.OneCycleLR, SGD, 0.1),
    wrong("OneCycleLR: 0 steps", "OneCycleLR & total_steps is 0", s.OneCycleLR, SGD, 0.1, 0),
    wrong("OneCycleLR: a share of 2", "pct_start is 2 & 0 .. 1", s.OneCycleLR, SGD, 0.1, 9, pct_start=2),
    wrong("OneCycleLR: another curve", "'cosine' & likely 'cos'", s.OneCycleLR, SGD, 0.1, 9, anneal_strategy="cosine"),
    wrong("OneCycleLR: two tops", "max_lr has 2 values & 1, one a group", s.OneCycleLR, SGD, [0.1, 0.2], 9),
    wrong("OneCycleLR: divided by 0", "div_factor is 0 & above 0", s.OneCycleLR, SGD, 0.1, 9, div_factor=0),
    wrong(
        "OneCycleLR: no momentum",
        "OneCycleLR & Adagrad & cycle_momentum=False",
        s.OneCycleLR,
        optim.Adagrad(P),
        0.1,
        9,
    ),
    wrong("CyclicLR: a mode", "CyclicLR & mode is 'square'", s.CyclicLR, SGD, 0.1, 0.2, mode="square"),
    wrong("CyclicLR: 0 steps up", "step_size_up is 0", s.CyclicLR, SGD, 0.1, 0.2, 0),
    wrong("CyclicLR: scale_fn", "scale_fn is a float & function", s.CyclicLR, SGD, 0.1, 0.2, scale_fn=0.5),
    wrong("ReduceLROnPlateau: a mode", "mode is 'less' & 'min', 'max'", s.ReduceLROnPlateau, SGD, "less"),
    wrong("ReduceLROnPlateau: a factor of 1", "factor is 1 & below 1", s.ReduceLROnPlateau, SGD, factor=1),
    wrong("ReduceLROnPlateau: min_lr", "min_lr has 2 values", s.ReduceLROnPlateau, SGD, min_lr=[0.1, 0.2]),
    wrong("ReduceLROnPlateau.step: text", "metrics is 'low' & one number", PLATEAU.step, "low"),
    wrong("SequentialLR: nothing", "SequentialLR & no schedules", s.SequentialLR, SGD, [], []),
    wrong("SequentialLR: milestones", "1 schedules and 1 milestones & 0", s.SequentialLR, SGD, [STEP], [3]),
    wrong("SequentialLR: falling", "rising epochs", s.SequentialLR, SGD, [STEP, LAMBDA, RESTARTS], [5, 3]),
    wrong("SequentialLR: last_epoch", "last_epoch is -2", s.SequentialLR, SGD, [STEP], [], last_epoch=-2),
    wrong("SequentialLR: a plateau", "ReduceLROnPlateau & no metric", s.SequentialLR, SGD, [PLATEAU], []),
    wrong("SequentialLR: another optimizer", "schedule 0 & another optimizer", s.SequentialLR, PLAIN, [STEP], []),
    wrong("SequentialLR: optimizers", "schedule 0 is a SGD", s.SequentialLR, SGD, [SGD], []),
    wrong("ChainedScheduler: one schedule", "ChainedScheduler & list of schedules", s.ChainedScheduler, STEP),
    wrong("ChainedScheduler: a plateau", "ReduceLROnPlateau & no metric", s.ChainedScheduler, [PLATEAU]),
]

ROWS = [*LOADING, *OPTIMIZERS, *SCHEDULES]
