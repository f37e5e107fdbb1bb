// CudnnRNN, the gradients of a whole sequence in one launch: what goes from step to step. What is summed over steps
// (dx, dW, dR and the biases) is products after it.
// Formulas: minirnn/ops/cudnn_rnn/__init__.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
// dh = da2 @ R has G*H terms for each unit: too many to gather in every block. So a direction's blocks form a table:
// block (p, q) has the units of column p and adds up only the terms of slice q: of `slice` units, all their gates.
//   1  it gathers its slice of da2 as messages, multiplies, and sends its share of dh to the owners of the units
//   2  the units of column p are dealt out to its blocks; the owner of a unit adds the shares, always in the same
//      order, computes the gradients of the step, and sends them
// Two slots for either kind of message, used in turn, are enough. Who sends the gradients of step s has all shares made
// of those of step s-1, so all owners have sent step s-1; an owner did that with shares of all blocks that read step
// s-2, whose slot is written now. The same way round for shares. With one slot a slow block would miss its message.
//
//   one warp = OUTPUTS units of R's columns, their terms spread over the lanes          grid (columns * slices, D)
#include "cudnn_rnn/cell.cuh"
#include "cudnn_rnn/direction.cuh"
#include "grid.cuh"
#include "warp_product.cuh"

// Constants of a compilation: -DCHUNKS -DROWS (warp_product.cuh) -DTHREADS=the most of a block
#define OUTPUTS 4
#define AHEAD 3  // messages that a thread looks at before it waits for the first
#ifndef SLOTS
#define SLOTS 2  // of messages
#endif

// R: (D, G*H, H)      values: (D, T, 5, B, H) or null      y, dy: (T, B, D*H)
// dh, dc: (D, B, H), go from the gradients of the last state to those of the first; dc null but for lstm
// da: (D, T, B, G*H), for gru (D, T, B, 4*H) with columns q r z n
// gradients: (D, SLOTS, B, G*H) messages      shares: (D, SLOTS, slices, B, H) messages; all zero
#define PARAMETERS                                                                                                    \
    int T, int B, int H, int chunks, int slices, int slice, const int *lengths, const real *R, const real *values,    \
        const real *y, const real *dy, real *dh, real *dc_, real *da, Message *gradients, Message *shares, u32 polls, \
        u32 *error
template <class Cell>
__device__ void backward(PARAMETERS) {
    constexpr int G = Cell::gates, COLUMNS = Cell::columns;
    constexpr int EACH = 32 / (ROWS * OUTPUTS);  // lanes that hold the same total
    extern __shared__ Vector memory[];           // two tiles of ROWS slices; then the weights that registers don't hold
    const Direction direction(T, B, H);
    const int d = direction.d, lane = lane_number(), length = chunks * 32;  // of a tile's row, in vectors
    const int q = blockIdx.x % slices, units = blockDim.x / 32 * OUTPUTS;
    const int column = blockIdx.x / slices * units;     // first unit of the block
    const int unit = column + warp_number() * OUTPUTS;  // first unit of the warp
    const int from = q * slice;                         // first unit whose gradients it gathers
    const int terms = min(H - from, slice);             // one at least: a block that gathers also waits
    const int deal = (units + slices - 1) / slices;     // units of an owner
    const int own = column + q * deal;
    const int owned = min(min(column + units, H) - own, deal);  // none if negative

    R += (i64)d * G * H * H, dh += (i64)d * B * H, dc_ += dc_ ? (i64)d * B * H : 0;
    values += values ? (i64)d * T * 5 * B * H : 0, da += (i64)d * T * B * COLUMNS * H;
    gradients += (i64)d * SLOTS * B * G * H, shares += (i64)d * SLOTS * slices * B * H;

    Weights<OUTPUTS> weights(chunks, memory + 2 * ROWS * length);
    weights.load([&](int n, int k) {  // term k: gate k / slice of unit k % slice
        const bool inside = k < G * slice && k % slice < terms && unit + n < H;
        return inside ? R[((i64)(k / slice) * H + from + k % slice) * H + unit + n] : real(0);
    });
    clear_tiles(memory, length);
    __syncthreads();

    Watch watch = {error, polls, false};
    int tile = 0;
    for (int step = 0; step <= T; step++) {  // after the last one: the gradient of the first state
        const i64 slot = step % SLOTS, slot_before = (step + SLOTS - 1) % SLOTS;

        // 1: shares of dh from the gradients of the step before
#pragma unroll 1
        for (int first = 0; first < B && step > 0; first += ROWS, tile ^= 1) {
            Vector *vectors = memory + tile * ROWS * length;
            real *gathered = (real *)vectors;  // [row][gate][unit]
            const int rows = B - first < ROWS ? B - first : ROWS;
            for (int g = 0; g < G; g++) {
                for (int u = threadIdx.x; u < terms; u += blockDim.x) {
                    const Message *message = gradients + ((slot_before * B + first) * G + g) * H + from + u;
                    receive<ROWS>(message, (i64)G * H, rows, step, watch, [&](int b, real gradient) {
                        gathered[b * length * WIDTH + g * slice + u] = gradient;
                    });
                }
            }
            if (__syncthreads_or(watch.lost)) return;
            if (unit >= H) continue;

            real sum[ROWS * OUTPUTS];
            multiply<OUTPUTS, OUTPUTS>(weights, vectors, sum);
            const real share = totals(sum);
            const int row = first + lane / EACH / OUTPUTS, k = unit + lane / EACH % OUTPUTS;
            if (lane % EACH == 0 && row < B && k < H)
                send(shares + ((slot * slices + q) * B + row) * H + k, step, share);
        }

        // 2: the gradients of this step, for the units that this block owns
        const int t = direction.backward(step);
        for (int cell = threadIdx.x; cell < B * owned; cell += blockDim.x) {
            const int row = cell / owned, u = own + cell % owned;
            const i64 k = (i64)row * H + u, at = direction.at(t, row, u);
            const bool valid = step < T && counts(lengths, t, row);
            const Saved saved = load_saved<Cell>(valid, values + (i64)t * 5 * B * H + k, (i64)B * H, y + at, dy + at);
            real total = dh[k], dc = dc_ ? dc_[k] : real(0);
            const Message *message = shares + slot * slices * B * H + k;
            for (int first = 0; first < slices && step > 0; first += AHEAD) {
                receive<AHEAD>(message + (i64)first * B * H, (i64)B * H, slices - first, step, watch,
                               [&](int, real share) { total += share; });
            }
            if (step == T) {
                dh[k] = total;
                continue;
            }
            real gradient[COLUMNS];
            cell_grad<Cell>(saved, total, dc, gradient);
#pragma unroll
            for (int g = 0; g < G; g++)
                send(gradients + ((slot * B + row) * G + g) * H + u, step + 1, gradient[Cell::recurrent(g)]);
            store_gradients<Cell>(da + ((i64)t * B + row) * COLUMNS * H + u, H, gradient);
            dh[k] = total;
            if (dc_) dc_[k] = dc;
        }
    }
}

KERNELS(__launch_bounds__(THREADS, 1), persistent_grad, backward, PARAMETERS,
        (T, B, H, chunks, slices, slice, lengths, R, values, y, dy, dh, dc_, da, gradients, shares, polls, error))
