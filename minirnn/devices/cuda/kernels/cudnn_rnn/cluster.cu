// CudnnRNN, a whole sequence in one launch, for small layers: each slice of ROWS rows of the batch has a cluster of
// blocks. Formulas: minirnn/ops/cudnn_rnn/__init__.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
//   one warp = UNITS units: their rows of R, one a gate, in registers, spread over the lanes; a block has some units,
//   the CLUSTER blocks of a cluster have them all                      grid (CLUSTER * slices of the batch, D)
// The state h' lies in the shared memory of every block. A warp writes its units' part of h into all of them, and only
// then stores what goes to device memory; who needs the state waits until its bytes have come (cluster.cuh). There are
// two places for the state, used in turn. Clusters never wait for each other, so it does not matter how many the device
// holds at once.
#include "cudnn_rnn/slice.cuh"

// Constants of a compilation: -DCHUNKS -DROWS (warp_product.cuh) -DTHREADS=the most of a block -DUNITS=1|2

// A: (D, T, B, G*H), x W' of all steps        R: (D, G*H, H)        biases: (D, 2, G*H), bW and bR
// h0, h: (D, B, H), first and last state      c: (D, B, H) or null, goes from first to last
// values: (D, T, 5, B, H) or null             y: (T, B, D*H)
#define PARAMETERS                                                                                             \
    int T, int B, int H, const int *lengths, const real *A, const real *R, const real *biases, const real *h0, \
        real *h, real *c_, real *values, real *y

// The numbers of a row that a warp sends in one piece.
struct alignas(UNITS * sizeof(real)) Piece {
    real number[UNITS];
};

template <class Cell>
__device__ void forward(PARAMETERS) {
    constexpr int G = Cell::gates, N = UNITS * G, PADDED = G == 3 ? 4 * UNITS : N;
    constexpr int EACH = 32 / (ROWS * PADDED);  // lanes that hold the same total
    __shared__ Vector tiles[2][ROWS * CHUNKS * 32];
    __shared__ Meeting full[2];
    const Direction direction(T, B, H);
    const Slice slice(B, H);
    const int d = direction.d, lane = lane_number(), unit = slice.unit, row = slice.row;
    const i64 block = (i64)B * H, k = (i64)row * H + unit;
    const Fills fills = {full, u32(slice.rows * ((H + UNITS - 1) / UNITS) * sizeof(Piece))};

    A += d * T * block * G, R += (i64)d * G * H * H, biases += d * 2 * G * H, h0 += d * block, h += d * block;
    c_ += c_ ? d * block : 0, values += values ? d * T * 5 * block : 0;

    Weights<N> weights;
    weights.load([&](int n, int i) {  // row n: gate n % G of unit n / G
        const int u = slice.units + n / G;
        return u < H && i < H ? R[((i64)(n % G) * H + u) * H + i] : real(0);
    });
    Biases<Cell> bias = {};
    if (slice.has_unit) bias.load(biases, H, unit);
    real a_next[G];
#pragma unroll
    for (int g = 0; g < G; g++)
        a_next[g] = slice.has_cell ? A[((i64)direction.forward(0) * B + row) * G * H + g * H + unit] : real(0);
    real c = c_ && slice.has_cell ? c_[k] : real(0);
    for (int i = threadIdx.x; i < 2 * ROWS * LENGTH; i += blockDim.x) {
        const int b = i / LENGTH, u = i % LENGTH;
        const bool given = b < ROWS && slice.first + b < B && u < H;  // the second place stays empty for now
        ((real *)tiles)[i] = given ? h0[(i64)(slice.first + b) * H + u] : real(0);
    }
    fills.open();
    cluster_barrier();  // all blocks run, and their meetings are open; the first state is written
    if (slice.units >= H) return;

    for (int step = 0; step < T; step++) {
        const int t = direction.forward(step);
        const real *state = (const real *)tiles[step % 2];  // [row][unit]
        real a[G];
#pragma unroll
        for (int g = 0; g < G; g++) {
            a[g] = a_next[g] + bias.sum[g];
            if (slice.has_cell && step + 1 < T)
                a_next[g] = A[((i64)direction.forward(step + 1) * B + row) * G * H + g * H + unit];
        }
        if (step > 0) fills.wait(step);
        real sum[ROWS * PADDED];
        multiply<N, PADDED>(weights, tiles[step % 2], CHUNKS * 32, sum);
        const real total = totals(sum);
        real a2[G];
#pragma unroll
        for (int g = 0; g < G; g++) {
            const int holder = (slice.tile_row * PADDED + slice.own * G + g) * EACH;
            a2[g] = __shfl_sync(0xffffffffu, total, holder) + bias.of_recurrent(g);
        }

        const int place = slice.tile_row * LENGTH + (slice.has_unit ? unit : 0);
        const bool valid = slice.has_cell && counts(lengths, t, row);
        real output, kept[5];
        const real h_new = cell_step<Cell>(valid, a, a2, state[place], c, kept, 1, output);
        if (step + 1 < T) {  // what the others wait for comes first
            Piece piece;
            const real own = slice.has_unit ? h_new : real(0);
            piece.number[0] = own;
            if (UNITS == 2) {
                const real other = __shfl_xor_sync(0xffffffffu, own, LANES);
                piece.number[0] = slice.own ? other : own, piece.number[UNITS - 1] = slice.own ? own : other;
            }
            Piece *next = (Piece *)((real *)tiles[(step + 1) % 2] + slice.tile_row * LENGTH + slice.units);
            for (int rank = lane % (LANES * UNITS); row < B && rank < slice.ranks; rank += LANES * UNITS)
                fills.send(step + 1, next, piece, rank);
        }
        if (slice.leader) {
            y[direction.at(t, row, unit)] = output;
            if (values) {
#pragma unroll
                for (int n = 0; n < Cell::saved; n++) values[t * 5 * block + n * block + k] = kept[n];
            }
            if (step + 1 == T) {
                h[k] = h_new;
                if (c_) c_[k] = c;
            }
        }
    }
}

KERNELS(ATTRIBUTES, cluster, forward, PARAMETERS, (T, B, H, lengths, A, R, biases, h0, h, c_, values, y))
