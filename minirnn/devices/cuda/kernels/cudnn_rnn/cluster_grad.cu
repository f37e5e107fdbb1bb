// CudnnRNN, the gradients of a whole sequence in one launch, for small layers: each slice of ROWS rows of the batch has
// a cluster of blocks. What is summed over steps (dx, dW, dR and the biases) is products after it.
// Formulas: minirnn/ops/cudnn_rnn/__init__.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
//   one warp = UNITS units: their columns of R, all G*H terms of dh, in registers, spread over the lanes; a lane
//   computes the cell whose total it gets                              grid (CLUSTER * slices of the batch, D)
// The gradients da2 of a step lie in the shared memory of every block. A warp writes those of its units into all of
// them, and only then into device memory; who needs them waits until their bytes have come (cluster.cuh). There are two
// places for them, used in turn.
#include "cudnn_rnn/pieces.cuh"
#include "cudnn_rnn/slice.cuh"

// Constants of a compilation: -DCHUNKS -DROWS (warp_product.cuh) -DTHREADS=the most of a block -DUNITS=1|2|4

// R: (D, G*H, H)      values: (D, T, 5, B, H) or null      y, dy: (T, B, D*H)
// dh, dc: (D, B, H), go from the gradients of the last state to those of the first; dc null but for lstm
// da: (D, T, B, G*H), for gru (D, T, B, 4*H) with columns q r z n
#define PARAMETERS                                                                                             \
    int T, int B, int H, const int *lengths, const real *R, const real *values, const real *y, const real *dy, \
        real *dh_, real *dc_, real *da
template <class Cell>
__device__ void backward(PARAMETERS) {
    constexpr int G = Cell::gates, COLUMNS = Cell::columns;
    __shared__ Vector tiles[2][ROWS * CHUNKS * 32];  // [row][piece][unit][gate of the piece] each
    __shared__ Meeting full[2];
    const Direction direction(T, B, H);
    const Slice slice(B, H);
    const int d = direction.d, lane = lane_number(), unit = slice.unit, row = slice.row;
    const i64 block = (i64)B * H, k = (i64)row * H + unit;
    const Pieces<G> pieces(H);
    const Fills fills = {full, u32(slice.rows * G * H * sizeof(real))};

    R += (i64)d * G * H * H, dh_ += d * block, dc_ += dc_ ? d * block : 0;
    values += values ? d * T * 5 * block : 0, da += d * T * block * COLUMNS;

    Weights<UNITS> weights;
    weights.load([&](int n, int i) {
        const bool inside = slice.units + n < H && i < G * H;
        return inside ? R[((i64)pieces.gate_at(i) * H + pieces.unit_at(i)) * H + slice.units + n] : real(0);
    });
    real dh = slice.has_cell ? dh_[k] : real(0), dc = slice.has_cell && dc_ ? dc_[k] : real(0);
    clear(tiles[0], 2 * ROWS * CHUNKS * 32);
    fills.open();
    cluster_barrier();  // all blocks run, and their meetings are open; their zeros are written
    if (slice.units >= H) return;

    for (int step = 0; step <= T; step++) {  // after the last one: the gradient of the first state
        const int t = direction.backward(step);
        const i64 at = direction.at(t, row, unit);
        const bool valid = slice.has_cell && step < T && counts(lengths, t, row);
        const Saved saved = load_saved<Cell>(valid, values + t * 5 * block + k, block, y + at, dy + at);
        if (step > 0) {
            fills.wait(step);
            real sum[ROWS * UNITS];
            multiply<UNITS, UNITS>(weights, tiles[step % 2], CHUNKS * 32, sum);
            dh += totals(sum);
        }
        if (step == T) break;
        if (slice.has_cell) {
            real gradient[COLUMNS];
            cell_grad<Cell>(saved, dh, dc, gradient);
            real *next = (real *)tiles[(step + 1) % 2] + slice.tile_row * LENGTH;
            for (int rank = lane % LANES; rank < slice.ranks; rank += LANES) {  // what the others wait for comes first
                pieces.each(
                    next, unit, [&](int gate) { return gradient[Cell::recurrent(gate)]; },
                    [&](auto *to, auto piece) { fills.send(step + 1, to, piece, rank); });
            }
            if (slice.leader) store_gradients<Cell>(da + ((i64)t * B + row) * COLUMNS * H + unit, H, gradient);
        }
    }
    if (slice.leader) {
        dh_[k] = dh;
        if (dc_) dc_[k] = dc;
    }
}

KERNELS(ATTRIBUTES, cluster_grad, backward, PARAMETERS, (T, B, H, lengths, R, values, y, dy, dh_, dc_, da))
