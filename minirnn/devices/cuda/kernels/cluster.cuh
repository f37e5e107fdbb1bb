// A cluster: CLUSTER blocks that are on the device together and reach each other's shared memory (compute capability
// 9.0). A kernel runs in clusters by __cluster_dims__(CLUSTER, 1, 1); its grid is made of whole ones.
#pragma once
#include "async.cuh"
#include "real.cuh"

// The number of this block in its cluster.
__device__ inline int cluster_rank() { return blockIdx.x % CLUSTER; }

// All threads of the cluster meet. What they wrote before, into any block's shared memory, is there for all afterwards.
__device__ inline void cluster_barrier() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}

// How the blocks of a cluster fill two places in the shared memory of each of them, in turn, without a fence: each
// place has a Meeting that counts the bytes of store_async. Fill n = 1, 2, .. goes into place n % 2.
//
// Two are enough: who sends a part of fill n + 1 has waited for all of fill n; everybody sent his part of that after he
// had read fill n - 1, whose place is written now. And nobody leaves while others still write into his memory, if he
// waits for every fill that is sent.
struct Fills {
    Meeting *full;  // [2], in shared memory
    u32 bytes;      // of one fill, from all blocks

    // Before a barrier of the cluster.
    __device__ void open() const {
        if (threadIdx.x == 0) {
            meeting_init(full, 1), meeting_init(full + 1, 1);
            meeting_visible();
            meeting_expect(full, bytes), meeting_expect(full + 1, bytes);
        }
    }

    // Each thread that reads fill n waits for it; thread 0 must be one of them.
    __device__ void wait(int n) const {
        meeting_wait(full + n % 2, (n - 1) / 2 % 2);
        if (threadIdx.x == 0) meeting_expect(full + n % 2, bytes);  // fill n + 2
    }

    // This thread's part of fill n: `value` at `to`, a place in this block's memory, and at the same in block `rank`.
    template <class T>
    __device__ void send(int n, T *to, const T &value, int rank) const {
        store_async(to, value, full + n % 2, (unsigned)rank);
    }
};
