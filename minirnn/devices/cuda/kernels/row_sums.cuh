// The first part of the softmax of a row: its maximum, and the sum of exp(x - maximum).        one block = one row
#pragma once
#include "real.cuh"

// The sum (or maximum) of one number per thread, returned to all threads of the block. blockDim.x is a power of two.
__device__ inline acc total(acc share, acc *shares) {
    shares[threadIdx.x] = share;
    for (int n = blockDim.x / 2; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) shares[threadIdx.x] += shares[threadIdx.x + n];
    }
    __syncthreads();
    const acc result = shares[0];
    __syncthreads();  // all have read it before `shares` is used again
    return result;
}

__device__ inline acc largest(acc share, acc *shares) {
    shares[threadIdx.x] = share;
    for (int n = blockDim.x / 2; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) shares[threadIdx.x] = larger(shares[threadIdx.x], shares[threadIdx.x + n]);
    }
    __syncthreads();
    const acc result = shares[0];
    __syncthreads();
    return result;
}

// At most n threads.
__device__ inline void row_sums(const real *x, i64 n, acc *shares, acc *maximum, acc *sum) {
    acc m = acc(x[threadIdx.x]);
    for (i64 j = threadIdx.x + blockDim.x; j < n; j += blockDim.x) m = larger(m, acc(x[j]));
    m = largest(m, shares);
    acc s = 0;
    for (i64 j = threadIdx.x; j < n; j += blockDim.x) s += exp(acc(x[j]) - m);
    *maximum = m;
    *sum = total(s, shares);
}
