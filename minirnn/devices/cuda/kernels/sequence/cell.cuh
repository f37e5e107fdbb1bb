// One cell of a layer (a unit of a row of a batch), forward and backward. Every rung includes this file. The cell is a
// struct of the form cells/form.h, which minirnn writes from its page and puts above the file of a rung.
//
//   gates: in the order of cells/form.h      a: W x + bW of W's rows      a2: R h' + bR of R's rows
//   kept: saved for the backward pass: the values of the cell, then the states before that its gradient reads, then
//   the inner states after. Its h is y
//   da: the gradients of the gates in the columns that they have in memory (`column_of`)
// Past its length a row keeps its state, its output is 0, and its gradient passes on unchanged.
#pragma once
#include "activation.cuh"
#include "cells/form.h"

// Whether a row is active at step t. lengths: (B,), or null if all rows are active at every step
__device__ inline bool counts(const int *lengths, int t, int row) { return !lengths || t < lengths[row]; }

template <class Cell>
constexpr int INNER = Cell::STATES - 1;  // states other than h, and the index of h
template <class Cell>
constexpr bool READS_H = Cell::READS_AFTER >> INNER<Cell> & 1;

// A compile-time constant: NAMED keeps the values and all inner states after the step, for those who ask by name.
#ifndef NAMED
#define NAMED 0
#endif
// The states before the step, and the inner ones after it, that are kept: bit k for state k.
template <class Cell>
constexpr int BEFORE = NAMED ? 0 : Cell::READS_BEFORE;
template <class Cell>
constexpr int AFTER = (NAMED ? -1 : Cell::READS_AFTER) & ((1 << INNER<Cell>)-1);
template <class Cell>
constexpr int KEPT_AFTER = Cell::SAVED + __builtin_popcount(BEFORE<Cell>);
template <class Cell>
constexpr int KEPT = KEPT_AFTER<Cell> + __builtin_popcount(AFTER<Cell>);

// Whether a gate has a part of only x, or of only h', so that the two parts are not simply added.
template <class Cell>
constexpr bool APART = Cell::OF_X + Cell::OF_H > 0;

// The pre-activations, from the parts of x and h'.
template <class Cell>
__device__ void join_gates(const real *a, const real *a2, real *gates) {
#pragma unroll
    for (int g = 0; g < GATES<Cell>; g++)
        gates[g] = g < Cell::OF_BOTH ? a[g] + a2[g] : g < ROWS_OF_W<Cell> ? a[g] : a2[g - Cell::OF_X];
}

// The biases of a unit: both of a gate in one number, except if its parts are separate.
template <class Cell>
struct Biases {
    real sum[ROWS_OF_W<Cell>], apart[Cell::OF_H + 1];

    // biases: bW (ROWS_OF_W*H,), then bR (ROWS_OF_R*H,)
    __device__ void load(const real *biases, int H, int unit) {
        const real *bW = biases + unit, *bR = bW + ROWS_OF_W<Cell> * H;
#pragma unroll
        for (int g = 0; g < ROWS_OF_W<Cell>; g++) sum[g] = bW[g * H] + (g < Cell::OF_BOTH ? bR[g * H] : real(0));
#pragma unroll
        for (int g = 0; g < Cell::OF_H; g++) apart[g] = bR[(Cell::OF_BOTH + g) * H];
    }

    __device__ real of_recurrent(int row) const { return row < Cell::OF_BOTH ? real(0) : apart[row - Cell::OF_BOTH]; }
};

// Writing and reading the values that a step saves for the backward pass.
template <class Cell>
__device__ void keep(const Step<real, Cell> &s, bool valid, real *kept) {
    int n = 0;
#pragma unroll
    for (int j = 0; j < Cell::SAVED; j++) kept[n++] = s.saved[j];
#pragma unroll
    for (int j = 0; j < Cell::STATES; j++)
        if (BEFORE<Cell> >> j & 1) kept[n++] = s.before[j];
#pragma unroll
    for (int j = 0; j < INNER<Cell>; j++)
        if (AFTER<Cell> >> j & 1) kept[n++] = NAMED && !valid ? s.before[j] : s.after[j];
}

// The stage that sets a kept value.
template <class Cell>
CELL_FN constexpr int kept_stage(int n) {
    return n < Cell::SAVED ? Cell::saved_stage(n) : n < KEPT_AFTER<Cell> ? 0 : Cell::STAGES - 1;
}

template <class Cell>
__device__ void take(const real *kept, Gradient<real, Cell> &s) {
    int n = 0;
#pragma unroll
    for (int j = 0; j < Cell::SAVED; j++) s.saved[j] = kept[n++];
#pragma unroll
    for (int j = 0; j < Cell::STATES; j++)
        if (BEFORE<Cell> >> j & 1) s.before[j] = kept[n++];
#pragma unroll
    for (int j = 0; j < INNER<Cell>; j++)
        if (AFTER<Cell> >> j & 1) s.after[j] = kept[n++];
}

// The gradients of the gates, in the columns that they have in memory.
template <class Cell>
__device__ void to_columns(const Gradient<real, Cell> &s, real *da) {
#pragma unroll
    for (int g = 0; g < GATES<Cell>; g++) da[column_of<Cell>(g)] = s.d_gates[g];
}

// The gate whose gradient is in a column.
template <class Cell>
CELL_FN constexpr int gate_of(int column) {
    return column < Cell::OF_H ? column + ROWS_OF_W<Cell> : column - Cell::OF_H;
}
