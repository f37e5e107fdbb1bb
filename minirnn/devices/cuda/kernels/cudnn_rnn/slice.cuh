// Which cell a thread computes in a kernel where each slice of ROWS rows of the batch has a cluster of blocks, and each
// warp has UNITS units.
#pragma once
#define CLUSTER 8
#include "cluster.cuh"
#include "cudnn_rnn/cell.cuh"
#include "cudnn_rnn/direction.cuh"
#include "warp_product.cuh"

#define ATTRIBUTES __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)

constexpr int LANES = 32 / (ROWS * UNITS);   // lanes that work on the same cell
constexpr int LENGTH = CHUNKS * 32 * WIDTH;  // elements of a vector in a tile

struct Slice {
    int units;                 // the first unit of the warp
    int own, unit;             // the unit of this lane's cell: its number in the warp and in the layer
    int first, tile_row, row;  // the first row of the slice; the row of this lane's cell in the tile and in the batch
    bool has_unit, has_cell;
    bool leader;  // lanes of one cell compute the same; one of them writes
    int rows;     // of the slice
    int ranks;    // blocks of the cluster that have units: the others have nothing to do

    __device__ Slice(int B, int H) {
        const int lane = lane_number();
        units = (cluster_rank() * (blockDim.x / 32) + warp_number()) * UNITS;
        own = lane / LANES % UNITS, unit = units + own;
        first = blockIdx.x / CLUSTER * ROWS, tile_row = lane / LANES / UNITS, row = first + tile_row;
        has_unit = unit < H, has_cell = has_unit && row < B;
        leader = has_cell && lane % LANES == 0;
        rows = min(ROWS, B - first);
        const int each = blockDim.x / 32 * UNITS;  // units of a block
        ranks = (H + each - 1) / each;
    }
};
