"""Wrong calls of tensors, the tape, gradcheck, devices and the random stream."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from tests.hostile.wrong_call import Wrong, array, tensor, wrong

X = tensor(2, 3)
INTS = tensor(2, 3, dtype=np.int64)
Y = (X * 2).sum()


def freed() -> mr.Tensor:
    y = (tensor(2, 3) ** 2).sum()
    y.backward()
    return y


def changed_after_use() -> mr.Tensor:
    x = tensor(2, 3)
    y = (x * x).sum()
    x.assign(array(2, 3) + 1)
    return y


def hooked(result: Any) -> mr.Tensor:
    x = tensor(2, 3)
    x.register_hook(lambda g: result)
    return (x * 2).sum()


def index(t: mr.Tensor, i: Any) -> Any:
    return t[i]


def write(t: mr.Tensor, i: Any, v: Any) -> None:
    t[i] = v


FREED, CHANGED = freed(), changed_after_use()

MAKING: list[Wrong] = [
    wrong("tensor of ragged lists", "tensor & ragged", mr.tensor, [[1.0, 2.0], [3.0]]),
    wrong("tensor of a deeper ragged list", "tensor & ragged", mr.tensor, [[[1.0], [2.0, 3.0]], [[1.0], [2.0]]]),
    wrong("tensor of text", "dtype <U5 & float16/32/64", mr.tensor, "hello"),
    wrong("tensor of a list of text", "dtype <U1", mr.tensor, ["a", "b"]),
    wrong("tensor of bytes", "dtype |S2", mr.tensor, b"ab"),
    wrong("tensor of None", "dtype object", mr.tensor, None),
    wrong("tensor of a dict", "dtype object", mr.tensor, {"a": 1}),
    wrong("tensor of a function", "dtype object", mr.tensor, print),
    wrong("tensor of complex numbers", "complex128", mr.tensor, [1 + 2j]),
    wrong("tensor of dates", "datetime64", mr.tensor, np.array(["2020-01-01"], "M8[D]")),
    wrong("tensor of records", "tensor", mr.tensor, np.zeros(2, "i4,f4")),
    wrong("tensor of long doubles", "dtype", mr.tensor, np.zeros(2, np.longdouble)),
    wrong("tensor of a set", "dtype object", mr.tensor, {1.0, 2.0}),
    wrong("tensor of integers that require gradients", "int64 & float16", mr.tensor, [1, 2], requires_grad=True),
    wrong("tensor of bools that require gradients", "bool & float16", mr.tensor, [True], requires_grad=True),
    wrong("tensor with an unknown dtype", "float31", mr.tensor, [1.0], dtype="float31"),
    wrong("tensor with dtype complex", "complex64", mr.tensor, [1.0], dtype=np.complex64),
    wrong("tensor with dtype object", "object", mr.tensor, [1.0], dtype=object),
    wrong("tensor with a number as dtype", "7", mr.tensor, [1.0], dtype=7),
    wrong("tensor of text with a float dtype", "tensor", mr.tensor, "hello", dtype="float32"),
    wrong("tensor on an unknown device", "'tpu' & known: & cpu", mr.tensor, [1.0], device="tpu"),
    wrong("tensor on device 0, as torch counts", "device 0 & int & 'cpu'", mr.tensor, [1.0], device=0),
    wrong("tensor on cuda:0, as torch says", "'cuda:0' & cuda-sim & likely 'cuda'", mr.tensor, [1.0], device="cuda:0"),
    wrong("an integer too large for any dtype", "dtype object", mr.tensor, [2**70]),
    wrong("Tensor called as a class", "minirnn.engine.tensor", mr.Tensor),
    wrong("torch-like Tensor(data)", "minirnn.engine.tensor", mr.Tensor, [1.0]),
]

METHODS: list[Wrong] = [
    wrong("item of many", "(2, 3) & one element", X.item),
    wrong("truth of many", "(2, 3) & one element", bool, X),
    wrong("float of many", "(2, 3) & one element", float, X),
    wrong("int of many", "(2, 3) & one element", int, X),
    wrong("length of a scalar", "()", len, Y),
    wrong("iteration over a scalar", "()", list, Y),
    wrong("a float Tensor as index of a list", "float32 & integer", lambda t: [1, 2][t], tensor()),
    wrong("writing into a Tensor", "assign", write, X, 0, 1.0),
    wrong("writing into a Tensor with +=, as NumPy", "assign", write, X, (0, 1), X),
    wrong("requires_grad_ of an inner node", "Sum & leaf & detach", Y.requires_grad_),
    wrong("requires_grad_ of integers", "int64 & float16", INTS.requires_grad_),
    wrong("register_hook without gradients", "requires_grad=True", tensor(2, requires_grad=False).register_hook, print),
    wrong("register_hook of a thing that can't be called", "int & callable", X.register_hook, 3),
    wrong("assign to an inner node", "Sum & leaf", Y.assign, 1.0),
    wrong("assign another shape", "(3, 2) & (2, 3) & transposed", X.assign, array(3, 2)),
    wrong("assign another size", "(5,) & (2, 3)", X.assign, array(5)),
    wrong("assign text", "tensor", X.assign, "hello"),
    wrong("assign ragged lists", "tensor", X.assign, [[1.0], [2.0, 3.0]]),
    wrong("to an unknown device", "'gpu' & known", X.to, "gpu"),
    wrong("to a number", "device 1 & int", X.to, 1),
    wrong("to a thing that is neither a device nor a dtype", "list & expected a device", X.to, [1]),
    wrong("astype complex", "complex64 & float16/32/64", X.astype, np.complex64),
    wrong("astype nonsense", "'float31'", X.astype, "float31"),
    wrong("astype None", "None", X.astype, None),
    wrong("reshape to another number of elements", "(4, 2) & (2, 3) & 6", X.reshape, 4, 2),
    wrong("reshape with two unknown sizes", "(-1, -1)", X.reshape, -1, -1),
    wrong("reshape to a negative size", "(-2, -3)", X.reshape, -2, -3),
    wrong("reshape with an impossible rest", "(4, -1) & 6", X.reshape, 4, -1),
    wrong("reshape to floats", "2.5", X.reshape, (2.5, 2)),
    wrong("reshape to text", "'6'", X.reshape, "6"),
    wrong("reshape to nothing", "reshape", X.reshape, None),
    wrong("transpose with too few axes", "(1,) & 2 axes", X.transpose, (1,)),
    wrong("transpose naming an axis twice", "(0, 0) & once", X.transpose, (0, 0)),
    wrong("transpose with an axis too large", "axis 2", X.transpose, 0, 2),
    wrong("transpose with floats", "1.0 & integer", X.transpose, 1.0, 0.0),
    wrong("broadcast_to a shape that does not fit", "(2, 3) & (2, 4)", X.broadcast_to, (2, 4)),
    wrong("broadcast_to fewer axes", "(2, 3) & (3,)", X.broadcast_to, (3,)),
    wrong("broadcast_to a number", "5", X.broadcast_to, 5),
    wrong("broadcast_to negative sizes", "(-1, 2, 3)", X.broadcast_to, (-1, 2, 3)),
    wrong("sum over an axis too many", "axis 2 & 2 axes & -2 .. 1", X.sum, 2),
    wrong("sum over a float axis", "axis is 1.0 & integer", X.sum, 1.0),
    wrong("sum over True", "axis is True & integer", X.sum, True),
    wrong("sum over the same axis twice", "(0, -2) & twice", X.sum, (0, -2)),
    wrong("sum over text", "'rows' & integer", X.sum, "rows"),
    wrong("mean over an axis too many", "axis -3", X.mean, -3),
    wrong("mean of nothing", "(0, 3)", tensor(0, 3).mean),
    wrong("max of nothing", "(0, 3)", tensor(0, 3).max),
    wrong("max over an axis too many", "axis 5", X.max, 5),
    wrong("argmax of nothing", "(3, 0)", tensor(3, 0).argmax),
    wrong("argmax over two axes", "(0, 1)", X.argmax, (0, 1)),
    wrong("softmax over an axis too many", "axis 2", X.softmax, 2),
    wrong("softmax of integers", "int64 & astype", INTS.softmax),
    wrong("log_softmax of a scalar", "0 axes", Y.log_softmax),
    wrong("exp of integers", "int64 & astype", INTS.exp),
    wrong("log of integers", "int64 & astype", INTS.log),
    wrong("sqrt of integers", "int64 & astype", INTS.sqrt),
    wrong("tanh of integers", "int64 & astype", INTS.tanh),
    wrong("sigmoid of integers", "int64 & astype", INTS.sigmoid),
    wrong("relu of integers", "int64 & astype", INTS.relu),
    wrong("clip with the bounds exchanged", "1.0 & -1.0 & low", X.clip, 1.0, -1.0),
    wrong("clip with NaN", "NaN", X.clip, float("nan"), 1.0),
    wrong("clip with text", "'low'", X.clip, "low", 1.0),
    wrong("clip with True", "True & number", X.clip, True, 2.0),
    wrong("clip with a Tensor as bound", "number", X.clip, Y, 1.0),
    wrong("split into pieces of minus one", "axis 1 & (2, 3) & pieces of -1", X.split, -1, 1),
    wrong("split into pieces of nothing", "pieces of 0", X.split, 0),
    wrong("split into sizes that do not add up", "[1, 2] & 2", X.split, [1, 2]),
    wrong("split into negative sizes", "[-1, 3]", X.split, [-1, 3]),
    wrong("split into True parts", "True", X.split, True),
    wrong("split into floats", "[1.0, 1.0]", X.split, [1.0, 1.0]),
    wrong("split along an axis too many", "axis 2", X.split, 1, 2),
    wrong("index out of range", "(2, 3) & 2", index, X, 2).raises(IndexError),
    wrong("too many indices", "(2, 3)", index, X, (0, 0, 0)).raises(IndexError),
    wrong("an index list out of range", "(2, 3) & 5", index, X, [0, 5]).raises(IndexError),
    wrong("a mask of another shape", "(2, 3)", index, X, np.ones((3, 3), bool)).raises(IndexError),
    wrong("index by a float", "1.0 & integers", index, X, 1.0),
    wrong("index by text", "'a' & integers", index, X, "a"),
    wrong("index by True", "True & integers", index, X, True),
    wrong("index by an array of floats", "float64 & integers", index, X, np.array([0.0])),
    wrong("index by a ragged list", "indexing", index, X, [[0], [0, 1]]),
    wrong("index by a slice of floats", "slice & integers", index, X, slice(0.5, 1)),
    wrong("index by two ellipses", "ellips", index, X, (..., ...)).raises(IndexError),
    wrong("slice with step 0", "step", index, X, slice(0, 2, 0)),
]

TAPE: list[Wrong] = [
    wrong("backward of many values", "(2, 3) & () & likely a sum() or mean()", (X * 2).backward),
    wrong("backward of a leaf without gradients", "not recorded & no_grad", tensor(requires_grad=False).backward),
    wrong("backward with a gradient of another shape", "(3,) & (2, 3)", (X * 2).backward, array(3)),
    wrong("backward with a gradient of text", "tensor", Y.backward, "one"),
    wrong("backward with a gradient of another dtype", "float64 & float32", Y.backward, tensor(dtype=np.float64)),
    wrong(
        "backward with a gradient on another device",
        "lives on cpu-composed & on cpu & g.to('cpu')",
        (X * 2).backward,
        tensor(2, 3, device="cpu-composed"),
    ),
    wrong("backward through a freed tape", "freed & retain_graph=True", FREED.backward).raises(RuntimeError),
    wrong("backward after assign", "Multiply & (2, 3) & assign", CHANGED.backward).raises(RuntimeError),
    wrong("a hook that returns another shape", "hook & (5,) & (2, 3)", hooked(tensor(5)).backward),
    wrong("a hook that returns a number", "hook & float & None", hooked(1.0).backward),
    wrong("grad of an array", "outputs is a ndarray & Tensor", mr.grad, array(2), X),
    wrong("grad with respect to an array", "inputs is a ndarray & Tensor", mr.grad, Y, array(2)),
    wrong("grad with respect to a number", "input & float & Tensor", mr.grad, Y, 1.0),
    wrong("grad of None", "output & NoneType & Tensor", mr.grad, None, X),
    wrong("grad with respect to None in a list", "input 1 & NoneType", mr.grad, Y, [X, None]),
    wrong(
        "grad with respect to a constant",
        "input 0 & (2,) & requires_grad=True",
        mr.grad,
        Y,
        tensor(2, requires_grad=False),
    ),
    wrong("grad of many values", "(2, 3) & likely a sum()", mr.grad, X * 2, X),
    wrong("grad of no outputs", "0 outputs", mr.grad, [], X),
    wrong("grad of a constant", "not recorded", mr.grad, tensor(requires_grad=False), X),
    wrong("grad with too many gradients", "2 gradients for 1 output", mr.grad, [Y], X, [1.0, 2.0]),
    wrong("grad with a gradient of another shape", "(3, 2) & (2, 3)", mr.grad, X * 2, X, array(3, 2)),
    wrong("grad with a gradient of text", "tensor", mr.grad, X * 2, X, "one"),
    wrong("grad through a freed tape", "freed", mr.grad, FREED, X).raises(RuntimeError),
    wrong("grad after assign", "assign", mr.grad, CHANGED, CHANGED.parents[0].parents[0]).raises(RuntimeError),
    wrong("gradcheck of a thing that can't be called", "int & function", mr.gradcheck, 3, [X]),
    wrong("gradcheck without inputs", "got none & requires_grad=True", mr.gradcheck, mr.ops.tanh, []),
    wrong("gradcheck of order 0", "order is 0", mr.gradcheck, mr.ops.tanh, [array(2, dtype=np.float64)], order=0),
    wrong("gradcheck of order 1.5", "order is 1.5", mr.gradcheck, mr.ops.tanh, [array(2, dtype=np.float64)], order=1.5),
    wrong(
        "gradcheck with a negative tolerance",
        "rtol is -1",
        mr.gradcheck,
        mr.ops.tanh,
        [array(2, dtype=np.float64)],
        rtol=-1.0,
    ),
    wrong(
        "gradcheck with NaN as tolerance",
        "atol is nan",
        mr.gradcheck,
        mr.ops.tanh,
        [array(2, dtype=np.float64)],
        atol=float("nan"),
    ),
    wrong("gradcheck with step 0", "steps & 0", mr.gradcheck, mr.ops.tanh, [array(2, dtype=np.float64)], steps=[0.0]),
    wrong("gradcheck without steps", "steps", mr.gradcheck, mr.ops.tanh, [array(2, dtype=np.float64)], steps=[]),
    wrong(
        "gradcheck with -1 entries",
        "max_entries is -1",
        mr.gradcheck,
        mr.ops.tanh,
        [array(2, dtype=np.float64)],
        max_entries=-1,
    ),
    wrong(
        "gradcheck with no directions",
        "directions",
        mr.gradcheck,
        mr.ops.tanh,
        [array(2, dtype=np.float64)],
        directions=-1,
    ),
    wrong(
        "gradcheck with a negative seed", "seed is -1", mr.gradcheck, mr.ops.tanh, [array(2, dtype=np.float64)], seed=-1
    ),
    wrong(
        "gradcheck of a function that returns a number",
        "float & Tensor",
        mr.gradcheck,
        lambda x: 1.0,
        [array(2, dtype=np.float64)],
    ),
    wrong(
        "gradcheck of a function that returns None",
        "None & Tensor",
        mr.gradcheck,
        lambda x: None,
        [array(2, dtype=np.float64)],
    ),
    wrong("gradcheck of text", "got str & float array", mr.gradcheck, mr.ops.tanh, ["ab"]),
]

DEVICES: list[Wrong] = [
    wrong("get an unknown device", "'tpu' & known", mr.devices.get, "tpu"),
    wrong("get a device by number", "device 0 & int", mr.devices.get, 0),
    wrong("get a device in capitals", "'CPU' & known & likely 'cpu'", mr.devices.get, "CPU"),
    wrong("get a device with a typing error", "'cuda_sim' & likely 'cuda-sim'", mr.devices.get, "cuda_sim"),
    wrong("get an empty name", "'' & known", mr.devices.get, ""),
    wrong("use_device of an unknown device", "'tpu' & known", mr.use_device, "tpu"),
    wrong("use_device of a Tensor", "Tensor & device", mr.use_device, X),
    wrong("use_precision of torch's word", "'highest' & 'ieee' or 'tf32' & likely 'ieee'", mr.use_precision, "highest"),
    wrong("use_precision of a dtype", "float32 & 'ieee' or 'tf32'", mr.use_precision, mr.float32),
    wrong("use_precision of None", "None & 'ieee' or 'tf32'", mr.use_precision, None),
    wrong("use_precision of nothing", "'' & 'ieee' or 'tf32'", mr.use_precision, ""),
    wrong("register a name that is taken", "'cpu' & exists", mr.devices.register, "cpu", print),
    wrong("register without a factory", "None & callable", mr.devices.register, "mine", None),
    wrong("register under a number", "3 & string", mr.devices.register, 3, print),
    wrong("register an empty name", "'' & string", mr.devices.register, "", print),
    wrong("manual_seed with a float", "1.5 & integer", mr.manual_seed, 1.5),
    wrong("manual_seed with a negative number", "-1 & 0 or more", mr.manual_seed, -1),
    wrong("manual_seed with True", "True & integer", mr.manual_seed, True),
    wrong("manual_seed with text", "'7' & integer", mr.manual_seed, "7"),
    wrong("manual_seed with None", "None & integer", mr.manual_seed, None),
]

ROWS = [*MAKING, *METHODS, *TAPE, *DEVICES]
