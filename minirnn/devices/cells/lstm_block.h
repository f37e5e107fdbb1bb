// The LSTM of LSTMBlockCell and BlockLSTM: one step and its gradient. Formulas: minirnn/ops/lstm_block/cell.py.
//
//   gates: zi zc zf zo, with forget_bias        states: cs h        vectors: wci wcf wco        saved: i f o ci co
#pragma once

template <class V, class real>
struct LstmBlock : OneStage {
    static constexpr int OF_BOTH = 4, OF_X = 0, OF_H = 0, STATES = 2, SAVED = 5, VECTORS = 3;
    static constexpr int READS_BEFORE = 0b01, READS_AFTER = 0b01;
    static constexpr bool CARRIES = false;
    bool use_peephole;
    real cell_clip;  // it may be infinite

    template <class Step>
    CELL_FN void step(Step &s) const {
        const V cs_prev = s.before[0], wci = s.vectors[0], wcf = s.vectors[1], wco = s.vectors[2];
        V zi = s.gates[0], zc = s.gates[1], zf = s.gates[2], zo = s.gates[3];

        if (use_peephole) {
            zi = zi + wci * cs_prev;
            zf = zf + wcf * cs_prev;
        }
        const V i = sigmoid(zi);
        const V f = sigmoid(zf);
        const V ci = tanh(zc);
        V cs = i * ci + f * cs_prev;
        cs = clip(cs, -cell_clip, cell_clip);  // NaN stays NaN
        if (use_peephole) zo = zo + wco * cs;  // the new cs, already clipped
        const V o = sigmoid(zo);
        const V co = tanh(cs);
        const V h = o * co;

        s.saved[0] = i, s.saved[1] = f, s.saved[2] = o, s.saved[3] = ci, s.saved[4] = co;
        s.after[0] = cs, s.after[1] = h;
    }

    template <class Gradient>
    CELL_FN void grad(Gradient &s) const {
        const V i = s.saved[0], f = s.saved[1], o = s.saved[2], ci = s.saved[3], co = s.saved[4];
        const V cs_prev = s.before[0], cs = s.after[0], wci = s.vectors[0], wcf = s.vectors[1], wco = s.vectors[2];
        const V cs_grad = s.d_after[0], h_grad = s.d_after[1];

        const V dzo = h_grad * co * o * (1 - o);
        V dcs = cs_grad + h_grad * o * (1 - co * co);  // straight through the clip, as in TensorFlow
        if (use_peephole) dcs = dcs + dzo * wco;
        const V dzc = dcs * i * (1 - ci * ci);
        const V dzi = dcs * ci * i * (1 - i);
        const V dzf = dcs * cs_prev * f * (1 - f);
        V cs_prev_grad = dcs * f;
        if (use_peephole) cs_prev_grad = cs_prev_grad + dzi * wci + dzf * wcf;

        s.d_gates[0] = dzi, s.d_gates[1] = dzc, s.d_gates[2] = dzf, s.d_gates[3] = dzo;
        s.d_before[0] = cs_prev_grad, s.d_before[1] = V{};
        s.d_vectors[0] = dzi * cs_prev, s.d_vectors[1] = dzf * cs_prev, s.d_vectors[2] = dzo * cs;
    }
};
