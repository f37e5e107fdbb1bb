// The rnn_tanh and rnn_relu of CudnnRNN: one step and its gradient. Formulas: minirnn/ops/cudnn_rnn/__init__.py.
//
//   gates: a        states: h
#pragma once

template <class V, class real>
struct RnnTanh : OneStage {
    static constexpr int OF_BOTH = 1, OF_X = 0, OF_H = 0, STATES = 1, SAVED = 0, VECTORS = 0;
    static constexpr int READS_BEFORE = 0, READS_AFTER = 0b1;
    static constexpr bool CARRIES = false;

    template <class Step>
    CELL_FN void step(Step &s) const {
        const V h = tanh(s.gates[0]);

        s.after[0] = h;
    }

    template <class Gradient>
    CELL_FN void grad(Gradient &s) const {
        const V h = s.after[0], dh = s.d_after[0];

        const V da = dh * (1 - h * h);

        s.d_gates[0] = da;
        s.d_before[0] = V{};
    }
};

template <class V, class real>
struct RnnRelu : OneStage {
    static constexpr int OF_BOTH = 1, OF_X = 0, OF_H = 0, STATES = 1, SAVED = 0, VECTORS = 0;
    static constexpr int READS_BEFORE = 0, READS_AFTER = 0b1;
    static constexpr bool CARRIES = false;

    template <class Step>
    CELL_FN void step(Step &s) const {
        const V h = relu(s.gates[0]);  // NaN stays NaN

        s.after[0] = h;
    }

    template <class Gradient>
    CELL_FN void grad(Gradient &s) const {
        const V h = s.after[0], dh = s.d_after[0];

        const V da = h > 0 ? dh : V{};  // derivative 0 at 0

        s.d_gates[0] = da;
        s.d_before[0] = V{};
    }
};
