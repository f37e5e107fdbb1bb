// A step of CudnnRNN's LSTM, its gradient, and a step of its GRU, written out to be read. `steps.cu` computes the
// same for every cell, with lengths, masks, projections and loads of 16 bytes. The names are those of
// minirnn/ops/cudnn_rnn/cells.py, and a test compares the results.
//
//   one thread = one unit of one row of the batch
//   the library computes the products with W and R, before and after
#include "activation.cuh"

// A: (B, 4H), x W' + h' R' for i, f, n, o      bias: (4H,)      values: (5, B, H), saved for the gradient
// c: (B, H), goes from the state before to the one after      h: (B, H), the state after
extern "C" __global__ void lstm_step(int B, int H, const real *A, const real *bias, real *c_, real *h, real *values) {
    const int row = cell_row(), unit = cell_unit(), k = row * H + unit, size = B * H;
    if (row >= B || unit >= H) return;
    const real *z = A + row * 4 * H + unit, *b = bias + unit;

    const acc i = sigmoid(z[0 * H] + b[0 * H]);
    const acc f = sigmoid(z[1 * H] + b[1 * H]);
    const acc n = tanh(z[2 * H] + b[2 * H]);
    const acc o = sigmoid(z[3 * H] + b[3 * H]);
    const acc c_prev = c_[k];
    const acc c = f * c_prev + i * n;

    c_[k] = c, h[k] = o * tanh(c);
    values[k] = i, values[size + k] = f, values[2 * size + k] = n, values[3 * size + k] = o,
    values[4 * size + k] = c_prev;
}

// dh: (B, H), from the output and from the next step      dc: (B, H), goes from the state after to the one before
// dA: (B, 4H); afterwards dh' = dA R, dW = dA' x, dR = dA' h' and dbias = the sum of the rows of dA
extern "C" __global__ void lstm_step_grad(int B, int H, const real *values, const real *dh_, real *dc_, real *dA) {
    const int row = cell_row(), unit = cell_unit(), k = row * H + unit, size = B * H;
    if (row >= B || unit >= H) return;
    real *dz = dA + row * 4 * H + unit;
    const acc i = values[k], f = values[size + k], n = values[2 * size + k], o = values[3 * size + k];
    const acc c_prev = values[4 * size + k], tanh_c = tanh(f * c_prev + i * n);  // computed again rather than saved

    const acc dh = dh_[k];
    const acc dc = dc_[k] + dh * o * (1 - tanh_c * tanh_c);
    dz[0 * H] = dc * n * i * (1 - i);
    dz[1 * H] = dc * c_prev * f * (1 - f);
    dz[2 * H] = dc * i * (1 - n * n);
    dz[3 * H] = dh * tanh_c * o * (1 - o);
    dc_[k] = dc * f;
}

// X: (B, 3H), x W' + bW for r, z, n      Y: (B, 3H), h' R' + bR for r, z, n, because r multiplies only one part of n
// h: (B, H), goes from the state before to the one after
extern "C" __global__ void gru_step(int B, int H, const real *X, const real *Y, real *h) {
    const int row = cell_row(), unit = cell_unit(), k = row * H + unit;
    if (row >= B || unit >= H) return;
    const real *x = X + row * 3 * H + unit, *y = Y + row * 3 * H + unit;

    const acc r = sigmoid(x[0 * H] + y[0 * H]);
    const acc z = sigmoid(x[1 * H] + y[1 * H]);
    const acc n = tanh(x[2 * H] + r * y[2 * H]);
    h[k] = n + z * (h[k] - n);
}
