// A layer of a cell with keys (`cells/keyed.h`): threads share the samples.
#pragma once
#include "activation.h"
#include "team.h"

#define UNITS for (Index u = 0; u < H; u += LANES<real>)
#define EACH_KEY for (int k = 0; k < N; k++)
#define KEYS for (Index k = 0; k < N; k += LANES<real>)

template <class real>
INLINE Vector<real> one(const real *p) {
    return Vector<real>{} + *p;
}

template <class V>
INLINE V own(V v, Index count) {
    V lane{};
    for (int k = 0; k < LANES<Number<V>>; k++) lane[k] = Number<V>(k);
    return lane < Number<V>(count) ? v : V{};
}

template <class real, class V>
INLINE void put_one(real *p, V v) {
    *p = v[0];
}

template <class real, class V>
INLINE void add_one(real *p, V v) {
    *p += v[0];
}

template <class V, class real>
INLINE V sum_of_keys(const real *p, int n) {
    real found = 0;
    for (int k = 0; k < n; k++) found += p[k];
    return V{} + found;
}

template <class V>
INLINE V sum_of_units(V v) {
    Number<V> found = 0;
    for (int k = 0; k < LANES<Number<V>>; k++) found += v[k];
    return V{} + found;
}

template <int N, class V, class real>
INLINE void sum_of_units(const V (&v)[N], real *to) {
    for (int k = 0; k < N; k++) to[k] = sum_of_units(v[k])[0];
}

template <class real>
INLINE void copy(real *to, const real *from, Index n) {
    std::memcpy(to, from, n * sizeof(real));
}

INLINE void meet() {}

#include "cells/keyed.h"

template <class Cell, class real, class Pass>
int keyed(const KeyedLayer<real, Cell> &d, Pass pass, int threads, int watch) {
    const double work = 8.0 * d.T * d.B * d.H * Cell::N;
    const int most = d.B < threads ? int(d.B) : threads;
    return together(threads_for(work, most), watch, [&](Member me) {
        for (Index b = me.begin(d.B); b < me.end(d.B) && !me.stopped(); b++) pass(d, b);
    });
}
