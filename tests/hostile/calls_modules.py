"""Wrong calls of the methods of all modules, of containers, of nn.init and of nn.utils."""

import numpy as np

from minirnn import nn
from tests.hostile.table import rows

LAYER = nn.Linear(3, 5)
ROW = nn.Sequential(nn.Linear(3, 5), nn.Identity())
TABLE = nn.ModuleDict({"a": nn.Identity()})
MATRIX, VECTOR = nn.Parameter(np.zeros((3, 2))), nn.Parameter(np.zeros(3))
MADE = MATRIX * 2.0
OF_MATRICES = (*("eye_", "orthogonal_", "xavier_uniform_", "xavier_normal_"), *("kaiming_uniform_", "kaiming_normal_"))

ROWS = rows(
    globals(),
    r"""
# modules
LAYER.__setattr__("weight", tensor(5, 3)) -> Linear.weight: got a Tensor & expected a Parameter or None
LAYER.apply([]) -> Module.apply & a list & expected a function
LAYER.train(1) -> Module.train & mode is 1 & True or False
LAYER.to() -> Module.to & got nothing & expected a device
LAYER.to(np.int64) -> Module.to & int64 & float16
LAYER.to("cpu", "cpu") -> Module.to & 'cpu' & another device
LAYER.register_buffer("b", np.ones(2)) -> register_buffer & b is a ndarray & a Tensor or None
LAYER.register_buffer("weight", None) -> register_buffer & 'weight' already
LAYER.register_parameter("p", tensor(2)) -> register_parameter & p is a Tensor
LAYER.register_parameter("a.b", VECTOR) -> register_parameter & 'a.b' & without dots
LAYER.register_module("f", int) -> register_module & f is a type & expected a Module
LAYER.register_forward_hook(3) -> register_forward_hook & 3 & expected a function
LAYER.register_full_backward_hook(None) -> register_full_backward_hook & None
LAYER.get_parameter("wieght") -> raises AttributeError: get_parameter & 'wieght' & likely 'weight'
LAYER.get_submodule("inner") -> raises AttributeError: get_submodule & 'inner' & expected
LAYER.get_buffer("mean") -> raises AttributeError: get_buffer & 'mean' & expected
LAYER(tensor(2, 3, dtype=np.float64)) -> Linear & float64 & float32 & expected one dtype

# containers
nn.Sequential(nn.Identity(), int) -> Sequential & a type & expected a Module
nn.Sequential([nn.Identity()]) -> Sequential & a list & expected a Module
nn.Sequential({"a.b": nn.Identity()}) -> 'a.b' & without dots
nn.Sequential({"append": nn.Identity()}) -> 'append' already & a free name
ROW.__getitem__(2) -> raises IndexError: Sequential & index is 2 & -2 .. 1
ROW.__getitem__("a") -> Sequential & index is 'a' & an integer
ROW.insert(3, LAYER) -> raises IndexError: Sequential.insert & index is 3 & -2 .. 2
ROW.append(int) -> Sequential & a type & expected a Module
ROW.__add__([LAYER]) -> Sequential + list & two Sequential
ROW.__mul__(0) -> Sequential * 0 & 1 or more
ROW.__mul__(1.5) -> Sequential * float & an integer
nn.ModuleList(LAYER) -> ModuleList & Linear & expected a list of modules
nn.ModuleList().extend("ab") -> ModuleList & 'ab' & a list of modules
nn.ModuleDict([LAYER]) -> ModuleDict & element 0 & a pair
nn.ModuleDict(LAYER) -> ModuleDict & a Linear & a dict of modules
TABLE.__setitem__("b", int) -> ModuleDict & 'b' is a type & expected a Module
TABLE.__setitem__("keys", LAYER) -> 'keys' already
TABLE.__setitem__(3, LAYER) -> name is 3 & a string
nn.Flatten("a") -> Flatten & start_dim is 'a' & integer
nn.Flatten(2)(tensor(2, 3)) -> Flatten & start_dim is 2 & -2 .. 1
nn.Flatten(1, 0)(tensor(2, 3)) -> Flatten & end_dim 0 & come first
nn.Unflatten(1, 3) -> Unflatten & 3 & a tuple
nn.Unflatten(1, (-1, -1)) -> Unflatten & (-1, -1) & one -1
nn.Unflatten(1, (2, 2))(tensor(2, 3)) -> Unflatten & (2, 3) & product

# init
init.calculate_gain("gelu") -> calculate_gain & 'gelu' & leaky_relu
init.calculate_gain("leaky_relu", "a") -> calculate_gain & param is 'a'
init.uniform_(MATRIX, 1, 0) -> uniform_ & a is 1, b is 0
init.uniform_(MADE) -> uniform_ & made by & a leaf
init.uniform_(tensor(2, dtype=np.int64)) -> uniform_ & int64
init.uniform_(MATRIX, 0, 1, 7) -> uniform_ & generator is 7
init.normal_(MATRIX, 0, -1) -> normal_ & std is -1
init.normal_(MATRIX, NAN) -> normal_ & mean is nan
init.constant_(MATRIX, "a") -> constant_ & val is 'a'
init.kaiming_uniform_(MATRIX, 0, "in") -> mode is 'in' & 'fan_in'
init.kaiming_normal_(MATRIX, nonlinearity="gelu") -> 'gelu'
init.constant_(np.zeros((3, 2)), 1) -> constant_ & a ndarray & a Tensor
for NAME in uniform_ normal_ ones_ zeros_ OF_MATRICES:
    init.NAME(np.zeros((3, 2))) -> NAME & a ndarray & a Tensor
for NAME in OF_MATRICES:
    init.NAME(VECTOR) -> NAME & (3,) & axes & likely a bias

# utils
utils.clip_grad_norm_(3, 1.0) -> clip_grad_norm_ & a int & Tensors
utils.clip_grad_norm_([("a", VECTOR)], 1.0) -> parameter 0 & named_parameters
utils.clip_grad_norm_([VECTOR], -1) -> max_norm is -1 & 0 or more
utils.clip_grad_norm_([VECTOR], 1, "2") -> norm_type is '2'
utils.clip_grad_value_([VECTOR], -1) -> clip_value is -1
utils.clip_grad_value_([np.ones(2)], 1) -> array & Tensor
utils.parameters_to_vector([]) -> no parameters & at least one
utils.parameters_to_vector([1.0]) -> parameter 0 is a float
utils.vector_to_parameters(np.zeros(4), [VECTOR]) -> (4,) & (3,)
utils.vector_to_parameters(np.zeros(3), VECTOR) -> a list
""",
)
