// The product in registers, for every size of a tile; `tile.h` derives the largest one.
#include "tile.h"

namespace {

template <class real, int M, int N, bool packed, bool in_order>
void product(Index K, const real *a, Index a_row, const real *w, real *sums) {
    constexpr int lanes = LANES<real>;
    Vector<real> sum[M][N];
#pragma GCC unroll 6
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 4
        for (int n = 0; n < N; n++) sum[m][n] = load(sums + (m * N + n) * lanes);
    }
    const Index step = packed ? ROWS : 1;  // from one k to the next
    if (packed) a_row = 1;
    Index k = 0;
    if constexpr (M * N < 8 && !in_order) {  // with few sums, four of each: no addition waits for the previous one
        Vector<real> other[3][M][N] = {};
        for (; k + 4 <= K; k += 4, a += 4 * step, w += 4 * N * lanes) {
#pragma GCC unroll 6
            for (int m = 0; m < M; m++) {
#pragma GCC unroll 4
                for (int n = 0; n < N; n++) {
                    const real *from = a + m * a_row;
                    sum[m][n] += load(w + n * lanes) * from[0];
                    other[0][m][n] += load(w + (N + n) * lanes) * from[step];
                    other[1][m][n] += load(w + (2 * N + n) * lanes) * from[2 * step];
                    other[2][m][n] += load(w + (3 * N + n) * lanes) * from[3 * step];
                }
            }
        }
#pragma GCC unroll 6
        for (int m = 0; m < M; m++) {
#pragma GCC unroll 4
            for (int n = 0; n < N; n++) sum[m][n] += (other[0][m][n] + other[1][m][n]) + other[2][m][n];
        }
    }
    for (; k < K; k++, a += step, w += N * lanes) {
        Vector<real> b[N];
#pragma GCC unroll 4
        for (int n = 0; n < N; n++) b[n] = load(w + n * lanes);
#pragma GCC unroll 6
        for (int m = 0; m < M; m++) {
            const real one = a[m * a_row];
#pragma GCC unroll 4
            for (int n = 0; n < N; n++) sum[m][n] += b[n] * one;
        }
    }
#pragma GCC unroll 6
    for (int m = 0; m < M; m++) {
#pragma GCC unroll 4
        for (int n = 0; n < N; n++) store(sums + (m * N + n) * lanes, sum[m][n]);
    }
}

template <class real, int N, bool in_order>
void with_columns(Index M, Index K, const real *a, Index a_row, const real *w, real *sums) {
    if (a_row == 0) {
        if constexpr (N <= COLUMNS) product<real, ROWS, N, true, in_order>(K, a, a_row, w, sums);
        return;
    }
    switch (M) {
        case 1: return product<real, 1, N, false, in_order>(K, a, a_row, w, sums);
        case 2: return product<real, 2, N, false, in_order>(K, a, a_row, w, sums);
        case 3: return product<real, 3, N, false, in_order>(K, a, a_row, w, sums);
    }
    if constexpr (N <= COLUMNS || GATE_ROWS == ROWS) {
        switch (M) {
            case 4: return product<real, 4, N, false, in_order>(K, a, a_row, w, sums);
            case 5: return product<real, 5, N, false, in_order>(K, a, a_row, w, sums);
            case 6: return product<real, 6, N, false, in_order>(K, a, a_row, w, sums);
        }
    }
}

template <class real, bool in_order>
void choose(Index M, Index N, Index K, const real *a, Index a_row, const real *w, real *sums) {
    switch (N) {
        case 1: return with_columns<real, 1, in_order>(M, K, a, a_row, w, sums);
        case 2: return with_columns<real, 2, in_order>(M, K, a, a_row, w, sums);
        case 3: return with_columns<real, 3, in_order>(M, K, a, a_row, w, sums);
        case 4: return with_columns<real, 4, in_order>(M, K, a, a_row, w, sums);
    }
}

}  // namespace

template <class real>
void multiply(Index M, Index N, Index K, const real *a, Index a_row, const real *w, real *sums) {
    choose<real, false>(M, N, K, a, a_row, w, sums);
}

template <class real>
void multiply_in_order(Index M, Index N, Index K, const real *a, Index a_row, const real *w, real *sums) {
    choose<real, true>(M, N, K, a, a_row, w, sums);
}

template void multiply(Index, Index, Index, const float *, Index, const float *, float *);
template void multiply(Index, Index, Index, const double *, Index, const double *, double *);
template void multiply_in_order(Index, Index, Index, const float *, Index, const float *, float *);
template void multiply_in_order(Index, Index, Index, const double *, Index, const double *, double *);

#pragma GCC visibility push(default)
extern "C" {

// The tile sizes of this library.
int native_about(int which) {
    const int known[] = {VECTOR_BYTES, GATE_ROWS, ROWS, COLUMNS};
    return known[which];
}
}
