// What tensor cores multiply in the kernels of a whole sequence: numbers as operands, 32 bits a word.
//
//   Float16   two float16 a word: for float16 data
//   Tf32      one number a word, rounded to TF32: for float32 data where the user allows it (minirnn.use_precision)
//   Tf32x3    one float32 a word, kept whole. Of x = high + low, both TF32, three products are made: low high, high
//             low, high high. What is left out is 3 * 2^-22 of the product at most: it counts as float32
//
//   EACH           numbers in a word
//   word(x)        the word of EACH numbers
//   left, right    fragments of the weights and of what they are multiplied with, 32 bytes of a row, made ready; the
//                  last argument is HALF_A_PLACE
//   add(d, a, b)   d += a b, for a piece: two fragments
//
// A tensor core drops the digits beyond its sum's last one instead of rounding, always toward zero. Tf32x3 therefore
// makes only the sums of 16 products there, the smallest terms first, and adds them to d outside.
#pragma once
#include "mma.cuh"
#include "real.cuh"

#define HALF_A_PLACE 0x1000u  // half of the last place of a TF32 number, in the bits of a float32

// HALF_A_PLACE as it stands at p, in a way that the compiler does not see through: otherwise it would split the weights
// once for all steps, into twice the registers.
__device__ inline u32 half_a_place(const u32 *p) {
#ifdef __CUDASIM__
    return *p;
#else
    return *(const volatile u32 *)p;
#endif
}

struct Float16 {
    static constexpr int EACH = 2;
    struct Left {
        u32 word[4];
    };
    struct Right {
        u32 word[2];
    };

    static __device__ u32 word(const float *x) {
        return __half_as_ushort(__float2half(x[0])) | (u32)__half_as_ushort(__float2half(x[1])) << 16;
    }
    static __device__ Left left(const u32 (&a)[4], u32) { return {a[0], a[1], a[2], a[3]}; }
    static __device__ Right right(u32 first, u32 second, u32) { return {first, second}; }
    static __device__ void add(float (&d)[4], const Left (&a)[2], const Right (&b)[2], u32) {
        mma_f16(d, a[0].word, b[0].word);
        mma_f16(d, a[1].word, b[1].word);
    }
};

struct Tf32 {
    static constexpr int EACH = 1;
    typedef Float16::Left Left;
    typedef Float16::Right Right;

    static __device__ u32 word(const float *x) { return to_tf32(x[0]); }
    static __device__ Left left(const u32 (&a)[4], u32) { return {a[0], a[1], a[2], a[3]}; }
    static __device__ Right right(u32 first, u32 second, u32) { return {first, second}; }
    static __device__ void add(float (&d)[4], const Left (&a)[2], const Right (&b)[2], u32) {
        mma_tf32(d, a[0].word, b[0].word);
        mma_tf32(d, a[1].word, b[1].word);
    }
};

struct Tf32x3 {
    static constexpr int EACH = 1;
    struct Left {
        u32 high[4], low[4];
    };
    struct Right {
        u32 high[2], low[2];
    };

    // A NaN whose bits have room for `half` above them.
    static __device__ u32 word(const float *x) { return x[0] != x[0] ? 0x7fc00000u : __float_as_uint(x[0]); }
    // high: rounded, ties away from zero. Of `low` tensor cores do not look at the last bits, so adding `half` rounds
    // it.
    static __device__ void split(u32 word, u32 half, u32 &high, u32 &low) {
        high = (word + half) & ~(2 * HALF_A_PLACE - 1);
        low = __float_as_uint(__uint_as_float(word) - __uint_as_float(high)) + half;
    }
    static __device__ Left left(const u32 (&a)[4], u32 half) {
        Left parts;
#pragma unroll
        for (int k = 0; k < 4; k++) split(a[k], half, parts.high[k], parts.low[k]);
        return parts;
    }
    static __device__ Right right(u32 first, u32 second, u32 half) {
        Right parts;
        split(first, half, parts.high[0], parts.low[0]), split(second, half, parts.high[1], parts.low[1]);
        return parts;
    }
    static __device__ void add(float (&d)[4], const Left (&a)[2], const Right (&b)[2], u32 half_place) {
        // Zeros, of which the compiler believes that they come from d: so one piece waits for the other, and they need
        // no registers at the same time.
        float sum[4];
#pragma unroll
        for (int k = 0; k < 4; k++) sum[k] = __uint_as_float(__float_as_uint(d[k]) & (half_place & 1));
#pragma unroll
        for (int half = 0; half < 2; half++) {
            mma_tf32(sum, a[half].low, b[half].high);
            mma_tf32(sum, a[half].high, b[half].low);
        }
        mma_tf32(sum, a[0].high, b[0].high);
        mma_tf32(sum, a[1].high, b[1].high);
#pragma unroll
        for (int k = 0; k < 4; k++) d[k] += sum[k];
    }
};
