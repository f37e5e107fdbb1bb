// The LSTM of LSTMBlockCell and BlockLSTM: the elementwise part of one step, and of its gradient, in one launch each.
// The cell: minirnn/devices/cells/lstm_block.h. Formulas: minirnn/ops/lstm_block/cell.py.
//
//   H units, B rows of a batch; states and gates are (B, H), z and dicfo (B, 4H), peepholes (H,), b (4H,)
//   one thread = PER_THREAD neighboring units of one row (units.cuh); neighboring threads take neighboring units
//   columns of z, b and dicfo: the gates i, ci, f, o
#include "activation.cuh"
#include "units.cuh"

#include "cells/form.h"
#include "cells/lstm_block.h"

typedef LstmBlock<acc, acc> Cell;

// z = [x | h_prev] @ w, summed in `acc`
extern "C" __global__ void lstm_block_cell(int B, int H, int use_peephole, acc forget_bias, acc cell_clip, const acc *z,
                                           const real *b, const real *to_cs_prev, const real *wci, const real *wcf,
                                           const real *wco, real *to_i, real *to_cs, real *to_f, real *to_o,
                                           real *to_ci, real *to_co, real *to_h) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    z += (i64)row * 4 * H + unit, b += unit;
    const Units<acc> z_i = load(z), z_ci = load(z + H), z_f = load(z + 2 * H), z_o = load(z + 3 * H);
    const Units<real> b_i = load(b), b_ci = load(b + H), b_f = load(b + 2 * H), b_o = load(b + 3 * H);
    const Units<real> w_ci = load_if(use_peephole, wci + unit), w_cf = load_if(use_peephole, wcf + unit);
    const Units<real> w_co = load_if(use_peephole, wco + unit), cs_prev_ = load(to_cs_prev + k);
    const Cell cell = {{}, bool(use_peephole), cell_clip};
    Units<real> i_, cs_, f_, o_, ci_, co_, h_;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Step<acc, Cell> s;
        s.gates[0] = z_i[n] + acc(b_i[n]);
        s.gates[1] = z_ci[n] + acc(b_ci[n]);
        s.gates[2] = z_f[n] + acc(b_f[n]) + forget_bias;
        s.gates[3] = z_o[n] + acc(b_o[n]);
        s.before[0] = acc(cs_prev_[n]);
        s.vectors[0] = acc(w_ci[n]), s.vectors[1] = acc(w_cf[n]), s.vectors[2] = acc(w_co[n]);
        cell.step(s);
        i_[n] = real(s.saved[0]), f_[n] = real(s.saved[1]), o_[n] = real(s.saved[2]);
        ci_[n] = real(s.saved[3]), co_[n] = real(s.saved[4]);
        cs_[n] = real(s.after[0]), h_[n] = real(s.after[1]);
    }
    store(to_i + k, i_), store(to_cs + k, cs_), store(to_f + k, f_), store(to_o + k, o_);
    store(to_ci + k, ci_), store(to_co + k, co_), store(to_h + k, h_);
}

// cs_next_grad: the gradient of this step's cs from step t+1, or null
extern "C" __global__ void lstm_block_cell_grad(int B, int H, int use_peephole, const real *to_cs_prev, const real *wci,
                                                const real *wcf, const real *wco, const real *to_i, const real *to_f,
                                                const real *to_o, const real *to_ci, const real *to_co,
                                                const real *to_cs_grad, const real *to_h_grad, const real *cs_next_grad,
                                                const real *h_next_grad, real *to_cs_prev_grad, real *dicfo) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    dicfo += (i64)row * 4 * H + unit;
    const Units<real> i_ = load(to_i + k), f_ = load(to_f + k), o_ = load(to_o + k), ci_ = load(to_ci + k);
    const Units<real> co_ = load(to_co + k), cs_prev_ = load(to_cs_prev + k);
    const Units<real> w_ci = load_if(use_peephole, wci + unit), w_cf = load_if(use_peephole, wcf + unit);
    const Units<real> w_co = load_if(use_peephole, wco + unit);
    const Units<real> cs_grad_ = load(to_cs_grad + k), h_grad_ = load(to_h_grad + k);
    const Units<real> cs_next_grad_ = load_if(cs_next_grad, cs_next_grad + k);
    const Units<real> h_next_grad_ = load_if(h_next_grad, h_next_grad + k);
    const Cell cell = {{}, bool(use_peephole), 0};  // the clip is passed straight through
    Units<real> dzi_, dzc_, dzf_, dzo_, cs_prev_grad_;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Gradient<acc, Cell> s;
        s.saved[0] = acc(i_[n]), s.saved[1] = acc(f_[n]), s.saved[2] = acc(o_[n]);
        s.saved[3] = acc(ci_[n]), s.saved[4] = acc(co_[n]);
        s.before[0] = acc(cs_prev_[n]);
        s.vectors[0] = acc(w_ci[n]), s.vectors[1] = acc(w_cf[n]), s.vectors[2] = acc(w_co[n]);
        s.d_after[0] = acc(cs_grad_[n]) + acc(cs_next_grad_[n]);
        s.d_after[1] = acc(h_grad_[n]) + acc(h_next_grad_[n]);
        s.after[0] = 0;  // only the peepholes' gradients, in peepholes.cu, read it
        cell.grad(s);
        dzi_[n] = real(s.d_gates[0]), dzc_[n] = real(s.d_gates[1]);
        dzf_[n] = real(s.d_gates[2]), dzo_[n] = real(s.d_gates[3]);
        cs_prev_grad_[n] = real(s.d_before[0]);
    }
    store(dicfo, dzi_), store(dicfo + H, dzc_), store(dicfo + 2 * H, dzf_), store(dicfo + 3 * H, dzo_);
    store(to_cs_prev_grad + k, cs_prev_grad_);
}
