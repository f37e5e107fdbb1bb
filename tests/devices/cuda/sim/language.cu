// Kernels like those in books on CUDA, for test_language.py.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define TILE 16

// __global__ void in_a_comment(int) { __shared__ float s[3]; }
__constant__ float scale[4] = {1, 2, 3, 4};
__device__ int counter;

struct Line {
    int count;
    double slope;
    float offset[3];
};

template <typename T> struct Sigmoid {
    __device__ static T of(T x) { return T(1.f / (1.f + expf(-float(x)))); }
};

template <template <typename> class F, typename T> __device__ __forceinline__ void map(const T *x, T *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = F<T>::of(x[i]);
}

#define REVERSE(T)                                             \
    extern "C" __global__ void reverse_##T(T *x) {             \
        __shared__ T s[32];                                    \
        s[threadIdx.x] = x[threadIdx.x];                       \
        __syncthreads();                                       \
        x[threadIdx.x] = s[31 - threadIdx.x];                  \
    }
REVERSE(float)
REVERSE(int) REVERSE(half)

extern "C" {

__global__ void saxpy(float a, const float *__restrict__ x, float *__restrict__ y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void __launch_bounds__(256) sigmoid_float(const float *x, float *y, int n) { map<Sigmoid>(x, y, n); }
__global__ void sigmoid_half(const half *x, half *y, int n) { map<Sigmoid>(x, y, n); }

__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K) {
    __shared__ float As[TILE][TILE], Bs[TILE][TILE + 1];
    const int r = blockIdx.y * TILE + threadIdx.y, c = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        As[threadIdx.y][threadIdx.x] = r < M && k0 + threadIdx.x < K ? A[r * K + k0 + threadIdx.x] : 0.f;
        Bs[threadIdx.y][threadIdx.x] = c < N && k0 + threadIdx.y < K ? B[(k0 + threadIdx.y) * N + c] : 0.f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; k++) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = sum;
}

__global__ void sum(const float *x, float *total, int n) {
    __shared__ float part[32];
    float v = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += x[i];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.f;
        for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffff, v, d);
        if (threadIdx.x == 0) atomicAdd(total, v);
    }
}

__global__ void histogram(const int *x, unsigned *h, int n, int bins) {
    extern __shared__ unsigned counts[];
    for (int i = threadIdx.x; i < bins; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[x[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(&h[i], counts[i]);
}

__device__ void grid_barrier(unsigned *arrived, unsigned blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned round = atomicAdd(arrived, 1u) / blocks;
        while (*(volatile unsigned *)arrived < (round + 1) * blocks) __nanosleep(32);
        __threadfence();
    }
    __syncthreads();
}

// h_{t+1} = tanh(W h_t): a row of W for each warp, and all blocks meet after each step
__global__ void persistent(const float *W, float *h, unsigned *arrived, int H, int T) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    for (int t = 0; t < T; t++) {
        const float *from = h + (t & 1) * H;
        float *to = h + ((t + 1) & 1) * H;
        float s = 0;
        for (int j = lane; j < H; j += 32) s += W[row * H + j] * __ldcg(from + j);
        for (int d = 16; d; d >>= 1) s += __shfl_down_sync(~0u, s, d);
        if (lane == 0) to[row] = tanhf(s);
        grid_barrier(arrived, gridDim.x);
    }
}

__global__ void half_to_float(const half *x, float *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __half2float(x[i]);
}

__global__ void float_to_half(const float *x, half *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __float2half(x[i]);
}

__global__ void half_arithmetic(const half *a, const half *b, half *y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = a[i] + b[i];
    y[n + i] = __hsub(a[i], b[i]);
    y[2 * n + i] = a[i] * b[i];
    y[3 * n + i] = a[i] / b[i];
}

__global__ void line(Line line, float4 *v, const float2 *u, bool flip) {
    float4 a = v[threadIdx.x];
    a.x += u[threadIdx.x].y + line.count;
    a.y = float(line.slope * a.y) + line.offset[2];
    if (flip) a.w = -a.w;
    v[threadIdx.x] = a;
}

__global__ void by_value(float4 v, uint3 n, half h, float *y) {
    y[threadIdx.x] = v.x + 10 * v.w + 100 * n.z + 1000 * float(h) + threadIdx.x;
}

__global__ void scaled(float *x) { x[threadIdx.x] *= scale[threadIdx.x % 4]; }
__global__ void count() { atomicAdd(&counter, 1); }

__global__ void votes(unsigned *y) {
    const unsigned all = 0xffffffff, t = threadIdx.x;
    y[t] = __ballot_sync(all, t & 1);
    y[32 + t] = __any_sync(all, t == 3) + 2 * __all_sync(all, t < 31) + 4 * __all_sync(all, 1);
    y[64 + t] = __syncthreads_count(t < 5);
    y[96 + t] = __shfl_up_sync(all, t, 1);
    y[128 + t] = __shfl_sync(all, t * 2, 4, 8);
    y[160 + t] = (unsigned)(2 * __shfl_xor_sync(all, 1.5 * t, 1));
    y[192 + t] = __match_any_sync(all, t / 8);
    y[224 + t] = __reduce_add_sync(all, t);
    y[256 + t] = __shfl_up_sync(all, t, 3, 8);
    y[288 + t] = __shfl_down_sync(all, t, 3, 8);
}

__global__ void speak(int n) {
    auto twice = [](int a) { return 2 * a; };
    if (threadIdx.x == 0) printf("block %d of %s: %d\n", blockIdx.x, "{__shared__ float x;", twice(n));
}

__global__ void square_of_each(float *x) {
    auto each = [=](auto f) { x[threadIdx.x] = f(x[threadIdx.x]); };
    each([](float v) { return v * v; });
}

}  // extern "C"

extern __shared__ float of_all[];  // at file scope: the block's own, in every function

__device__ float from_the_end(int i) { return of_all[blockDim.x - 1 - i]; }

extern "C" __global__ void turned(float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    of_all[threadIdx.x] = x[i];
    __syncthreads();
    x[i] = from_the_end(threadIdx.x) + reinterpret_cast<float4 *>(of_all)[0].y;
}
