// A cluster: CLUSTER blocks that are on the device together and reach each other's shared memory (compute capability
// 9.0). A kernel runs in clusters by __cluster_dims__(CLUSTER, 1, 1); its grid is made of whole ones.
#pragma once
#include "real.cuh"

// The number of this block in its cluster.
__device__ inline int cluster_rank() { return blockIdx.x % CLUSTER; }

// The place in the shared memory of block `rank` of the cluster that corresponds to p in this block's.
template <class T>
__device__ inline T *in_block(T *p, int rank) {
    return (T *)__cluster_map_shared_rank(p, (unsigned)rank);
}

// All threads of the cluster meet. What they wrote before, into any block's shared memory, is there for all afterwards.
__device__ inline void cluster_barrier() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
}
