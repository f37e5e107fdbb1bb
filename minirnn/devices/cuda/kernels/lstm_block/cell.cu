// The LSTM of LSTMBlockCell and BlockLSTM: the elementwise part of one step, and of its gradient, in one launch each.
// Formulas: minirnn/ops/lstm_block/cell.py. The same lines in NumPy: minirnn/devices/cpu/lstm_block/cell.py.
//
//   H units, B rows of a batch; states and gates are (B, H), z and dicfo (B, 4H), peepholes (H,), b (4H,)
//   one thread = PER_THREAD neighboring units of one row (units.cuh); neighboring threads take neighboring units
//   columns of z, b and dicfo: the gates i, ci, f, o
#include "activation.cuh"
#include "units.cuh"

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
    Units<real> i_, cs_, f_, o_, ci_, co_, h_;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        const acc cs_prev = acc(cs_prev_[n]);

        acc zi = z_i[n] + acc(b_i[n]);
        acc zc = z_ci[n] + acc(b_ci[n]);
        acc zf = z_f[n] + acc(b_f[n]) + forget_bias;
        acc zo = z_o[n] + acc(b_o[n]);
        if (use_peephole) {
            zi = zi + acc(w_ci[n]) * cs_prev;
            zf = zf + acc(w_cf[n]) * cs_prev;
        }
        const acc i = sigmoid(zi);
        const acc ci = tanh(zc);
        const acc f = sigmoid(zf);
        acc cs = i * ci + f * cs_prev;
        cs = cs < -cell_clip ? -cell_clip : cs > cell_clip ? cell_clip : cs;  // NaN stays NaN; it may be infinite
        if (use_peephole) zo = zo + acc(w_co[n]) * cs;                        // the new cs, already clipped
        const acc o = sigmoid(zo);
        const acc co = tanh(cs);
        const acc h = o * co;

        i_[n] = real(i), cs_[n] = real(cs), f_[n] = real(f), o_[n] = real(o);
        ci_[n] = real(ci), co_[n] = real(co), h_[n] = real(h);
    }
    store(to_i + k, i_), store(to_cs + k, cs_), store(to_f + k, f_), store(to_o + k, o_);
    store(to_ci + k, ci_), store(to_co + k, co_), store(to_h + k, h_);
}

// cs_next_grad: what step t+1 sent to this step's cs, or null
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
    Units<real> dzi_, dzc_, dzf_, dzo_, cs_prev_grad_;

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        const acc cs_prev = acc(cs_prev_[n]);
        const acc i = acc(i_[n]), f = acc(f_[n]), o = acc(o_[n]), ci = acc(ci_[n]), co = acc(co_[n]);
        acc cs_grad = acc(cs_grad_[n]), h_grad = acc(h_grad_[n]);
        if (cs_next_grad) cs_grad = cs_grad + acc(cs_next_grad_[n]);
        if (h_next_grad) h_grad = h_grad + acc(h_next_grad_[n]);

        const acc dzo = h_grad * co * d_sigmoid(o);
        acc dcs = cs_grad + h_grad * o * d_tanh(co);  // straight through the clip, as in TensorFlow
        if (use_peephole) dcs = dcs + dzo * acc(w_co[n]);
        const acc dzc = dcs * i * d_tanh(ci);
        const acc dzi = dcs * ci * d_sigmoid(i);
        const acc dzf = dcs * cs_prev * d_sigmoid(f);
        acc cs_prev_grad = dcs * f;
        if (use_peephole) cs_prev_grad = cs_prev_grad + dzi * acc(w_ci[n]) + dzf * acc(w_cf[n]);

        dzi_[n] = real(dzi), dzc_[n] = real(dzc), dzf_[n] = real(dzf), dzo_[n] = real(dzo);
        cs_prev_grad_[n] = real(cs_prev_grad);
    }
    store(dicfo, dzi_), store(dicfo + H, dzc_), store(dicfo + 2 * H, dzf_), store(dicfo + 3 * H, dzo_);
    store(to_cs_prev_grad + k, cs_prev_grad_);
}
