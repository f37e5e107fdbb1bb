// mma.cuh in the simulator: what a tensor core does, from the fragments of 32 lanes.
//
// Products are exact and are added in double, then rounded to float once. A GPU adds with fewer digits and may give other
// last bits.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

CUSIM_API void cusim_together(void *mine, const char *name, const char *file, int line);
CUSIM_API void cusim_touch(const void *p, unsigned bytes, int writes, void *pc);

namespace cusim {

struct Fragments {  // of one lane; the runtime calls `work` with those of all lanes
    void (*work)(Fragments **);
    const unsigned *a, *b;
    float *d;
};

struct Half {
    static constexpr int depth = 16;
    static double of(unsigned bits) { return widened(__half_raw{(uint16_t)bits}); }
};
struct Bfloat16 {
    static constexpr int depth = 16;
    static double of(unsigned bits) { return widened(__nv_bfloat16_raw{(uint16_t)bits}); }
};
struct Tf32 {
    static constexpr int depth = 8;
    static double of(unsigned word) { return cusim::bits<float>(word & 0xffffe000); }
};

// Element (row, column) of A and of B: which lane has it, in which register, and in which half of it.
template <class Kind>
CUSIM_OWN double element_of_a(Fragments **lanes, int row, int column) {
    const int group = row % 8, lower = row / 8;
    if (Kind::depth == 8) return Kind::of(lanes[group * 4 + column % 4]->a[column / 4 * 2 + lower]);
    return Kind::of(lanes[group * 4 + column % 8 / 2]->a[column / 8 * 2 + lower] >> column % 2 * 16);
}
template <class Kind>
CUSIM_OWN double element_of_b(Fragments **lanes, int row, int column) {
    if (Kind::depth == 8) return Kind::of(lanes[column * 4 + row % 4]->b[row / 4]);
    return Kind::of(lanes[column * 4 + row % 8 / 2]->b[row / 8] >> row % 2 * 16);
}

template <class Kind>
CUSIM_OWN void multiply(Fragments **lanes) {
    double a[16][Kind::depth], b[Kind::depth][8];
    for (int k = 0; k < Kind::depth; k++) {
        for (int row = 0; row < 16; row++) a[row][k] = element_of_a<Kind>(lanes, row, k);
        for (int column = 0; column < 8; column++) b[k][column] = element_of_b<Kind>(lanes, k, column);
    }
    for (int row = 0; row < 16; row++) {
        for (int column = 0; column < 8; column++) {
            float &d = lanes[row % 8 * 4 + column / 2]->d[row / 8 * 2 + column % 2];
            double sum = d;
            for (int k = 0; k < Kind::depth; k++) sum += a[row][k] * b[k][column];
            d = (float)sum;
        }
    }
}

struct Rows {  // of one lane: the row it brings, and what it gets
    void (*work)(Rows **);
    unsigned row[4];
    unsigned *x;
};

template <int N, bool TRANSPOSED>
CUSIM_OWN void deal_out(Rows **lanes) {
    for (int lane = 0; lane < 32; lane++) {
        const int group = lane / 4, place = lane % 4;
        for (int k = 0; k < N; k++) {
            if (!TRANSPOSED) {
                lanes[lane]->x[k] = lanes[8 * k + group]->row[place];
                continue;
            }
            const unsigned first = lanes[8 * k + 2 * place]->row[group / 2] >> group % 2 * 16;
            const unsigned second = lanes[8 * k + 2 * place + 1]->row[group / 2] >> group % 2 * 16;
            lanes[lane]->x[k] = (first & 0xffff) | second << 16;
        }
    }
}

}  // namespace cusim

#define CUSIM_MMA(name, Kind)                                                               \
    CUSIM_OWN void name(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],      \
                        const char *file = __builtin_FILE(), int line = __builtin_LINE()) { \
        cusim::Fragments mine = {cusim::multiply<cusim::Kind>, a, b, d};                    \
        cusim_together(&mine, #name, file, line);                                           \
    }
CUSIM_MMA(mma_f16, Half)
CUSIM_MMA(mma_bf16, Bfloat16)
CUSIM_MMA(mma_tf32, Tf32)

CUSIM_OWN unsigned to_tf32(float x) {
    const unsigned bits = cusim::bits<unsigned>(x);
    if ((bits & 0x7fffffff) >= 0x7f800000) return bits & ~0x1fffu ? bits : 0;
    return (bits + 0x1000) & ~0x1fffu;
}

template <int N, bool TRANSPOSED = false>
CUSIM_OWN void load_matrices(unsigned (&x)[N], const void *row, const char *file = __builtin_FILE(),
                             int line = __builtin_LINE()) {
    static_assert(N == 1 || N == 2 || N == 4, "ldmatrix loads 1, 2 or 4 matrices");
    const unsigned lane = (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
    cusim::Rows mine = {cusim::deal_out<N, TRANSPOSED>, {}, x};
    if (lane < 8 * N) {
        if ((uintptr_t)row % 16) cusim_trap("load_matrices: a row that begins at no multiple of 16 bytes,", file, line);
        cusim_touch(row, 16, 0, CUSIM_CALLER);
        __builtin_memcpy(mine.row, row, 16);
    }
    cusim_together(&mine, "load_matrices", file, line);
}
