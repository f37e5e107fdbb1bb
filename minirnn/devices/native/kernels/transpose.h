// Transposes a square of numbers in registers: 16 x 16 floats with AVX-512.
//
// The upper right quarter and the lower left quarter are swapped; then the same happens within every quarter, down to
// single numbers. A row is a register, so each of the log2(lanes) rounds has two shuffles for a pair of rows: 64 for
// 256 floats, where single loads and stores would be 512.
//
//     a b c d          a b i j          a e i m
//     e f g h    ->    e f m n    ->    b f j n
//     i j k l          c d k l          c g k o
//     m n o p          g h o p          d h l p
#pragma once
#include <utility>

#include "vector.h"

// Round `half`: of rows i and i + half, the numbers (i, v + half) and (i + half, v) are swapped.
template <int half, bool upper, class V, int... v>
INLINE V exchanged(V a, V b, std::integer_sequence<int, v...>) {
#if defined(__clang__) || __GNUC__ >= 12
    constexpr int lanes = sizeof...(v);  // b's numbers are lanes, lanes + 1, ...
    return upper ? __builtin_shufflevector(a, b, (v & half ? v - half + lanes : v)...)
                 : __builtin_shufflevector(a, b, (v & half ? v + lanes : v + half)...);
#else
    return upper ? V{(v & half ? b[v & ~half] : a[v])...} : V{(v & half ? b[v] : a[v | half])...};
#endif
}

template <class real, int half = LANES<real> / 2>
INLINE void transpose(Vector<real> (&rows)[LANES<real>]) {
    constexpr int lanes = LANES<real>;
    constexpr std::make_integer_sequence<int, lanes> all;
#pragma GCC unroll 16
    for (int i = 0; i < lanes; i++) {
        if (i & half) continue;
        const Vector<real> a = rows[i], b = rows[i + half];
        rows[i] = exchanged<half, true>(a, b, all);
        rows[i + half] = exchanged<half, false>(a, b, all);
    }
    if constexpr (half > 1) transpose<real, half / 2>(rows);
}

// to[k * to_row + v] = from[v * from_row + k] for v < height and k < width; 0 for the other v of a vector.
template <class real>
INLINE void transpose_stripe(const real *from, Index from_row, Index height, Index width, real *to, Index to_row) {
    constexpr int lanes = LANES<real>;
    for (Index k0 = 0; k0 < width; k0 += lanes) {
        const Index count = width - k0;
        Vector<real> rows[lanes];
#pragma GCC unroll 16
        for (int v = 0; v < lanes; v++) rows[v] = v < height ? load(from + v * from_row + k0, count) : Vector<real>{};
        transpose<real>(rows);
#pragma GCC unroll 16
        for (int k = 0; k < lanes; k++) {
            if (k < count) store(to + (k0 + k) * to_row, rows[k]);
        }
    }
}
