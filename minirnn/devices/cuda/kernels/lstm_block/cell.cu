// The LSTM of LSTMBlockCell and BlockLSTM: the elementwise part of one step, and of its gradient, in one launch each.
// Formulas: minirnn/ops/lstm_block/cell.py. The same lines in NumPy: minirnn/devices/cpu/lstm_block/cell.py.
//
//   H units, B rows of a batch; states and gates are (B, H), z and dicfo (B, 4H), peepholes (H,), b (4H,)
//   one thread = one unit of one row; neighboring threads take neighboring units, neighbors in memory in every array
//   columns of z, b and dicfo: the gates i, ci, f, o
#include "activation.cuh"

// z = [x | h_prev] @ w, summed in `acc`
extern "C" __global__ void lstm_block_cell(int B, int H, int use_peephole, acc forget_bias, acc cell_clip, const acc *z,
                                           const real *b, const real *cs_prev_, const real *wci, const real *wcf,
                                           const real *wco, real *i_, real *cs_, real *f_, real *o_, real *ci_,
                                           real *co_, real *h_) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    z += (i64)row * 4 * H + unit, b += unit;
    const acc cs_prev = acc(cs_prev_[k]);

    acc zi = z[0] + acc(b[0]);
    acc zc = z[H] + acc(b[H]);
    acc zf = z[2 * H] + acc(b[2 * H]) + forget_bias;
    acc zo = z[3 * H] + acc(b[3 * H]);
    if (use_peephole) {
        zi = zi + acc(wci[unit]) * cs_prev;
        zf = zf + acc(wcf[unit]) * cs_prev;
    }
    const acc i = sigmoid(zi);
    const acc ci = tanh(zc);
    const acc f = sigmoid(zf);
    acc cs = i * ci + f * cs_prev;
    cs = cs < -cell_clip ? -cell_clip : cs > cell_clip ? cell_clip : cs;  // NaN stays NaN; cell_clip may be infinite
    if (use_peephole) zo = zo + acc(wco[unit]) * cs;                      // the new cs, already clipped
    const acc o = sigmoid(zo);
    const acc co = tanh(cs);
    const acc h = o * co;

    i_[k] = real(i), cs_[k] = real(cs), f_[k] = real(f), o_[k] = real(o);
    ci_[k] = real(ci), co_[k] = real(co), h_[k] = real(h);
}

// cs_next_grad: what step t+1 sent to this step's cs, or null
extern "C" __global__ void lstm_block_cell_grad(int B, int H, int use_peephole, const real *cs_prev_, const real *wci,
                                                const real *wcf, const real *wco, const real *i_, const real *f_,
                                                const real *o_, const real *ci_, const real *co_, const real *cs_grad_,
                                                const real *h_grad_, const real *cs_next_grad, const real *h_next_grad,
                                                real *cs_prev_grad_, real *dicfo) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit;
    dicfo += (i64)row * 4 * H + unit;
    const acc cs_prev = acc(cs_prev_[k]);
    const acc i = acc(i_[k]), f = acc(f_[k]), o = acc(o_[k]), ci = acc(ci_[k]), co = acc(co_[k]);
    acc cs_grad = acc(cs_grad_[k]), h_grad = acc(h_grad_[k]);
    if (cs_next_grad) cs_grad = cs_grad + acc(cs_next_grad[k]);
    if (h_next_grad) h_grad = h_grad + acc(h_next_grad[k]);

    const acc dzo = h_grad * co * d_sigmoid(o);
    acc dcs = cs_grad + h_grad * o * d_tanh(co);  // straight through the clip, as in TensorFlow
    if (use_peephole) dcs = dcs + dzo * acc(wco[unit]);
    const acc dzc = dcs * i * d_tanh(ci);
    const acc dzi = dcs * ci * d_sigmoid(i);
    const acc dzf = dcs * cs_prev * d_sigmoid(f);
    acc cs_prev_grad = dcs * f;
    if (use_peephole) cs_prev_grad = cs_prev_grad + dzi * acc(wci[unit]) + dzf * acc(wcf[unit]);

    dicfo[0] = real(dzi), dicfo[H] = real(dzc), dicfo[2 * H] = real(dzf), dicfo[3 * H] = real(dzo);
    cs_prev_grad_[k] = real(cs_prev_grad);
}

// wci_grad = sum of dzi * cs_prev, wcf_grad = sum of dzf * cs_prev, wco_grad = sum of dzo * cs over all rows of all steps
//   cs: (rows, H) with rows = T*B; cs_prev of the first B rows is `cs_first`, of the others it lies B rows earlier in cs
//   one thread = one unit
extern "C" __global__ void lstm_peephole_grad(i64 rows, int B, int H, const real *dicfo, const real *cs_first,
                                              const real *cs, real *wci_grad, real *wcf_grad, real *wco_grad) {
    const int unit = element();
    if (unit >= H) return;
    acc dwci = 0, dwcf = 0, dwco = 0;
    for (i64 r = 0; r < rows; r++) {
        const acc cs_prev = acc(r < B ? cs_first[r * H + unit] : cs[(r - B) * H + unit]);
        const real *dz = dicfo + r * 4 * H + unit;
        dwci += acc(dz[0]) * cs_prev;
        dwcf += acc(dz[2 * H]) * cs_prev;
        dwco += acc(dz[3 * H]) * acc(cs[r * H + unit]);
    }
    wci_grad[unit] = real(dwci), wcf_grad[unit] = real(dwcf), wco_grad[unit] = real(dwco);
}
