"""Wrong calls of load_state_dict and of optimizers: state that belongs to something else."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import nn, optim
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
    wrong("Optimizer: a number", "Optimizer & int & list", optim.Optimizer, 3),
    wrong("SGD: one Tensor", "SGD & one Tensor & list", optim.SGD, P[0], 0.1),
    wrong("SGD: no parameters", "SGD & no parameters & likely an iterator", optim.SGD, [], 0.1),
    wrong("SGD: None", "SGD & NoneType & list", optim.SGD, None, 0.1),
    wrong("SGD: a module", "SGD & Linear & parameters()", optim.SGD, MODULES["Linear"], 0.1),
    wrong(
        "SGD: named_parameters",
        "SGD & tuple & likely named_parameters()",
        optim.SGD,
        list(MODULES["Linear"].named_parameters()),
        0.1,
    ),
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
        {k: v for k, v in SAVED.items() if k != "lr"},
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
    wrong("Adam.load_state_dict: a bad setting", "lr is -1.0", STEPPED.load_state_dict, {**SAVED, "lr": -1.0}),
    wrong("Adam.load_state_dict: text as a moment", "0.m", STEPPED.load_state_dict, {**SAVED, "0.m": "text"}),
    wrong("Adam.load_state_dict: a float as step", "0.step", STEPPED.load_state_dict, {**SAVED, "0.step": 1.5}),
    wrong("Adam.load_state_dict: a negative step", "0.step is -1", STEPPED.load_state_dict, {**SAVED, "0.step": -1}),
    wrong("Adam.load_state_dict: an integer as moment", "0.m", STEPPED.load_state_dict, {**SAVED, "0.m": 3}),
    wrong("clip_grad_norm_: a norm of 0", "clip_grad_norm_ & max_norm is 0", optim.clip_grad_norm_, P, 0),
    wrong("clip_grad_norm_: a negative norm", "clip_grad_norm_ & max_norm is -1", optim.clip_grad_norm_, P, -1),
    wrong("clip_grad_norm_: NaN", "clip_grad_norm_ & max_norm is nan", optim.clip_grad_norm_, P, NAN),
    wrong("clip_grad_norm_: text", "clip_grad_norm_ & max_norm is '1'", optim.clip_grad_norm_, P, "1"),
    wrong("clip_grad_norm_: arguments exchanged", "clip_grad_norm_ & max_norm & number", optim.clip_grad_norm_, 1.0, P),
    wrong(
        "clip_grad_norm_: a number for the parameters",
        "clip_grad_norm_ & float & list",
        optim.clip_grad_norm_,
        1.0,
        2.0,
    ),
    wrong("clip_grad_norm_: arrays", "clip_grad_norm_ & ndarray & Tensor", optim.clip_grad_norm_, [array(2)], 1.0),
]

ROWS = [*LOADING, *OPTIMIZERS]
