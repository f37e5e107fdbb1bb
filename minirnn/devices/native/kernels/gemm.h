// C (M, N) = A (M, K) @ B (K, N), or added to C, for any strides of A and B.
//
// A, B and C are cut into blocks so that reused data stays close: a block of B (K_BLOCK x N_BLOCK) in the L2 cache, a
// slice of A (ROWS x K_BLOCK) in L1, the sums of a tile in registers. The block of B is packed, and that of A if its
// rows are not contiguous. The blocks depend only on the sizes, so every sum has a fixed order on any thread.
#pragma once
#include "team.h"
#include "tile.h"

constexpr Index K_BLOCK = 192, N_BLOCK = 512, M_BLOCK = 96;  // M_BLOCK is a multiple of ROWS
constexpr Index PACKED_FROM = 256;  // columns of B for which even contiguous rows of A are packed

template <class real>
struct Product {
    Index M, N, K;
    Matrix<const real> A, B;
    real *C;
    Index C_row;  // from one row of C to the next
    Index add;
};

// The size of one thread's packed blocks.
constexpr Index GEMM_SCRATCH = K_BLOCK * (N_BLOCK + M_BLOCK);

// Rows of A, ROWS at a time: packed[(i * depth + k * ROWS) + m] = A[i + m, k]; missing rows are 0. The loops go through
// A in memory order: if its rows are a power of two apart, lines that are read in turn evict each other.
template <class real>
void pack_rows(Matrix<const real> A, Index rows, Index depth, real *packed) {
    if (A.row == 1) {
        for (Index k = 0; k < depth; k++) {
            const real *from = A.p + k * A.column;
            for (Index i = 0; i + ROWS <= rows; i += ROWS) {
                std::memcpy(packed + i * depth + k * ROWS, from + i, ROWS * sizeof(real));
            }
        }
    }
    for (Index i = A.row == 1 ? rows - rows % ROWS : 0; i < rows; i += ROWS) {
        const real *from = A.p + i * A.row;
        const Index height = std::min<Index>(ROWS, rows - i);
        for (Index k = 0; k < depth; k++) {
            for (Index m = 0; m < ROWS; m++) {
                packed[i * depth + k * ROWS + m] = m < height ? from[m * A.row + k * A.column] : real(0);
            }
        }
    }
}

// A tile: its sums are computed in registers, and set or added to C.
template <class real>
void gemm_tile(Index N, Index depth, const real *a, Index a_row, const real *b, real *c, Index c_row, Index height,
               Index width, bool add) {
    constexpr int lanes = LANES<real>;
    for (Index m = 0; m < height; m++) {  // C is prefetched while the sums are computed
        for (Index n = 0; n < N; n++) __builtin_prefetch(c + m * c_row + n * lanes, 1);
    }
    Sums<real> sums = {};
    multiply_in_order<real>(height, N, depth, a, a_row, b, sums.at);
    for (Index m = 0; m < height; m++) {
        for (Index n = 0; n < N; n++) {
            real *to = c + m * c_row + n * lanes;
            const Index count = width - n * lanes;
            const Vector<real> sum = load<real>(sums.at + (m * N + n) * lanes);
            store(to, add ? load(const_cast<const real *>(to), count) + sum : sum, count);
        }
    }
}

// One thread's part of a product.
template <class real>
void gemm_part(const Product<real> &p, real *scratch, Member me) {
    real *B_packed = scratch, *A_packed = scratch + K_BLOCK * N_BLOCK;
    if (p.K == 0 && !p.add) {
        for (Index m = 0; m < p.M; m++) std::memset(p.C + m * p.C_row, 0, p.N * sizeof(real));
    }
    for (Index n0 = 0; n0 < p.N; n0 += N_BLOCK) {
        const Index columns = std::min(N_BLOCK, p.N - n0);
        for (Index k0 = 0; k0 < p.K && !me.stopped(); k0 += K_BLOCK) {
            const Index depth = std::min(K_BLOCK, p.K - k0);
            const Matrix<const real> B{p.B.p + k0 * p.B.row + n0 * p.B.column, p.B.row, p.B.column};
            pack_columns<real>(B, depth, columns, B_packed, 0, depth);
            for (Index m0 = 0; m0 < p.M; m0 += M_BLOCK) {
                const Index rows = std::min(M_BLOCK, p.M - m0);
                const Matrix<const real> A{p.A.p + m0 * p.A.row + k0 * p.A.column, p.A.row, p.A.column};
                const bool contiguous = A.column == 1 && columns <= PACKED_FROM;
                if (!contiguous) pack_rows<real>(A, rows, depth, A_packed);
                for (Index j = 0; j < columns; j += PANEL<real>) {
                    const Index width = std::min<Index>(PANEL<real>, columns - j);
                    for (Index i = 0; i < rows; i += ROWS) {
                        const Index N = (width + LANES<real> - 1) / LANES<real>;
                        const real *a = contiguous ? A.p + i * A.row : A_packed + i * depth;
                        gemm_tile<real>(N, depth, a, contiguous ? A.row : 0, B_packed + j * depth,
                                        p.C + (m0 + i) * p.C_row + n0 + j, p.C_row, std::min<Index>(ROWS, rows - i),
                                        width, p.add || k0 > 0);
                    }
                }
            }
        }
    }
}

// The product, as a member of a team: each has a range of the rows, or of the columns if C is wide.
template <class real>
void gemm(Product<real> p, real *scratch, Member me) {
    scratch += me.id * GEMM_SCRATCH;
    const bool wide = p.N > 2 * p.M;
    const Index size = wide ? LANES<real> : ROWS, things = ((wide ? p.N : p.M) + size - 1) / size;
    const Index begin = me.begin(things) * size, end = std::min(wide ? p.N : p.M, me.end(things) * size);
    if (end <= begin) return;
    if (wide) {
        p.B.p += begin * p.B.column;
        p.C += begin;
        p.N = end - begin;
    } else {
        p.A.p += begin * p.A.row;
        p.C += begin * p.C_row;
        p.M = end - begin;
    }
    gemm_part(p, scratch, me);
}
