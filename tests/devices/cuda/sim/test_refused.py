"""Code that the simulator rejects, with one sentence and the line each; other code passes.

Tests `minirnn/devices/cuda/sim/refused.py` and `minirnn/devices/cuda/sim/markers.py`.
"""

import pytest

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions

OUTSIDE = "int x;\n{}\n"
HOST = "float outside(float a) {{ return a; }} template <class T> T twice(T a) {{ return a + a; }} "
INSIDE = HOST + 'extern "C" __global__ void k(float *x) {{\n{}\n}}\n'


def complaint(source: str) -> list[str]:
    with pytest.raises(CompileError) as error:
        SimDriver(SimOptions()).module(source, "wrong.cu")
    return str(error.value).splitlines()


@pytest.mark.parametrize(
    "form, line, sentence",
    [
        (INSIDE, "x[0] = __shfl_down(x[1], 1);", "CUDA has no __shfl_down any more: write __shfl_down_sync(0xffffffff"),
        (INSIDE, "x[0] = __shfl(x[1], 1);", "CUDA has no __shfl any more: write __shfl_sync("),
        (INSIDE, "x[0] = __ballot (x[1] > 0);", "CUDA has no __ballot any more: write __ballot_sync("),
        (INSIDE, 'asm volatile("bar.sync 0;");', "inline PTX is not simulated: keep it behind"),
        (INSIDE, "x[0] = tex2D<float>(t, 1, 2);", "textures and surfaces are not simulated: read the array through"),
        (OUTSIDE, "texture<float, 2> t;", "textures and surfaces are not simulated"),
        (OUTSIDE, "void f(cudaTextureObject_t t);", "textures and surfaces are not simulated"),
        (OUTSIDE, "void f() { k<<<1, 1>>>(x); }", "kernels are launched from Python here"),
        (INSIDE, "k<<<1, 1>>>(x);", "a kernel that launches kernels (dynamic parallelism) is not simulated"),
        (INSIDE, "cudaDeviceSynchronize();", "a kernel that launches kernels (dynamic parallelism) is not simulated"),
        (OUTSIDE, "int main() { cudaMalloc(&x, 4); }", "cudaMalloc is a call of host code, which is Python here"),
        (INSIDE, "nvcuda::wmma::fill_fragment(x, 0);", "tensor cores by nvcuda::wmma are not simulated"),
        (OUTSIDE, "__global__ void __cluster_dims__(4, 1, 1) k(int *x) {}", "clusters of blocks are not simulated"),
        (INSIDE, "__cluster_barrier_arrive();", "clusters of blocks are not simulated: blocks can communicate"),
        (INSIDE, "exit(3);", "a call of exit, which is a host function, from device code: a kernel calls mathematics"),
        (INSIDE, "auto f = &exit; f(3);", "a call of exit, which is a host function"),
        (INSIDE, "void (*f)(int) = exit; f(3);", "a call of exit, which is a host function"),
        (INSIDE, "__builtin_exit(3);", "a call of exit, which is a host function"),
        (INSIDE, "if (x[0] < 0) ::abort();", "a call of abort, which is a host function"),
        (INSIDE, 'return (void)system("true");', "a call of system, which is a host function"),
        (INSIDE, "x[0] = x[1]*rand();", "a call of rand, which is a host function"),
        (INSIDE, "x[0] = std::time(0) > 0;", "a call of std::time, which is a host function"),
        (INSIDE, "x[0] = outside(x[1]);", "a call of outside, which is a host function, from device code: write __dev"),
        (
            INSIDE,
            "x[0] = twice(x[1]);",
            "a call of twice, which is a host function, from device code: write __device__",
        ),
        (OUTSIDE, "struct S { __device__ int f() { return rand(); } };", "a call of rand, which is a host function"),
        (OUTSIDE, "__device__ int f() { return (int)strlen(0); }", "a call of strlen, which is a host function"),
        (OUTSIDE, "#include <mma.h>", "tensor cores by nvcuda::wmma are not simulated: multiply with"),
        (OUTSIDE, "#include <cuda/atomic>", "cuda::atomic is not simulated: use atomicAdd"),
        (OUTSIDE, "#include <cuda/std/atomic>", "cuda::atomic is not simulated: use atomicAdd"),
        (OUTSIDE, "#include <cuda/barrier>", "cuda::barrier and the like are not simulated: use __syncthreads"),
        (OUTSIDE, "#include <cuda/pipeline>", "cuda::pipeline is not simulated: use memcpy_async"),
        (OUTSIDE, "#include <cuda_pipeline.h>", "cuda::pipeline is not simulated: use memcpy_async"),
        (OUTSIDE, "#include <cuda/std/complex>", "libcu++ (cuda::, cuda::std::) is not simulated"),
        (OUTSIDE, "#include <curand_kernel.h>", "cuRAND is not simulated: draw random numbers on the host"),
        (OUTSIDE, "#include <cub/cub.cuh>", "CUB is not simulated"),
        (OUTSIDE, "#include <thrust/device_vector.h>", "Thrust is host code: launch kernels from Python"),
        (OUTSIDE, "#include <cublas_v2.h>", "NVIDIA's libraries are not simulated"),
    ],
    ids=lambda value: value if isinstance(value, str) and "{" not in value else "",
)
def test_it_is_named_in_one_sentence_with_its_line(form: str, line: str, sentence: str) -> None:
    first, second, third, *rest = complaint(form.format(line))
    assert first == "wrong.cu does not compile:"
    assert second.startswith(f"wrong.cu:2: {sentence}")
    assert third == f"    {line}"
    assert not rest


@pytest.mark.parametrize(
    "header, line, name",
    [
        ("algorithm", "std::sort(x, x + 2);", "std::sort"),
        ("algorithm", "using namespace std; sort(x, x + 2);", "sort"),
        ("string", 'x[0] = std::string("ab").size();', "std::string"),
        ("vector", "std::vector<float> v(3);", "std::vector"),
        ("iostream", "std::cout << x[0];", "std::cout"),
        ("chrono", "std::chrono::steady_clock::now();", "std::chrono"),
    ],
)
def test_a_function_of_a_header_is_refused_by_its_name(header: str, line: str, name: str) -> None:
    first, second, third = complaint(f"#include <{header}>\n" + INSIDE.format(line))
    assert second.startswith(f"wrong.cu:3: a call of {name}, which is a host function, from device code")
    assert third == f"    {line}"


def test_functions_that_kernels_may_call_pass() -> None:
    SimDriver(SimOptions()).module(
        """\ufeff
        #include <cmath>
        #include <limits>
        #include <cstring>
        #include <cstdlib>
        int on_the_host() { return system("true") + rand(); }
        __device__ float div(float a, float b) { return a / b; }  // the C library has such a function
        float both(float a) { return a; }
        __device__ float both(float a, int) { return a; }
        struct Pair { float a; __device__ float read() const { return a; } };
        extern "C" __global__ void k(float *x, int n) {
            float time(2), index[2] = {1, 2}, rand = x[0], *at = &rand;
            x[3] = __builtin_fabsf(rand) + *at;
            x[4] = time;
            const Pair pair = {x[0]};
            auto select = [&](int i) { return index[i]; };
            std::memcpy(x, index, sizeof(index));
            memset(x, 0, 4);
            x[0] = std::exp(x[1]) + std::isnan(x[2]) + expf(time) + fmaxf(x[0], 1) + std::numeric_limits<float>::max();
            x[1] = div(x[0], 2.f) + both(x[1], 1) + pair.read() + min(x[0], 1.f) + abs(n) + std::size_t(2) + select(1);
            if (n == 12345) printf("exit(3) system(%d)", n);
        }
        """,
        "passes.cu",
    )


def test_words_in_strings_comments_and_other_names_pass() -> None:
    SimDriver(SimOptions()).module(
        """
        // asm, tex2D<float>(x), k<<<1, 1>>>(x)
        #ifndef __CUDASIM__
        __device__ void ptx() { asm volatile("bar.sync 0;"); }
        #endif
        __device__ int my__shfl(int a) { return a; }
        struct Texture { int texture, asm_; };
        extern "C" __global__ void k(int *x) {
            if (x[0] == 12345) printf("asm <<< tex2D( __shfl( %d", my__shfl(1));
            x[0] = (x[1] << 2) << 1;
        }
        """,
        "passes.cu",
    )


def test_a_header_of_ones_own_that_is_missing_keeps_the_compilers_words() -> None:
    assert "missing.cuh" in "".join(complaint('#include "missing.cuh"\n'))
