// Kernels with cooperative groups, for test_cooperative_groups.py; nvcc also compiles them.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" {

// y: (10, threads)
__global__ void block_and_tiles(const int *x, int *y) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    auto pair = cg::tiled_partition<2>(tile);
    cg::thread_block_tile<8> same = tile;
    const unsigned t = block.thread_rank(), n = block.size();
    y[t] = block.group_index().x * 1000 + block.num_threads();
    y[n + t] = tile.thread_rank() + 100 * tile.meta_group_rank() + 10000 * tile.meta_group_size();
    y[2 * n + t] = tile.shfl(x[t], 3);
    y[3 * n + t] = tile.shfl_up(x[t], 2);
    y[4 * n + t] = same.shfl_down(x[t], 1);
    y[5 * n + t] = tile.shfl_xor(x[t], 4);
    y[6 * n + t] = tile.any(x[t] > 90) + 2 * tile.all(x[t] > 5) + 4 * tile.ballot(x[t] % 2);
    y[7 * n + t] = tile.match_any(x[t] % 3);
    y[8 * n + t] = pair.shfl(x[t], 1) + 1000 * pair.meta_group_rank() + 10000 * pair.meta_group_size();
    y[9 * n + t] = cg::reduce(tile, x[t], cg::plus<int>()) + 1000 * cg::reduce(tile, x[t], cg::greater<int>());
    block.sync();
    cg::sync(tile);
}

struct Pair {
    double value;
    int index;
};

// The greatest number of each block, and where it is. x: (blocks, threads)
__global__ void greatest(const float *x, float *value, int *index) {
    __shared__ float values[32];
    __shared__ int indices[32];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const int i = block.group_index().x * block.size() + block.thread_rank();
    Pair best = {x[i], i};
    for (int d = warp.size() / 2; d > 0; d /= 2) {
        const Pair other = warp.shfl_down(best, d);  // more than eight bytes
        if (other.value > best.value) best = other;
    }
    if (warp.thread_rank() == 0) values[warp.meta_group_rank()] = best.value, indices[warp.meta_group_rank()] = best.index;
    block.sync();
    if (block.thread_rank() == 0) {
        for (unsigned w = 1; w < warp.meta_group_size(); w++)
            if (values[w] > values[0]) values[0] = values[w], indices[0] = indices[w];
        value[blockIdx.x] = values[0], index[blockIdx.x] = indices[0];
    }
}

// Sums of the odd and of the even numbers of each warp. y: (4, threads)
__global__ void together(const int *x, int *y) {
    const int t = threadIdx.x, n = blockDim.x;
    if (x[t] % 2) {
        auto odd = cg::coalesced_threads();
        y[t] = odd.size() == odd.num_threads() ? cg::reduce(odd, x[t], cg::plus<int>()) : -1;
        y[n + t] = odd.shfl(x[t], odd.size() - 1);
        y[2 * n + t] = odd.thread_rank() + 100 * odd.ballot(odd.thread_rank() == 1);
    } else {
        auto even = cg::coalesced_threads();
        y[t] = cg::reduce(even, x[t], cg::plus<int>());
        y[n + t] = even.shfl_up(x[t], 1);
        y[2 * n + t] = even.any(x[t] == 4) + 2 * even.all(x[t] >= 0);
    }
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    auto same = cg::binary_partition(warp, x[t] > 50);
    y[3 * n + t] = same.size() + 100 * same.thread_rank();
}

__device__ int counter;

// One addition for all lanes that arrive together.
__global__ void aggregated(const int *x, int *places) {
    if (x[threadIdx.x] > 40) {
        cg::coalesced_group active = cg::coalesced_threads();
        int first = 0;
        if (active.thread_rank() == 0) first = atomicAdd(&counter, (int)active.size());
        places[threadIdx.x] = active.shfl(first, 0) + active.thread_rank();
    }
}

// The same by the mask of the active lanes.
__global__ void aggregated_by_mask(const int *x, int *places) {
    if (x[threadIdx.x] > 40) {
        const unsigned mask = __activemask(), lane = threadIdx.x % 32;
        const int leader = __ffs(mask) - 1;
        int first = 0;
        if (lane == leader) first = atomicAdd(&counter, __popc(mask));
        places[threadIdx.x] = __shfl_sync(mask, first, leader) + __popc(mask & ((1u << lane) - 1));
    }
}

__global__ void scans(const int *x, int *y) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int t = threadIdx.x, n = blockDim.x;
    y[t] = cg::inclusive_scan(tile, x[t], cg::plus<int>());
    y[n + t] = cg::exclusive_scan(tile, x[t]);
    y[2 * n + t] = cg::inclusive_scan(tile, x[t], cg::greater<int>());
}

__device__ int sum_of(cg::thread_group group, int *shared, int value) {
    const int rank = group.thread_rank();
    for (int d = group.size() / 2; d > 0; d /= 2) {
        shared[rank] = value;
        group.sync();
        if (rank < d) value += shared[rank + d];
        group.sync();
    }
    return value;
}

__global__ void any_group(const int *x, int *y) {
    __shared__ int memory[64];
    auto block = cg::this_thread_block();
    const int t = block.thread_rank();
    const int whole = sum_of(block, memory, x[t]);
    cg::thread_group four = cg::tiled_partition(block, 4);
    const int part = sum_of(four, memory + t / 4 * 4, x[t]);
    if (t == 0) y[0] = whole;
    if (four.thread_rank() == 0) y[1 + t / 4] = part;
}

// y = x turned around, two tiles under way at a time. x: (2, threads)
__global__ void copied(const int *x, int *y) {
    __shared__ int tile[2][64];
    auto block = cg::this_thread_block();
    const int t = block.thread_rank();
    for (int k = 0; k < 2; k++) cg::memcpy_async(block, tile[k], x + k * 64, 64 * sizeof(int));
    cg::wait_prior<1>(block);
    y[t] = tile[0][63 - t];
    cg::wait(block);
    y[64 + t] = tile[1][63 - t];
}

// x: (steps + 1, blocks * threads): each step adds the neighbor's number of the step before
__global__ void whole_grid(int *x, int steps) {
    auto grid = cg::this_grid();
    const int n = grid.size(), i = grid.thread_rank();
    for (int step = 0; step < steps; step++) {
        x[(step + 1) * n + i] = x[step * n + i] + x[step * n + (i + 1) % n];
        grid.sync();
    }
}

}  // extern "C"
