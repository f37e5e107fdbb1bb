// Kernels around the steps of a layer that are the same for every cell.
#include "sequence/cell.cuh"
#include "units.cuh"

// After a projection: h = m Wp' if the row is active; with zoneout zh * h' + (1 - zh) * that
//   projected, zh, h: (B, P), zh or null      y: rows `y_stride` elements apart
extern "C" __global__ void projected_step(int t, int B, int P, int y_stride, const int *lengths, const real *projected,
                                          const real *zh_, real *h_, real *y) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    Units<real> h = load_if(valid, projected + k);  // zeros if the row is not active
    const Units<real> before = load_if(valid && zh_, h_ + k), zh = load_if(zh_, zh_ + k);
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++)
        if (zh_) h[n] = zh[n] * before[n] + (1 - zh[n]) * h[n];
    if (valid) store(h_ + k, h);
    store(y + (i64)row * y_stride + unit, h);
}

// Before the product with Wp: d = dy + dh: (B, P), with zoneout (1 - zh) times that; dh becomes the part that goes past
// the product: 0, with zoneout zh times that
extern "C" __global__ void projected_step_grad(int t, int B, int P, int y_stride, const int *lengths, const real *dy,
                                               const real *zh_, real *dh_, real *to_d) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    const Units<real> dy_ = load_if(valid, dy + (i64)row * y_stride + unit), zh = load_if(zh_, zh_ + k);
    Units<real> dh = load_if(valid, dh_ + k), d;
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        const real sum = dy_[n] + dh[n];
        d[n] = (1 - zh[n]) * sum;
        dh[n] = zh[n] * sum;
    }
    store(to_d + k, d);
    if (valid) store(dh_ + k, dh);
}

// y = x if a row is active, otherwise 0, so that NaN in the padding does not spread
//   x, y: (T*B, n)        one thread = one unit of one row of one step
extern "C" __global__ void without_padding(int rows, int B, int n, const int *lengths, const real *x, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= rows || unit >= n) return;
    const i64 k = (i64)row * n + unit;
    y[k] = counts(lengths, row / B, row % B) ? x[k] : real(0);
}
