// What tensor cores multiply in the kernels of a whole sequence: numbers as operands, 32 bits a word.
//
//   Float16   two float16 a word: for float16 data
//   Tf32      one number a word, rounded to TF32: for float32 data where the user allows it (minirnn.use_precision)
//   Tf32x3    one float32 a word, kept whole. Of x = high + low, both TF32, three products are made: low high, high low,
//             high high. What is left out is 2^-22 of the product at most, so this counts as float32
//
//   EACH           numbers in a word
//   word(x)        the word of EACH numbers
//   Left, Right    a fragment of the weights, a fragment of what they are multiplied with: 32 bytes of a row
//   add(d, a, b)   d += a b
//
// A tensor core drops the digits beyond its sum's last one instead of rounding, each time the same way. Tf32x3 therefore
// makes the sum of 8 products there and adds it to d outside.
#pragma once
#include "mma.cuh"
#include "real.cuh"

struct Float16 {
    static constexpr int EACH = 2;
    typedef const u32 (&Left)[4];
    typedef const u32 (&Right)[2];

    static __device__ u32 word(const float *x) {
        return __half_as_ushort(__float2half(x[0])) | (u32)__half_as_ushort(__float2half(x[1])) << 16;
    }
    static __device__ void add(float (&d)[4], Left a, Right b) { mma_f16(d, a, b); }
};

struct Tf32 {
    static constexpr int EACH = 1;
    typedef const u32 (&Left)[4];
    typedef const u32 (&Right)[2];

    static __device__ u32 word(const float *x) { return to_tf32(x[0]); }
    static __device__ void add(float (&d)[4], Left a, Right b) { mma_tf32(d, a, b); }
};

template <int N>
struct Halves {
    u32 high[N], low[N];

    __device__ Halves(const u32 (&word)[N]) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            high[k] = to_tf32(__uint_as_float(word[k]));
            low[k] = to_tf32(__uint_as_float(word[k]) - __uint_as_float(high[k]));
        }
    }
};

struct Tf32x3 {
    static constexpr int EACH = 1;
    typedef const Halves<4> Left;
    typedef const Halves<2> Right;

    static __device__ u32 word(const float *x) { return __float_as_uint(x[0]); }
    static __device__ void add(float (&d)[4], const Left &a, const Right &b) {
        float sum[4] = {0, 0, 0, 0};
        mma_tf32(sum, a.low, b.high);
        mma_tf32(sum, a.high, b.low);
        mma_tf32(sum, a.high, b.high);
#pragma unroll
        for (int k = 0; k < 4; k++) d[k] += sum[k];
    }
};
