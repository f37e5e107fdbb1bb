// CudnnRNN, the gradients of a whole sequence in one launch on tensor cores: what persistent_grad.cu does, with the
// weights in registers as fragments and the gradients of the gates sent as operands. Data, cells and sums are float32.
// Formulas: minirnn/ops/cudnn_rnn/__init__.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
// The blocks of a direction form a table, as there. Block (p, q) has the units of column p, 16 a tile, and adds up only
// the terms of slice q: of `slice` units, all their gates.
//   1  it gathers its slice of da2 as words (grid.cuh), every warp multiplies its pieces, and its shares of dh, sums
//      over the warps, go to the owners of the units
//   2  the units of column p are dealt out to its blocks; the owner of a unit adds the shares, always in the same
//      order, computes the gradients of the step, and sends them
// Shares have two slots, used in turn. Who sends shares of step s has the gradients of step s-1 of its slice. Their
// owners have all shares of that step, made by blocks of all slices, of the gradients of step s-2 of all units; and the
// owners of those had read the shares of step s-2, whose slot is written now.
#include "cudnn_rnn/cell.cuh"
#include "cudnn_rnn/direction.cuh"
#include "cudnn_rnn/gather.cuh"

// Constants of a compilation: those of fragments.cuh, -DUNITS=16|32|64 -DCELL=Lstm|Gru|.. -DKERNEL=its name
#ifndef SLOTS
#define SLOTS 2  // of shares; with one, a slow block finds what it waits for already written over
#endif

// R: (D, G*H, H)      values: (D, T, 5, B, H) or null      y, dy: (T, B, D*H)
// dh, dc: (D, B, H), go from the gradients of the last state to those of the first; dc null but for lstm
// da: (D, T, B, G*H), for gru (D, T, B, 4*H) with columns q r z n
// gradients: (D, T, B, slices, LENGTH) words, all bits set: da2, of each unit all gates
// shares: (D, SLOTS, slices, B, H), all bits set
#define PARAMETERS                                                                                                    \
    int T, int B, int H, int slices, int slice, const int *lengths, const real *R, const real *values, const real *y, \
        const real *dy, real *dh, real *dc_, real *da, Sent *gradients, Phased *shares, u32 polls, u32 *error

template <class Cell>
__device__ void backward(PARAMETERS) {
    constexpr int G = Cell::gates, COLUMNS = Cell::columns, TILES = UNITS / 16;
    extern __shared__ Fragment memory[];  // weights that registers don't hold; ROWS slices of da2; the warps' parts
    u32 *const vectors = (u32 *)(memory + Fragments<TILES>::BEYOND);
    float *const parts = (float *)(vectors + ROWS * PITCH);
    const Direction direction(T, B, H);
    const int d = direction.d, q = blockIdx.x % slices;
    const int column = blockIdx.x / slices * UNITS;  // first unit of the block
    const int from = q * slice;                      // first unit whose gradients it gathers
    const int terms = min(H - from, slice);          // one at least: a block that gathers also waits
    const int deal = (UNITS + slices - 1) / slices;  // units of an owner
    const int own = column + q * deal;
    const int owned = min(min(column + UNITS, H) - own, deal);  // none if negative

    R += (i64)d * G * H * H, dh += (i64)d * B * H, dc_ += dc_ ? (i64)d * B * H : 0;
    values += values ? (i64)d * T * 5 * B * H : 0, da += (i64)d * T * B * COLUMNS * H;
    gradients += (i64)d * T * B * slices * VECTORS, shares += (i64)d * SLOTS * slices * B * H;

    Fragments<TILES> weights(memory);
    weights.load([&](int n, int k) {  // term k: gate k % G of unit k / G
        const bool inside = k < G * terms && column + n < H;
        return inside ? R[((i64)(k % G) * H + from + k / G) * H + column + n] : real(0);
    });
    clear(vectors);
    __syncthreads();

    Watch watch = {error, polls, false};
    for (int step = 0; step <= T; step++) {  // after the last one: the gradient of the first state
        const i64 slot = step % SLOTS;
        const u32 phase = (step - 1) / SLOTS & 1;

        // 1: shares of dh from the gradients of the step before
        for (int first = 0; first < B && step > 0; first += ROWS) {
            const int rows = B - first < ROWS ? B - first : ROWS;
            const Sent *sent = gradients + (((i64)(step - 1) * B + first) * slices + q) * VECTORS;
            gather(vectors, sent, (i64)slices * VECTORS, rows, G * terms, step, watch);
            if (__syncthreads_or(watch.lost)) return;
            weights.multiply(vectors, parts);
            __syncthreads();
            for (int k = threadIdx.x; k < rows * UNITS; k += THREADS) {
                const int row = k / UNITS, unit = column + k % UNITS;
                const float share = weights.total(parts, row, k % UNITS);
                if (unit < H) send(shares + ((slot * slices + q) * B + first + row) * H + unit, phase, share);
            }
        }

        // 2: the gradients of this step, for the units that this block owns
        const int t = direction.backward(step);
        for (int cell = threadIdx.x; cell < B * owned; cell += THREADS) {
            const int row = cell / owned, u = own + cell % owned;
            const i64 k = (i64)row * H + u, at = direction.at(t, row, u);
            const bool valid = step < T && counts(lengths, t, row);
            const Saved saved = load_saved<Cell>(valid, values + (i64)t * 5 * B * H + k, (i64)B * H, y + at, dy + at);
            real total = dh[k], dc = dc_ ? dc_[k] : real(0);
            const Phased *message = shares + slot * slices * B * H + k;
            for (int first = 0; first < slices && step > 0; first += AHEAD) {
                receive<AHEAD>(message + (i64)first * B * H, (i64)B * H, slices - first, phase, step, watch,
                               [&](real share) { total += share; });
            }
            if (step == T) {
                dh[k] = total;
                continue;
            }
            real gradient[COLUMNS];
            cell_grad<Cell>(saved, total, dc, gradient);
            u32 *to = (u32 *)(gradients + (((i64)step * B + row) * slices + u / slice) * VECTORS) + u % slice * G;
#pragma unroll
            for (int g = 0; g < G; g++) send_word(to + g, Operand::word(&gradient[Cell::recurrent(g)]));
            store_gradients<Cell>(da + ((i64)t * B + row) * COLUMNS * H + u, H, gradient);
            dh[k] = total;
            if (dc_) dc_[k] = dc;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) KERNEL(PARAMETERS) {
    backward<CELL>(T, B, H, slices, slice, lengths, R, values, y, dy, dh, dc_, da, gradients, shares, polls, error);
}
