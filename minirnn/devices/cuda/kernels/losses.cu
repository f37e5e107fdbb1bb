// The cross-entropy of class scores, and its gradient.        x, dx: (rows, V)   target, y, dy: (rows,)
//   one block = one row        shifted by the row's maximum, so that exp never overflows
// Formulas: minirnn/ops/losses.py. The same lines in NumPy: minirnn/devices/cpu/losses.py.
#include "row_sums.cuh"

extern "C" __global__ void cross_entropy(const real *x, const i64 *target, real *y, i64 V) {
    extern __shared__ double shares[];
    x += blockIdx.x * V;
    acc m, s;
    row_sums(x, V, (acc *)shares, &m, &s);
    if (threadIdx.x == 0) y[blockIdx.x] = real(log(s) - (acc(x[target[blockIdx.x]]) - m));
}

extern "C" __global__ void cross_entropy_grad(const real *x, const real *dy_, const i64 *target, real *dx, i64 V) {
    extern __shared__ double shares[];
    x += blockIdx.x * V, dx += blockIdx.x * V;
    const acc dy = acc(dy_[blockIdx.x]);
    const i64 right = target[blockIdx.x];
    acc m, s;
    row_sums(x, V, (acc *)shares, &m, &s);
    for (i64 j = threadIdx.x; j < V; j += blockDim.x) {
        const acc softmax = exp(acc(x[j]) - m) / s;
        dx[j] = real(dy * (softmax - acc(j == right)));
    }
}
