// The gradients of a whole sequence of a layer in one launch: those that pass from step to step. The sums over steps
// (dx, dW, dR and the biases) are products after it. The cell is the struct CELL. The plain version to check this one
// against: sequence/steps.cu.
//
// dh = da2 @ R has G*H terms for each unit: too many to gather in every block. So a direction's blocks form a table:
// block (p, q) has the units of column p and adds only the terms of slice q: all gates of `slice` units.
//   1  it gathers its slice of da2 as messages, multiplies, and sends its share of dh to the owners of the units
//   2  the units of column p are distributed to its blocks; the owner of a unit adds the shares, always in the same
//      order, computes the gradients of the step, and sends them
// The gradients of a step are written directly to the array of results, so each place is written once. The shares have
// two slots, used in turn, and the phase of a slot (grid.cuh) changes each time. Two slots are enough. A block that
// sends shares of step s + 1 has the gradients of step s of its slice, so their owners had the shares of step s from
// every slice. A block sent those when it had the gradients of step s - 1 of its slice; all slices together are all
// units, so all owners had the shares of step s - 1, whose slot is written now. With one slot a slow block might miss
// its message. Only the thread of the cell reads a share, the same one at every step.
//
//   one warp = OUTPUTS units of R's columns, their terms spread over the lanes
//   one table = the blocks of one direction, for the rows of one group of the batch   grid (columns * slices * groups, D)
#include "sequence/cell.cuh"
#include "sequence/direction.cuh"
#include "tile_gather.cuh"
#include "warp_product.cuh"

// Compile-time constants: -DCHUNKS -DPIECE (warp_product.cuh, tile_gather.cuh) -DROWS=1|2|4|8, of a tile
// -DOUTPUTS=8|16 (double: 8) -DTHREADS=the most per block
#define SHARES (32 / (int)sizeof(real))  // that a thread polls at a time
#ifndef SLOTS
#define SLOTS 2  // of shares
#endif

// The rows of a tile that are multiplied at a time.
constexpr int PASS = ROWS < 4 * WIDTH / OUTPUTS ? ROWS : 4 * WIDTH / OUTPUTS;

// R: (D, ROWS_OF_R*H, H)      values: (D, T, KEPT, B, H) or null      y, dy: (T, B, D*H)
// dh: (D, B, H), dc: (D, INNER, B, H) or null, go from the gradients of the last states to those of the first
// da: (D, T, B, GATES*H); its first ROWS_OF_R columns are messages, all bits set
// shares: (D, SLOTS, slices, B, H) messages, all bits set
#define PARAMETERS                                                                                                   \
    int T, int B, int H, int chunks, int slices, int slice, int batch, const int *lengths, const real *R,            \
        const real *values, const real *y, const real *dy, real *dh, real *dc_, real *da, Phased *shares, u32 polls, \
        u32 *error
template <class Cell>
__device__ void backward(PARAMETERS, Own<Cell> of_cell) {
    static_assert(Cell::D_STAGES == 1, "other cells run step by step");
    constexpr int G = ROWS_OF_R<Cell>, COLUMNS = GATES<Cell>, I = INNER<Cell>;
    constexpr int EACH = 32 / (PASS * OUTPUTS);  // lanes that hold the same total
    extern __shared__ Vector memory[];           // two tiles of ROWS slices; then the weights that registers don't hold
    const Direction direction(T, B, H);
    const int d = direction.d, lane = lane_number(), length = chunks * 32;  // of a tile's row, in vectors
    const int table = gridDim.x / ((B + batch - 1) / batch), block = blockIdx.x % table;
    const int begin_row = blockIdx.x / table * batch, end_row = min(B, begin_row + batch);
    const int q = block % slices, units = blockDim.x / 32 * OUTPUTS;
    const int column = block / slices * units;          // first unit of the block
    const int unit = column + warp_number() * OUTPUTS;  // first unit of the warp
    const int from = q * slice;                         // first unit whose gradients it gathers
    const int terms = min(H - from, slice);             // at least one, because a block that gathers also waits
    const int deal = (units + slices - 1) / slices;     // units of an owner
    const int own = column + q * deal;
    const int owned = min(min(column + units, H) - own, deal);  // none if negative

    RowsOfWeights<OUTPUTS> weights(chunks, memory + 2 * ROWS * length);
    weights.load([&](int n, int k) {  // term k: column k / slice of the gradients, unit k % slice
        const bool inside = k < G * slice && k % slice < terms && unit + n < H;
        const int gate = Cell::OF_H ? (k / slice + Cell::OF_BOTH) % G : k / slice;  // the gates of only h' come first
        return inside ? R[((i64)(d * G + gate) * H + from + k % slice) * H + unit + n] : real(0);
    });
    clear(memory, 2 * ROWS * length);
    __syncthreads();

    Watch watch = {error, polls, false};
    Gather gather(terms / PIECE);
    int tile = 0;
    for (int step = 0; step <= T; step++) {  // after the last one: the gradient of the first state
        const int slot = d * SLOTS + step % SLOTS, t = direction.backward(step);
        const u32 phase = (step - 1) / SLOTS & 1;

        // 1: shares of dh from the gradients of the step before; a line is the units of one column of a row
        const real *gradients = da + (i64)(d * T + direction.backward(step - 1)) * B * COLUMNS * H + from;
        const auto begin = [&](int first) {
            gather.begin(min(ROWS, end_row - first) * G, [&](int line, int piece) {
                return gradients + ((i64)(first + line / G) * COLUMNS + line % G) * H + piece * PIECE;
            });
        };
        if (step > 0) begin(begin_row);
#pragma unroll 1
        for (int first = begin_row; first < end_row && step > 0; first += ROWS, tile ^= 1) {
            Vector *vectors = memory + tile * ROWS * length;
            real *gathered = (real *)vectors;  // [row][column][unit]
            const int rows = min(ROWS, end_row - first);
            gather.finish(
                rows * G, step, watch,
                [&](int line, int piece) {
                    return gradients + ((i64)(first + line / G) * COLUMNS + line % G) * H + piece * PIECE;
                },
                [&](int line, int piece) {
                    return gathered + line / G * length * WIDTH + line % G * slice + piece * PIECE;
                });
            if (__syncthreads_or(watch.lost)) return;
            if (first + ROWS < end_row) begin(first + ROWS);  // loaded while this one is multiplied
            if (unit >= H) continue;

#pragma unroll 1
            for (int pass = 0; pass < rows; pass += PASS) {
                real sum[PASS * OUTPUTS];
                multiply<OUTPUTS, OUTPUTS>(weights, vectors + pass * length, length, sum);
                const real share = totals(sum);
                const int row = first + pass + lane / EACH / OUTPUTS, k = unit + lane / EACH % OUTPUTS;
                if (lane % EACH == 0 && row < first + rows && k < H)
                    send(shares + ((i64)(slot * slices + q) * B + row) * H + k, phase, share);
            }
        }

        // 2: the gradients of this step, for the units that this block owns
        for (int cell = threadIdx.x; cell < (end_row - begin_row) * owned; cell += blockDim.x) {
            const int row = begin_row + cell / owned, u = own + cell % owned;
            const i64 k = ((i64)d * B + row) * H + u, at = direction.at(t, row, u);
            const bool valid = step < T && counts(lengths, t, row);
            const real *values_ = values + ((i64)(d * T + t) * KEPT<Cell> * B + row) * H + u;
            real kept[KEPT<Cell> + 1], dc[I + 1];
#pragma unroll
            for (int n = 0; n < KEPT<Cell>; n++) kept[n] = valid ? values_[(i64)n * B * H] : real(0);
            const real h_ = valid && READS_H<Cell> ? y[at] : real(0), dy_ = valid ? dy[at] : real(0);
            real total = dh[k];
#pragma unroll
            for (int j = 0; j < I; j++) dc[j] = dc_[(i64)(d * I + j) * B * H + row * H + u];
            const Phased *message = shares + ((i64)slot * slices * B + row) * H + u;
#pragma unroll 1
            for (int first = 0; first < slices && step > 0; first += SHARES) {
                receive<SHARES>(message + (i64)first * B * H, (i64)B * H, slices - first, phase, step, watch,
                                [&](real share) { total += share; });
            }
            if (step == T) {
                dh[k] = total;
                continue;
            }
            real gradient[COLUMNS];
            Gradient<real, Cell> g;
            take<Cell>(kept, g);
            if (READS_H<Cell>) g.after[I] = h_;
#pragma unroll
            for (int j = 0; j < I; j++) g.d_after[j] = dc[j];
            g.d_after[I] = dy_ + total;
            if (I && valid && of_cell.dc_each) g.d_after[0] += of_cell.dc_each[(((i64)d * T + t) * B + row) * H + u];
            of_cell.read(g, direction, t, row, u);
            of_cell.cell.grad(g);
            of_cell.leave(g, direction, t, row, u, valid);
            to_columns<Cell>(g, gradient);
            real *results = da + ((i64)(d * T + t) * B + row) * COLUMNS * H + u;
#pragma unroll
            for (int j = 0; j < G; j++) send(results + j * H, valid ? gradient[j] : real(0));
#pragma unroll
            for (int j = G; j < COLUMNS; j++) results[j * H] = valid ? gradient[j] : real(0);
            dh[k] = valid ? g.d_before[I] : total;
#pragma unroll
            for (int j = 0; j < I; j++)
                if (valid) dc_[(i64)(d * I + j) * B * H + row * H + u] = g.d_before[j];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) cell_persistent_grad(PARAMETERS, Own<CELL> of_cell) {
    backward<CELL>(T, B, H, chunks, slices, slice, batch, lengths, R, values, y, dy, dh, dc_, da, shares, polls, error,
                   of_cell);
}
