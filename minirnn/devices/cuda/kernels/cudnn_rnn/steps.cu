// CudnnRNN step by step: the elementwise part of one step of a layer, and of its gradient, in one launch each; the
// products stand between them. The first rung of the ladder: any size, any GPU. Float16 arrives as float32.
// Formulas: minirnn/ops/cudnn_rnn/nodes.py. The same lines in NumPy: minirnn/devices/cpu/cudnn_rnn/reference.py.
//
//   H units, P outputs (H without a projection), B rows of a batch; lengths (B,) or null: all rows count at every step
//   one thread = one unit of one row; neighboring threads take neighboring units, neighbors in memory in every array
//   rows of y and dy are `y_step` elements apart: the directions of a layer lie side by side
// Past its length a row keeps its state, its output is 0, and its gradient passes on unchanged.
#include "activation.cuh"

__device__ inline bool counts(const int *lengths, int t, int row) { return !lengths || t < lengths[row]; }

// h = f(x W' + bW + h' R' + bR)        a = x W' + h' R': (B, H)
extern "C" __global__ void rnn_step(int t, int B, int H, int y_step, int relu, const int *lengths, const real *a_,
                                    const real *bW, const real *bR, real *h_, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;

    const real a = a_[k] + bW[unit] + bR[unit];
    const real h = relu ? (a < 0 ? real(0) : a) : tanh(a);  // NaN stays NaN

    const bool valid = counts(lengths, t, row);
    if (valid) h_[k] = h;
    y[(i64)row * y_step + unit] = valid ? h : real(0);
}

// dh: gradient of h from step t+1; becomes what passes by dA @ R, which the product that follows adds
extern "C" __global__ void rnn_step_grad(int t, int B, int H, int y_step, int relu, const int *lengths, const real *y,
                                         const real *dy, real *dh, real *dA) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, at = (i64)row * y_step + unit;
    const bool valid = counts(lengths, t, row);
    if (!valid) {
        dA[k] = 0;
        return;
    }
    const real h = y[at], d = dy[at] + dh[k];
    dA[k] = relu ? (h > 0 ? d : real(0)) : d * d_tanh(h);  // relu: derivative 0 at 0
    dh[k] = 0;
}

// c = f*c' + i*n        h = o*tanh(c)        a = x W' + h' R': (B, 4H), gates i f n o
//   values: i f n o c', (B, H) each, kept for the way back, or null        m: null, or o*tanh(c) for the projection
extern "C" __global__ void lstm_step(int t, int B, int H, int y_step, const int *lengths, const real *a, const real *bW,
                                     const real *bR, real *c_, real *values, real *m, real *h, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H;
    a += (i64)row * 4 * H + unit, bW += unit, bR += unit;
    const real c_prev = c_[k];

    const real i = sigmoid(a[0] + bW[0] + bR[0]);
    const real f = sigmoid(a[H] + bW[H] + bR[H]);
    const real n = tanh(a[2 * H] + bW[2 * H] + bR[2 * H]);
    const real o = sigmoid(a[3 * H] + bW[3 * H] + bR[3 * H]);
    const real c = f * c_prev + i * n;
    const real output = o * tanh(c);

    const bool valid = counts(lengths, t, row);
    if (values) {
        values[k] = i, values[k + block] = f, values[k + 2 * block] = n, values[k + 3 * block] = o;
        values[k + 4 * block] = c_prev;
    }
    if (valid) c_[k] = c;
    if (m) {
        m[k] = output;
        return;
    }
    if (valid) h[k] = output;
    y[(i64)row * y_step + unit] = valid ? output : real(0);
}

// Without a projection dm_ is null and dm = dy + dh. With one, dm_ = d @ Wp, and m = o*tanh(c) is set for dWp = d' m.
extern "C" __global__ void lstm_step_grad(int t, int B, int H, int y_step, const int *lengths, const real *values,
                                          const real *dy, const real *dm_, real *dh, real *dc, real *dA, real *m) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H;
    dA += (i64)row * 4 * H + unit;
    if (!counts(lengths, t, row)) {
        dA[0] = 0, dA[H] = 0, dA[2 * H] = 0, dA[3 * H] = 0;
        if (m) m[k] = 0;
        return;
    }
    const real i = values[k], f = values[k + block], n = values[k + 2 * block], o = values[k + 3 * block];
    const real c_prev = values[k + 4 * block];
    const real tanh_c = tanh(f * c_prev + i * n);

    const real dm = dm_ ? dm_[k] : dy[(i64)row * y_step + unit] + dh[k];
    const real dC = dc[k] + dm * o * d_tanh(tanh_c);
    dA[0] = dC * n * d_sigmoid(i);
    dA[H] = dC * c_prev * d_sigmoid(f);
    dA[2 * H] = dC * i * d_tanh(n);
    dA[3 * H] = dm * tanh_c * d_sigmoid(o);
    dc[k] = dC * f;
    if (m) m[k] = o * tanh_c;
    if (!dm_) dh[k] = 0;
}

// r, z = sigmoid(x W' + bW + h' R' + bR)    q = h' R_n' + bR_n    n = tanh(x W_n' + bW_n + r*q)    h = (1-z)*n + z*h'
//   a = x W' and a2 = h' R': (B, 3H), gates r z n        values: r z n q h', (B, H) each, or null
extern "C" __global__ void gru_step(int t, int B, int H, int y_step, const int *lengths, const real *a, const real *a2,
                                    const real *bW, const real *bR, real *values, real *h_, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H;
    a += (i64)row * 3 * H + unit, a2 += (i64)row * 3 * H + unit, bW += unit, bR += unit;
    const real h_prev = h_[k];

    const real r = sigmoid(a[0] + bW[0] + a2[0] + bR[0]);
    const real z = sigmoid(a[H] + bW[H] + a2[H] + bR[H]);
    const real q = a2[2 * H] + bR[2 * H];
    const real n = tanh(a[2 * H] + bW[2 * H] + r * q);
    const real h = (1 - z) * n + z * h_prev;

    if (values) {
        values[k] = r, values[k + block] = z, values[k + 2 * block] = n, values[k + 3 * block] = q;
        values[k + 4 * block] = h_prev;
    }
    const bool valid = counts(lengths, t, row);
    if (valid) h_[k] = h;
    y[(i64)row * y_step + unit] = valid ? h : real(0);
}

// dA: (B, 4H), columns q r z n: the first three are dA2, the gradient of h' R' + bR; the last three that of x W' + bW
extern "C" __global__ void gru_step_grad(int t, int B, int H, int y_step, const int *lengths, const real *values,
                                         const real *dy, real *dh, real *dA) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H;
    dA += (i64)row * 4 * H + unit;
    if (!counts(lengths, t, row)) {
        dA[0] = 0, dA[H] = 0, dA[2 * H] = 0, dA[3 * H] = 0;
        return;
    }
    const real r = values[k], z = values[k + block], n = values[k + 2 * block], q = values[k + 3 * block];
    const real h_prev = values[k + 4 * block];
    const real d = dy[(i64)row * y_step + unit] + dh[k];

    const real dA_n = d * (1 - z) * d_tanh(n);
    const real dA_z = d * (h_prev - n) * d_sigmoid(z);
    const real dA_r = dA_n * q * d_sigmoid(r);
    dA[0] = dA_n * r, dA[H] = dA_r, dA[2 * H] = dA_z, dA[3 * H] = dA_n;
    dh[k] = d * z;
}

// After a projection: h = m Wp' where the row counts        projected: (B, P)
extern "C" __global__ void projected_step(int t, int B, int P, int y_step, const int *lengths, const real *projected, real *h,
                                          real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    if (valid) h[k] = projected[k];
    y[(i64)row * y_step + unit] = valid ? projected[k] : real(0);
}

// Before the product with Wp: d = dy + dh: (B, P); dh becomes what passes by the step
extern "C" __global__ void projected_step_grad(int t, int B, int P, int y_step, const int *lengths, const real *dy, real *dh,
                                               real *d) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    d[k] = valid ? dy[(i64)row * y_step + unit] + dh[k] : real(0);
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
