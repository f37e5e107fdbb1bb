// The LSTM of CudnnRNN: a step and its gradient. c' and h' are the states before the step.
//
//     i, f, o = sigmoid(W x + R h' + b)        n = tanh(W x + R h' + b)
//     c = f * c' + i * n                       h = o * tanh(c)
#pragma once
#include "activation.h"
#include "layer.h"

template <class real>
struct Lstm {
    using V = Vector<real>;
    static constexpr int GATES = 4, SUMS = 4, DA = 4;  // sums: pre-activations; da: their gradients, blocks of H
    static constexpr bool CARRIES = false, HAS_C = true, PEEPS = false;
    const Layer<real> &d;
    const bool saves;

    explicit Lstm(const Layer<real> &d) : d(d), saves(d.values[0].p) {}

    void order(int *rows) const { rows[0] = 0, rows[1] = 1, rows[2] = 2, rows[3] = 3; }
    real bias(int sum, Index u) const { return d.bW[sum * d.H + u] + d.bR[sum * d.H + u]; }

    // The state c of a sample is in d.c_n while the steps run.
    INLINE V step(const Place &at, V (&a)[SUMS]) const {
        const V c_prev = load(d.c_n, at.b, at);
        const V i = sigmoid<real>(a[0]);
        const V f = sigmoid<real>(a[1]);
        const V n = tanh_of<real>(a[2]);
        const V o = sigmoid<real>(a[3]);
        const V c = f * c_prev + i * n;
        store(d.c_n, at.b, at, c);
        if (saves) {
            const V values[] = {i, f, n, o, c};
#pragma GCC unroll 5
            for (int k = 0; k < 5; k++) store(d.values[k], at.row, at, values[k]);
        }
        return o * tanh_of<real>(c);
    }

    // From dh to the gradients of the pre-activations. dc of a sample is in g.dc0.
    INLINE void step_grad(const Gradients<real> &g, const Place &at, V dh) const {
        const V i = load(d.values[0], at.row, at);
        const V f = load(d.values[1], at.row, at);
        const V n = load(d.values[2], at.row, at);
        const V o = load(d.values[3], at.row, at);
        const V c = load(d.values[4], at.row, at);
        const V c_prev = this->c_prev(at);
        const V co = tanh_of<real>(c);
        const V da_o = dh * co * o * (real(1) - o);
        const V dc = load(g.dc0, at.b, at) + dh * o * (real(1) - co * co);
        const V da_n = dc * i * (real(1) - n * n);
        const V da_i = dc * n * i * (real(1) - i);
        const V da_f = dc * c_prev * f * (real(1) - f);
        const V dc_prev = dc * f;
        store(g.dc0, at.b, at, dc_prev);

        const V da[] = {da_i, da_f, da_n, da_o};
        real *to = g.da.at(at.row) + at.u;
#pragma GCC unroll 4
        for (int gate = 0; gate < 4; gate++) store(to + gate * d.H, da[gate], at.count);
    }

    INLINE V c_prev(const Place &at) const {
        return at.before < 0 ? load(d.c0, at.b, at) : load(d.values[4], at.before, at);
    }

    // What is projected: m = o * tanh(c).
    INLINE V projected(const Place &at) const {
        return load(d.values[3], at.row, at) * tanh_of<real>(load(d.values[4], at.row, at));
    }
};
