// Along one axis, step by step: sums, products and linear recurrences up to each place.
//   rows: the other axes; view 0 is y, view 1 is a, view 2 is b
//   n:    steps, which are `y_step`, `a_step`, `b_step` elements apart
// One thread = one row, from its first step to its last. Steps are not split between threads: partial products
// could overflow where the result does not, and the order of the additions would depend on the number of threads.
#include "views.cuh"

// y[t] = y[t-1] + a[t]
extern "C" __global__ void cumsum(const Views rows, const real *a, real *y, i64 n, i64 a_step, i64 y_step) {
    const i64 k = element();
    if (k >= rows.size) return;
    a += at(rows, 1, k), y += at(rows, 0, k);
    acc sum = 0;
    for (i64 t = 0; t < n; t++) {
        sum = sum + acc(a[t * a_step]);
        y[t * y_step] = real(sum);
    }
}

// y[t] = y[t-1] * a[t]
extern "C" __global__ void cumprod(const Views rows, const real *a, real *y, i64 n, i64 a_step, i64 y_step) {
    const i64 k = element();
    if (k >= rows.size) return;
    a += at(rows, 1, k), y += at(rows, 0, k);
    acc product = 1;
    for (i64 t = 0; t < n; t++) {
        product = product * acc(a[t * a_step]);
        y[t * y_step] = real(product);
    }
}

// y[t] = a[t] * y[t-1] + b[t],  y[-1] = 0
extern "C" __global__ void recurrence(const Views rows, const real *a, const real *b, real *y, i64 n, i64 a_step,
                                      i64 b_step, i64 y_step) {
    const i64 k = element();
    if (k >= rows.size) return;
    a += at(rows, 1, k), b += at(rows, 2, k), y += at(rows, 0, k);
    acc state = 0;
    for (i64 t = 0; t < n; t++) {
        state = acc(a[t * a_step]) * state + acc(b[t * b_step]);
        y[t * y_step] = real(state);
    }
}
