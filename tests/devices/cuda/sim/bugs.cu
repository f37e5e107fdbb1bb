// Kernels with one planted bug each, for test_bugs.py: the lines marked BUG are those a report must name.
#include <assert.h>

#define KERNEL extern "C" __global__ void

KERNEL write_past_the_end(float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = 1.f;  // BUG
}

KERNEL read_past_the_end(float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 50) x[i - 20] = x[i];  // BUG
}

KERNEL before_the_start(float *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) x[i - 1] = 1.f;  // BUG
}

KERNEL far_away(float *x) {
    if (blockIdx.x == 1 && threadIdx.x == 9) x[100000] = 1.f;  // BUG
}

KERNEL half_outside(float4 *x) {
    if (threadIdx.x != 3 || blockIdx.x) return;
    char *bytes = (char *)x;
    *(double *)(bytes + 63 * 4) = 1.0;  // BUG
}

KERNEL add_past_the_end(int *x) {
    atomicAdd(&x[blockIdx.x * blockDim.x + threadIdx.x], 1);  // BUG
}

KERNEL touch(float *x) {
    if (blockIdx.x == 1 && threadIdx.x == 4) x[2] = 1.f;  // BUG
}

KERNEL race_between_two_statements(float *x) {
    __shared__ float s[64];
    const int t = threadIdx.x;
    s[t] = 0;
    __syncthreads();
    s[t] = x[t];  // BUG
    x[t] += s[blockDim.x - 1 - t];  // BUG
}

KERNEL race_in_a_warp(float *x) {
    __shared__ float s[32];
    const int t = threadIdx.x;
    s[t] = 0;
    __syncwarp();
    s[t] = x[t];  // BUG
    x[t] += s[31 - t];  // BUG
}

KERNEL race_in_a_loop(float *x) {
    __shared__ float s[32];
    float sum = 0;
    for (int k = 0; k < 3; k++) {
        s[threadIdx.x] = x[k];  // BUG
        __syncthreads();
        sum += s[(threadIdx.x + 1) % blockDim.x];  // BUG
    }
    x[32 + threadIdx.x] = sum;
}

KERNEL race_after_a_warp_has_met(float *x) {
    __shared__ float s[48];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    x[t] = s[0];  // BUG
    __syncwarp();
    if (t == 0) s[0] = 0;  // BUG
}

KERNEL race_in_a_tree(float *x) {
    __shared__ float s[32];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 16; d > 0; d /= 2) {
        if (t < d) s[t] += s[t + d];  // BUG
    }
    if (t == 0) x[0] = s[0];
}

KERNEL lost_additions(int *c) {
    *c += 1;  // BUG
}

KERNEL lost_counts(const int *x, int *h) {
    h[x[threadIdx.x]]++;  // BUG
}

KERNEL plain_write_beside_atomics(int *c) {
    if (threadIdx.x == 7)
        c[1] = 0;  // BUG
    else
        atomicAdd(&c[1], 1);  // BUG
}

KERNEL never_written(float *x) {
    __shared__ float s[32];
    if (threadIdx.x != 12) s[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x == 3) x[0] = s[12];  // BUG
}

KERNEL into_the_next_array(float *x) {
    __shared__ float a[32];
    __shared__ float b[32];
    a[threadIdx.x] = b[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x == 2) x[0] = a[threadIdx.x + 30] + b[0];  // BUG
}

KERNEL past_the_dynamic_array(float *x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];  // BUG
    __syncthreads();
    x[threadIdx.x] = s[0];
}

KERNEL divergent_barrier(float *x) {
    if (threadIdx.x < 16) {
        x[threadIdx.x] = 1;
        __syncthreads();  // BUG
    } else {
        __syncthreads();  // BUG
    }
}

KERNEL return_before_the_barrier(float *x) {
    if (threadIdx.x >= 20) return;
    x[threadIdx.x] = 0;
    __syncthreads();  // BUG
}

KERNEL lane_without_a_part(float *x) {
    float v = x[threadIdx.x];
    if (threadIdx.x < 16) v += __shfl_down_sync(0xffff, v, 1);  // BUG
    x[threadIdx.x] = v;
}

KERNEL shuffle_of_half_a_warp(float *x) {
    float v = 1;
    if (threadIdx.x < 16) v = __shfl_xor_sync(0xffffffff, v, 1);  // BUG
    __syncthreads();
    x[threadIdx.x] = v;
}

KERNEL mask_without_the_caller(unsigned *x) {
    if (threadIdx.x == 8) x[0] = __ballot_sync(0xff, 1);  // BUG
}

KERNEL two_warp_operations(float *x) {
    float v = 1;
    if (threadIdx.x % 2)
        v = __shfl_xor_sync(0xffffffff, v, 2);  // BUG
    else
        v = __shfl_down_sync(0xffffffff, v, 2);  // BUG
    x[threadIdx.x] = v;
}

KERNEL divide_by_zero(int *x) {
    if (threadIdx.x == 6) x[1] = 7 / x[0];  // BUG
}

KERNEL trap(const float *x) {
    if (threadIdx.x == 5) __trap();  // BUG
}

KERNEL assertion(const int *x) {
    if (threadIdx.x == 5) assert(x[0] == 1);  // BUG
}

__device__ int descend(int *x, int n) {
    volatile int room[100];
    room[n % 100] = x[n % 32];
    return n ? descend(x, n + 1) + room[n % 50] : 0;
}

KERNEL endless_recursion(int *x) {
    if (threadIdx.x == 1) x[0] = descend(x, 1);
}

KERNEL large_shared_memory(float *x) {
    __shared__ float s[13000];
    s[threadIdx.x] = 1;
    x[threadIdx.x] = s[threadIdx.x];
}

KERNEL waits_for_a_block_that_never_runs(volatile int *flag) {
    if (blockIdx.x + 1 < gridDim.x) {
        while (*flag == 0) __nanosleep(10);
    } else {
        *flag = 1;
    }
}

KERNEL never_ends(volatile int *x) {
    while (x[0] == 0);
}

KERNEL right(float *x) { x[threadIdx.x] = 2.f * threadIdx.x; }
KERNEL numbers(int a, const float *x, double b) {}
