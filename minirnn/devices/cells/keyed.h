// A layer of a cell with keys: the steps of one sample, for C++ and CUDA.
//
// A cell is a struct `template <class V, class real>` that minirnn writes (`keyed.py`), with the functions
//
//   step(s)    reads gates, before, learned                                  sets saved, after, y
//   grad(s)    reads gates, before, learned, saved, after, d_after, dy       sets d_gates, d_before; adds to d_learned
//
// V is a vector of neighboring units or keys (C++), or a number (CUDA). Values are (H, N), (H,), (N,) or single numbers,
// and a matrix is in memory with its keys as rows, (N, H). A device defines
//
//   UNITS, KEYS               the heads of loops over u or k, which is the first unit or key of a V
//   EACH_KEY                  the head of a loop over single keys, inside that over units
//   load(p, n), store(p, v, n)    of the n numbers that are left of a row, if they are fewer than those of a V
//   one(p)                    a number, the same for all units
//   own(v, n)                 v with zeros after the first n numbers
//   put_one(p, v), add_one(p, v)  set a number, or add to it
//   sum_of_keys<V>(p, n)      the sum of n numbers in memory
//   sum_of_units(v), sum_of_units<N>(v, p)    the sum of a V of all units; N of them, which go to memory
//   copy(to, from, n)
//   meet()                    before values are read that other threads have set
#pragma once

template <class real, class Cell>
struct KeyedLayer {
    Index T, B, H;
    Index slots;           // steps for which `saved` and `states` have a place: T, or 2 without a backward pass
    const Index *lengths;  // (B,), or null
    const real *gates;     // (T, B, ..), side by side
    const real *first[Cell::STATES], *learned[Cell::LEARNED + 1];            // (B, ..) and (..)
    real *saved[Cell::SAVED + 1], *states[Cell::STATES];                     // (slots, B, ..)
    real *y, *last[Cell::STATES];                                            // (T, B, H) and (B, ..)
    real *keys;                                                              // (B, VECTORS, N), between loops
    const real *dy, *d_last[Cell::STATES];                                   // (T, B, H) and (B, ..)
    real *carry[Cell::STATES];                                               // (2, B, ..), between steps
    real *d_gates, *d_first[Cell::STATES], *d_learned[Cell::D_LEARNED + 1];  // (T, B, ..), (B, ..) and (B, ..)
    double constants[Cell::CONSTANTS + 1];
};

// The arrays of one step of one sample. Those of gradients are set in a backward pass alone.
template <class real, class Cell>
struct KeyedStep {
    Index H;
    const real *gates[Cell::GATES + 1], *before[Cell::STATES], *const *learned;
    real *saved[Cell::SAVED + 1], *after[Cell::STATES], *y, *keys;
    const real *dy, *d_after[Cell::STATES];
    real *d_gates[Cell::GATES + 1], *d_before[Cell::STATES], *d_learned[Cell::D_LEARNED + 1];
    const double *constants;

    CELL_FN KeyedStep(const KeyedLayer<real, Cell> &d, Index t, Index b, Index length, bool back) {
        const Index H = d.H, row = t * d.B + b, slot = t % d.slots * d.B + b, previous = (t - 1) % d.slots * d.B + b;
        this->H = H, learned = d.learned, constants = d.constants, keys = d.keys + b * Cell::VECTORS * Cell::N;
        if (back) dy = d.dy + row * H;
        if (!back) y = d.y + row * H;
        Index width = 0;
        for (int i = 0; i < Cell::GATES; i++) width += Cell::gate_width(i, H);
        Index column = row * width;
        for (int i = 0; i < Cell::GATES; i++) {
            gates[i] = d.gates + column;
            if (back) d_gates[i] = d.d_gates + column;
            column += Cell::gate_width(i, H);
        }
        for (int i = 0; i < Cell::SAVED; i++) saved[i] = d.saved[i] + slot * Cell::saved_width(i, H);
        for (int i = 0; i < Cell::STATES; i++) {
            const Index n = Cell::state_width(i, H), here = (t & 1) * d.B + b, next = ((t + 1) & 1) * d.B + b;
            before[i] = t ? d.states[i] + previous * n : d.first[i] + b * n;
            after[i] = d.states[i] + slot * n;
            if (!back) continue;
            d_before[i] = t ? d.carry[i] + here * n : d.d_first[i] + b * n;
            d_after[i] = t + 1 < length ? d.carry[i] + next * n : d.d_last[i] + b * n;
        }
        for (int i = 0; back && i < Cell::D_LEARNED; i++) d_learned[i] = d.d_learned[i] + b * Cell::learned_width(i, H);
    }
};

// All steps of sample b. Past its end, y and the gradients of gates are not set.
template <class Cell, class real>
CELL_FN void keyed_forward(const KeyedLayer<real, Cell> &d, Index b) {
    const Index length = d.lengths ? d.lengths[b] : d.T;
    for (Index t = 0; t < length; t++) {
        const KeyedStep<real, Cell> s(d, t, b, length, false);
        Cell::step(s);
        meet();
        for (int i = 0; i < Cell::STATES && t + 1 == length; i++) {
            const Index n = Cell::state_width(i, d.H);
            copy(d.last[i] + b * n, s.after[i], n);
        }
    }
}

template <class Cell, class real>
CELL_FN void keyed_backward(const KeyedLayer<real, Cell> &d, Index b) {
    const Index length = d.lengths ? d.lengths[b] : d.T;
    for (Index t = length - 1; t >= 0; t--) {
        Cell::grad(KeyedStep<real, Cell>(d, t, b, length, true));
        meet();
    }
}
