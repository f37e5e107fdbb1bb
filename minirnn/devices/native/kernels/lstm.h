// The LSTM, of CudnnRNN and of BlockLSTM: a step and its gradient. c' and h' are the states before the step.
//
//     i, f, o = sigmoid(W x + R h' + b)        n = tanh(W x + R h' + b)
//     c = f * c' + i * n                       h = o * tanh(c)
//
// BlockLSTM's names are ci for n and cs for c. It adds peepholes (i and f see c', o sees c), and clips c.
#pragma once
#include "activation.h"
#include "layer.h"

template <class real>
struct Lstm {
    using V = Vector<real>;
    static constexpr int GATES = 4, SUMS = 4, DA = 4;  // sums: pre-activations; da: their gradients, blocks of H
    static constexpr bool CARRIES = false;
    const Layer<real> &d;
    const bool saves, peepholes, clips;

    explicit Lstm(const Layer<real> &d) : d(d), saves(d.values[0].p), peepholes(d.wci), clips(d.clip < 1e300) {}

    // Where the gates i f n o are in the weights, and in da.
    void order(int *rows) const {
        rows[0] = 0, rows[1] = d.candidate == 1 ? 2 : 1, rows[2] = int(d.candidate), rows[3] = 3;
    }

    real bias(int sum, Index u) const {
        int rows[4];
        order(rows);
        return d.bW[rows[sum] * d.H + u] + d.bR[rows[sum] * d.H + u];
    }

    // The state c of a sample is in d.c_n while the steps run.
    INLINE V step(const Place &at, V (&a)[SUMS]) const {
        const V c_prev = load(d.c_n, at.b, at);
        if (peepholes) {
            a[0] += load(d.wci + at.u, at.count) * c_prev;
            a[1] += load(d.wcf + at.u, at.count) * c_prev;
        }
        const V i = sigmoid<real>(a[0]);
        const V f = sigmoid<real>(a[1]);
        const V n = tanh_of<real>(a[2]);
        V c = f * c_prev + i * n;
        if (clips) c = between<real>(real(-d.clip), c, real(d.clip));
        if (peepholes) a[3] += load(d.wco + at.u, at.count) * c;
        const V o = sigmoid<real>(a[3]);
        const V co = tanh_of<real>(c);
        store(d.c_n, at.b, at, c);
        if (saves) {
            const V values[] = {i, f, n, o, c};
#pragma GCC unroll 5
            for (int k = 0; k < 5; k++) store(d.values[k], at.row, at, values[k]);
            if (d.values[5].p) store(d.values[5], at.row, at, co);
        }
        return o * co;
    }

    // From dh to the gradients of the pre-activations. dc of a sample is in g.dc0.
    INLINE void step_grad(const Gradients<real> &g, const Place &at, V dh) const {
        const V i = load(d.values[0], at.row, at);
        const V f = load(d.values[1], at.row, at);
        const V n = load(d.values[2], at.row, at);
        const V o = load(d.values[3], at.row, at);
        const V c = load(d.values[4], at.row, at);
        const V c_prev = this->c_prev(at);
        const V co = d.values[5].p ? load(d.values[5], at.row, at) : tanh_of<real>(c);
        V dc = load(g.dc0, at.b, at);
        if (g.dc_each.p) dc += load(g.dc_each, at.row, at);
        const V da_o = dh * co * o * (real(1) - o);
        dc += dh * o * (real(1) - co * co);  // straight through the clip, as in TensorFlow
        if (peepholes) dc += da_o * load(d.wco + at.u, at.count);
        const V da_n = dc * i * (real(1) - n * n);
        const V da_i = dc * n * i * (real(1) - i);
        const V da_f = dc * c_prev * f * (real(1) - f);
        V dc_prev = dc * f;
        if (peepholes) dc_prev += da_i * load(d.wci + at.u, at.count) + da_f * load(d.wcf + at.u, at.count);
        store(g.dc0, at.b, at, dc_prev);

        int rows[4];
        order(rows);
        const V da[] = {da_i, da_f, da_n, da_o};
        real *to = g.da.at(at.row) + at.u;
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; gate++) store(to + rows[gate] * d.H, da[gate], at.count);
    }

    INLINE V c_prev(const Place &at) const {
        return at.before < 0 ? load(d.c0, at.b, at) : load(d.values[4], at.before, at);
    }

    // What is projected: m = o * tanh(c).
    INLINE V projected(const Place &at) const {
        return load(d.values[3], at.row, at) * tanh_of<real>(load(d.values[4], at.row, at));
    }
};
