// A barrier for blocks of one grid: nobody leaves it before all have come, and whoever has left it finds in memory what
// the others wrote before they came. Its parts are a counter, a flag, three fences and two barriers of the block;
// docs/puzzles.md takes them out one by one.
//
// All blocks must be on the device at the same time: whoever launches makes sure of it. If a block stays away all the
// same, the wait ends after `polls` looks at the flag, `error` says at which round, and the kernel returns.
#pragma once
#include "grid.cuh"

struct GridBarrier {
    u32 *arrived;         // the counter: how many times a block has come; 0 at first
    volatile u32 *round;  // the flag: the last round to which all blocks have come; 0 at first
    u32 blocks;

    // All threads of all blocks call it, with n = 1, 2, 3, ... Returns whether all came; else the kernel must return.
    __device__ bool wait(u32 n, Watch &watch) const {
        __syncthreads();  // all threads of this block have written
        if (threadIdx.x == 0) {
            __threadfence();  // the block's numbers are in memory before the block counts as here
            const bool is_last = atomicAdd(arrived, 1u) + 1 == n * blocks;
            if (is_last) {
                __threadfence();  // all blocks have been counted before the flag says so
                *round = n;
            }
            for (u32 looked = 1; *round < n && !watch.lost; looked++) watch.missed(looked, n);
            __threadfence();  // the flag was seen before the others' numbers are read
        }
        return !__syncthreads_or(watch.lost);  // all threads of this block wait for the first one
    }
};
