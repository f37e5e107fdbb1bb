// The GRU of GRUBlockCell: the elementwise parts of one step, and of its gradient. Float16 arrives as float32.
// The cell: minirnn/devices/cells/gru_block.h. Formulas: minirnn/ops/gru_block.py.
//
//   H units, B rows of a batch; states and gates are (B, H)
//   r and u are side by side in z_ru, b_ru and d_r_bar_u_bar (.., 2H)
//   one thread = PER_THREAD neighboring units of one row (units.cuh)
// The candidate's product needs the reset gate, and the reset gate's gradient a product with the candidate's, so there
// are two launches forward and two backward, with the products between them.
#include "activation.cuh"
#include "units.cuh"

#include "cells/form.h"
#include "cells/gru_block.h"

typedef GruBlock<real, real> Cell;

// z_ru = [x | h_prev] @ w_ru
extern "C" __global__ void gru_block_cell_gates(int B, int H, const real *z_ru, const real *b_ru, const real *to_h_prev,
                                                real *to_r, real *to_u, real *to_h_prevr) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    z_ru += (i64)row * 2 * H + unit;
    const Units<real> z_r = load(z_ru), z_u = load(z_ru + H), b_r = load(b_ru + unit), b_u = load(b_ru + H + unit);
    const Units<real> h_prev = load(to_h_prev + k);
    Units<real> r_, u_, h_prevr;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Step<real, Cell> s;
        s.gates[0] = z_r[n] + b_r[n], s.gates[1] = z_u[n] + b_u[n];
        s.before[0] = h_prev[n];
        Cell().step(Stage<0>(), s);
        r_[n] = s.saved[0], u_[n] = s.saved[1], h_prevr[n] = s.multiplied[0];
    }
    store(to_r + k, r_), store(to_u + k, u_), store(to_h_prevr + k, h_prevr);
}

// z_c = [x | h_prevr] @ w_c
extern "C" __global__ void gru_block_cell(int B, int H, const real *z_c, const real *b_c, const real *to_h_prev,
                                          const real *to_u, real *to_c, real *to_h) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    const Units<real> z = load(z_c + k), b = load(b_c + unit), h_prev_ = load(to_h_prev + k), u_ = load(to_u + k);
    Units<real> c_, h;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Step<real, Cell> s;
        s.gates[2] = b[n], s.products[0] = z[n];  // of x as well
        s.before[0] = h_prev_[n], s.saved[1] = u_[n];
        Cell().step(Stage<1>(), s);
        c_[n] = s.saved[2], h[n] = s.after[0];
    }
    store(to_c + k, c_), store(to_h + k, h);
}

// The bars that need no product: d_c_bar (B, H), and d_u_bar, the second half of d_r_bar_u_bar
extern "C" __global__ void gru_block_cell_grad_candidate(int B, int H, const real *to_h_prev, const real *to_u,
                                                         const real *to_c, const real *to_d_h, real *to_d_c_bar,
                                                         real *d_r_bar_u_bar) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    const Units<real> h_prev_ = load(to_h_prev + k), u_ = load(to_u + k), c_ = load(to_c + k), d_h_ = load(to_d_h + k);
    Units<real> d_c_bar, d_u_bar;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Gradient<real, Cell> s;
        s.before[0] = h_prev_[n], s.saved[1] = u_[n], s.saved[2] = c_[n], s.d_after[0] = d_h_[n];
        Cell().grad(Stage<0>(), s);
        d_c_bar[n] = s.d_gates[2], d_u_bar[n] = s.d_gates[1];
    }
    store(to_d_c_bar + k, d_c_bar), store(d_r_bar_u_bar + (i64)row * 2 * H + H + unit, d_u_bar);
}

// d_x_h_prevr = d_c_bar @ w_c^T: (B, I+H). Sets d_r_bar, the first half of d_r_bar_u_bar, and d_h_prev without the part
// that comes through the gates: the product d_r_bar_u_bar @ w_ru^T adds that.
extern "C" __global__ void gru_block_cell_grad(int B, int I, int H, const real *to_h_prev, const real *to_r,
                                               const real *to_u, const real *to_d_h, const real *d_x_h_prevr,
                                               real *d_r_bar_u_bar, real *to_d_h_prev) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    const Units<real> h_prev_ = load(to_h_prev + k), r_ = load(to_r + k), u_ = load(to_u + k), d_h = load(to_d_h + k);
    const Units<real> d_h_prevr_ = load(d_x_h_prevr + (i64)row * (I + H) + I + unit);
    Units<real> d_r_bar, d_h_prev;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Gradient<real, Cell> s;
        s.before[0] = h_prev_[n], s.saved[0] = r_[n], s.saved[1] = u_[n], s.d_after[0] = d_h[n];
        s.d_multiplied[0] = d_h_prevr_[n];
        Cell().grad(Stage<1>(), s);
        d_r_bar[n] = s.d_gates[0], d_h_prev[n] = s.d_before[0];
    }
    store(d_r_bar_u_bar + (i64)row * 2 * H + unit, d_r_bar), store(to_d_h_prev + k, d_h_prev);
}
