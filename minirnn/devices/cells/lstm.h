// The LSTM of CudnnRNN: one step and its gradient. Formulas: minirnn/ops/cudnn_rnn/__init__.py.
//
//   gates: i f n o        states: c h        saved: i f n o
#pragma once

template <class V, class real>
struct Lstm : OneStage {
    static constexpr int OF_BOTH = 4, OF_X = 0, OF_H = 0, STATES = 2, SAVED = 4, VECTORS = 0;
    static constexpr int READS_BEFORE = 0b01, READS_AFTER = 0;
    static constexpr bool CARRIES = false;

    template <class Step>
    CELL_FN void step(Step &s) const {
        const V *a = s.gates;
        const V c_prev = s.before[0];

        const V i = sigmoid(a[0]);
        const V f = sigmoid(a[1]);
        const V n = tanh(a[2]);
        const V o = sigmoid(a[3]);
        const V c = f * c_prev + i * n;
        const V h = o * tanh(c);

        s.saved[0] = i, s.saved[1] = f, s.saved[2] = n, s.saved[3] = o;
        s.after[0] = c, s.after[1] = h;
    }

    template <class Gradient>
    CELL_FN void grad(Gradient &s) const {
        const V i = s.saved[0], f = s.saved[1], n = s.saved[2], o = s.saved[3], c_prev = s.before[0];
        const V dh = s.d_after[1];
        const V tanh_c = tanh(f * c_prev + i * n);

        const V dc = s.d_after[0] + dh * o * (1 - tanh_c * tanh_c);
        const V da_i = dc * n * i * (1 - i);
        const V da_f = dc * c_prev * f * (1 - f);
        const V da_n = dc * i * (1 - n * n);
        const V da_o = dh * tanh_c * o * (1 - o);
        const V dc_prev = dc * f;

        s.d_gates[0] = da_i, s.d_gates[1] = da_f, s.d_gates[2] = da_n, s.d_gates[3] = da_o;
        s.d_before[0] = dc_prev, s.d_before[1] = V{};
        s.after[1] = o * tanh_c;
    }
};
