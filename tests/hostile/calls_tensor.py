"""Wrong calls of tensors and what makes them, of a loss, the tape, gradcheck, devices and the random stream."""

from typing import Any

import numpy as np

import minirnn as mr
from tests.hostile.table import rows
from tests.hostile.wrong_call import array, tensor

X, W = tensor(2, 3), tensor(4, 5)
INTS, BOOLS = tensor(2, 3, dtype=np.int64), tensor(2, 3, dtype=np.bool_)
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


def formatted(t: Any, spec: str) -> str:
    return format(t, spec)


def write(t: mr.Tensor, i: Any, v: Any) -> None:
    t[i] = v


LEAF = mr.ones(2, requires_grad=True)
FREED, CHANGED = freed(), changed_after_use()
SIZED = ("zeros", "ones", "empty", "rand", "randn")
LIKE = ("zeros_like", "ones_like", "rand_like", "randn_like")

MAKING = rows(
    globals(),
    r"""
mr.full((2,), "a") -> full & 'a' & number
mr.full(2.5, (2, 3)) -> full & 2.5 & integers
mr.full((2,), 300, dtype=np.int8) -> full & 300 & int8
mr.full((2,), float("nan"), dtype=np.int64) -> full & nan & int64
mr.full((2,), 10**5000, dtype=np.float32) -> full & bits & a float can hold
mr.full_like(X, "a") -> full & 'a' & number
mr.arange("a") -> arange & 'a' & number
mr.arange(1, 3, 0) -> arange & step 0 & not 0
mr.arange(5, 1) -> arange & start 5, end 1 & leads
mr.arange(float("inf")) -> arange & inf & finite
mr.arange(10**30) -> arange & 2**60
mr.arange(0.0, 1e300, 1e-300) -> arange & 2**60
mr.linspace(0, 1, 2.5) -> linspace & steps is 2.5 & integer
mr.linspace("a", 1, 3) -> linspace & 'a' & number
mr.linspace(0, float("inf"), 3) -> linspace & inf & finite
mr.eye(2.0) -> eye & n is 2.0 & integer
mr.eye(2, -1) -> eye & m is -1 & 0 or more
mr.randint(3) -> randint & no size & randint(high, size)
mr.randint(3, 3, (2,)) -> randint & low is 3, high is 3 & low < high
mr.randint(3.5, (2,)) -> randint & high is 3.5 & integer
mr.randint(300, (2,), dtype=np.uint8) -> randint & 0 .. 299 & uint8
mr.randint(-129, 127, (2,), dtype=np.int8) -> randint & -129 .. 126 & int8
mr.randint(2, (2,), dtype=bool) -> randint & bool
mr.randint(2, (2,), requires_grad=True) -> int64 & float32
mr.randperm(2.5) -> randperm & n is 2.5 & integer
mr.randperm(3, requires_grad=True) -> int64 & float32
for NAME in SIZED:
    mr.NAME() -> NAME & no size & NAME(2, 3)
    mr.NAME(2, size=(3,)) -> NAME & two sizes
    mr.NAME(True) -> NAME & True & integers
    mr.NAME(2, -3) -> NAME & (2, -3) & 0 or more
    mr.NAME(10**5000) -> NAME & 2**60
    mr.NAME(2, device="nowhere") -> 'nowhere' & known
    mr.NAME(2, dtype="float31") -> NAME & float31
    mr.NAME(2, dtype=np.int64, requires_grad=True) -> int64 & float32
for NAME in LIKE:
    mr.NAME("one") -> tensor & <U3
    mr.NAME(X, device="nowhere") -> 'nowhere' & known
for NAME in rand_like/rand randn_like/randn:
    mr.NAME(INTS) -> WORD & int64 & float16
for NAME in rand randn:
    mr.NAME(2, generator=3) -> NAME & 3 & Generator
mr.tensor([[1.0, 2.0], [3.0]]) -> tensor & ragged
mr.tensor([1, 2], requires_grad=True) -> int64 & float16
mr.tensor([1.0], device="tpu") -> 'tpu' & known: & cpu
mr.tensor([1.0], device=0) -> device 0 & int & 'cpu'
mr.Tensor("a") -> tensor: cannot
""",
)

METHODS = rows(
    globals(),
    r"""
BOOLS.__pos__() -> positive & bool & numbers
X.view_as(W) -> reshape & (4, 5) & 6
X.reshape_as(W) -> reshape & (4, 5) & 6
X.type_as(np.float64) -> type_as & Tensor
X.__contains__("a") -> a str & a number or a Tensor
formatted(X, ".3f") -> '.3f' & (2, 3) & one element
X.__round__(2) -> (2, 3) & one element
iter(tensor()) -> iteration & () & one axis
ops.cross_entropy(X, [0.0, 1.0]) -> cross_entropy & float64 & integers
ops.cross_entropy(X, [0, 3]) -> cross_entropy & 0 to 3 & 0 .. 2
ops.cross_entropy(X, [0, -1]) -> cross_entropy & -1 & 0 .. 2
ops.cross_entropy(X, [0]) -> cross_entropy & (1,) & (2,)
ops.cross_entropy([0, 1], X) -> cross_entropy & int64
ops.cross_entropy(tensor(2, 3, 4), np.zeros((2, 4), int)) -> cross_entropy & (2, 4) & (2, 3) & likely
ops.cross_entropy(X, [[0], [1, 2]]) -> cross_entropy & ragged
ops.cross_entropy(tensor(), 0) -> cross_entropy & ()
X.new_zeros(2.0, 3) -> zeros & 2.0 & integers
X.item() -> (2, 3) & one element
bool(X) -> (2, 3) & one element
float(X) -> (2, 3) & one element
int(X) -> (2, 3) & one element
len(Y) -> ()
list(Y) -> ()
(lambda t: [1, 2][t])(tensor()) -> float32 & integer
write(X, 0, 1.0) -> raises RuntimeError: leaf & no_grad
write(X, (0, 1), X) -> (2, 3) & broadcasts
write(INTS, 5, 1) -> raises IndexError: writing into & (2, 3) & 5
Y.requires_grad_(False) -> Sum & leaf & detach
mr.Generator().manual_seed("x") -> manual_seed & 'x' & integer
mr.LongTensor("a") -> int64
mr.LongTensor([[1], [2, 3]]) -> ragged
for NAME in FloatTensor DoubleTensor HalfTensor IntTensor ShortTensor CharTensor ByteTensor BoolTensor:
    mr.NAME(2.5) -> NAME & 2.5 & sizes or data
mr.set_default_dtype(mr.int64) -> set_default_dtype & int64 & float32
mr.set_default_device("tpu") -> 'tpu' & known:
np.asarray(LEAF) -> np.asarray & (2,) & t.detach()
np.array([LEAF, LEAF]) -> np.asarray & mr.stack(list)
mr.sum([LEAF, LEAF * 2]) -> operand & likely mr.stack(list) is meant
X.__add__([LEAF]) -> operand & likely mr.stack(list) is meant
mr.allclose(X, "a") -> <U1
X.allclose("a") -> <U1
mr.isclose(X, "a") -> <U1
X.isclose("a") -> <U1
mr.logaddexp(X, "a") -> <U1
X.logaddexp("a") -> <U1
mr.lerp(X, "a", 0.5) -> <U1
X.lerp("a", 0.5) -> <U1
mr.addmm(X, X, LEAF) -> mm & two matrices
X.addmm(X, LEAF) -> mm & two matrices
mr.diagonal(LEAF) -> diagonal & 1 axes
X.diagonal(0, 1, 1) -> diagonal & 1 and 1 & two axes
mr.index_add(X, 0, [0.5], X) -> index_add & index & float64 & integers
X.index_add(0, [0], X) -> index_add & source & (2, 3) & (1,)
mr.bernoulli(X) -> bernoulli & outside of 0 .. 1
mr.bernoulli(INTS) -> bernoulli & int64
mr.bernoulli(X * 0, generator=3) -> bernoulli & generator is 3
X.equal("a") -> <U1
mr.equal(X, "a") -> <U1
mr.add(X, "a") -> <U1
mr.sub(X, "a") -> <U1
mr.mul(X, "a") -> <U1
mr.div(X, X, rounding_mode="up") -> 'up' & 'floor'
mr.device("nowhere") -> 'nowhere' & known
mr.numel([[1.0, 2.0], [3.0]]) -> tensor & ragged
mr.nonzero(mr.zeros(2), as_tuple=2) -> as_tuple & 2
mr.autograd.Variable(mr.zeros(2), requires_grad=3) -> requires_grad & 3
mr.as_tensor([[1.0, 2.0], [3.0]]) -> tensor & ragged
mr.asarray([1.0], device="tpu") -> 'tpu' & known: & cpu
mr.autograd.grad(mr.zeros(2), mr.zeros(2)) -> grad & requires_grad
mr.from_numpy([1.0]) -> list & NumPy array
mr.masked_select(X, X) -> float32 & bool
X.masked_select(X) -> float32 & bool
mr.multinomial(X - 100, 1) -> multinomial & (2, 3) & 0 or more
X.multinomial(9) -> multinomial & 9
mr.multinomial(X * 0 + 1, 1, generator=3) -> multinomial & generator is 3
mr.repeat_interleave(X, -1) -> repeat_interleave & 0 or more
X.repeat_interleave(0.5) -> repeat_interleave & float64
mr.save(mr.nn.Linear(2, 3), "a") -> Linear & state_dict()
mr.save({"epochs": {1, 2}}, "a") -> set & at 'epochs' & pickled
mr.inference_mode("a") -> inference_mode & str
mr.set_grad_enabled("a") -> set_grad_enabled & 'a' & True or False
X.size(2) -> raises IndexError: size & axis 2 & (2, 3)
X.type("x") -> astype & x
X.copy_("a") -> <U1
mr.zeros(2, 3).squeeze_(7) -> axis 7 & 2 axes
mr.zeros(2, 3).unsqueeze_("a") -> axis & 'a' & integer
mr.zeros(1, 2, 3).t_() -> (1, 2, 3)
mr.zeros(2, 3).transpose_(0, 5) -> transpose & axis 5
mr.zeros(2, 3).swapaxes_(0, 5) -> transpose & axis 5
X.swapdims_(0, 1) -> raises RuntimeError: swapdims_ & (2, 3) & leaf
X.copy_(Y.new_zeros(4, 5)) -> (2, 3) & (4, 5)
X.fill_("a") -> fill_ & 'a'
X.uniform_(generator=3) -> uniform_ & 3
X.normal_(generator=3) -> normal_ & 3
X.bernoulli_(generator=3) -> bernoulli_ & 3
X.random_(3, generator=3) -> random_ & 3
X.clamp_() -> clamp & bound
X.clamp_max_("a") -> clamp & 'a'
X.clamp_min_("a") -> clamp & 'a'
X.clip_("a") -> clip & 'a'
X.masked_fill_(X, 0) -> masked_fill & bool
X.cumsum_(5) -> cumsum & axis 5
X.cumprod_(5) -> cumprod & axis 5
X.scatter_(0, [[9]], 1.0) -> raises IndexError: scatter & 9
X.scatter_add_(0, [[9]], X) -> raises IndexError: scatter_add & 9
for NAME in add sub mul div pow eq ne lt le gt ge remainder floor_divide logical_and logical_or logical_xor:
    X.NAME_("a") -> <U1
for NAME in and or xor:
    X.bitwise_NAME_(X) -> bitwise_NAME & float
X.bitwise_not_() -> bitwise_not & float
X.logical_not_() -> raises RuntimeError: logical_not_ & leaf & no_grad
for NAME in abs absolute ceil cos erf exp expm1 floor log1p neg reciprocal relu round sigmoid sign sin square tan:
    X.NAME_() -> raises RuntimeError: NAME_ & leaf & no_grad
for NAME in log rsqrt sqrt:
    mr.ones(2, 3, requires_grad=True).NAME_() -> raises RuntimeError: NAME_ & leaf & no_grad
for NAME in tanh tril triu trunc zero:
    X.NAME_() -> raises RuntimeError: NAME_ & leaf & no_grad
INTS.requires_grad_() -> int64 & float16
tensor(2, requires_grad=False).register_hook(print) -> requires_grad=True
X.register_hook(3) -> int & callable
Y.assign(1.0) -> Sum & leaf
X.assign(array(3, 2)) -> (3, 2) & (2, 3) & transposed
X.assign(array(5)) -> (5,) & (2, 3)
X.assign("hello") -> tensor
X.to("gpu") -> 'gpu' & known
X.to(1) -> device 1 & int
index(X, 2) -> raises IndexError: (2, 3) & 2
index(X, (0, 0, 0)) -> raises IndexError: (2, 3)
index(X, np.ones((3, 3), bool)) -> raises IndexError: (2, 3)
index(X, np.array([0.0])) -> float64 & integers
index(X, [[0], [0, 1]]) -> indexing
index(X, slice(0.5, 1)) -> slice & integers
index(X, (..., ...)) -> raises IndexError: ellips
index(X, slice(0, 2, 0)) -> step
""",
)

TAPE = rows(
    globals(),
    r"""
(X * 2).backward() -> (2, 3) & () & likely a sum() or mean()
tensor(requires_grad=False).backward() -> not recorded & no_grad
Y.backward("one") -> tensor
Y.backward(tensor(dtype=np.float64)) -> float64 & float32
(X * 2).backward(tensor(2, 3, device="cpu-composed")) -> lives on cpu-composed & on cpu & g.to('cpu')
FREED.backward() -> raises RuntimeError: freed & retain_graph=True
CHANGED.backward() -> raises RuntimeError: Multiply & (2, 3) & assign
hooked(tensor(5)).backward() -> hook & (5,) & (2, 3)
hooked(1.0).backward() -> hook & float & None
mr.grad(array(2), X) -> outputs is a ndarray & Tensor
mr.grad(Y, array(2)) -> inputs is a ndarray & Tensor
mr.grad(Y, tensor(2, requires_grad=False)) -> input 0 & (2,) & requires_grad=True
mr.grad(X * 2, X) -> (2, 3) & likely a sum()
mr.grad([], X) -> 0 outputs
mr.grad([Y, 3.0], X) -> grad: output 1 is a float
mr.grad([Y], X, [1.0, 2.0]) -> 2 gradients for 1 output
mr.grad(X * 2, X, array(3, 2)) -> (3, 2) & (2, 3)
mr.grad(X * 2, X, "one") -> tensor
mr.grad(FREED, X) -> raises RuntimeError: freed
mr.grad(CHANGED, CHANGED.parents[0].parents[0]) -> raises RuntimeError: assign
mr.gradcheck(3, [X]) -> int & function
mr.gradcheck(mr.ops.tanh, []) -> got none & requires_grad=True
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], order=0) -> order is 0
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], rtol=-1.0) -> rtol is -1
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], atol=float("nan")) -> atol is nan
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], steps=[0.0]) -> steps & 0
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], steps=[]) -> steps
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], max_entries=-1) -> max_entries is -1
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], directions=-1) -> directions
mr.gradcheck(mr.ops.tanh, [array(2, dtype=np.float64)], seed=-1) -> seed is -1
mr.gradcheck(lambda x: 1.0, [array(2, dtype=np.float64)]) -> float & Tensor
mr.gradcheck(mr.ops.tanh, ["ab"]) -> got str & float array
""",
)

DEVICES = rows(
    globals(),
    r"""
mr.devices.get("CPU") -> 'CPU' & known & likely 'cpu'
mr.devices.get("cuda_sim") -> 'cuda_sim' & likely 'cuda-sim'
mr.use_device("tpu") -> 'tpu' & known
mr.use_device(X) -> Tensor & device
mr.use_precision("highest") -> 'highest' & 'ieee' or 'tf32' & likely 'ieee'
mr.use_precision(mr.float32) -> float32 & 'ieee' or 'tf32'
mr.devices.register("cpu", print) -> 'cpu' & exists
mr.devices.register("", print) -> '' & string
mr.devices.register(3, print) -> register: got name 3 & expected a string and a callable
mr.manual_seed("7") -> '7' & integer
""",
)
ROWS = [*MAKING, *METHODS, *TAPE, *DEVICES]
