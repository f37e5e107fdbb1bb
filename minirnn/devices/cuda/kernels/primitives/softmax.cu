// softmax and log_softmax along the last axis.        x, y: (rows, n)        one block = one row
//   shifted by the row's maximum, so that exp never overflows
#include "row_sums.cuh"

extern "C" __global__ void softmax(const real *x, real *y, i64 n) {
    extern __shared__ double shares[];
    x += blockIdx.x * n, y += blockIdx.x * n;
    acc m, s;
    row_sums(x, n, (acc *)shares, &m, &s);
    for (i64 j = threadIdx.x; j < n; j += blockDim.x) y[j] = real(exp(acc(x[j]) - m) / s);
}

extern "C" __global__ void log_softmax(const real *x, real *y, i64 n) {
    extern __shared__ double shares[];
    x += blockIdx.x * n, y += blockIdx.x * n;
    acc m, s;
    row_sums(x, n, (acc *)shares, &m, &s);
    const acc log_s = log(s);
    for (i64 j = threadIdx.x; j < n; j += blockDim.x) y[j] = real(acc(x[j]) - m - log_s);
}
