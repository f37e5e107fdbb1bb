// The GRU of CudnnRNN: a step and its gradient. h' is the state before the step; r acts after the product with R.
//
//     r, z = sigmoid(W x + R h' + bW + bR)     q = R_n h' + bR_n       n = tanh(W_n x + bW_n + r * q)
//     h = (1 - z) * n + z * h' = n + z * (h' - n)
#pragma once
#include "activation.h"
#include "layer.h"

template <class real>
struct Gru {
    using V = Vector<real>;
    // The sums are r, z and n of x, and q: what comes from x and from h' is kept apart for n.
    static constexpr int GATES = 3, SUMS = 4, DA = 4;
    static constexpr bool CARRIES = true, HAS_C = false, PEEPS = false;  // a part of dh goes past the product with R
    const Layer<real> &d;
    const bool saves;

    explicit Gru(const Layer<real> &d) : d(d), saves(d.values[0].p) {}

    void order(int *rows) const { rows[0] = 0, rows[1] = 1, rows[2] = 2; }
    real bias(int sum, Index u) const {
        if (sum == 3) return d.bR[2 * d.H + u];
        return d.bW[sum * d.H + u] + (sum == 2 ? real(0) : d.bR[sum * d.H + u]);
    }

    INLINE V step(const Place &at, V (&a)[SUMS]) const {
        const V r = sigmoid<real>(a[0]);
        const V z = sigmoid<real>(a[1]);
        const V q = a[3];
        const V n = tanh_of<real>(a[2] + r * q);
        if (saves) {
            const V values[] = {q, r, z, n};
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++) store(d.values[k], at.row, at, values[k]);
        }
        return n + z * (h_prev(at) - n);
    }

    // From dh to the gradients of q, and of the pre-activations of r z n. What of dh passes by them stays in g.dh0.
    INLINE void step_grad(const Gradients<real> &g, const Place &at, V dh) const {
        const V q = load(d.values[0], at.row, at);
        const V r = load(d.values[1], at.row, at);
        const V z = load(d.values[2], at.row, at);
        const V n = load(d.values[3], at.row, at);
        const V da_n = dh * (real(1) - z) * (real(1) - n * n);
        const V da_z = dh * (h_prev(at) - n) * z * (real(1) - z);
        const V da_r = da_n * q * r * (real(1) - r);
        store(g.dh0, at.b, at, dh * z);

        const V da[] = {da_n * r, da_r, da_z, da_n};
        real *to = g.da.at(at.row) + at.u;
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) store(to + k * d.H, da[k], at.count);
    }

    INLINE V h_prev(const Place &at) const { return at.before < 0 ? load(d.h0, at.b, at) : load(d.y, at.before, at); }
};
