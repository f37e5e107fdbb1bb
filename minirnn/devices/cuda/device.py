"""The devices `cuda` and `cuda-sim`: one class over two drivers.

NumPy's rules for the primitives are here; the arithmetic is in `kernels/`, the launches are in `launch/`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from minirnn.arguments.host_array import common_dtype
from minirnn.cells.plan import Plan
from minirnn.devices.base import Device
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import Driver, Kernel
from minirnn.devices.cuda.interface import taken_over
from minirnn.devices.cuda.launch import adam, losses
from minirnn.devices.cuda.launch.copies import copy, copy_all, fill
from minirnn.devices.cuda.launch.primitives import along, products
from minirnn.devices.cuda.launch.primitives import index as indexing
from minirnn.devices.cuda.launch.primitives.elementwise import broadcast_strides, elementwise
from minirnn.devices.cuda.launch.primitives.reduce import reduce, softmax
from minirnn.devices.cuda.launch.sequence import keyed, layer, step
from minirnn.devices.cuda.launch.sequence.choice import rung_from_environment
from minirnn.devices.cuda.launch.sources import C_TYPES, AnyPlan, accumulator, options, text
from minirnn.devices.cuda.missed import MissedMessages
from minirnn.devices.cuda.primitive_methods import BOOL, arithmetic, comparison, function, unary
from minirnn.devices.cuda.recordings import Recordings
from minirnn.devices.cuda.uncompiled import Uncompiled

_CONSTANTS_KEPT = 256


class Cuda(Device, kernels_in=(step, layer, keyed, losses, adam)):
    """A CUDA device. Its arrays are `CudaArray`, its kernels the files of `kernels/`.

    Parameters
    ----------
    driver : Driver
        A GPU (`gpu.driver.PyCudaDriver`) or the simulator (`sim.driver.SimDriver`).
    name : str, optional
        The name for users; by default the driver's name, "cuda" or "cuda-sim".

    Attributes
    ----------
    cudnn_rnn_rung : str or None
        The rung of the CudnnRNN ladder to use if it is available (`launch/sequence/choice.py`), initially that of
        ``MINIRNN_CUDNN_RNN``. None: a rule chooses one by the sizes.
    rungs : collections.Counter
        How often each rung computed a layer: ``"steps forward"``, ``"persistent backward"``, ...
    recordings : Recordings
        Layers that were written down, and loops over time as graphs, if ``recordings.enabled``
        (``MINIRNN_CUDA_GRAPHS``).
    """

    name = "cuda"
    half_kernels = frozenset(("cross_entropy", "cross_entropy_grad"))

    def __init__(self, driver: Driver, name: str | None = None) -> None:
        super().__init__()
        self.driver = driver
        self.name = name or driver.name  # type: ignore[misc]
        self.cudnn_rnn_rung = rung_from_environment()
        self.rungs: Counter[str] = Counter()
        self.recordings = Recordings(driver)
        self.missed = MissedMessages(self)
        self.uncompiled = Uncompiled()
        self._constants: dict[tuple[np.dtype, bytes], CudaArray] = {}
        self._compiled: dict[tuple[Any, ...], Kernel] = {}
        self._ones: dict[tuple[np.dtype, int], CudaArray] = {}

    def kernel_of(
        self,
        file: str,
        kernel: str,
        dtype: np.dtype,
        constants: tuple[str, ...] = (),
        plan: AnyPlan | None = None,
    ) -> Kernel:
        """The `kernel` of ``kernels/<file>``, compiled for elements of `dtype`, and the cell of `plan`, on first use.

        `constants` are further compiler options: ``-DNAME=VALUE``.
        """
        key = file, kernel, dtype, constants, None if plan is None else plan.fingerprint
        found = self._compiled.get(key)
        if found is None:
            name = file if plan is None else f"{plan.name}.cu"
            module = self.driver.module(text(file, plan), name, (*options(dtype), *constants))
            found = self._compiled[key] = module.function(kernel)
        return found

    def ones(self, n: int, dtype: np.dtype) -> CudaArray:
        """Ones (1, n), which stay in memory and which nobody changes; programs have the address of the first."""
        key = dtype, 1 << (n - 1).bit_length()
        if key not in self._ones:
            self._ones.setdefault(key, self.asarray(np.ones((1, key[1]), dtype)))
        return self._ones[key].seen_as((1, n), (n, 1))

    def loop(self, work: Callable[[], None]) -> None:
        """Run the `work()` of a loop over time, which only launches kernels and products."""
        work()

    def runs_plan(self, plan: Plan) -> bool:
        """Not a projected cell that reads h itself: h then has another width than the step."""
        return not (plan.projected and plan.carries)

    def synchronize(self) -> None:
        self.driver.synchronize()
        self.missed.look()

    def end_of_backward(self) -> None:
        self.missed.look()

    # ---- memory

    def empty(self, shape: Sequence[int], dtype: Any) -> CudaArray:
        shape, dtype = tuple(shape), np.dtype(dtype)
        return CudaArray(self, self.driver.alloc(prod(shape) * dtype.itemsize), shape, dtype)

    def asarray(self, host: Any) -> CudaArray:
        """A copy of `host` on this device: an array in host memory, or one of another GPU library."""
        if isinstance(host, CudaArray):
            if host.device is self:
                return self.contiguous(host, always=True)
            host = host.device.to_numpy(host)
        if hasattr(host, "__cuda_array_interface__"):
            return taken_over(self, host)
        host = np.asarray(host)
        if host.dtype.name not in C_TYPES:
            raise TypeError(
                f"{self}: got an array of dtype {host.dtype}\n  expected one of {', '.join(C_TYPES)}\n"
                "  convert it first: array.astype(np.float32)"
            )
        host = np.asarray(host, dtype=host.dtype.newbyteorder("="), order="C")
        a = self.empty(host.shape, host.dtype)
        if host.size:
            self.driver.h2d(a.ptr, host)
        return a

    def to_numpy(self, a: CudaArray) -> np.ndarray:
        self._own(a)
        a = self.contiguous(a)
        host = np.empty(a.shape, a.dtype)
        if host.size:
            self.driver.d2h(host, a.ptr)
            self.missed.look()
        return host

    def cast(self, a: CudaArray, dtype: Any) -> CudaArray:
        dtype = np.dtype(dtype)
        if a.dtype == dtype:
            return a
        y = self.empty(a.shape, dtype)
        copy(self, y, a)
        return y

    def cast_floats(self, arrays: Sequence[CudaArray], dtype: Any) -> list[CudaArray]:
        """Cast all arrays in one launch."""
        dtype = np.dtype(dtype)
        found = [a if a.dtype == dtype or a.dtype.kind != "f" else self.empty(a.shape, dtype) for a in arrays]
        copy_all(self, [(to, a) for to, a in zip(found, arrays, strict=True) if to is not a])
        return found

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> CudaArray:
        a = self.empty(shape, dtype)
        fill(self, a, value)
        return a

    def contiguous(self, a: CudaArray, always: bool = False) -> CudaArray:
        """`a` in C order: `a` itself if it is contiguous (unless `always`), otherwise a copy."""
        if a.contiguous and not always:
            return a
        y = self.empty(a.shape, a.dtype)
        copy(self, y, a)
        return y

    # ---- operands

    def _own(self, a: Any) -> None:
        """Raise unless `a` is an array of this device."""
        if type(a) is CudaArray and a.device is self:
            return
        if not isinstance(a, CudaArray):
            raise TypeError(
                f"{self}: got a {type(a).__module__}.{type(a).__name__} in host memory\n"
                f"  expected an array on {self}\n"
                f"  copy it there first: device.asarray(array), or tensor.to({self.name!r})"
            )
        raise ValueError(
            f"{self}: got an array on {a.device}\n  expected one on {self}\n  move it: tensor.to({self.name!r})"
        )

    def _operand(self, a: Any, dtype: np.dtype) -> CudaArray:
        """An operand as an array of `dtype`; Python numbers become constants."""
        if isinstance(a, (bool, int, float, np.generic)):
            number = dtype.type(a)
            key = dtype, number.tobytes()
            found = self._constants.get(key)
            if found is None:
                if len(self._constants) >= _CONSTANTS_KEPT:
                    self._constants.clear()
                found = self._constants[key] = self.asarray(number)
            return found
        self._own(a)
        return self.cast(a, dtype)

    def _common(self, *operands: Any, divides: bool = False) -> np.dtype:
        """The dtype of a result: `common_dtype`, and for Python numbers NumPy's rule."""
        for a in operands:
            if not isinstance(a, (CudaArray, bool, int, float, np.generic)):
                self._own(a)
        arrays = [a for a in operands if isinstance(a, (CudaArray, np.generic))]
        numbers = [a for a in operands if not isinstance(a, (CudaArray, np.generic))]
        return np.result_type(common_dtype(*arrays, divides=divides), *numbers)

    # ---- elementwise, one operand

    negative, absolute, sign = map(unary, ("negative", "absolute", "sign"))
    exp, log, sqrt, tanh, sigmoid, _relu = map(function, ("exp", "log", "sqrt", "tanh", "sigmoid", "relu"))
    sin, cos, tan, erf, log1p, expm1 = map(function, ("sin", "cos", "tan", "erf", "log1p", "expm1"))
    floor, ceil, round = map(partial(function, keeps_integers=True), ("floor", "ceil", "round"))

    def relu(self, a: CudaArray) -> CudaArray:
        return self.maximum(a, 0) if a.dtype.kind != "f" else self._relu(a)

    # ---- elementwise, two and three operands

    add, subtract, multiply, divide = map(arithmetic, ("add", "subtract", "multiply", "divide"))
    maximum, minimum, _power = map(arithmetic, ("maximum", "minimum", "power"))
    equal, not_equal, less = map(comparison, ("equal", "not_equal", "less"))
    less_equal, greater, greater_equal = map(comparison, ("less_equal", "greater", "greater_equal"))

    def power(self, a: Any, b: Any) -> CudaArray:
        if isinstance(b, int) and b < 0 and a.dtype.kind in "iu":
            raise ValueError("power: integers to negative powers are not integers\n  convert to floats first")
        return self._power(a, b)

    def where(self, condition: Any, a: Any, b: Any) -> CudaArray:
        dtype = self._common(a, b)
        operands = self._operand(condition, BOOL), self._operand(a, dtype), self._operand(b, dtype)
        return elementwise(self, "primitives/compare.cu", "where", operands, dtype, dtype)

    def clip(self, a: CudaArray, low: float | None, high: float | None) -> CudaArray:
        self._own(a)
        smallest, largest = (-np.inf, np.inf) if a.dtype.kind == "f" else (np.iinfo(a.dtype).min, np.iinfo(a.dtype).max)
        number = accumulator(a.dtype).type
        # Rounded to the dtype of `a` first, so that a float16 is limited by the float16 closest to `high`, as in NumPy.
        limits = [
            number(a.dtype.type(x)) for x in (smallest if low is None else low, largest if high is None else high)
        ]
        return elementwise(self, "primitives/arithmetic.cu", "clip", (a,), a.dtype, a.dtype, *limits)

    # ---- reductions

    def _summand(self, a: CudaArray) -> CudaArray:
        """`a`, with small integers widened, because NumPy sums and multiplies them as large ones."""
        self._own(a)
        return self.cast(a, np.uint64 if a.dtype.kind == "u" else np.int64) if a.dtype.kind in "biu" else a

    def sum(self, a: CudaArray, axis: tuple[int, ...] | None, keepdims: bool) -> CudaArray:
        a = self._summand(a)
        return self._reduce("sum", a, axis, keepdims, a.dtype)

    def prod(self, a: CudaArray, axis: tuple[int, ...] | None, keepdims: bool) -> CudaArray:
        a = self._summand(a)
        return self._reduce("prod", a, axis, keepdims, a.dtype)

    def min(self, a: CudaArray, axis: tuple[int, ...] | None, keepdims: bool) -> CudaArray:
        return self._reduce("min", a, axis, keepdims, a.dtype)

    def max(self, a: CudaArray, axis: tuple[int, ...] | None, keepdims: bool) -> CudaArray:
        return self._reduce("max", a, axis, keepdims, a.dtype)

    def argmax(self, a: CudaArray, axis: int) -> CudaArray:
        return self._reduce("argmax", a, (axis,), False, np.dtype(np.int64))

    def argmin(self, a: CudaArray, axis: int) -> CudaArray:
        return self._reduce("argmin", a, (axis,), False, np.dtype(np.int64))

    def _reduce(
        self, name: str, a: CudaArray, axis: tuple[int, ...] | None, keepdims: bool, result: np.dtype
    ) -> CudaArray:
        self._own(a)
        axes = tuple(range(a.ndim)) if axis is None else axis
        shape: tuple[int, ...] = tuple(
            1 if d in axes else n for d, n in enumerate(a.shape) if keepdims or d not in axes
        )
        operands: int = prod([a.shape[d] for d in axes])
        if operands == 0:
            if name not in ("sum", "prod") and 0 not in shape:
                raise ValueError(f"{name}: zero elements along axis {axes} of shape {a.shape}\n  expected at least one")
            return self.full(shape, 1 if name == "prod" else 0, result)
        return self.reshape(reduce(self, name, a, axes, result), shape)

    # ---- along an axis

    def cumsum(self, a: CudaArray, axis: int) -> CudaArray:
        return along.scan(self, "cumsum", axis, self._summand(a))

    def cumprod(self, a: CudaArray, axis: int) -> CudaArray:
        return along.scan(self, "cumprod", axis, self._summand(a))

    def recurrence(self, a: CudaArray, b: CudaArray, axis: int) -> CudaArray:
        self._own(a)
        self._own(b)
        return along.scan(self, "recurrence", axis, a, b)

    def argsort(self, a: CudaArray, axis: int, descending: bool) -> CudaArray:
        return self._along(a, axis, partial(along.argsort, self, descending=descending))

    # ---- products, softmax

    def matmul(self, a: CudaArray, b: CudaArray) -> CudaArray:
        self._own(a)
        self._own(b)
        dtype = self._common(a, b)
        return products.matmul(self, self.cast(a, dtype), self.cast(b, dtype))

    def softmax(self, a: CudaArray, axis: int) -> CudaArray:
        return self._along(a, axis, partial(softmax, self, "softmax"))

    def log_softmax(self, a: CudaArray, axis: int) -> CudaArray:
        return self._along(a, axis, partial(softmax, self, "log_softmax"))

    def _along(self, a: CudaArray, axis: int, work: Callable[[CudaArray], CudaArray]) -> CudaArray:
        """``work(a)`` for an array in C order whose last axis is `axis`."""
        self._own(a)
        order = (*(d for d in range(a.ndim) if d != axis), axis)
        y = work(self.contiguous(self.transpose(a, order)))
        return self.transpose(y, tuple(int(d) for d in np.argsort(order)))

    # ---- shapes

    def reshape(self, a: CudaArray, shape: Sequence[int]) -> CudaArray:
        sizes, size = tuple(map(int, shape)), a.size
        if -1 in sizes:
            rest = prod(n for n in sizes if n != -1)
            sizes = tuple([n if n != -1 else size // rest if rest else 0 for n in sizes])
        if prod(sizes) != size:
            raise ValueError(f"cannot reshape array of size {size} into shape {tuple(shape)}")
        a = self.contiguous(a)
        return CudaArray(self, a.buffer, sizes, a.dtype, None, a.ptr)

    def transpose(self, a: CudaArray, axes: tuple[int, ...]) -> CudaArray:
        return a.seen_as(tuple(a.shape[d] for d in axes), tuple(a.element_strides[d] for d in axes))

    def broadcast_to(self, a: CudaArray, shape: Sequence[int]) -> CudaArray:
        shape = tuple(shape)
        if a.shape == shape:
            return a
        if np.broadcast_shapes(a.shape, shape) != shape:
            raise ValueError(f"cannot broadcast an array of shape {a.shape} to shape {shape}")
        return a.seen_as(shape, broadcast_strides(a.shape, a.element_strides, shape))

    def concatenate(self, arrays: Sequence[CudaArray], axis: int) -> CudaArray:
        for a in arrays:
            self._own(a)
        first = arrays[0]
        rests = {a.shape[:axis] + a.shape[axis + 1 :] for a in arrays}
        if len(rests) != 1:
            raise ValueError(
                f"concatenate: shapes {', '.join(str(a.shape) for a in arrays)} differ in more than axis {axis}"
            )
        total = sum([a.shape[axis] for a in arrays])
        dtype = first.dtype if len({a.dtype for a in arrays}) == 1 else self._common(*arrays)
        y = self.empty((*first.shape[:axis], total, *first.shape[axis + 1 :]), dtype)
        start = 0
        for a in arrays:
            if axis == 0 and a.size and a.dtype == dtype and a.contiguous:
                self.driver.d2d(y.ptr + start * y.element_strides[0] * dtype.itemsize, a.ptr, a.nbytes)
            else:
                copy(self, y.seen_as(a.shape, y.element_strides, start * y.element_strides[axis]), a)
            start += a.shape[axis]
        return y

    # ---- indexing

    def getitem(self, a: CudaArray, index: tuple[Any, ...]) -> CudaArray:
        self._own(a)
        found = indexing.part(a, index)
        if found is not None:
            return found
        if indexing.is_basic(index):
            return indexing.view(a, index)
        return indexing.gather(self, self.contiguous(a), index)

    def scatter_add(self, shape: Sequence[int], index: tuple[Any, ...], values: CudaArray) -> CudaArray:
        self._own(values)
        shape = tuple(shape)
        if indexing.is_basic(index):
            y = self.full(shape, 0, values.dtype)
            part = indexing.view(y, index)
            copy(self, part, self.broadcast_to(values, part.shape))
            return y
        return indexing.scatter_add(self, shape, index, self.contiguous(values))
