// CudnnRNN, a whole sequence in one launch, for small layers: each slice of ROWS rows of the batch has a cluster of
// blocks. Formulas: minirnn/ops/cudnn_rnn/nodes.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
//   one warp = UNITS units: their rows of R, one a gate, in registers, spread over the lanes; a block has some units,
//   the CLUSTER blocks of a cluster have them all                      grid (CLUSTER * slices of the batch, D)
// The state h' lies in the shared memory of every block. A warp writes its units' part of h into all of them; then the
// cluster meets at a barrier, one a step. There are two places for the state, used in turn: while one is read, the
// other is written. Clusters never wait for each other, so it does not matter how many the device holds at once.
#define CLUSTER 8
#include "cluster.cuh"
#include "cudnn_rnn/cell.cuh"
#include "warp_product.cuh"

// Constants of a compilation: -DCHUNKS -DROWS (warp_product.cuh) -DTHREADS=the most of a block -DUNITS=1|2

// A: (D, T, B, G*H), x W' of all steps        R: (D, G*H, H)        biases: (D, 2, G*H), bW and bR
// h: (D, B, H), c: (D, B, H) or null: go from the first state to the last
// values: (D, T, 5, B, H) or null             y: (T, B, D*H)
template <class Cell>
__device__ void forward(int T, int B, int H, const int *lengths, const real *A, const real *R, const real *biases,
                        real *h, real *c_, real *values, real *y) {
    constexpr int G = Cell::gates, N = UNITS * G, PADDED = G == 3 ? 4 * UNITS : N;
    constexpr int LANES = 32 / (ROWS * UNITS);   // that work on the same cell
    constexpr int EACH = 32 / (ROWS * PADDED);   // that hold the same total
    constexpr int LENGTH = CHUNKS * 32 * WIDTH;  // of a state
    __shared__ Vector tiles[2][ROWS * CHUNKS * 32];
    const int d = blockIdx.y, D = gridDim.y, lane = lane_number();
    const int units = (cluster_rank() * (blockDim.x / 32) + warp_number()) * UNITS;  // the warp's first one
    const int mine = lane / LANES % UNITS, unit = units + mine;                      // those of this lane's cell
    const int tile_row = lane / LANES / UNITS, first = blockIdx.x / CLUSTER * ROWS, row = first + tile_row;
    const bool has_unit = unit < H, has_cell = has_unit && row < B;
    const bool leader = has_cell && lane % LANES == 0;  // lanes of one row compute the same; one of them writes
    const i64 block = (i64)B * H, k = (i64)row * H + unit;

    A += d * T * block * G, R += (i64)d * G * H * H, biases += d * 2 * G * H, h += d * block;
    c_ += c_ ? d * block : 0, values += values ? d * T * 5 * block : 0;

    Weights<N> weights;
    weights.chunks = CHUNKS;
    weights.more = nullptr;
    weights.load([&](int n, int i) {  // row n: gate n % G of unit n / G
        return units + n / G < H && i < H ? R[((i64)(n % G) * H + units + n / G) * H + i] : real(0);
    });
    Biases<Cell> bias = {};
    if (has_unit) bias.load(biases, H, unit);
    real a_next[G];
#pragma unroll
    for (int g = 0; g < G; g++)
        a_next[g] = has_cell ? A[((i64)(d == 0 ? 0 : T - 1) * B + row) * G * H + g * H + unit] : real(0);
    real c = c_ && has_cell ? c_[k] : real(0);
    for (int i = threadIdx.x; i < 2 * ROWS * LENGTH; i += blockDim.x) {
        const int b = i / LENGTH, u = i % LENGTH;
        const bool given = b < ROWS && first + b < B && u < H;  // the second place stays empty for now
        ((real *)tiles)[i] = given ? h[(i64)(first + b) * H + u] : real(0);
    }
    cluster_barrier();  // all blocks run, and have read h and written their zeros

    for (int step = 0; step < T; step++) {
        const int t = d == 0 ? step : T - 1 - step;
        const real *state = (const real *)tiles[step % 2];  // [row][unit]
        if (units < H) {
            real a[G];
            const int t_next = d == 0 ? t + 1 : t - 1;
#pragma unroll
            for (int g = 0; g < G; g++) {
                a[g] = a_next[g] + bias.sum[g];
                if (has_cell && step + 1 < T) a_next[g] = A[((i64)t_next * B + row) * G * H + g * H + unit];
            }
            real sum[ROWS * PADDED];
            multiply<N, PADDED>(weights, tiles[step % 2], sum);
            const real total = totals(sum);
            real a2[G];
#pragma unroll
            for (int g = 0; g < G; g++)
                a2[g] = __shfl_sync(0xffffffffu, total, (tile_row * PADDED + mine * G + g) * EACH) + bias.of_recurrent(g);

            const int place = tile_row * LENGTH + (has_unit ? unit : 0);
            const bool valid = has_cell && counts(lengths, t, row);
            real c_new = c;
            const real h_prev = state[place];
            real *kept = values && leader ? values + t * 5 * block + k : nullptr;
            const real result = Cell::step(a, a2, h_prev, c_new, kept, block);
            const real h_new = valid ? result : h_prev;
            c = valid ? c_new : c;
            if (step + 1 < T && has_unit) {
                real *next = (real *)tiles[(step + 1) % 2] + place;
                for (int rank = lane % LANES; rank < CLUSTER; rank += LANES) *in_block(next, rank) = h_new;
            }
            if (leader) {
                y[((i64)t * B + row) * D * H + d * H + unit] = valid ? result : real(0);
                if (step + 1 == T) {
                    h[k] = h_new;
                    if (c_) c_[k] = c;
                }
            }
        }
        cluster_barrier();  // after the last step, too: no block may leave while others still write into its memory
    }
}

#define PARAMETERS                                                                                                     \
    int T, int B, int H, const int *lengths, const real *A, const real *R, const real *biases, real *h, real *c,       \
        real *values, real *y
#define ARGUMENTS T, B, H, lengths, A, R, biases, h, c, values, y
#define KERNEL extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)

KERNEL lstm_cluster(PARAMETERS) { forward<Lstm>(ARGUMENTS); }
KERNEL gru_cluster(PARAMETERS) { forward<Gru>(ARGUMENTS); }
KERNEL rnn_tanh_cluster(PARAMETERS) { forward<Simple<false>>(ARGUMENTS); }
KERNEL rnn_relu_cluster(PARAMETERS) { forward<Simple<true>>(ARGUMENTS); }
