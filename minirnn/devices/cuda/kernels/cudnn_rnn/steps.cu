// CudnnRNN step by step: the elementwise part of one step of a layer, and of its gradient, in one launch each; the
// products stand between them. The lowest rung of the ladder: any size, any GPU. Float16 arrives as float32.
//
//   H units, P outputs (H without a projection), B rows of a batch
//   one thread = PER_THREAD neighboring units of one row (units.cuh); neighboring threads take neighboring units
//   rows of y and dy are `y_stride` elements apart: the directions of a layer lie side by side
#include "cudnn_rnn/cell.cuh"
#include "units.cuh"

#define STEP int t, int B, int H, int y_stride, const int *lengths

// A: (B, G*H), x W' + h' R'; for gru x W', and A2 (B, G*H) is h' R'      bW, bR: (G*H,)      values: (5, B, H) or null
// h, c: (B, H), go from the state before to the state after; c null but for lstm      y: (B, H), the output
// m: null; or, with a projection, (B, H), what is projected: h and y are then left to `projected_step`
#define FORWARD                                                                                                     \
    STEP, const real *A, const real *A2, const real *bW, const real *bR, real *values, real *c_, real *m, real *h_, \
        real *y
template <class Cell>
__device__ void step(FORWARD) {
    constexpr int G = Cell::gates;
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H;
    Units<real> A_[G], A2_[G], bW_[G], bR_[G];
#pragma unroll
    for (int g = 0; g < G; g++) {
        const i64 column = (i64)row * G * H + g * H + unit;
        A_[g] = load(A + column), A2_[g] = load_if(Cell::is_gru, A2 + column);
        bW_[g] = load(bW + g * H + unit), bR_[g] = load(bR + g * H + unit);
    }
    const bool valid = counts(lengths, t, row);
    Units<real> c = load_if(c_, c_ + k), h, output, kept[5];
    const Units<real> h_prev = load_if(Cell::is_gru, h_ + k);  // no other cell reads it

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        real a[G], a2[G];
#pragma unroll
        for (int g = 0; g < G; g++) {
            a[g] = A_[g][n] + bW_[g][n], a2[g] = bR_[g][n];
            if (Cell::is_gru) (is_apart<Cell>(g) ? a2[g] : a[g]) += A2_[g][n];
        }
        h[n] = cell_step<Cell>(valid, a, a2, h_prev[n], c[n], &kept[0][n], PER_THREAD, output[n]);
    }
#pragma unroll
    for (int j = 0; j < Cell::saved; j++)
        if (values) store(values + j * block + k, kept[j]);
    if (c_ && valid) store(c_ + k, c);
    if (m) {
        store(m + k, output);
        return;
    }
    if (valid) store(h_ + k, h);
    store(y + (i64)row * y_stride + unit, output);
}
KERNELS(, step, step, FORWARD, (t, B, H, y_stride, lengths, A, A2, bW, bR, values, c_, m, h_, y))

// dh, dc: (B, H), go from the gradients of the state after to what passes by the products      da: (B, columns*H)
// y, dy: (B, H)      dm, m: null; or, with a projection, (B, H), the gradient of what was projected, and this itself
#define BACKWARD \
    STEP, const real *values, const real *y, const real *dy, const real *dm, real *dh_, real *dc_, real *da, real *m
template <class Cell>
__device__ void step_grad(BACKWARD) {
    constexpr int COLUMNS = Cell::columns;
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H, at = (i64)row * y_stride + unit;
    const bool valid = counts(lengths, t, row);
    Units<real> kept[5], da_[COLUMNS], output;
#pragma unroll
    for (int j = 0; j < 5; j++) kept[j] = load_if(valid && j < Cell::saved, values + j * block + k);
    const Units<real> y_ = load_if(valid && !Cell::saved, y + at), dy_ = load_if(valid, dm ? dm + k : dy + at);
    Units<real> dh = load_if(!dm, dh_ + k), dc = load_if(dc_, dc_ + k);  // dm: `projected_step_grad` has added dh

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        const Saved saved = load_saved<Cell>(valid, &kept[0][n], PER_THREAD, &y_[n], &dy_[n]);
        real gradient[COLUMNS];
        output[n] = cell_grad<Cell>(saved, dh[n], dc[n], gradient);
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) da_[j][n] = gradient[j];
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) store(da + ((i64)row * COLUMNS + j) * H + unit, da_[j]);
    if (m) store(m + k, output);
    if (valid && !dm) store(dh_ + k, dh);
    if (valid && dc_) store(dc_ + k, dc);
}
KERNELS(, step_grad, step_grad, BACKWARD, (t, B, H, y_stride, lengths, values, y, dy, dm, dh_, dc_, da, m))

// After a projection: h = m Wp' where the row counts        projected: (B, P)
extern "C" __global__ void projected_step(int t, int B, int P, int y_stride, const int *lengths, const real *projected,
                                          real *h, real *y) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    const Units<real> projected_ = load_if(valid, projected + k);  // zeros where the row does not count
    if (valid) store(h + k, projected_);
    store(y + (i64)row * y_stride + unit, projected_);
}

// Before the product with Wp: d = dy + dh: (B, P); dh becomes what passes by the step
extern "C" __global__ void projected_step_grad(int t, int B, int P, int y_stride, const int *lengths, const real *dy,
                                               real *dh, real *d) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    const Units<real> dy_ = load_if(valid, dy + (i64)row * y_stride + unit), dh_ = load_if(valid, dh + k);
    Units<real> d_;
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) d_[n] = dy_[n] + dh_[n];
    store(d + k, d_);
    if (valid) store(dh + k, Units<real>{});
}

// y = x where a row counts, else 0: what lies in the padding, NaN say, must not spread
//   x, y: (T*B, n)        one thread = one unit of one row of one step
extern "C" __global__ void without_padding(int rows, int B, int n, const int *lengths, const real *x, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= rows || unit >= n) return;
    const i64 k = (i64)row * n + unit;
    y[k] = counts(lengths, row / B, row % B) ? x[k] : real(0);
}
