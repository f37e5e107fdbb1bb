// A barrier for blocks of one grid: no block leaves it before all have arrived, and after it each block sees in memory
// what the others wrote before it. Its parts are a counter, a flag, three fences and two barriers of the block;
// docs/appendix/puzzles.md removes them one by one.
//
// All blocks must be on the device at the same time, which the launcher ensures. If a block does not arrive
// nevertheless, the wait ends after `polls` reads of the flag, `error` holds the round, and the kernel returns.
#pragma once
#include "grid.cuh"

struct GridBarrier {
    u32 *arrived;         // the counter: how many times a block has arrived; initially 0
    volatile u32 *round;  // the flag: the last round in which all blocks have arrived; initially 0
    u32 blocks;

    // All threads of all blocks call it, with n = 1, 2, 3, ... Returns whether all arrived; if not, the kernel must
    // return.
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
