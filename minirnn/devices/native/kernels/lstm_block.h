// The LSTM of BlockLSTM and LSTMBlockCell: a step and its gradient, with peepholes and a clip. cs_prev and h_prev are the
// states before the step.
//
//     i, f, o = sigmoid([x h_prev] w + b)      ci = tanh([x h_prev] w + b)      i and f see cs_prev, o sees cs
//     cs = i * ci + f * cs_prev, clipped       h = o * tanh(cs)
#pragma once
#include "activation.h"
#include "layer.h"

template <class real>
struct LstmBlock {
    using V = Vector<real>;
    static constexpr int GATES = 4, SUMS = 4, DA = 4;  // sums: zi zc zf zo; da: dicfo
    static constexpr bool CARRIES = false, HAS_C = true, PEEPS = true;
    const Layer<real> &d;
    const bool saves, use_peephole, clips;

    explicit LstmBlock(const Layer<real> &d) : d(d), saves(d.values[0].p), use_peephole(d.wci), clips(d.clip < 1e300) {}

    void order(int *rows) const { rows[0] = 0, rows[1] = 1, rows[2] = 2, rows[3] = 3; }
    real bias(int sum, Index u) const { return d.bW[sum * d.H + u]; }

    // The state cs of a sample is in d.c_n while the steps run.
    INLINE V step(const Place &at, V (&z)[SUMS]) const {
        const V cs_prev = load(d.c_n, at.b, at);
        V zi = z[0], zc = z[1], zf = z[2], zo = z[3];
        if (use_peephole) {
            zi += load(d.wci + at.u, at.count) * cs_prev;
            zf += load(d.wcf + at.u, at.count) * cs_prev;
        }
        const V i = sigmoid<real>(zi);
        const V f = sigmoid<real>(zf);
        const V ci = tanh_of<real>(zc);
        V cs = i * ci + f * cs_prev;
        if (clips) cs = between<real>(real(-d.clip), cs, real(d.clip));
        if (use_peephole) zo += load(d.wco + at.u, at.count) * cs;
        const V o = sigmoid<real>(zo);
        const V co = tanh_of<real>(cs);
        const V h = o * co;
        store(d.c_n, at.b, at, cs);
        if (saves) {
            const V values[] = {i, cs, f, o, ci, co};
#pragma GCC unroll 6
            for (int k = 0; k < 6; k++) store(d.values[k], at.row, at, values[k]);
        }
        return h;
    }

    // From h_grad to the gradients of the pre-activations. cs_grad from the step after is in g.dc0.
    INLINE void step_grad(const Gradients<real> &g, const Place &at, V h_grad) const {
        const V i = load(d.values[0], at.row, at);
        const V f = load(d.values[2], at.row, at);
        const V o = load(d.values[3], at.row, at);
        const V ci = load(d.values[4], at.row, at);
        const V co = load(d.values[5], at.row, at);
        const V cs_prev = this->c_prev(at);
        V cs_grad = load(g.dc0, at.b, at);
        if (g.dc_each.p) cs_grad += load(g.dc_each, at.row, at);

        const V dzo = h_grad * co * o * (real(1) - o);
        V dcs = cs_grad + h_grad * o * (real(1) - co * co);  // straight through the clip, as in TensorFlow
        if (use_peephole) dcs += dzo * load(d.wco + at.u, at.count);
        const V dzc = dcs * i * (real(1) - ci * ci);
        const V dzi = dcs * ci * i * (real(1) - i);
        const V dzf = dcs * cs_prev * f * (real(1) - f);
        const V dicfo[] = {dzi, dzc, dzf, dzo};
        V cs_prev_grad = dcs * f;
        if (use_peephole) cs_prev_grad += dzi * load(d.wci + at.u, at.count) + dzf * load(d.wcf + at.u, at.count);

        store(g.dc0, at.b, at, cs_prev_grad);
        real *to = g.da.at(at.row) + at.u;
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; gate++) store(to + gate * d.H, dicfo[gate], at.count);
    }

    INLINE V c_prev(const Place &at) const {
        return at.before < 0 ? load(d.c0, at.b, at) : load(d.values[1], at.before, at);
    }

    // The gradients of the peepholes of a vector of units: sums over all samples of all steps, which `each(f)` visits.
    template <class Each>
    INLINE void peephole_grads(const Gradients<real> &g, Index u, Each each) const {
        V wci_grad = {}, wcf_grad = {}, wco_grad = {};
        each([&](const Place &at) {
            const real *dz = g.da.at(at.row) + u;
            const V cs_prev = this->c_prev(at), cs = load(d.values[1], at.row, at);
            wci_grad += load(dz, at.count) * cs_prev;
            wcf_grad += load(dz + 2 * d.H, at.count) * cs_prev;
            wco_grad += load(dz + 3 * d.H, at.count) * cs;
        });
        store(g.dwci + u, wci_grad, d.H - u);
        store(g.dwcf + u, wcf_grad, d.H - u);
        store(g.dwco + u, wco_grad, d.H - u);
    }
};
