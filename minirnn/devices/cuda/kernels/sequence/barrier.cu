// A whole sequence of a layer in one launch, in readable form: between two steps all blocks meet at a barrier. The cell
// is the struct CELL. The fast version without a barrier: sequence/persistent.cu.
//
//   one block = some units of one direction; their part of R stays in its shared memory           grid (blocks, D)
//   one thread = one cell, a unit of a row of the batch; if a block has more cells, a thread takes several in turn
//
// A step in three parts:    multiply what all blocks wrote    compute the cell and write it    wait for the others
//
// THREADS: the most threads of a block
#include "sequence/cell.cuh"
#include "sequence/direction.cuh"
#include "grid_barrier.cuh"

#define SLOTS 2  // of h: one is read while the other is written

// A: (D, T, B, ROWS_OF_W*H), x W' of all steps      R: (D, ROWS_OF_R*H, H)      biases: of a direction bW, then bR
// h: (SLOTS, D, B, H), the first state in slot 0    c: (D, INNER, B, H) or null, goes from first to last
// values: (D, T, KEPT, B, H) or null                y: (T, B, D*H)
// meeting: (D, 2), counter and flag of each direction's barrier, zeros
#define PARAMETERS                                                                                                 \
    int T, int B, int H, int units, const int *lengths, const real *A, const real *R, const real *biases, real *h, \
        real *c_, real *values, real *y, u32 *meeting, u32 polls, u32 *error
template <class Cell>
__device__ void forward(PARAMETERS, Own<Cell> of_cell) {
    constexpr int GW = ROWS_OF_W<Cell>, G = ROWS_OF_R<Cell>, I = INNER<Cell>;  // gates of x, of h; states besides h
    const Direction direction(T, B, H);
    const int d = direction.d, first_unit = blockIdx.x * units, owned = min(units, H - first_unit);

    // R is loaded into shared memory once: [k][gate][unit of the block], so that neighboring threads read neighbors.
    extern __shared__ real weights[];
    for (int n = threadIdx.x; n < owned * G * H; n += blockDim.x) {
        const int k = n % H, g = n / H % G, own = n / H / G;
        weights[(k * G + g) * units + own] = R[((i64)(d * G + g) * H + first_unit + own) * H + k];
    }
    __syncthreads();

    const GridBarrier barrier = {meeting + 2 * d, meeting + 2 * d + 1, (u32)((H + units - 1) / units)};
    Watch watch = {error, polls, false};
    for (int step = 0; step < T; step++) {
        const int t = direction.forward(step);
        const real *h_before = h + (i64)(step % SLOTS * direction.D + d) * B * H;
        real *h_after = h + (i64)((step + 1) % SLOTS * direction.D + d) * B * H;

        for (int cell = threadIdx.x; cell < B * owned; cell += blockDim.x) {
            const int row = cell / owned, own = cell % owned, unit = first_unit + own;
            Biases<Cell> bias;
            bias.load(biases + (i64)d * (GW + G) * H, H, unit);
            real a[GW], a2[G];
            for (int g = 0; g < GW; g++) a[g] = A[((i64)(d * T + t) * B + row) * GW * H + g * H + unit] + bias.sum[g];
            for (int g = 0; g < G; g++) a2[g] = bias.of_recurrent(g);

            for (int k = 0; k < H; k++) {  // a2 += h' R'
                const real h_k = h_before[row * H + k];
                for (int g = 0; g < G; g++) a2[g] += h_k * weights[(k * G + g) * units + own];
            }

            Step<real, Cell> s;
            join_gates<Cell>(a, a2, s.gates);  // the pre-activations of the cell's formula: in most cells a + a2
            for (int j = 0; j < I; j++) s.before[j] = c_[((i64)(d * I + j) * B + row) * H + unit];
            s.before[I] = h_before[row * H + unit];
            of_cell.read(s, direction, t, row, unit);
            of_cell.cell.step(s);

            const bool valid = counts(lengths, t, row);  // past its length a row keeps its state, and its output is 0
            h_after[row * H + unit] = valid ? s.after[I] : s.before[I];
            y[direction.at(t, row, unit)] = valid ? s.after[I] : real(0);
            for (int j = 0; j < I; j++)
                if (valid) c_[((i64)(d * I + j) * B + row) * H + unit] = s.after[j];
            if (values) {
                real kept[KEPT<Cell> + 1];
                keep<Cell>(s, valid, kept);
                for (int n = 0; n < KEPT<Cell>; n++)
                    values[(((i64)(d * T + t) * KEPT<Cell> + n) * B + row) * H + unit] = kept[n];
            }
        }
        if (step + 1 < T && !barrier.wait(step + 1, watch)) return;
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, 1) cell_barrier(PARAMETERS, Own<CELL> of_cell) {
    forward<CELL>(T, B, H, units, lengths, A, R, biases, h, c_, values, y, meeting, polls, error, of_cell);
}

// The backward pass: dh = da2 R, so a block needs the columns of R for its units, and the gradients of all gates.
// These are results with separate memory for each step, so nothing needs a second slot.
//
// values: (D, T, KEPT, B, H) or null      y, dy: (T, B, D*H)      da: (D, T, B, GATES*H)
// dh: (D, B, H), dc: (D, INNER, B, H) or null, go from the gradients of the last states to those of the first
#define PARAMETERS_GRAD                                                                                   \
    int T, int B, int H, int units, const int *lengths, const real *R, const real *values, const real *y, \
        const real *dy, real *dh, real *dc_, real *da, u32 *meeting, u32 polls, u32 *error
template <class Cell>
__device__ void backward(PARAMETERS_GRAD, Own<Cell> of_cell) {
    constexpr int G = ROWS_OF_R<Cell>, COLUMNS = GATES<Cell>, I = INNER<Cell>;  // gates of h, all; states besides h
    const Direction direction(T, B, H);
    const int d = direction.d, first_unit = blockIdx.x * units, owned = min(units, H - first_unit);

    // [column of da2][k][unit of the block]
    extern __shared__ real weights[];
    for (int n = threadIdx.x; n < owned * G * H; n += blockDim.x) {
        const int own = n % owned, k = n / owned % H, j = n / owned / H;
        const int gate = Cell::OF_H ? (j + Cell::OF_BOTH) % G : j;  // the columns of only h' come first
        weights[(j * H + k) * units + own] = R[((i64)(d * G + gate) * H + k) * H + first_unit + own];
    }
    __syncthreads();

    const GridBarrier barrier = {meeting + 2 * d, meeting + 2 * d + 1, (u32)((H + units - 1) / units)};
    Watch watch = {error, polls, false};
    for (int step = 0; step <= T; step++) {  // after the last one: the gradient of the first state
        const int t = direction.backward(step);
        const real *da_after = da + (i64)(d * T + direction.backward(step - 1)) * B * COLUMNS * H;

        for (int cell = threadIdx.x; cell < B * owned; cell += blockDim.x) {
            const int row = cell / owned, own = cell % owned, unit = first_unit + own;
            const i64 own_dh = ((i64)d * B + row) * H + unit;
            real dh_sum = dh[own_dh];  // the part that bypasses the product
            if (step > 0) {
                for (int n = 0; n < G * H; n++)  // dh += da2 R
                    dh_sum += da_after[(i64)row * COLUMNS * H + n] * weights[n * units + own];
            }
            if (step == T) {
                dh[own_dh] = dh_sum;
                continue;
            }

            const bool valid = counts(lengths, t, row);
            real kept[KEPT<Cell> + 1], gradient[COLUMNS];
            for (int n = 0; n < KEPT<Cell>; n++)
                kept[n] = valid ? values[(((i64)(d * T + t) * KEPT<Cell> + n) * B + row) * H + unit] : real(0);
            Gradient<real, Cell> s;
            take<Cell>(kept, s);  // saved by the forward pass: gates, and states before the step
            if (READS_H<Cell>) s.after[I] = valid ? y[direction.at(t, row, unit)] : real(0);
            for (int j = 0; j < I; j++) s.d_after[j] = dc_[((i64)(d * I + j) * B + row) * H + unit];
            s.d_after[I] = dh_sum + (valid ? dy[direction.at(t, row, unit)] : real(0));
            if (I && valid && of_cell.dc_each) s.d_after[0] += of_cell.dc_each[(((i64)d * T + t) * B + row) * H + unit];
            of_cell.read(s, direction, t, row, unit);
            of_cell.cell.grad(s);
            of_cell.leave(s, direction, t, row, unit, valid);

            to_columns<Cell>(s, gradient);  // of the gates, those of only h first
            for (int j = 0; j < COLUMNS; j++)
                da[(((i64)(d * T + t) * B + row) * COLUMNS + j) * H + unit] = valid ? gradient[j] : real(0);
            dh[own_dh] = valid ? s.d_before[I] : dh_sum;
            for (int j = 0; j < I; j++)
                if (valid) dc_[((i64)(d * I + j) * B + row) * H + unit] = s.d_before[j];
        }
        if (step < T && !barrier.wait(step + 1, watch)) return;
    }
}
extern "C" __global__ void __launch_bounds__(THREADS, 1) cell_barrier_grad(PARAMETERS_GRAD, Own<CELL> of_cell) {
    backward<CELL>(T, B, H, units, lengths, R, values, y, dy, dh, dc_, da, meeting, polls, error, of_cell);
}
