// The product in registers, which all matrix products use.
//
// A tile is M rows of A times N vectors of columns of W. Its M x N sums stay in registers while k runs:
//
//     sum[m][n] += a[m][k] * w[k][n]        N loads of w and M of a for M x N multiply-adds
//
// The size of a tile: a core starts two multiply-adds per cycle, and each takes four cycles, so fewer than 8 sums would
// stall it. It also starts two loads per cycle, so M + N loads must take no longer than M x N multiply-adds. And the
// registers must hold M x N sums, N vectors of w, and one broadcast number of a (AVX-512 broadcasts it while it
// multiplies).
//
//     registers              a gate each (N = 4)           otherwise
//     32 (AVX-512, NEON)     6 x 4: 24 + 4 + 1 = 29        6 x 4
//     16 (AVX2, SSE)         3 x 4: 12 + 1, w by loads     6 x 2: 12 + 2 + 1 = 15
//
// W is packed first: the vectors of a panel of columns are contiguous for each k, so that they form one stream of
// memory. A row of A is not packed, because its numbers are used one by one.
#pragma once
#include <algorithm>

#include "transpose.h"

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int GATE_ROWS = 6;  // rows of a tile whose vectors are gates
constexpr int COLUMNS = 4;    // vectors in a row of any other tile
#else
constexpr int GATE_ROWS = 3;
constexpr int COLUMNS = 2;
#endif
constexpr int ROWS = 6;  // rows of any other tile
template <class real>
constexpr int PANEL = COLUMNS * LANES<real>;

// A matrix in memory: element (i, j) is p[i * row + j * column].
template <class real>
struct Matrix {
    real *p;
    Index row, column;
};

// The rows of an array.
template <class real>
struct Rows {
    real *p;
    Index ld;  // numbers from one row to the next
    real *at(Index row) const { return p + row * ld; }
};

// sums (M, N, lanes) += a (M, K) @ w, with w packed: (K, N, lanes). A row of a is `a_row` numbers after the one before;
// if that is 0, a is also packed: (K, ROWS). M is at most ROWS, and N at most COLUMNS; or GATE_ROWS and 4.
template <class real>
SHARED void multiply(Index M, Index N, Index K, const real *a, Index a_row, const real *w, real *sums);

// The same, with each sum in the order of k for every tile size, for cases where the size depends on the number of
// threads.
template <class real>
SHARED void multiply_in_order(Index M, Index N, Index K, const real *a, Index a_row, const real *w, real *sums);

// The sums of a tile.
template <class real>
struct alignas(64) Sums {
    real at[ROWS * 4 * LANES<real>];
};

// Rows in nearly equal blocks of at most `most`; block k begins at row start(k).
struct Blocks {
    Index count, rows;
    Blocks(Index rows, int most) : count((rows + most - 1) / most), rows(rows) {}
    Index start(Index k) const { return rows * k / count; }
};

// Rows g * H + u of W (G * H, K) for the units u of panels begin..end, as (panel, K, G, lanes). Missing units
// have weight 0.
template <class real>
void pack_gates(Matrix<const real> W, Index H, Index K, int G, real *packed, Index begin, Index end) {
    constexpr int lanes = LANES<real>;
    for (Index panel = begin; panel < end; panel++) {
        const Index u = panel * lanes, units = std::min<Index>(lanes, H - u);
        for (int g = 0; g < G; g++) {
            real *to = packed + (panel * K * G + g) * lanes;
            const real *from = W.p + (g * H + u) * W.row;
            if (W.column == 1) {
                transpose_stripe(from, W.row, units, K, to, G * lanes);
                continue;
            }
            for (Index k = 0; k < K; k++) {
                if (W.row == 1) {
                    store(to + k * G * lanes, load(from + k * W.column, units));
                    continue;
                }
                for (Index v = 0; v < lanes; v++) {
                    to[k * G * lanes + v] = v < units ? from[v * W.row + k * W.column] : real(0);
                }
            }
        }
    }
}

// Rows begin..end of B (K, N) in panels of columns, the last one narrower: that of column j starts at packed + K * j.
// The rows begin at `first` and wrap around.
template <class real>
void pack_columns(Matrix<const real> B, Index K, Index N, real *packed, Index begin, Index end, Index first = 0) {
    constexpr int lanes = LANES<real>;
    for (Index j = 0; j < N; j += PANEL<real>) {
        const Index vectors = (std::min<Index>(PANEL<real>, N - j) + lanes - 1) / lanes;
        if (B.row == 1 && B.column != 1 && first == 0) {
            for (Index n = 0; n < vectors * lanes; n += lanes) {
                const real *from = B.p + begin + (j + n) * B.column;
                real *to = packed + K * j + begin * vectors * lanes + n;
                transpose_stripe(from, B.column, std::min<Index>(lanes, N - j - n), end - begin, to, vectors * lanes);
            }
            continue;
        }
        for (Index k = begin; k < end; k++) {
            real *to = packed + K * j + k * vectors * lanes;
            const real *from = B.p + (k + first < K ? k + first : k + first - K) * B.row + j * B.column;
            for (Index n = 0; n < vectors * lanes; n += lanes) {
                const Index count = std::min<Index>(lanes, N - j - n);
                if (B.column == 1) {
                    store(to + n, load(from + n, count));
                } else {
                    for (Index v = 0; v < lanes; v++) to[n + v] = v < count ? from[(n + v) * B.column] : real(0);
                }
            }
        }
    }
}

// The number of values that `pack_columns` and `pack_gates` write.
template <class real>
Index packed_width(Index N) {
    return (N + LANES<real> - 1) / LANES<real> * LANES<real>;
}
