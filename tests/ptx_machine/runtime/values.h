// Numbers in PTX: registers hold bits, and an instruction determines what the bits mean.
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;

template <class To, class From>
static inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline f16 to_f16(u64 bits) { return bits_as<f16>((u16)bits); }
static inline f32 to_f32(u64 bits) { return bits_as<f32>((u32)bits); }
static inline f64 to_f64(u64 bits) { return bits_as<f64>(bits); }
static inline u16 bits_of(f16 x) { return bits_as<u16>(x); }
static inline u32 bits_of(f32 x) { return bits_as<u32>(x); }
static inline u64 bits_of(f64 x) { return bits_as<u64>(x); }

// ---- integers

template <class T>
static inline T quotient(T a, T b) {
    if (b == 0) return (T) ~(T)0;
    if (b == (T)-1 && (T)-1 < (T)0) return (T)(0 - (u64)a);
    return a / b;
}
template <class T>
static inline T remainder_of(T a, T b) {
    if (b == 0) return a;
    if (b == (T)-1 && (T)-1 < (T)0) return 0;
    return a % b;
}
template <class T>
static inline T high_product(T a, T b) {
    if constexpr (sizeof(T) < 8) return (T)(((i64)a * (i64)b) >> 8 * sizeof(T));
    else if constexpr ((T)-1 < (T)0) return (T)(((__int128)a * b) >> 64);
    else return (T)(((unsigned __int128)a * b) >> 64);
}
template <>
inline u32 high_product(u32 a, u32 b) {
    return (u32)((u64)a * b >> 32);
}
template <class T>
static inline T shifted_left(T a, u32 n) {
    return n >= 8 * sizeof(T) ? 0 : (T)(a << n);
}
template <class T>
static inline T shifted_right(T a, u32 n) {
    if (n >= 8 * sizeof(T)) return a < 0 ? (T)-1 : (T)0;
    return (T)(a >> n);
}
static inline u32 reversed(u32 x) {
    u32 y = 0;
    for (int k = 0; k < 32; k++) y |= (x >> k & 1) << (31 - k);
    return y;
}
static inline u32 zeros_before(u32 x) { return x ? __builtin_clz(x) : 32; }
static inline u32 zeros_before(u64 x) { return x ? __builtin_clzll(x) : 64; }
static inline u32 highest_bit(u32 x, bool as_shift) {
    return x ? (as_shift ? zeros_before(x) : 31 - zeros_before(x)) : ~0u;
}
static inline u64 inserted(u64 a, u64 b, u32 at, u32 count, u32 bits) {
    at &= 255, count &= 255;
    if (at >= bits || !count) return b;
    const u64 mask = (count >= 64 ? ~0ull : (1ull << count) - 1) << at;
    return (b & ~mask) | (a << at & mask);
}
template <class T>
static inline T extracted(T a, u32 at, u32 count) {
    const u32 bits = 8 * sizeof(T);
    at &= 255, count &= 255;
    if (!count) return 0;
    const bool is_signed = (T)-1 < (T)0;
    const u32 last = at + count - 1 < bits - 1 ? at + count - 1 : bits - 1;
    const bool sign = is_signed && ((u64)a >> last & 1);
    u64 x = 0;
    for (u32 k = 0; k < bits; k++) x |= (u64)(k < count && at + k < bits ? (u64)a >> (at + k) & 1 : sign) << k;
    return (T)x;
}
static inline u32 permuted(u32 a, u32 b, u32 selectors) {
    const u64 all = (u64)b << 32 | a;
    u32 result = 0;
    for (int k = 0; k < 4; k++) {
        const u32 selector = selectors >> 4 * k & 15;
        u32 byte = (u32)(all >> 8 * (selector & 7)) & 255;
        if (selector & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * k;
    }
    return result;
}
static inline u32 funnel_left(u32 low, u32 high, u32 n) { return (u32)(((u64)high << 32 | low) << n >> 32); }
static inline u32 funnel_right(u32 low, u32 high, u32 n) { return (u32)(((u64)high << 32 | low) >> n); }
static inline u32 looked_up(u32 a, u32 b, u32 c, u32 table) {
    u32 result = 0;
    for (u32 k = 0; k < 32; k++) result |= (table >> ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1)) & 1) << k;
    return result;
}

// ---- floating point

template <class T>
static inline T flushed(T x) {  // .ftz
    return fabs((f64)x) < 0x1p-126 ? (T)copysign(0.0, (f64)x) : x;
}
template <class T>
static inline T smaller(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    return a < b || (a == b && signbit((f64)a)) ? a : b;
}
template <class T>
static inline T larger(T a, T b) {
    if (a != a) return b;
    if (b != b) return a;
    return a > b || (a == b && !signbit((f64)a)) ? a : b;
}
template <class T>
static inline T smaller_or_nan(T a, T b) {
    return a != a ? a : b != b ? b : smaller(a, b);
}
template <class T>
static inline T larger_or_nan(T a, T b) {
    return a != a ? a : b != b ? b : larger(a, b);
}
template <class T>
static inline T saturated(T x) {
    return x > (T)0 ? (x < (T)1 ? x : (T)1) : (T)0;
}
static inline f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
static inline f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
static inline f16 fused(f16 a, f16 b, f16 c) { return (f16)((f64)a * (f64)b + (f64)c); }

// sum + error is exactly a + b
static inline f64 sum_and_error(f64 a, f64 b, f64 &error) {
    const f64 sum = a + b, part = sum - a;
    error = (a - (sum - part)) + (b - part);
    return sum;
}
static inline f32 rounded_down(f64 sum, f64 error) {
    const f32 x = (f32)sum;
    return x > sum || (x == sum && error < 0) ? nextafterf(x, -INFINITY) : x;
}
static inline f32 fused_down(f32 a, f32 b, f32 c) {
    f64 error;
    const f64 sum = sum_and_error((f64)a * b, c, error);
    return isfinite(sum) ? rounded_down(sum, error) : (f32)sum;
}
static inline f32 sum_down(f32 a, f32 b) { return fused_down(a, 1.0f, b); }
static inline f32 sum_to_zero(f32 a, f32 b) {
    return (f64)a + b < 0 ? -fused_down(-a, 1.0f, -b) : fused_down(a, 1.0f, b);
}

// A number as an integer type. NaN becomes 0, and values that are too large become the largest one.
template <class To, class From>
static inline To to_integer(From x) {
    const bool is_signed = (To)-1 < (To)0;
    const int bits = 8 * sizeof(To) - is_signed;
    const To most = is_signed ? (To)((1ull << (bits - 1)) - 1 + (1ull << (bits - 1))) : (To)-1;
    if (x != x) return 0;
    if ((f64)x >= ldexp(1.0, bits)) return most;
    if ((f64)x <= (is_signed ? -ldexp(1.0, bits) : 0.0)) return is_signed ? (To)(~most) : 0;
    return (To)x;
}
template <class T>
static inline T nearest_even(T x) {
    return (T)__builtin_rint((f64)x);
}
