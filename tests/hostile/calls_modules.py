"""Wrong calls of what all modules have, of containers, of nn.init and of nn.utils."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn import nn
from minirnn.nn import init, utils
from tests.hostile.wrong_call import Wrong, tensor, wrong

LAYER = nn.Linear(3, 5)
ROW = nn.Sequential(nn.Linear(3, 5), nn.Identity())
TABLE = nn.ModuleDict({"a": nn.Identity()})
MATRIX, VECTOR = nn.Parameter(np.zeros((3, 2))), nn.Parameter(np.zeros(3))
MADE = MATRIX * 2.0
NAN = float("nan")


def assigned(name: str, value: Any) -> Wrong:
    return wrong(
        f"Linear: a {type(value).__name__} over {name}",
        f"Linear.{name}: got a {type(value).__name__} & expected a Parameter or None",
        LAYER.__setattr__,
        name,
        value,
    )


MODULES: list[Wrong] = [
    assigned("weight", tensor(5, 3)),
    assigned("weight", np.zeros((5, 3))),
    assigned("bias", 0.0),
    wrong("Module.apply: no function", "Module.apply & a list & expected a function", LAYER.apply, []),
    wrong("Module.train: a number", "Module.train & mode is 1 & True or False", LAYER.train, 1),
    wrong("Module.to: nothing", "Module.to & got nothing & expected a device", LAYER.to),
    wrong("Module.to: integers", "Module.to & int64 & float16", LAYER.to, np.int64),
    wrong("Module.to: two devices", "Module.to & 'cpu' & another device", LAYER.to, "cpu", "cpu"),
    wrong("Module.type: integers", "int32 & float16", LAYER.type, np.int32),
    wrong(
        "Module.register_buffer: an array",
        "register_buffer & b is a ndarray & a Tensor or None",
        LAYER.register_buffer,
        "b",
        np.ones(2),
    ),
    wrong(
        "Module.register_buffer: a taken name",
        "register_buffer & 'weight' already",
        LAYER.register_buffer,
        "weight",
        None,
    ),
    wrong(
        "Module.register_parameter: a Tensor",
        "register_parameter & p is a Tensor",
        LAYER.register_parameter,
        "p",
        tensor(2),
    ),
    wrong(
        "Module.register_parameter: a dot",
        "register_parameter & 'a.b' & without dots",
        LAYER.register_parameter,
        "a.b",
        VECTOR,
    ),
    wrong(
        "Module.register_module: a function",
        "register_module & f is a type & expected a Module",
        LAYER.register_module,
        "f",
        int,
    ),
    wrong(
        "Module.register_forward_hook: no function",
        "register_forward_hook & 3 & expected a function",
        LAYER.register_forward_hook,
        3,
    ),
    wrong(
        "Module.register_full_backward_hook: no function",
        "register_full_backward_hook & None",
        LAYER.register_full_backward_hook,
        None,
    ),
    wrong(
        "Module.get_parameter: no such name",
        "get_parameter & 'wieght' & likely 'weight'",
        LAYER.get_parameter,
        "wieght",
    ).raises(AttributeError),
    wrong(
        "Module.get_submodule: no such name", "get_submodule & 'inner' & expected", LAYER.get_submodule, "inner"
    ).raises(AttributeError),
    wrong("Module.get_buffer: no such name", "get_buffer & 'mean' & expected", LAYER.get_buffer, "mean").raises(
        AttributeError
    ),
    wrong(
        "Linear: another dtype",
        "Linear & float64 & float32 & expected one dtype",
        LAYER,
        tensor(2, 3, dtype=np.float64),
    ),
]

CONTAINERS: list[Wrong] = [
    wrong("Sequential: a function", "Sequential & a type & expected a Module", nn.Sequential, nn.Identity(), int),
    wrong("Sequential: a list", "Sequential & a list & expected a Module", nn.Sequential, [nn.Identity()]),
    wrong("Sequential: a name with a dot", "'a.b' & without dots", nn.Sequential, {"a.b": nn.Identity()}),
    wrong(
        "Sequential: the name of a method", "'append' already & a free name", nn.Sequential, {"append": nn.Identity()}
    ),
    wrong("Sequential: an index too large", "Sequential & index is 2 & -2 .. 1", ROW.__getitem__, 2).raises(IndexError),
    wrong("Sequential: an index of text", "Sequential & index is 'a' & an integer", ROW.__getitem__, "a"),
    wrong("Sequential.insert: too far", "Sequential.insert & index is 3 & -2 .. 2", ROW.insert, 3, LAYER).raises(
        IndexError
    ),
    wrong("Sequential.append: a function", "Sequential & a type & expected a Module", ROW.append, int),
    wrong("Sequential + a list", "Sequential + list & two Sequential", ROW.__add__, [LAYER]),
    wrong("Sequential * 0", "Sequential * 0 & 1 or more", ROW.__mul__, 0),
    wrong("Sequential * 1.5", "Sequential * float & an integer", ROW.__mul__, 1.5),
    wrong("ModuleList: one module", "ModuleList & Linear & expected a list of modules", nn.ModuleList, LAYER),
    wrong("ModuleList: a list of text", "ModuleList & a str & expected a Module", nn.ModuleList, ["a"]),
    wrong("ModuleList.extend: text", "ModuleList & 'ab' & a list of modules", nn.ModuleList().extend, "ab"),
    wrong("ModuleDict: a list of modules", "ModuleDict & element 0 & a pair", nn.ModuleDict, [LAYER]),
    wrong("ModuleDict: a module", "ModuleDict & a Linear & a dict of modules", nn.ModuleDict, LAYER),
    wrong("ModuleDict: a function", "ModuleDict & 'b' is a type & expected a Module", TABLE.__setitem__, "b", int),
    wrong("ModuleDict: the name of a method", "'keys' already", TABLE.__setitem__, "keys", LAYER),
    wrong("ModuleDict: a number as name", "name is 3 & a string", TABLE.__setitem__, 3, LAYER),
    wrong("ParameterList: one Parameter", "ParameterList & a Parameter & a list", nn.ParameterList, VECTOR),
    wrong("ParameterList: numbers", "ParameterList & a float & a Parameter", nn.ParameterList, [1.0]),
    wrong("ParameterDict: a list of Parameters", "ParameterDict & element 0 & pair", nn.ParameterDict, [VECTOR]),
    wrong("ParameterDict: numbers", "ParameterDict & a float", nn.ParameterDict, {"a": 1.0}),
    wrong("ParameterDict: the name of a method", "'items' already", nn.ParameterDict, {"items": VECTOR}),
    wrong("Flatten: an axis of text", "Flatten & start_dim is 'a' & integer", nn.Flatten, "a"),
    wrong("Flatten: no such axis", "Flatten & start_dim is 2 & -2 .. 1", nn.Flatten(2), tensor(2, 3)),
    wrong("Flatten: axes exchanged", "Flatten & end_dim 0 & come first", nn.Flatten(1, 0), tensor(2, 3)),
    wrong("Unflatten: no tuple", "Unflatten & 3 & a tuple", nn.Unflatten, 1, 3),
    wrong("Unflatten: two unknown", "Unflatten & (-1, -1) & one -1", nn.Unflatten, 1, (-1, -1)),
    wrong("Unflatten: another length", "Unflatten & (2, 3) & product", nn.Unflatten(1, (2, 2)), tensor(2, 3)),
]

INIT: list[Wrong] = [
    wrong("calculate_gain: no such name", "calculate_gain & 'gelu' & leaky_relu", init.calculate_gain, "gelu"),
    wrong("calculate_gain: a slope of text", "calculate_gain & param is 'a'", init.calculate_gain, "leaky_relu", "a"),
    *[
        wrong(f"{f.__name__}: an array", f"{f.__name__} & a ndarray & a Tensor", f, np.zeros((3, 2)), *more)
        for f, more in (
            *((init.uniform_, ()), (init.normal_, ()), (init.trunc_normal_, ()), (init.constant_, (1,))),
            *((init.ones_, ()), (init.zeros_, ()), (init.eye_, ()), (init.orthogonal_, ()), (init.sparse_, (0.5,))),
            *((init.xavier_uniform_, ()), (init.xavier_normal_, ())),
            *((init.kaiming_uniform_, ()), (init.kaiming_normal_, ())),
        )
    ],
    *[
        wrong(f"{f.__name__}: a vector", f"{f.__name__} & (3,) & axes & likely a bias", f, VECTOR, *more)
        for f, more in (
            *((init.eye_, ()), (init.orthogonal_, ()), (init.sparse_, (0.5,)), (init.xavier_uniform_, ())),
            *((init.xavier_normal_, ()), (init.kaiming_uniform_, ()), (init.kaiming_normal_, ())),
        )
    ],
    wrong("uniform_: bounds exchanged", "uniform_ & a is 1, b is 0", init.uniform_, MATRIX, 1, 0),
    wrong("uniform_: what an op made", "uniform_ & made by & a leaf", init.uniform_, MADE),
    wrong("uniform_: integers", "uniform_ & int64", init.uniform_, tensor(2, dtype=np.int64)),
    wrong("uniform_: a seed", "uniform_ & generator is a int", init.uniform_, MATRIX, 0, 1, 7),
    wrong("normal_: a negative deviation", "normal_ & std is -1", init.normal_, MATRIX, 0, -1),
    wrong("normal_: NaN", "normal_ & mean is nan", init.normal_, MATRIX, NAN),
    wrong("trunc_normal_: bounds exchanged", "trunc_normal_ & a below b", init.trunc_normal_, MATRIX, 0, 1, 2, -2),
    wrong("constant_: text", "constant_ & val is 'a'", init.constant_, MATRIX, "a"),
    wrong("kaiming_uniform_: no such mode", "mode is 'in' & 'fan_in'", init.kaiming_uniform_, MATRIX, 0, "in"),
    wrong("kaiming_normal_: no such nonlinearity", "'gelu'", init.kaiming_normal_, MATRIX, nonlinearity="gelu"),
    wrong("sparse_: 1.5", "sparse_ & sparsity is 1.5 & 0 .. 1", init.sparse_, MATRIX, 1.5),
]

UTILS: list[Wrong] = [
    wrong("utils.clip_grad_norm_: a number", "clip_grad_norm_ & a int & Tensors", utils.clip_grad_norm_, 3, 1.0),
    wrong(
        "utils.clip_grad_norm_: names", "parameter 0 & named_parameters", utils.clip_grad_norm_, [("a", VECTOR)], 1.0
    ),
    wrong("utils.clip_grad_norm_: a negative norm", "max_norm is -1 & 0 or more", utils.clip_grad_norm_, [VECTOR], -1),
    wrong("utils.clip_grad_norm_: NaN", "max_norm is nan", utils.clip_grad_norm_, [VECTOR], NAN),
    wrong("utils.clip_grad_norm_: a norm of text", "norm_type is '2'", utils.clip_grad_norm_, [VECTOR], 1, "2"),
    wrong("utils.clip_grad_norm_: exchanged", "max_norm & number", utils.clip_grad_norm_, 1, [VECTOR]),
    wrong("utils.clip_grad_norm_: arrays", "clip_grad_norm_ & array & Tensor", utils.clip_grad_norm_, [np.ones(2)], 1),
    wrong("utils.clip_grad_value_: negative", "clip_value is -1", utils.clip_grad_value_, [VECTOR], -1),
    wrong("utils.clip_grad_value_: text", "clip_value is 'a'", utils.clip_grad_value_, [VECTOR], "a"),
    wrong("utils.clip_grad_value_: arrays", "array & Tensor", utils.clip_grad_value_, [np.ones(2)], 1),
    wrong("utils.get_total_norm: numbers", "get_total_norm & tensor 0 is a float", utils.get_total_norm, [1.0]),
    wrong(
        "utils.clip_grads_with_norm_: a vector", "total_norm & (3,)", utils.clip_grads_with_norm_, [VECTOR], 1, VECTOR
    ),
    wrong("utils.clip_grads_with_norm_: text", "total_norm is 'a'", utils.clip_grads_with_norm_, [VECTOR], 1, "a"),
    wrong("utils.clip_grads_with_norm_: negative", "total_norm is -1", utils.clip_grads_with_norm_, [VECTOR], 1, -1),
    wrong(
        "utils.get_total_norm: not finite",
        "get_total_norm & nan & finite",
        utils.get_total_norm,
        [VECTOR * NAN],
        error_if_nonfinite=True,
    ).raises(RuntimeError),
    wrong("parameters_to_vector: none", "no parameters & at least one", utils.parameters_to_vector, []),
    wrong("parameters_to_vector: numbers", "parameter 0 is a float", utils.parameters_to_vector, [1.0]),
    wrong("vector_to_parameters: too long", "(4,) & (3,)", utils.vector_to_parameters, np.zeros(4), [VECTOR]),
    wrong("vector_to_parameters: one Tensor", "a list", utils.vector_to_parameters, np.zeros(3), VECTOR),
]

ROWS = [*MODULES, *CONTAINERS, *INIT, *UTILS]
