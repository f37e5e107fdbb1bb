"""Wrong calls of `cell`, of its functions, and of its layers. Wrong steps are in `tests/cells/test_trace.py`."""

from typing import Any

import minirnn as mr
from minirnn import cell, tanh
from tests.cells.with_torch import gallery
from tests.hostile.table import rows

X = mr.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, 3.0]])


@cell(states=("c", "h"))
def simple(z_a: Any, c: Any, h: Any, *, u: Any, k: float = 0.5) -> Any:
    c = k * c + z_a
    h = tanh(u * c) + h
    return c, h


@cell(states=("h",))
def masked(z_a: Any, h: Any, mask_c: Any, mask_h: float = 0.1) -> Any:
    return mask_h * h + (1 - mask_h) * mask_c * tanh(z_a)


lstm = gallery("lstm")
LAYER, MASKED = simple.layer(3, 4), masked.layer(3, 5)
SEQUENCE = mr.ones(5, 2, 3)

CALLS = rows(
    globals(),
    r"""
mr.cell(states=tanh)                     -> cell & got a function & @cell(states=('h',))
mr.cell(states=())                       -> cell & states is () & names of parameters
mr.cell(states=3)                        -> cell & states is 3
mr.cell(states=("h", 3))                 -> cell & names of parameters
mr.cell(states=("h",), output=3)         -> cell & output is 3
mr.cell(states=("h",))(3)                -> got int & Python function
mr.cell(states=("h",))(len)              -> expected a Python function
simple.backward(3)                       -> simple: backward got a int & Python function
simple.backward(again=3)                 -> simple: again= is 3 & names of values
simple.backward(lambda dq: None)         -> asks for 'dq' & names of the step
mr.product(X)                            -> product & Tensor & a cell's step
mr.product(3)                            -> product & int
mr.unit_mean("one")                      -> <U3
mr.unit_mean([1, 2])                     -> unit_mean & int64
mr.unit_sum("one")                       -> <U3
mr.unit_max([1, 2])                      -> unit_max & int64
mr.unit_softmax([1, 2])                  -> unit_softmax & int64
mr.unit_norm([1, 2])                     -> unit_norm & int64
mr.straight_through(X, mr.ones(2))       -> straight_through & (2, 3) & (2,) & one shape
mr.straight_through("one", X)            -> <U3
mr.straight_through(X > 0, X)            -> straight_through & bool
simple.layer(0, 4)                       -> simple: input_size is 0 & 1 or more
simple.layer(3, "4")                     -> simple: hidden_size is '4' & integer
simple.layer(3, 4, num_layers=0)         -> num_layers is 0
simple.layer(3, 4, dropout=2)            -> dropout is 2 & 0 .. 1
simple.layer(3, 4, bidirectional=1)      -> bidirectional is 1
simple.layer(3, 4, proj_size=2)          -> proj_size is 2 & reads h itself
simple.layer(3, 4, initial={"z_b": 1})   -> initial has 'z_b' & z_a
simple.layer(3, 4, initial={"u": [1, 2]}) -> the initial value of u & (H,)
simple.layer(3, 4, masks={"m": 1})       -> no mask 'm' & none
LAYER(X[0])                              -> input has shape (3,) & (T, B, I)
LAYER(mr.ones(5, 2, 4))                  -> input has shape (5, 2, 4) & 3 (I = input_size)
LAYER(SEQUENCE, mr.ones(2, 4))           -> got 1 states & 2: c, h
LAYER(SEQUENCE, (mr.ones(2, 4), mr.ones(2, 5))) -> h & (2, 5) & B, H
LAYER(SEQUENCE, lengths=[5])             -> lengths
LAYER(SEQUENCE, lengths=[5, 6])          -> lengths & 6
LAYER(SEQUENCE, masks={"m": 1})          -> no mask 'm'
LAYER.step(SEQUENCE)                     -> step & (5, 2, 3) & (B, I)
lstm.layer(3, 5, proj_size=5)            -> proj_size < hidden_size
gallery("sru").layer(3, 5, weight_dropout=0.1) -> the cell has no recurrent matrix & expected
lstm.layer(3, 5, input_dropout=2)        -> expected 0 .. 1
lstm.layer(3, 5, initial={"z_q": 1})     -> expected a gate, a parameter or a state: z_i, & , weight_hh, bias, c, h
lstm.layer(3, 5, initial={"weight_hh": [1, 2]}) -> (20, 5), or a function such as
lstm.layer(3, 5, initial={"c": mr.nn.init.zeros_}) -> expected a number or (H,) = (5,)
lstm.layer(3, 5, learned="z_i")          -> learned has 'z_i' & expected some of its states: c, h
lstm.layer(3, 5, bidirectional=True).step(mr.ones(4, 3)) -> bidirectional
masked.layer(3, 5, masks={"mask_h": 2})  -> expected 0 .. 1
MASKED(SEQUENCE)                         -> the mask 'mask_c' has no rate
MASKED((SEQUENCE, SEQUENCE))             ->
    input is a tuple of 2 & one Tensor (T, B, I) & several inputs are one: mr.concat
MASKED(SEQUENCE, masks={"mask_c": mr.ones(2, 4)}) -> expected & T, B, H
MASKED(SEQUENCE, masks={"mask_c": mr.ones(5, 2, 5, requires_grad=True)}) ->
    requires a gradient & expected mask_c.detach()
simple.with_constants(q=1)               -> no constant 'q' & k
simple.with_constants(k="1")             -> the default of k is '1' & number
simple.verify(["gpu"])                   -> gpu
""",
)

ROWS = CALLS
