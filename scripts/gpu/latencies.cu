// What a step of a recurrent layer waits for: a message from one block to another, and a barrier of the whole grid.
#include "grid_barrier.cuh"

extern "C" __global__ void nothing() {}

// Two blocks of one thread. Block 0 writes n at the first place and waits for it at the second, where block 1 writes what
// it found: two messages per round. words: (2, 32), zeros, so that the places are not in one line of a cache
extern "C" __global__ void hops(int rounds, u32 *words, u32 polls, u32 *error) {
    Watch watch = {error, polls, false};
    u32 *to = words + blockIdx.x * 32, *from = words + (1 - blockIdx.x) * 32;
    for (u32 n = 1; n <= (u32)rounds && !watch.lost; n++) {
        if (blockIdx.x == 0) store_word(to, n);
        for (u32 looked = 1; load_word(from) != n && !watch.lost; looked++) watch.missed(looked, n);
        if (blockIdx.x == 1) store_word(to, n);
    }
}

// meeting: counter and flag, zeros
extern "C" __global__ void barriers(int rounds, u32 *meeting, u32 polls, u32 *error) {
    const GridBarrier barrier = {meeting, meeting + 1, gridDim.x};
    Watch watch = {error, polls, false};
    for (int n = 1; n <= rounds; n++)
        if (!barrier.wait(n, watch)) return;
}
