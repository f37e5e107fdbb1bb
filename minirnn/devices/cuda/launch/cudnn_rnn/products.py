"""The float32 products over all steps of a CudnnRNN layer: by the library, or as three products of TF32 for one.

``library``   the driver's product: on a GPU cuBLAS in plain float32
``tf32x3``    `cudnn_rnn/product.cu`, on tensor cores: as good as float32. In its loop an instruction makes 51
              multiplications for a warp (sm_90), where plain float32 makes 32 at most

Which one is faster for a product depends on its sizes and on the GPU, so both are timed where a large product of a
class is met for the first time, and the result is kept beside those of the rungs (`timings.py`). Where nothing may be
timed, where a rung is asked for, and in the simulator it is the library. Products that the user lets round to TF32
(`minirnn.use_precision`), of float64 and of float16 data are always the library's.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.driver import CompileError, Matrix, OutOfDeviceMemory
from minirnn.devices.cuda.launch.cudnn_rnn.choice import AUTO, check_word
from minirnn.devices.cuda.launch.cudnn_rnn.timings import Timing
from minirnn.devices.cuda.launch.cudnn_rnn.trial import TOLERANCE, difference, seconds_in_turns
from minirnn.devices.cuda.launch.cudnn_rnn.tuner import MARGIN
from minirnn.devices.cuda.launch.primitives.products import matrices, product
from minirnn.devices.precision import chosen

if TYPE_CHECKING:
    from minirnn.devices.cuda.device import Cuda

LIBRARY, TF32X3 = WAYS = ("library", "tf32x3")
VARIABLE = "MINIRNN_CUDNN_PRODUCTS"
CAPABILITY = (8, 0)
"""The compute capability that multiplies TF32."""
SMALLEST = 1 << 27
"""Multiplications below which a product is the library's untimed: both take some microseconds."""
LARGEST = 4096
"""The most rows and columns of a trial."""
ROWS, COLUMNS, THREADS = 128, 64, 128
"""Of a block: `cudnn_rnn/product.cu`."""
VECTOR = 4
"""Numbers in 16 bytes."""


class Products:
    """Multiplies for one device.

    Attributes
    ----------
    wanted : str or None
        The way to take where it can be had; at first what ``MINIRNN_CUDNN_PRODUCTS`` says. None: the fastest.
    counts : collections.Counter
        How many products were computed in which way.
    """

    def __init__(self, device: Cuda) -> None:
        self.device = device
        self.wanted = from_environment()
        self.counts: Counter[str] = Counter()
        self._no_room: set[str] = set()

    def multiply(self, a: CudaArray, b: CudaArray, c: CudaArray, beta: float = 0.0) -> None:
        """``c = a @ b + beta * c``, as `primitives.products.product`."""
        if not c.size or not a.shape[1]:
            product(self.device, a, b, c, beta)
            return
        left, right, to = matrices(self.device, a, b, c)
        way = self.way(left, right)
        self.counts[way] += 1
        if way == TF32X3:
            launch(self.device, left, right, to, beta)
        else:
            self.device.driver.gemm(left, right, to, beta)

    def three_for_one(self, a: CudaArray, b: CudaArray, c: CudaArray) -> None:
        """``c = a @ b`` of float32 on tensor cores, whatever was chosen."""
        launch(self.device, *matrices(self.device, a, b, c), 0.0)

    def has_tensor_cores(self) -> bool:
        """Whether the device can multiply TF32."""
        return self.device.driver.limits.compute_capability >= CAPABILITY

    def way(self, left: Matrix, right: Matrix) -> str:
        """How the product of these is computed."""
        device = self.device
        if left.dtype != np.float32 or chosen.precision != "ieee" or not self.has_tensor_cores():
            return LIBRARY
        if self.wanted is not None:
            return check_way(self.wanted)
        if left.rows * left.cols * right.cols < SMALLEST or device.cudnn_rnn_rung is not None:
            return LIBRARY
        timing = device.tuner.known(class_of(left, right)) or self._time(left, right)
        if timing is None or TF32X3 not in timing.seconds:
            return LIBRARY
        return TF32X3 if timing.seconds[TF32X3] * MARGIN < timing.seconds[LIBRARY] else LIBRARY

    def _time(self, left: Matrix, right: Matrix) -> Timing | None:
        """The result of a trial, which is kept; None if there can be none now."""
        tuner, name = self.device.tuner, class_of(left, right)
        if not tuner.enabled or not tuner.can_time() or name in self._no_room:
            return None
        with tuner.alone():
            found = tuner.known(name)  # another thread or process may have done it meanwhile
            if found is None:
                try:
                    found = timed(self.device, left, right)
                except OutOfDeviceMemory:
                    self._no_room.add(name)
                    return None
                for way, reason in found.dropped.items():
                    warnings.warn(f"{self.device}: {way!r} is not used for {name}: {reason}", RuntimeWarning, 2)
                tuner.keep(name, found)
            return found


def launch(device: Cuda, left: Matrix, right: Matrix, to: Matrix, beta: float) -> None:
    """``to = left @ right + beta * to`` in float32, by tensor cores. `to` is not transposed."""
    M, N, K = left.rows, right.cols, left.cols
    along = not left.transposed, right.transposed
    lengths = K if along[0] else M, K if along[1] else N
    whole = all(
        n % VECTOR == 0 and m.ld % VECTOR == 0 and m.ptr % (VECTOR * m.dtype.itemsize) == 0
        for n, m in zip(lengths, (left, right), strict=True)
    )
    constants = f"-DA_ALONG_K={along[0]:d}", f"-DB_ALONG_K={along[1]:d}", f"-DPIECE={VECTOR if whole else 1}"
    run = device.kernel_of("cudnn_rnn/product.cu", "product", left.dtype, constants=constants)
    sizes, (a_ld, b_ld, c_ld) = map(np.int32, (M, N, K)), (np.int64(m.ld) for m in (left, right, to))
    grid = -(-M // ROWS), -(-N // COLUMNS), 1
    run(*sizes, left, a_ld, right, b_ld, to, c_ld, np.float32(beta), grid=grid, block=(THREADS, 1, 1))


def class_of(left: Matrix, right: Matrix) -> str:
    """Products of one class share a timing: sizes count by their next power of two, up to `LARGEST`."""
    M, K, N = class_sizes(left, right)
    turned = "".join(" turned" if m.transposed else "" for m in (left, right))
    return f"product ({M}, {K}) ({K}, {N}){turned}"


def class_sizes(left: Matrix, right: Matrix) -> tuple[int, int, int]:
    """Rows and columns of the first matrix of a trial, columns of the second."""
    M, K, N = (min(1 << (n - 1).bit_length(), LARGEST) for n in (left.rows, left.cols, right.cols))
    return M, K, N


def timed(device: Cuda, left: Matrix, right: Matrix) -> Timing:
    """Both ways tried with random matrices of this class. Raises `OutOfDeviceMemory` if there is no room."""
    M, K, N = class_sizes(left, right)
    rng = np.random.default_rng(0)

    def draw(rows: int, cols: int, transposed: bool) -> CudaArray:
        drawn = device.asarray(rng.standard_normal((cols, rows) if transposed else (rows, cols), np.float32))
        return device.transpose(drawn, (1, 0)) if transposed else drawn

    a, b = draw(M, K, left.transposed), draw(K, N, right.transposed)
    results = {way: device.empty((M, N), np.float32) for way in WAYS}
    works = {
        LIBRARY: partial(device.driver.gemm, *matrices(device, a, b, results[LIBRARY])),
        TF32X3: partial(device.products.three_for_one, a, b, results[TF32X3]),
    }
    dropped = {}
    works[LIBRARY]()
    try:
        works[TF32X3]()
        worst = difference(*(device.to_numpy(results[way]) for way in (TF32X3, LIBRARY)))
        if not worst <= TOLERANCE[4]:
            dropped[TF32X3] = f"its results differ from the library's by {worst:.1e} of the largest"
    except CompileError as error:
        dropped[TF32X3] = str(error)
    for way in dropped:
        del works[way]
    return Timing(1, seconds_in_turns(device, works), dropped)


def check_way(name: str) -> str:
    """`name` if it is a way. Raises ValueError, which says where the name may come from."""
    return check_word(name, WAYS, "way {!r} to multiply", "device.products.wanted", VARIABLE)


def from_environment() -> str | None:
    """What ``MINIRNN_CUDNN_PRODUCTS`` asks for, None for "auto" or nothing. Raises ValueError for any other word."""
    name = os.environ.get(VARIABLE) or AUTO
    return None if name == AUTO else check_way(name)
