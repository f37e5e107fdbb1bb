"""Kernels of custom ops: their devices, and their arguments.

Tests `minirnn/autograd/kernels.py` and `minirnn/devices/sources.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import CompileError

CPP = mr.devices.CppSource(r"""
#include <cmath>
extern "C" void softsign(i64 n, const real *x, acc slope, real *y) {
    for (i64 k = 0; k < n; k++) y[k] = slope * x[k] / (1 + std::abs(x[k]));
}""")
CUDA = mr.devices.CudaSource(r"""
#include "real.cuh"
extern "C" __global__ void softsign(i64 n, const real *x, acc slope, real *y) {
    const i64 k = element();
    if (k < n) y[k] = slope * x[k] / (1 + fabs(x[k]));
}""")


def softsign() -> Any:
    """A new op each time, without a kernel."""

    class Softsign(mr.autograd.Function):
        @staticmethod
        def forward(x: mr.Tensor, slope: float) -> mr.Tensor:
            return slope * x / (1 + abs(x))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    return Softsign


def with_kernels(seen: list[Any]) -> Any:
    op = softsign()

    @op.register_kernel("cpu")
    def by_numpy(x: np.ndarray, slope: float) -> np.ndarray:
        seen.append(("cpu", x.dtype.name, x.flags.c_contiguous))
        return slope * x / (1 + np.abs(x))

    @op.register_kernel(["native"])
    def by_cpp(x: np.ndarray, slope: float) -> np.ndarray:
        seen.append(("native", x.dtype.name, x.flags.c_contiguous))
        y = np.empty_like(x)
        CPP("softsign", x.size, x, slope, y)
        return y

    def by_cuda(x: Any, slope: float) -> Any:
        seen.append(("cuda", x.dtype.name, x.contiguous))
        y = x.device.empty(x.shape, x.dtype)
        CUDA("softsign", x.size, x, slope, y, threads=x.size)
        return y

    op.register_kernel("cuda", by_cuda)
    return op


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_each_device_uses_its_kernel_and_the_numbers_are_those_of_forward(
    device: str, dtype: str, rng: np.random.Generator
) -> None:
    seen: list[Any] = []
    op = with_kernels(seen)
    x = mr.tensor(rng.standard_normal((3, 70)).astype(dtype), True, device).T
    y = op.apply(x, 2.5)
    expected = softsign().forward(x.astype("float64"), 2.5).numpy()
    u = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11}[dtype]
    np.testing.assert_allclose(y.numpy(), expected, rtol=8 * u)  # four roundings
    assert y.dtype == dtype and y.op.name == "Softsign"
    assert seen == [(device.partition("-")[0], "float32" if dtype == "float16" else dtype, True)]
    assert op.apply(x[:0], 2.5).shape == (0, 3) and op.apply(x[0, 0], 2.5).shape == ()


def test_gradients_come_from_forward_where_backward_is_missing(device: str, rng: np.random.Generator) -> None:
    op = with_kernels([])
    x = mr.tensor(rng.standard_normal(5), True, device)
    assert mr.gradcheck(lambda x: op.apply(x, 2.5), [x], order=2)


def test_a_device_without_a_kernel_takes_forward_and_counts_it(rng: np.random.Generator) -> None:
    op = softsign()
    place = mr.devices.get("cpu")
    x = mr.ones(3)
    before = place.fallbacks["Softsign"]
    op.apply(x, 1.0)
    assert place.fallbacks["Softsign"] == before  # it has no kernels
    op.register_kernel("cuda", lambda x, slope: x)
    np.testing.assert_array_equal(op.apply(x, 1.0).numpy(), 0.5 * np.ones(3))
    assert place.fallbacks["Softsign"] == before + 1


def test_several_results_of_a_kernel() -> None:
    class Parts(mr.autograd.Function):
        @staticmethod
        def forward(x: mr.Tensor) -> Any:
            return x * 2, x * 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None: ...

    Parts.register_kernel("cpu", lambda x: [x * 2, x * 3])
    x = mr.ones(3, requires_grad=True)
    a, b = Parts.apply(x)
    (a * b).sum().backward()
    assert x.grad.tolist() == [12, 12, 12]


def test_what_is_wrong_with_a_kernel_is_said() -> None:
    op = softsign()
    with pytest.raises(TypeError, match="register_kernel got 3\n  expected names of devices"):
        op.register_kernel(3)
    with pytest.raises(TypeError, match="the kernel is a int"):
        op.register_kernel("cpu", 3)
    op.register_kernel("cpu", lambda x, slope: 3.0)
    with pytest.raises(TypeError, match="Softsign: result 0 of the kernel for cpu is a float"):
        op.apply(mr.ones(3), 1.0)

    class WithContext(mr.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: mr.Tensor) -> mr.Tensor:
            return x

    with pytest.raises(
        TypeError, match=r"WithContext: forward takes a context, but a kernel has none\n.*setup_context"
    ):
        WithContext.register_kernel("cpu")


def test_what_is_wrong_with_a_cpp_text_is_said() -> None:
    reason = mr.devices.available()["native"]
    if reason is not None:
        pytest.skip(reason)
    x = np.ones((2, 3))
    with pytest.raises(CompileError, match=r"own\.cpp:2"):
        mr.devices.CppSource('\nextern "C" void f(real *x) { x[0] = none; }')("f", x)
    with pytest.raises(ValueError, match="softplus: the C\\+\\+ text has no such function"):
        CPP("softplus", x)
    with pytest.raises(ValueError, match="softsign: got an array with strides"):
        CPP("softsign", 6, x.T, 1.0, x)
    with pytest.raises(TypeError, match="dtypes float32, float64\n"):
        CPP("softsign", 6, x, 1.0, x.astype("f4"))
    with pytest.raises(TypeError, match="dtypes none"):
        CPP("softsign", 6)


def test_what_is_wrong_with_a_cuda_text_is_said() -> None:
    reason = mr.devices.available()["cuda-sim"]
    if reason is not None:
        pytest.skip(reason)
    x = mr.devices.get("cuda-sim").asarray(np.ones(3))
    with pytest.raises(TypeError, match="softsign: the launch has no thread count\n  expected threads=n"):
        CUDA("softsign", 3, x, 1.0, x)
    with pytest.raises(CompileError, match=r"own\.cu"):
        mr.devices.CudaSource('#include "real.cuh"\nextern "C" __global__ void f(real *x) { x[0] = none; }')(
            "f", x, threads=1
        )
    with pytest.raises(TypeError, match="dtypes float16"):
        CUDA("softsign", 3, mr.devices.get("cuda-sim").asarray(np.ones(3, "f2")), 1.0, threads=3)
