// Kernels with async.cuh, for test_async.py; nvcc compiles them, too. WAIT, SYNC, ... may be left out.
#include "async.cuh"
#ifndef WAIT
#define WAIT copy_wait<1>();
#endif
#ifndef SYNC
#define SYNC __syncthreads();
#endif
#ifndef MEET
#define MEET meeting_wait(&full[k % 2], k / 2 % 2);
#endif
#ifndef INIT
#define INIT __syncthreads();
#endif
#ifndef ARRIVED
#define ARRIVED meeting_wait(&arrived, step % 2);
#endif

#define KERNEL extern "C" __global__ void

// y[k] = x[k] + the number at the other end of its tile of 64, tile after tile; the next one is copied meanwhile
KERNEL pipeline(const float *x, float *y, int tiles) {
    __shared__ float tile[2][64];
    const int t = threadIdx.x;
    copy_async<4>(&tile[0][t], x + t);
    copy_commit();
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles) copy_async<4>(&tile[(k + 1) % 2][t], x + (k + 1) * 64 + t);
        copy_commit();
        WAIT
        SYNC
        y[k * 64 + t] = tile[k % 2][t] + tile[k % 2][63 - t];
        __syncthreads();
    }
}

KERNEL wide(const float4 *x, float4 *y, const double *u, double *v) {
    __shared__ float4 four[32];
    __shared__ double two[32];
    copy_async<16>(&four[threadIdx.x], x + threadIdx.x);
    copy_async<8>(&two[threadIdx.x], u + threadIdx.x);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    y[threadIdx.x] = four[31 - threadIdx.x], v[threadIdx.x] = two[31 - threadIdx.x];
}

// One warp makes numbers, another one uses them, over two places and without a barrier of the block.
KERNEL producer(const int *x, int *y, int n) {
    __shared__ int place[2][32];
    __shared__ Meeting full[2], empty[2];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int k = 0; k < 2; k++) meeting_init(&full[k], 32), meeting_init(&empty[k], 32);
    }
    INIT
    for (int k = 0; k < n; k++) {
        if (threadIdx.x < 32) {
            if (k >= 2) meeting_wait(&empty[k % 2], k / 2 % 2 ^ 1);
            place[k % 2][lane] = 10 * x[k * 32 + lane];
            meeting_arrive(&full[k % 2]);
        } else {
            MEET
            y[k * 32 + lane] = place[k % 2][31 - lane];
            meeting_arrive(&empty[k % 2]);
        }
    }
}

// The blocks of a cluster hand numbers on to their right neighbors, `steps` times, without a barrier of the cluster.
KERNEL __cluster_dims__(4, 1, 1) ring(int *y, int steps) {
    __shared__ int hand[2][32];
    __shared__ Meeting arrived, read;  // `read`: the neighbor has taken what this block sent
    const unsigned t = threadIdx.x, rank = blockIdx.x % 4;
    if (t == 0) meeting_init(&arrived, 1), meeting_init(&read, 32), meeting_visible();
    __syncthreads();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    int number = blockIdx.x * 100 + t;
    for (int step = 0; step < steps; step++) {
        if (t == 0) meeting_expect(&arrived, 32 * sizeof(int));
        store_async(&hand[step % 2][t], number, &arrived, (rank + 1) % 4);
        ARRIVED
        number = hand[step % 2][t] + 1;
        meeting_arrive(&read, (rank + 3) % 4);
        meeting_wait(&read, step % 2);
    }
    y[blockIdx.x * 32 + t] = number;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

KERNEL __cluster_dims__(2, 1, 1) stores(double *y, float4 *z) {
    __shared__ double two;
    __shared__ float4 four;
    __shared__ Meeting m;
    if (threadIdx.x == 0) meeting_init(&m, 1), meeting_visible();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    const unsigned other = 1 - blockIdx.x;
    if (threadIdx.x == 0) {
        meeting_expect(&m, 24);
        store_async(&two, 1.5 + blockIdx.x, &m, other);
        store_async(&four, make_float4(blockIdx.x, 2, 3, 4), &m, other);
    }
    while (!meeting_over(&m, 0));
    if (threadIdx.x == 0) y[blockIdx.x] = two, z[blockIdx.x] = four;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}
