// What `cells/keyed.h` asks of a device: one block = one sample, and a thread has one unit or key after the other.
#pragma once
#include "activation.cuh"

typedef i64 Index;

#define UNITS for (Index u = threadIdx.x; u < H; u += blockDim.x)
// Not all N at once: then the loads of all keys wait in registers, of which there are too few.
#define EACH_KEY _Pragma("unroll 8") for (int k = 0; k < N; k++)
#define KEYS for (Index k = threadIdx.x; k < N; k += blockDim.x)
#define AT_ONCE 8  // sums of a block that one tree computes

__device__ inline real load(const real *p, Index) { return *p; }
__device__ inline void store(real *p, real v, Index) { *p = v; }
__device__ inline real one(const real *p) { return *p; }
__device__ inline real own(real v, Index) { return v; }
__device__ inline void meet() { __syncthreads(); }

__device__ inline void put_one(real *p, real v) {
    if (threadIdx.x == 0) *p = v;
}

__device__ inline void add_one(real *p, real v) {
    if (threadIdx.x == 0) *p += v;
}

__device__ inline void copy(real *to, const real *from, Index n) {
    for (Index i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}

// Every thread adds the same numbers.
template <class V>
__device__ V sum_of_keys(const real *p, int n) {
    V found = 0;
    for (int k = 0; k < n; k++) found += p[k];
    return found;
}

// The sums of `count` numbers of all threads, which are in shares[j * blockDim.x] afterwards. blockDim.x is a power of 2.
__device__ inline real *sums_of_block(const real *v, int count) {
    extern __shared__ double memory[];
    real *shares = (real *)memory;
    for (int j = 0; j < count; j++) shares[j * blockDim.x + threadIdx.x] = v[j];
    for (int n = blockDim.x / 2; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) {
            for (int j = 0; j < count; j++) {
                real *mine = shares + j * blockDim.x + threadIdx.x;
                *mine += mine[n];
            }
        }
    }
    __syncthreads();
    return shares;
}

__device__ inline real sum_of_units(real v) {
    const real found = *sums_of_block(&v, 1);
    __syncthreads();  // all have read it before the memory is used again
    return found;
}

template <int N>
__device__ void sum_of_units(const real (&v)[N], real *to) {
    for (int first = 0; first < N; first += AT_ONCE) {
        const int count = N - first < AT_ONCE ? N - first : AT_ONCE;
        const real *sums = sums_of_block(v + first, count);
        for (int j = threadIdx.x; j < count; j += blockDim.x) to[first + j] = sums[j * blockDim.x];
        __syncthreads();
    }
}

#include "cells/keyed.h"
