// One direction of a layer: its arrays, and the order in which its steps are visited.
//
// An array (T, B, width) is Rows: that of step t and sample b is row t * B + b. Missing arrays are null. The
// samples are in the order of falling lengths, so that the active ones of a step come first.
#pragma once
#include <vector>

#include "tile.h"

// Compile-time constants: how many rows for saved values, matrices for inner products and masks a `Layer` has. A
// library with a single cell has the numbers of that cell.
#ifndef LAYER_VALUES
#define LAYER_VALUES 8
#define LAYER_PRODUCTS 0
#define LAYER_MASKS 0
#endif

// The cells, with the numbers that Python uses for them.
enum Mode { RNN_RELU, RNN_TANH, LSTM, GRU, LSTM_BLOCK };

template <class real>
struct Rows {
    real *p;
    Index ld;  // numbers from one row to the next
    real *at(Index row) const { return p + row * ld; }
};

template <class real>
struct Layer {
    Index T, B, I, H, P;  // I is the width of x
    Index reverse;
    const Index *lengths;        // (B,)
    Matrix<const real> W;        // (ROWS_OF_W*H, I), or null: x enters every gate as it is
    Matrix<const real> R;        // (ROWS_OF_R*H, P)
    Matrix<const real> Wp;       // (P, H), or null
    const real *bW, *bR;         // (ROWS_OF_W*H,) and (ROWS_OF_R*H,); or (GATES*H,) and null
    const real *vectors;         // of the cell, (VECTORS, H), or null
    const real *constants;       // of the cell, or null
    double clip;                 // of cs, BlockLSTM's
    Rows<const real> x, h0, c0;  // c: the states but h, (STATES - 1, B, H)
    // Saved for the gradient, or null: the values of the cell; the states after the step without h, which is y; the h
    // that was zoned or projected, if the gradient reads it; and the operands of inner products.
    Rows<real> values[LAYER_VALUES];
    Rows<real> y, h_n, c_n;
    Rows<const real> zh, zc;  // zoneout: the share of the old state that is kept, (T, B, P) and (T, B, H), or null
    Matrix<const real> U[LAYER_PRODUCTS + 1];  // (H, H)
    Rows<const real> masks[LAYER_MASKS + 1];   // (T, B, H)
};

// Further inputs of a backward pass, and its results.
template <class real>
struct Gradients {
    Rows<const real> dy, dc_each, dh_n, dc_n;
    Rows<real> da;             // scratch: the gradients of pre-activations and products, (T, B, (GATES + PRODUCTS)*H)
    Rows<real> dh0, dc0, dx;   // dx may be null
    Index add_dx, transposed;  // dW and dR are (I, G*H) and (P, G*H)
    real *dW, *dR, *dWp, *dbW, *dbR, *dvectors;
    real *dU[LAYER_PRODUCTS + 1];
};

// The k-th step that is visited, and its active samples.
class Visit {
  public:
    template <class real>
    explicit Visit(const Layer<real> &d) : T(d.T), reverse(d.reverse), alive(d.T + 2, d.B) {
        alive[0] = alive[T + 1] = 0;
        if (d.lengths) {
            for (Index t = 0; t < T; t++) {
                alive[t + 1] =
                    std::partition_point(d.lengths, d.lengths + d.B, [=](Index n) { return n > t; }) - d.lengths;
            }
        }
    }

    Index step(Index k) const { return reverse ? T - 1 - k : k; }
    Index samples(Index k) const { return alive[step(k) + 1]; }  // before the first visit and after the last: 0
    bool has(Index t, Index b) const { return b < alive[t + 1]; }

  private:
    Index T;
    bool reverse;
    std::vector<Index> alive;  // alive[t + 1]: how many samples have step t
};

// The position of a vector of units in its arrays.
struct Place {
    Index row, before;  // of this step, and of the step visited before; -1: there is none
    Index b, u;
    Index count;  // the number of units, which may be less than a vector
};

template <class real>
INLINE Vector<real> load(const Rows<real> &a, Index row, const Place &at) {
    return load(const_cast<const real *>(a.at(row)) + at.u, at.count);
}

template <class real>
INLINE void store(const Rows<real> &a, Index row, const Place &at, Vector<real> v) {
    store(a.at(row) + at.u, v, at.count);
}
