// The rnn_tanh and rnn_relu of CudnnRNN: a step and its gradient. Nothing is saved: y is all that the gradient needs.
//
//     h = f(W x + R h' + b)        da = dh * (1 - h^2), or dh where h > 0
#pragma once
#include "activation.h"
#include "layer.h"

template <class real, bool relu>
struct Simple {
    using V = Vector<real>;
    static constexpr int GATES = 1, SUMS = 1, DA = 1;
    static constexpr bool CARRIES = false, HAS_C = false, PEEPS = false;
    const Layer<real> &d;

    explicit Simple(const Layer<real> &d) : d(d) {}

    void order(int *rows) const { rows[0] = 0; }
    real bias(int, Index u) const { return d.bW[u] + d.bR[u]; }

    INLINE V step(const Place &, V (&a)[SUMS]) const {
        if (relu) return a[0] < real(0) ? V{} : a[0];  // NaN stays NaN
        return tanh_of<real>(a[0]);
    }

    INLINE void step_grad(const Gradients<real> &g, const Place &at, V dh) const {
        const V h = load(d.y, at.row, at);
        const V da = relu ? (h > real(0) ? dh : V{}) : dh * (real(1) - h * h);  // derivative 0 at 0
        store(g.da.at(at.row) + at.u, da, at.count);
    }
};
