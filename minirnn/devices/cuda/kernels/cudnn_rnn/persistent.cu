// CudnnRNN, a whole sequence in one launch: the recurrent weights stay on the chip, the state goes from block to block.
// Formulas: minirnn/ops/cudnn_rnn/__init__.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
//   one warp = one unit: its rows of R, one a gate, spread over the lanes      one block = some units of one direction
//   grid (blocks, D): the directions of a layer run side by side and never wait for each other
// At each step a block gathers the whole state h' as messages from all blocks of its direction, multiplies, and sends
// its own units' part of h. Two slots, used in turn, are enough: who sends h(t+1) has all of h(t), so everybody has
// sent h(t), and to do that everybody has read h(t-1), whose slot is written now.
#include "cudnn_rnn/cell.cuh"
#include "cudnn_rnn/direction.cuh"
#include "grid.cuh"
#include "warp_product.cuh"

// Constants of a compilation: -DCHUNKS -DROWS (warp_product.cuh) -DTHREADS=the most of a block
#ifndef SLOTS
#define SLOTS 2  // of messages; with one, a slow block finds what it waits for already written over
#endif

// A: (D, T, B, G*H), x W' of all steps        R: (D, G*H, H)        biases: (D, 2, G*H), bW and bR
// h0, h: (D, B, H), first and last state      c: (D, B, H) or null, goes from first to last
// values: (D, T, 5, B, H) or null             y: (T, B, D*H)       messages: (D, SLOTS, B, H), all zero
#define PARAMETERS                                                                                         \
    int T, int B, int H, int chunks, const int *lengths, const real *A, const real *R, const real *biases, \
        const real *h0, real *h, real *c_, real *values, real *y, Message *messages, u32 polls, u32 *error
template <class Cell>
__device__ void forward(PARAMETERS) {
    constexpr int G = Cell::gates, PADDED = G == 3 ? 4 : G;
    constexpr int LANES = 32 / ROWS;            // that hold the same row of the batch
    constexpr int EACH = 32 / (ROWS * PADDED);  // that hold the same total
    extern __shared__ Vector memory[];          // two tiles of ROWS states; then the weights that registers don't hold
    const Direction direction(T, B, H);
    const int d = direction.d, lane = lane_number(), unit = blockIdx.x * (blockDim.x / 32) + warp_number();
    const int length = chunks * 32;  // of a state, in vectors
    const bool has_unit = unit < H;  // in the last block some warps may have none

    A += (i64)d * T * B * G * H, R += (i64)d * G * H * H, biases += d * 2 * G * H;
    h0 += (i64)d * B * H, h += (i64)d * B * H, c_ += c_ ? (i64)d * B * H : 0;
    values += values ? (i64)d * T * 5 * B * H : 0, messages += (i64)d * SLOTS * B * H;

    Weights<G> weights(chunks, memory + 2 * ROWS * length);
    weights.load([&](int g, int k) { return has_unit && k < H ? R[((i64)g * H + unit) * H + k] : real(0); });
    Biases<Cell> bias = {};
    if (has_unit) bias.load(biases, H, unit);
    clear_tiles(memory, length);
    __syncthreads();

    Watch watch = {error, polls, false};
    int tile = 0;
    for (int step = 0; step < T; step++) {
        const int t = direction.forward(step);
        for (int first = 0; first < B; first += ROWS, tile ^= 1) {
            const int row = first + lane / LANES;                            // of the batch; that of this lane's cell
            const bool has_cell = has_unit && row < B && lane % LANES == 0;  // one of those lanes computes it
            const i64 k = (i64)row * H + unit;
            real a[G], c = has_cell && c_ ? c_[k] : real(0);  // read early: these do not wait for anybody
#pragma unroll
            for (int g = 0; g < G; g++)
                a[g] = has_cell ? A[((i64)t * B + row) * G * H + g * H + unit] + bias.sum[g] : real(0);

            Vector *vectors = memory + tile * ROWS * length;
            real *state = (real *)vectors;  // [row][unit]
            const int rows = B - first < ROWS ? B - first : ROWS;
            const Message *slot = messages + ((i64)(step % SLOTS) * B + first) * H;
            for (int u = threadIdx.x; u < H; u += blockDim.x) {
                const auto set = [&](int b, real h_prev) { state[b * length * WIDTH + u] = h_prev; };
                if (step > 0) receive<ROWS>(slot + u, H, rows, step, watch, set);
                else {
#pragma unroll
                    for (int b = 0; b < ROWS; b++)
                        if (b < rows) set(b, h0[(i64)(first + b) * H + u]);
                }
            }
            if (__syncthreads_or(watch.lost)) return;
            if (!has_unit) continue;

            real sum[ROWS * PADDED];
            multiply<G, PADDED>(weights, vectors, sum);
            const real total = totals(sum);
            real a2[G];
#pragma unroll
            for (int g = 0; g < G; g++)
                a2[g] = __shfl_sync(0xffffffffu, total, lane / LANES * LANES + g * EACH) + bias.of_recurrent(g);
            if (!has_cell) continue;

            const real h_prev = state[(row - first) * length * WIDTH + unit];
            const bool valid = counts(lengths, t, row);
            real *kept = values ? values + (i64)t * 5 * B * H + k : nullptr;
            real output;
            const real h_new = cell_step<Cell>(valid, a, a2, h_prev, c, kept, (i64)B * H, output);
            if (step + 1 < T) send(messages + (i64)((step + 1) % SLOTS) * B * H + k, step + 1, h_new);
            else h[k] = h_new;
            if (c_ && valid) c_[k] = c;
            y[direction.at(t, row, unit)] = output;
        }
    }
}

KERNELS(__launch_bounds__(THREADS, 1), persistent, forward, PARAMETERS,
        (T, B, H, chunks, lengths, A, R, biases, h0, h, c_, values, y, messages, polls, error))
