// Kernels with mma.cuh, for test_mma.py; nvcc compiles them, too.
#include <cuda_fp16.h>

#include "mma.cuh"

// a: (32, 4) registers of the lanes, b: (32, 2), d: (32, 4)
#define BY_FRAGMENTS(name)                                                                               \
    extern "C" __global__ void name##_fragments(const unsigned *a, const unsigned *b, float *d) {        \
        unsigned own_a[4], own_b[2];                                                                     \
        float own_d[4];                                                                                  \
        for (int k = 0; k < 4; k++) own_a[k] = a[4 * threadIdx.x + k], own_d[k] = d[4 * threadIdx.x + k]; \
        for (int k = 0; k < 2; k++) own_b[k] = b[2 * threadIdx.x + k];                                   \
        name(own_d, own_a, own_b);                                                                       \
        for (int k = 0; k < 4; k++) d[4 * threadIdx.x + k] = own_d[k];                                   \
    }
BY_FRAGMENTS(mma_f16)
BY_FRAGMENTS(mma_bf16)
BY_FRAGMENTS(mma_tf32)

// x: matrices of 8 x 8 elements of two bytes, one after the other; y: (lanes, N) registers
#define LOAD(N, TRANSPOSED, name)                                                                    \
    extern "C" __global__ void name(const unsigned short *x, unsigned *y) {                          \
        __shared__ __align__(16) unsigned short s[N * 64];                                           \
        for (int k = threadIdx.x; k < N * 64; k += 32) s[k] = x[k];                                  \
        __syncthreads();                                                                             \
        unsigned own[N];                                                                             \
        load_matrices<N, TRANSPOSED>(own, s + 8 * (threadIdx.x % (8 * N)));                          \
        for (int k = 0; k < N; k++) y[N * threadIdx.x + k] = own[k];                                 \
    }
LOAD(1, false, load_1)
LOAD(2, false, load_2)
LOAD(4, false, load_4)
LOAD(1, true, load_1_transposed)
LOAD(2, true, load_2_transposed)
LOAD(4, true, load_4_transposed)

#ifndef MARK
#define MARK __syncwarp();
#endif

// C (16, 8) = A (16, K) B (K, 8), all in rows; one warp
extern "C" __global__ void product(const __half *A, const __half *B, float *C, int K) {
    __shared__ __align__(16) __half a[16][16], b[16][8];
    float d[4] = {0, 0, 0, 0};
    const int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    for (int k0 = 0; k0 < K; k0 += 16) {
        for (int k = lane; k < 256; k += 32) a[k / 16][k % 16] = A[k / 16 * K + k0 + k % 16];
        for (int k = lane; k < 128; k += 32) b[k / 8][k % 8] = B[(k0 + k / 8) * 8 + k % 8];
        MARK
        unsigned own_a[4], own_b[2];
        load_matrices(own_a, &a[lane % 16][lane / 16 * 8]);
        load_matrices<2, true>(own_b, &b[lane % 16][0]);
        mma_f16(d, own_a, own_b);
        __syncwarp();
    }
    for (int i = 0; i < 4; i++) C[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

extern "C" __global__ void rounded(const float *x, unsigned *y) { y[threadIdx.x] = to_tf32(x[threadIdx.x]); }
