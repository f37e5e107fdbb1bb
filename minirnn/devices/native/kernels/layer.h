// One direction of a layer: its arrays, and the order in which its steps are visited.
//
// An array (T, B, width) is Rows: that of step t and sample b is row t * B + b. Missing arrays are null. The
// samples are in the order of falling lengths, so that the active ones of a step come first.
#pragma once
#include <vector>

#include "cell.h"
#include "tile.h"

template <class real, class Cell>
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
    Rows<const real> x, h0, c0;  // c: the states but h, (STATES - 1, B, H)
    // Saved for the gradient, or null: the values of the cell; the states after the step without h, which is y; and the
    // operands of inner products.
    Rows<real> values[MULTIPLIED<Cell> + Cell::PRODUCTS + 1];
    Rows<real> y, h_n, c_n;
    Rows<const real> zoneout;                  // the share of the old h that a projected h keeps, (T, B, P), or null
    Matrix<const real> U[Cell::MATRICES + 1];  // (H, H)
    Rows<const real> masks[Cell::MASKS + 1];   // (T, B, H)
};

// Further inputs of a backward pass, and its results.
template <class real, class Cell>
struct Gradients {
    Rows<const real> dy, dc_each, dh_n, dc_n;  // dc_each: of the first state after each step, or null
    Rows<real> da;            // scratch: the gradients of pre-activations and products, (T, B, (GATES + PRODUCTS)*H)
    Rows<real> dh0, dc0, dx;  // dx may be null
    Index add_dx;
    Matrix<real> dW, dR;  // with contiguous rows or, like a transposed weight, columns
    real *dWp, *dbW, *dbR, *dvectors;
    real *dU[Cell::MATRICES + 1];
};

// The k-th step that is visited, and its active samples.
class Visit {
  public:
    template <class Layer>
    explicit Visit(const Layer &d) : T(d.T), reverse(d.reverse), alive(d.T + 2, d.B) {
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
