// GRUBlockCell: one step and its gradient; r acts before the product, so each has two stages with a product between
// them. Formulas: minirnn/ops/gru_block.py.
//
//   gates: r u, and c without the part of h_prev        states: h        saved: r u c
//   multiplied: r * h_prev                              products: its part of c
//
// Its kernels compute a single step, so they also pass gates and d_after to the second stage.
#pragma once

template <class V, class real>
struct GruBlock {
    static constexpr int OF_BOTH = 2, OF_X = 1, OF_H = 0, STATES = 1, SAVED = 3, VECTORS = 0, PRODUCTS = 1;
    static constexpr int MATRICES = 1, MASKS = 0, CARRIED = 0, STAGES = 2, D_STAGES = 2;
    static constexpr int READS_BEFORE = 0b1, READS_AFTER = 0;
    static constexpr bool CARRIES = true;

    template <class Step>
    CELL_FN void step(Stage<0>, Step &s) const {
        const V zr = s.gates[0], zu = s.gates[1], h_prev = s.before[0];

        const V r = sigmoid(zr);
        const V u = sigmoid(zu);

        s.saved[0] = r, s.saved[1] = u;
        s.multiplied[0] = r * h_prev;
    }

    template <class Step>
    CELL_FN void step(Stage<1>, Step &s) const {
        const V u = s.saved[1], h_prev = s.before[0];

        const V c = tanh(s.gates[2] + s.products[0]);
        const V h = u * h_prev + (1 - u) * c;

        s.saved[2] = c;
        s.after[0] = h;
    }

    template <class Gradient>
    CELL_FN void grad(Stage<0>, Gradient &s) const {
        const V u = s.saved[1], c = s.saved[2], h_prev = s.before[0], d_h = s.d_after[0];

        const V d_c_bar = d_h * (1 - u) * (1 - c * c);
        const V d_u_bar = d_h * (h_prev - c) * u * (1 - u);

        s.d_gates[1] = d_u_bar, s.d_gates[2] = d_c_bar;
        s.d_products[0] = d_c_bar;
    }

    template <class Gradient>
    CELL_FN void grad(Stage<1>, Gradient &s) const {
        const V r = s.saved[0], u = s.saved[1], h_prev = s.before[0], d_h = s.d_after[0];
        const V d_h_prevr = s.d_multiplied[0];

        const V d_r_bar = d_h_prevr * h_prev * r * (1 - r);
        const V d_h_prev = d_h_prevr * r + d_h * u;

        s.d_gates[0] = d_r_bar;
        s.d_before[0] = d_h_prev;
    }
};
