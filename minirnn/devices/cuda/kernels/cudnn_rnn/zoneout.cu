// CudnnRNN step by step with zoneout: the kernels of `steps.cu`, with units that keep their old state. The products
// between the launches are the same. Formulas: minirnn/ops/cudnn_rnn/zoneout.py; the cells themselves: `cell.cuh`.
//
//   h = zh * h' + (1 - zh) * h_new        c = zc * c' + (1 - zc) * c_new
//
//   H units, P outputs (H without a projection), B rows of a batch
//   one thread = PER_THREAD neighboring units of one row (units.cuh); neighboring threads take neighboring units
//   rows of y and dy are `y_stride` elements apart: the directions of a layer lie side by side
//   zh, zc: masks of this step, (B, H), or with `each` 0 one number for all; zc null but for lstm
#include "cudnn_rnn/cell.cuh"
#include "units.cuh"

#define STEP int t, int B, int H, int y_stride, const int *lengths

__device__ inline real zoned(real z, real before, real after) { return z * before + (1 - z) * after; }

// The masks of this thread's units, from number k on; zeros if they are not wanted.
__device__ inline Units<real> load_masks(bool wanted, const real *z, int each, i64 k) {
    Units<real> masks = load_if(wanted && each, z + k);
    const real one = wanted && !each ? *z : real(0);
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++)
        if (!each) masks[n] = one;
    return masks;
}

// A: (B, G*H), x W' + h' R'; for gru x W', and A2 (B, G*H) is h' R'      bW, bR: (G*H,)
// values: (5, B, H), for rnn_tanh and rnn_relu (1, B, H), which is h_new; or null
// h, c: (B, H), go from the state before to the state after; c null but for lstm      y: (B, H), the output
// m: null; or, with a projection, (B, H), what is projected: h and y are then left to `projected_zoneout_step`
#define FORWARD                                                                                                     \
    STEP, const real *A, const real *A2, const real *bW, const real *bR, real *values, real *c_, real *m, real *h_, \
        real *y, const real *zh_, int zh_each, const real *zc_, int zc_each
template <class Cell>
__device__ void step(FORWARD) {
    constexpr int G = Cell::gates, KEPT = Cell::saved ? Cell::saved : 1;
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
    const Units<real> h_prev = load_if(!m, h_ + k), c_prev = load_if(c_, c_ + k);  // projected, h has another width
    const Units<real> zh = load_masks(!m, zh_, zh_each, k), zc = load_masks(c_, zc_, zc_each, k);
    Units<real> h, c, output, kept[5];

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        real a[G], a2[G];
#pragma unroll
        for (int g = 0; g < G; g++) {
            a[g] = A_[g][n] + bW_[g][n], a2[g] = bR_[g][n];
            if (Cell::is_gru) (is_apart<Cell>(g) ? a2[g] : a[g]) += A2_[g][n];
        }
        real c_new = c_prev[n];
        const real h_new = Cell::step(a, a2, h_prev[n], c_new, &kept[0][n], PER_THREAD);
        if (!Cell::saved) kept[0][n] = h_new;
        c[n] = zoned(zc[n], c_prev[n], c_new);
        h[n] = zoned(zh[n], h_prev[n], h_new);
        output[n] = !valid ? real(0) : m ? h_new : h[n];
    }
#pragma unroll
    for (int j = 0; j < KEPT; j++)
        if (values) store(values + j * block + k, kept[j]);
    if (c_ && valid) store(c_ + k, c);
    if (m) {
        store(m + k, output);
        return;
    }
    if (valid) store(h_ + k, h);
    store(y + (i64)row * y_stride + unit, output);
}
KERNELS(, zoneout_step, step, FORWARD,
        (t, B, H, y_stride, lengths, A, A2, bW, bR, values, c_, m, h_, y, zh_, zh_each, zc_, zc_each))

//   dh_new = (1 - zh) * dh      gradient of h' += zh * dh        dc_new = (1 - zc) * dc      gradient of c' += zc * dc
//
// dh, dc: (B, H), go from the gradients of the state after to what passes by the products      da: (B, columns*H)
// dy: (B, H)      dm, m: null; or, with a projection, (B, H), the gradient of what was projected, and this itself
#define BACKWARD                                                                                       \
    STEP, const real *values, const real *dy, const real *dm, real *dh_, real *dc_, real *da, real *m, \
        const real *zh_, int zh_each, const real *zc_, int zc_each
template <class Cell>
__device__ void step_grad(BACKWARD) {
    constexpr int COLUMNS = Cell::columns, KEPT = Cell::saved ? Cell::saved : 1;
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H, at = (i64)row * y_stride + unit;
    const bool valid = counts(lengths, t, row);
    Units<real> kept[5], da_[COLUMNS], dh, dc, output;
#pragma unroll
    for (int j = 0; j < 5; j++) kept[j] = load_if(valid && j < KEPT, values + j * block + k);
    const Units<real> dy_ = load_if(valid, dm ? dm + k : dy + at);
    // With a projection dm is dh_new Wp already: `projected_zoneout_step_grad` has split dh.
    const Units<real> dh_after = load_if(!dm, dh_ + k), dc_after = load_if(dc_, dc_ + k);
    const Units<real> zh = load_masks(!dm, zh_, zh_each, k), zc = load_masks(dc_, zc_, zc_each, k);

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        real value[5], gradient[COLUMNS];
#pragma unroll
        for (int j = 0; j < 5; j++) value[j] = kept[j][n];
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) gradient[j] = 0;
        output[n] = 0;
        if (valid) {
            const real dh_sum = dy_[n] + dh_after[n];
            const real dh_new = (1 - zh[n]) * dh_sum;
            real dc_new = (1 - zc[n]) * dc_after[n], dh_prev;
            output[n] = Cell::grad(dh_new, value[0], value, dc_new, gradient, dh_prev);
            dh[n] = dh_prev + zh[n] * dh_sum;
            dc[n] = dc_new + zc[n] * dc_after[n];
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; j++) da_[j][n] = gradient[j];
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) store(da + ((i64)row * COLUMNS + j) * H + unit, da_[j]);
    if (m) store(m + k, output);
    if (valid && !dm) store(dh_ + k, dh);
    if (valid && dc_) store(dc_ + k, dc);
}
KERNELS(, zoneout_step_grad, step_grad, BACKWARD,
        (t, B, H, y_stride, lengths, values, dy, dm, dh_, dc_, da, m, zh_, zh_each, zc_, zc_each))

// After a projection: h = zh * h' + (1 - zh) * m Wp' where the row counts        projected: (B, P), m Wp'
extern "C" __global__ void projected_zoneout_step(int t, int B, int P, int y_stride, const int *lengths,
                                                  const real *projected, real *h_, real *y, const real *zh_,
                                                  int zh_each) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    const Units<real> h_prev = load(h_ + k), h_new = load(projected + k), zh = load_masks(true, zh_, zh_each, k);
    Units<real> h, output;
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        h[n] = zoned(zh[n], h_prev[n], h_new[n]);
        output[n] = valid ? h[n] : real(0);
    }
    if (valid) store(h_ + k, h);
    store(y + (i64)row * y_stride + unit, output);
}

// Before the product with Wp: dh_new = (1 - zh) * (dy + dh): (B, P); dh becomes what passes by the step
extern "C" __global__ void projected_zoneout_step_grad(int t, int B, int P, int y_stride, const int *lengths,
                                                       const real *dy, real *dh_, real *to_dh_new, const real *zh_,
                                                       int zh_each) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    const Units<real> dy_ = load_if(valid, dy + (i64)row * y_stride + unit), dh_after = load_if(valid, dh_ + k);
    const Units<real> zh = load_masks(true, zh_, zh_each, k);
    Units<real> dh, dh_new;
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        const real dh_sum = dy_[n] + dh_after[n];  // zeros where the row does not count
        dh_new[n] = (1 - zh[n]) * dh_sum;
        dh[n] = zh[n] * dh_sum;
    }
    store(to_dh_new + k, dh_new);
    if (valid) store(dh_ + k, dh);
}
