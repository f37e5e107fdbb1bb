// A cell in C++: vectors of neighboring units, and the layout of its values.
#pragma once
#include "activation.h"
#include "cells/form.h"
#include "tile.h"

template <class Cell>
constexpr int INNER = Cell::STATES - 1;  // states other than h
template <class Cell>
constexpr int LAST = Cell::STATES - 1;  // the index of h
template <class Cell>
constexpr bool reads_h = Cell::READS_AFTER >> LAST<Cell> & 1;  // the gradient reads h

// The operands of products in the saved values of a step, after those of the cell and the inner states.
template <class Cell>
constexpr int MULTIPLIED = Cell::SAVED + INNER<Cell>;

// The first gate of a chunk: if there are many gates, a product computes four at a time.
constexpr int AT_ONCE = 4;
constexpr int chunk_of(int gate) { return gate / AT_ONCE * AT_ONCE; }

// The number of gates in a chunk.
template <int G>
constexpr int gates_from(int first) {
    return G - first < AT_ONCE ? G - first : AT_ONCE;
}

// The sums of a tile with the G gates of one vector of units.
template <class real, int G>
struct GateSums {
    Sums<real> chunks[G ? (G + AT_ONCE - 1) / AT_ONCE : 1];

    real *chunk(int first) { return chunks[first / AT_ONCE].at; }
    INLINE real *at(Index row, int gate) {
        const int first = chunk_of(gate);
        return chunk(first) + (row * gates_from<G>(first) + gate - first) * LANES<real>;
    }
};

// The sum of f(v, lane) over the units of a row.
template <class real, class F>
real sum_of(Index H, const real *row, F f) {
    Vector<real> all = {};
    Index u = 0;
    for (; u + LANES<real> <= H; u += LANES<real>) all += f(load<real>(row + u));
    real sum = 0;
    if (u < H) {
        const Vector<real> rest = f(load(row + u, H - u));
        for (Index lane = 0; lane < H - u; lane++) sum += rest[lane];
    }
    for (int lane = 0; lane < LANES<real>; lane++) sum += all[lane];
    return sum;
}

template <class real>
real reduced(int kind, Index H, const real *row) {
    using V = Vector<real>;
    const auto sum = [&] { return sum_of(H, row, [](V v) { return v; }); };
    if (kind == UNIT_SUM) return sum();
    if (kind == UNIT_MEAN) return sum() / real(H);
    if (kind == UNIT_VAR) {
        const real mean = sum() / real(H);
        return sum_of(H, row, [=](V v) { return (v - mean) * (v - mean); }) / real(H);
    }
    real largest = row[0];
    for (Index u = 1; u < H; u++) largest = row[u] > largest || row[u] != row[u] ? row[u] : largest;
    if (kind == UNIT_MAX) return largest;
    if (kind == UNIT_TIES) return sum_of(H, row, [=](V v) { return v >= largest ? V{} + real(1) : V{}; });
    return sum_of(H, row, [=](V v) { return exp(v - largest); });
}

// Instead of a product: a function of the units of each row, the same for N vectors of units.
template <class real>
void reduce(int kind, Index M, Index N, Index H, const real *a, Index a_row, real *sums) {
    for (Index i = 0; i < M; i++) {
        const Vector<real> found = Vector<real>{} + reduced(kind, H, a + i * a_row);
        for (Index n = 0; n < N; n++) store(sums + (i * N + n) * LANES<real>, found);
    }
}
