// The GRU of CudnnRNN: one step and its gradient; r acts after the product with R. Formulas:
// minirnn/ops/cudnn_rnn/__init__.py.
//
//   gates: r z, then n: its part of x, and its part of h', which is q        states: h        saved: q r z n
#pragma once

template <class V, class real>
struct Gru : OneStage {
    static constexpr int OF_BOTH = 2, OF_X = 1, OF_H = 1, STATES = 1, SAVED = 4, VECTORS = 0;
    static constexpr int READS_BEFORE = 0b1, READS_AFTER = 0;
    static constexpr bool CARRIES = true;

    template <class Step>
    CELL_FN void step(Step &s) const {
        const V *a = s.gates;
        const V h_prev = s.before[0];

        const V r = sigmoid(a[0]);
        const V z = sigmoid(a[1]);
        const V q = a[3];
        const V n = tanh(a[2] + r * q);
        const V h = (1 - z) * n + z * h_prev;

        s.saved[0] = q, s.saved[1] = r, s.saved[2] = z, s.saved[3] = n;
        s.after[0] = h;
    }

    template <class Gradient>
    CELL_FN void grad(Gradient &s) const {
        const V q = s.saved[0], r = s.saved[1], z = s.saved[2], n = s.saved[3], h_prev = s.before[0];
        const V dh = s.d_after[0];

        const V da_n = dh * (1 - z) * (1 - n * n);
        const V da_z = dh * (h_prev - n) * z * (1 - z);
        const V da_r = da_n * q * r * (1 - r);
        const V dq = da_n * r;
        const V dh_prev = dh * z;

        s.d_gates[0] = da_r, s.d_gates[1] = da_z, s.d_gates[2] = da_n, s.d_gates[3] = dq;
        s.d_before[0] = dh_prev;
    }
};
