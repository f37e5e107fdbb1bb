// CudnnRNN, the gradients of a whole sequence in one launch, for small layers: each slice of ROWS rows of the batch has
// a cluster of blocks. What is summed over steps (dx, dW, dR and the biases) is products after it.
// Formulas: minirnn/ops/cudnn_rnn/nodes.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
//   one warp = UNITS units: their columns of R, all G*H terms of dh, in registers, spread over the lanes; a lane
//   computes the cell whose total it gets                              grid (CLUSTER * slices of the batch, D)
// The gradients dA2 of a step lie in the shared memory of every block. A warp writes those of its units into all of
// them; then the cluster meets at a barrier, one a step. There are two places for them, used in turn.
#define CLUSTER 8
#include "cluster.cuh"
#include "cudnn_rnn/cell.cuh"
#include "warp_product.cuh"

// Constants of a compilation: -DCHUNKS -DROWS (warp_product.cuh) -DTHREADS=the most of a block -DUNITS=1|2|4

// R: (D, G*H, H)      values: (D, T, 5, B, H) or null      y, dy: (T, B, D*H)
// dh, dc: (D, B, H), go from the gradients of the last state to those of the first; dc null but for lstm
// dA: (D, T, B, G*H), for gru (D, T, B, 4*H) with columns q r z n
template <class Cell>
__device__ void backward(int T, int B, int H, const int *lengths, const real *R, const real *values, const real *y,
                         const real *dy, real *dh_, real *dc_, real *dA) {
    constexpr int G = Cell::gates, COLUMNS = Cell::columns;
    constexpr int LANES = 32 / (ROWS * UNITS);   // that hold the same total, and so the same cell
    constexpr int LENGTH = CHUNKS * 32 * WIDTH;  // of the gradients of a row: [gate][unit]
    __shared__ Vector tiles[2][ROWS * CHUNKS * 32];
    const int d = blockIdx.y, D = gridDim.y, lane = lane_number();
    const int units = (cluster_rank() * (blockDim.x / 32) + warp_number()) * UNITS;  // the warp's first one
    const int unit = units + lane / LANES % UNITS, tile_row = lane / LANES / UNITS;
    const int row = blockIdx.x / CLUSTER * ROWS + tile_row;  // of the batch
    const bool has_cell = unit < H && row < B;
    const bool leader = has_cell && lane % LANES == 0;  // lanes of one cell compute the same; one of them writes
    const i64 block = (i64)B * H, k = (i64)row * H + unit;

    R += (i64)d * G * H * H, dh_ += d * block, dc_ += dc_ ? d * block : 0;
    values += values ? d * T * 5 * block : 0, dA += d * T * block * COLUMNS;

    Weights<UNITS> weights;
    weights.chunks = CHUNKS;
    weights.more = nullptr;
    weights.load([&](int n, int i) {  // term i: gate i / H of unit i % H
        return units + n < H && i < G * H ? R[(i64)i * H + units + n] : real(0);
    });
    real dh = has_cell ? dh_[k] : real(0), dc = has_cell && dc_ ? dc_[k] : real(0);
    for (int i = threadIdx.x; i < 2 * ROWS * LENGTH; i += blockDim.x) ((real *)tiles)[i] = 0;
    cluster_barrier();  // all blocks run, and have written their zeros

    for (int step = 0; step <= T; step++) {  // after the last one: the gradient of the first state
        const int t = d == 0 ? T - 1 - step : step;
        const i64 at = ((i64)t * B + row) * D * H + d * H + unit;
        const bool valid = has_cell && step < T && counts(lengths, t, row);
        const Saved saved = load_saved<Cell>(valid, values + t * 5 * block + k, block, y + at, dy + at);
        if (units < H && step > 0) {
            real sum[ROWS * UNITS];
            multiply<UNITS, UNITS>(weights, tiles[(step + 1) % 2], sum);
            dh += totals(sum);
        }
        if (step == T) break;
        if (has_cell) {
            real gradient[COLUMNS];
            cell_grad<Cell>(saved, dh, dc, gradient);
            real *place = (real *)tiles[step % 2] + tile_row * LENGTH + unit;
            for (int rank = lane % LANES; rank < CLUSTER; rank += LANES) {
                real *there = in_block(place, rank);
#pragma unroll
                for (int g = 0; g < G; g++) there[g * H] = gradient[Cell::recurrent(g)];
            }
#pragma unroll
            for (int column = 0; column < COLUMNS; column++)
                if (leader) dA[(((i64)t * B + row) * COLUMNS + column) * H + unit] = gradient[column];
        }
        cluster_barrier();
    }
    if (leader) {
        dh_[k] = dh;
        if (dc_) dc_[k] = dc;
    }
}

#define PARAMETERS                                                                                                     \
    int T, int B, int H, const int *lengths, const real *R, const real *values, const real *y, const real *dy,         \
        real *dh, real *dc, real *dA
#define ARGUMENTS T, B, H, lengths, R, values, y, dy, dh, dc, dA
#define KERNEL extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)

KERNEL lstm_cluster_grad(PARAMETERS) { backward<Lstm>(ARGUMENTS); }
KERNEL gru_cluster_grad(PARAMETERS) { backward<Gru>(ARGUMENTS); }
KERNEL rnn_tanh_cluster_grad(PARAMETERS) { backward<Simple<false>>(ARGUMENTS); }
KERNEL rnn_relu_cluster_grad(PARAMETERS) { backward<Simple<true>>(ARGUMENTS); }
