// The GRU of GRUBlockCell: the elementwise parts of one step, and of its gradient. Float16 arrives as float32.
// Formulas: minirnn/ops/gru_block.py. The same lines in NumPy: minirnn/devices/cpu/gru_block.py.
//
//   H units, B rows of a batch; states and gates are (B, H)
//   r and u lie side by side in z_ru, b_ru and d_r_bar_u_bar (.., 2H)
//   one thread = one unit of one row
// The candidate's product needs the reset gate, and the reset gate's gradient a product with the candidate's: hence two
// launches forward and two backward, with the products between them.
#include "activation.cuh"

// z_ru = [x | h_prev] @ w_ru
extern "C" __global__ void gru_block_cell_gates(int B, int H, const real *z_ru, const real *b_ru, const real *h_prev,
                                                real *r_, real *u_, real *h_prevr) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    z_ru += (i64)row * 2 * H + unit;

    const real r = sigmoid(z_ru[0] + b_ru[unit]);
    const real u = sigmoid(z_ru[H] + b_ru[H + unit]);

    r_[k] = r, u_[k] = u;
    h_prevr[k] = r * h_prev[k];  // reset before the product, unlike cuDNN
}

// z_c = [x | h_prevr] @ w_c
extern "C" __global__ void gru_block_cell(int B, int H, const real *z_c, const real *b_c, const real *h_prev_,
                                          const real *u_, real *c_, real *h) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    const real h_prev = h_prev_[k], u = u_[k];

    const real c = tanh(z_c[k] + b_c[unit]);

    c_[k] = c;
    h[k] = u * h_prev + (1 - u) * c;
}

// The bars that need no product: d_c_bar (B, H), and d_u_bar, the second half of d_r_bar_u_bar
extern "C" __global__ void gru_block_cell_grad_candidate(int B, int H, const real *h_prev_, const real *u_,
                                                         const real *c_, const real *d_h_, real *d_c_bar,
                                                         real *d_r_bar_u_bar) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    const real h_prev = h_prev_[k], u = u_[k], c = c_[k], d_h = d_h_[k];

    d_c_bar[k] = d_h * (1 - u) * d_tanh(c);
    d_r_bar_u_bar[(i64)row * 2 * H + H + unit] = d_h * (h_prev - c) * d_sigmoid(u);
}

// d_x_h_prevr = d_c_bar @ w_c^T: (B, I+H). Sets d_r_bar, the first half of d_r_bar_u_bar, and all of d_h_prev but what
// comes through the gates: the product d_r_bar_u_bar @ w_ru^T adds that.
extern "C" __global__ void gru_block_cell_grad(int B, int I, int H, const real *h_prev_, const real *r_, const real *u_,
                                               const real *d_h, const real *d_x_h_prevr, real *d_r_bar_u_bar,
                                               real *d_h_prev) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    const real h_prev = h_prev_[k], r = r_[k], u = u_[k];
    const real d_h_prevr = d_x_h_prevr[(i64)row * (I + H) + I + unit];

    d_r_bar_u_bar[(i64)row * 2 * H + unit] = d_h_prevr * h_prev * d_sigmoid(r);
    d_h_prev[k] = d_h_prevr * r + d_h[k] * u;
}
