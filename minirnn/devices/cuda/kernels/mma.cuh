// Products on tensor cores (compute capability 8.0), and what loads their operands from shared memory.
//
// A warp multiplies together: each lane holds a part of every matrix, its fragment. With g = lane / 4 and t = lane % 4,
// and (row, column) of an element:
//
//   mma_f16, mma_bf16    D (16, 8) += A (16, 16) B (16, 8)        two elements in a register, the first in its lower half
//     A  x[0]: (g, 2t) (g, 2t+1)   x[1]: (g+8, 2t) ..   x[2]: (g, 2t+8) ..   x[3]: (g+8, 2t+8) ..
//     B  x[0]: (2t, g) (2t+1, g)   x[1]: (2t+8, g) (2t+9, g)
//   mma_tf32             D (16, 8) += A (16, 8) B (8, 8)          one element in a register, see to_tf32
//     A  x[0]: (g, t)   x[1]: (g+8, t)   x[2]: (g, t+4)   x[3]: (g+8, t+4)
//     B  x[0]: (t, g)   x[1]: (t+4, g)
//   D    x[0]: (g, 2t)   x[1]: (g, 2t+1)   x[2]: (g+8, 2t)   x[3]: (g+8, 2t+1)
//
// load_matrices<N>     N = 1, 2, 4 matrices of 8 x 8 elements of two bytes: lane 8k+r gives the address of row r of matrix
//     k, 16 bytes; x[k] gets the elements (g, 2t) and (g, 2t+1) of matrix k, or with TRANSPOSED (2t, g) and (2t+1, g)
//
// All 32 lanes call these together. Layouts: PTX ISA, "Matrix Fragments for mma.m16n8k16", ".m16n8k8", "ldmatrix".
#pragma once

#ifdef __CUDASIM__
#include "cusim_mma.h"  // the same functions, lane by lane
#else

__device__ inline void mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The nearest number with ten digits of fraction, ties away from zero. Bits below these mma_tf32 does not look at.
__device__ inline unsigned to_tf32(float x) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

template <int N, bool TRANSPOSED = false>
__device__ inline void load_matrices(unsigned (&x)[N], const void *row) {
    static_assert(N == 1 || N == 2 || N == 4, "ldmatrix loads 1, 2 or 4 matrices");
    const unsigned address = (unsigned)__cvta_generic_to_shared(row);
    if constexpr (N == 1 && !TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x[0]) : "r"(address) : "memory");
    if constexpr (N == 1 && TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(x[0])
                     : "r"(address)
                     : "memory");
    if constexpr (N == 2 && !TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(x[0]), "=r"(x[1])
                     : "r"(address)
                     : "memory");
    if constexpr (N == 2 && TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(x[0]), "=r"(x[1])
                     : "r"(address)
                     : "memory");
    if constexpr (N == 4 && !TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(address)
                     : "memory");
    if constexpr (N == 4 && TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                     : "r"(address)
                     : "memory");
}

#endif
