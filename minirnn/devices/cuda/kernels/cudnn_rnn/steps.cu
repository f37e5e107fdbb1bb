// CudnnRNN step by step: the elementwise part of one step of a layer, and of its gradient, in one launch each; the
// products stand between them. The lowest rung of the ladder: any size, any GPU. Float16 arrives as float32.
//
//   H units, P outputs (H without a projection), B rows of a batch
//   one thread = one unit of one row; neighboring threads take neighboring units, neighbors in memory in every array
//   rows of y and dy are `y_stride` elements apart: the directions of a layer lie side by side
#include "cudnn_rnn/cell.cuh"

#define STEP int t, int B, int H, int y_stride, const int *lengths

// A: (B, G*H), x W' + h' R'; for gru x W', and A2 (B, G*H) is h' R'      bW, bR: (G*H,)      values: (5, B, H) or null
// h, c: (B, H), go from the state before to the state after; c null but for lstm      y: (B, H), the output
// m: null; or, with a projection, (B, H), what is projected: h and y are then left to `projected_step`
#define FORWARD                                                                                                     \
    STEP, const real *A, const real *A2, const real *bW, const real *bR, real *values, real *c_, real *m, real *h_, \
        real *y
template <class Cell>
__device__ void step(FORWARD) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H;

    real a[Cell::gates], a2[Cell::gates];
#pragma unroll
    for (int g = 0; g < Cell::gates; g++) {
        const i64 column = (i64)row * Cell::gates * H + g * H + unit;
        a[g] = A[column] + bW[g * H + unit], a2[g] = bR[g * H + unit];
        if (Cell::is_gru) (is_apart<Cell>(g) ? a2[g] : a[g]) += A2[column];
    }
    const bool valid = counts(lengths, t, row);
    real output, c = c_ ? c_[k] : real(0);
    const real h_prev = Cell::is_gru ? h_[k] : real(0);  // no other cell reads it
    const real h = cell_step<Cell>(valid, a, a2, h_prev, c, values ? values + k : nullptr, block, output);

    if (c_ && valid) c_[k] = c;
    if (m) {
        m[k] = output;
        return;
    }
    if (valid) h_[k] = h;
    y[(i64)row * y_stride + unit] = output;
}
KERNELS(, step, step, FORWARD, (t, B, H, y_stride, lengths, A, A2, bW, bR, values, c_, m, h_, y))

// dh, dc: (B, H), go from the gradients of the state after to what passes by the products      da: (B, columns*H)
// y, dy: (B, H)      dm, m: null; or, with a projection, (B, H), the gradient of what was projected, and this itself
#define BACKWARD \
    STEP, const real *values, const real *y, const real *dy, const real *dm, real *dh_, real *dc_, real *da, real *m
template <class Cell>
__device__ void step_grad(BACKWARD) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H, at = (i64)row * y_stride + unit;

    const bool valid = counts(lengths, t, row);
    const Saved saved = load_saved<Cell>(valid, values + k, block, y + at, dm ? dm + k : dy + at);
    real dh = dm ? real(0) : dh_[k], dc = dc_ ? dc_[k] : real(0);  // dm: `projected_step_grad` has added dh
    real gradient[Cell::columns];
    const real output = cell_grad<Cell>(saved, dh, dc, gradient);

    store_gradients<Cell>(da + (i64)row * Cell::columns * H + unit, H, gradient);
    if (m) m[k] = output;
    if (valid && !dm) dh_[k] = dh;
    if (valid && dc_) dc_[k] = dc;
}
KERNELS(, step_grad, step_grad, BACKWARD, (t, B, H, y_stride, lengths, values, y, dy, dm, dh_, dc_, da, m))

// After a projection: h = m Wp' where the row counts        projected: (B, P)
extern "C" __global__ void projected_step(int t, int B, int P, int y_stride, const int *lengths, const real *projected,
                                          real *h, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    if (valid) h[k] = projected[k];
    y[(i64)row * y_stride + unit] = valid ? projected[k] : real(0);
}

// Before the product with Wp: d = dy + dh: (B, P); dh becomes what passes by the step
extern "C" __global__ void projected_step_grad(int t, int B, int P, int y_stride, const int *lengths, const real *dy,
                                               real *dh, real *d) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    d[k] = valid ? dy[(i64)row * y_stride + unit] + dh[k] : real(0);
    if (valid) dh[k] = 0;
}

// y = x where a row counts, else 0: what lies in the padding, NaN say, must not spread
//   x, y: (T*B, n)        one thread = one unit of one row of one step
extern "C" __global__ void without_padding(int rows, int B, int n, const int *lengths, const real *x, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= rows || unit >= n) return;
    const i64 k = (i64)row * n + unit;
    y[k] = counts(lengths, row / B, row % B) ? x[k] : real(0);
}
