// A made-up cell with every feature of the form: a gate of each kind, two states, a vector, values before and after.
//
//   f = sigmoid(zf + w * m')        n = tanh(xn + f * hn)        m = m'/2 + f * n        h = (1 - f) * h' + f * tanh(m)
#pragma once

struct OneStage {
    static constexpr int PRODUCTS = 0, MATRICES = 0, MASKS = 0, CARRIED = 0, STAGES = 1, D_STAGES = 1;
    static CELL_FN constexpr int gate_stage(int) { return 0; }
    static CELL_FN constexpr int saved_stage(int) { return 0; }
    static CELL_FN constexpr int after_stage(int) { return 0; }
    static CELL_FN constexpr int multiplied_stage(int) { return 0; }
    static CELL_FN constexpr int d_after_stage(int) { return 0; }
    static CELL_FN constexpr int d_multiplied_stage(int) { return 0; }
    static CELL_FN constexpr int d_gates_stage(int) { return 0; }
    static CELL_FN constexpr int d_before_stage(int) { return 0; }
    static CELL_FN constexpr int d_vectors_stage(int) { return 0; }
    static CELL_FN constexpr int d_products_stage(int) { return 0; }
    static CELL_FN constexpr int carried_stage(int) { return 0; }
    static CELL_FN constexpr int matrix_of(int) { return 0; }
};

template <class V, class real>
struct Gated : OneStage {
    static constexpr int OF_BOTH = 1, OF_X = 1, OF_H = 1, STATES = 2, SAVED = 3, VECTORS = 1;
    static constexpr int READS_BEFORE = 0b11, READS_AFTER = 0b01;
    static constexpr bool CARRIES = true;

    template <class Step>
    CELL_FN void step(Step &s) const {
        const V zf = s.gates[0], xn = s.gates[1], hn = s.gates[2], w = s.vectors[0];
        const V m_prev = s.before[0], h_prev = s.before[1];

        const V f = sigmoid(zf + w * m_prev);
        const V n = tanh(xn + f * hn);
        const V m = real(0.5) * m_prev + f * n;
        const V h = (1 - f) * h_prev + f * tanh(m);

        s.saved[0] = f, s.saved[1] = n, s.saved[2] = hn;
        s.after[0] = m, s.after[1] = h;
    }

    template <class Gradient>
    CELL_FN void grad(Gradient &s) const {
        const V f = s.saved[0], n = s.saved[1], hn = s.saved[2], w = s.vectors[0];
        const V m_prev = s.before[0], h_prev = s.before[1], tanh_m = tanh(s.after[0]), dh = s.d_after[1];

        const V dm = s.d_after[0] + dh * f * (1 - tanh_m * tanh_m);
        const V dxn = dm * f * (1 - n * n);
        const V dzf = (dh * (tanh_m - h_prev) + dm * n + dxn * hn) * f * (1 - f);

        s.d_gates[0] = dzf, s.d_gates[1] = dxn, s.d_gates[2] = dxn * f;
        s.d_before[0] = real(0.5) * dm + dzf * w, s.d_before[1] = dh * (1 - f);
        s.d_vectors[0] = dzf * m_prev;
    }
};
