// Functions of CUDA's math that <math.h> lacks. Here the fast versions (__expf ...) are as exact as the slow ones.
#pragma once

// Macros, because the <math.h> of some glibc declares functions of these names.
#define __expf(x) expf(x)
#define __exp2f(x) exp2f(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __tanhf(x) tanhf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, s, c) cusim::sine_and_cosine(x, s, c)
#define sincosf(x, s, c) cusim::sine_and_cosine(x, s, c)
#define sincos(x, s, c) cusim::sine_and_cosine(x, s, c)
#define exp10f(x) cusim::power_of_ten(float(x))
#define exp10(x) cusim::power_of_ten(x)
#define rsqrtf(x) cusim::one_over_root(float(x))
#define rsqrt(x) cusim::one_over_root(x)
#define sinpif(x) cusim::sine_of_pi(float(x))
#define sinpi(x) cusim::sine_of_pi(x)
#define cospif(x) cusim::cosine_of_pi(float(x))
#define cospi(x) cusim::cosine_of_pi(x)

namespace cusim {

template <class T>
CUSIM_INLINE void sine_and_cosine(T x, T *s, T *c) {
    *s = sin(x);
    *c = cos(x);
}
CUSIM_INLINE float power_of_ten(float x) { return (float)pow(10.0, (double)x); }
CUSIM_INLINE double power_of_ten(double x) { return pow(10.0, x); }
CUSIM_INLINE float one_over_root(float x) { return 1.0f / sqrtf(x); }
CUSIM_INLINE double one_over_root(double x) { return 1.0 / sqrt(x); }
template <class T>
CUSIM_INLINE T sine_of_pi(T x) {
    return (T)sin(M_PI * remainder((double)x, 2.0));
}
template <class T>
CUSIM_INLINE T cosine_of_pi(T x) {
    return (T)cos(M_PI * remainder((double)x, 2.0));
}

template <class To, class From>
CUSIM_INLINE To bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

// A GPU converts a number that does not fit to the nearest one that does, and NaN to 0; in C++ this is undefined.
template <class To, class From>
CUSIM_INLINE To clamped(From x) {
    const To low = std::is_signed<To>::value ? To((unsigned long long)1 << (8 * sizeof(To) - 1)) : To(0);
    const To high = To(~low);
    if (x != x) return std::is_same<From, double>::value ? low : To(0);
    if (x <= (From)low) return low;
    return x >= (From)high ? high : To(x);
}

}  // namespace cusim

// ---------------------------------------------------------------------------------------------------- floats

#define CUSIM_MATH static CUSIM_INLINE

CUSIM_MATH float rcbrtf(float x) { return 1.0f / cbrtf(x); }
CUSIM_MATH double rcbrt(double x) { return 1.0 / cbrt(x); }
CUSIM_MATH float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
CUSIM_MATH double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
CUSIM_MATH float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
CUSIM_MATH float norm4df(float a, float b, float c, float d) { return sqrtf(a * a + b * b + c * c + d * d); }
CUSIM_MATH float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
CUSIM_MATH float rhypotf(float a, float b) { return 1.0f / hypotf(a, b); }
CUSIM_MATH float fdividef(float a, float b) { return a / b; }
CUSIM_MATH float __fdividef(float a, float b) { return a / b; }
CUSIM_MATH float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1.0f : 0.0f; }

CUSIM_MATH float __fadd_rn(float a, float b) { return a + b; }
CUSIM_MATH float __fsub_rn(float a, float b) { return a - b; }
CUSIM_MATH float __fmul_rn(float a, float b) { return a * b; }
CUSIM_MATH float __fdiv_rn(float a, float b) { return a / b; }
CUSIM_MATH float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
CUSIM_MATH float __frcp_rn(float x) { return 1.0f / x; }
CUSIM_MATH float __fsqrt_rn(float x) { return sqrtf(x); }
CUSIM_MATH float __frsqrt_rn(float x) { return (float)(1.0 / sqrt((double)x)); }
CUSIM_MATH double __dadd_rn(double a, double b) { return a + b; }
CUSIM_MATH double __dsub_rn(double a, double b) { return a - b; }
CUSIM_MATH double __dmul_rn(double a, double b) { return a * b; }
CUSIM_MATH double __ddiv_rn(double a, double b) { return a / b; }
CUSIM_MATH double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

CUSIM_MATH int __float_as_int(float x) { return cusim::bits<int>(x); }
CUSIM_MATH unsigned __float_as_uint(float x) { return cusim::bits<unsigned>(x); }
CUSIM_MATH float __int_as_float(int x) { return cusim::bits<float>(x); }
CUSIM_MATH float __uint_as_float(unsigned x) { return cusim::bits<float>(x); }
CUSIM_MATH long long __double_as_longlong(double x) { return cusim::bits<long long>(x); }
CUSIM_MATH double __longlong_as_double(long long x) { return cusim::bits<double>(x); }
CUSIM_MATH int __double2hiint(double x) { return (int)(cusim::bits<long long>(x) >> 32); }
CUSIM_MATH int __double2loint(double x) { return (int)cusim::bits<long long>(x); }
CUSIM_MATH double __hiloint2double(int high, int low) {
    return cusim::bits<double>((long long)high << 32 | (unsigned)low);
}

// __float2int_rn and the like: rn to nearest, rz toward zero, rd down, ru up
#define CUSIM_CONVERSIONS(name, From, To)                                        \
    CUSIM_MATH To name##_rn(From x) { return cusim::clamped<To>(nearbyint(x)); } \
    CUSIM_MATH To name##_rz(From x) { return cusim::clamped<To>(trunc(x)); }     \
    CUSIM_MATH To name##_rd(From x) { return cusim::clamped<To>(floor(x)); }     \
    CUSIM_MATH To name##_ru(From x) { return cusim::clamped<To>(ceil(x)); }
CUSIM_CONVERSIONS(__float2int, float, int)
CUSIM_CONVERSIONS(__float2uint, float, unsigned)
CUSIM_CONVERSIONS(__float2ll, float, long long)
CUSIM_CONVERSIONS(__float2ull, float, unsigned long long)
CUSIM_CONVERSIONS(__double2int, double, int)
CUSIM_CONVERSIONS(__double2uint, double, unsigned)
CUSIM_CONVERSIONS(__double2ll, double, long long)
CUSIM_CONVERSIONS(__double2ull, double, unsigned long long)
CUSIM_MATH float __int2float_rn(int x) { return (float)x; }
CUSIM_MATH float __uint2float_rn(unsigned x) { return (float)x; }
CUSIM_MATH float __ll2float_rn(long long x) { return (float)x; }
CUSIM_MATH float __ull2float_rn(unsigned long long x) { return (float)x; }
CUSIM_MATH double __int2double_rn(int x) { return x; }
CUSIM_MATH double __uint2double_rn(unsigned x) { return x; }
CUSIM_MATH double __ll2double_rn(long long x) { return (double)x; }
CUSIM_MATH float __double2float_rn(double x) { return (float)x; }

// -------------------------------------------------------------------------------------------------- integers

CUSIM_MATH int __popc(unsigned x) { return __builtin_popcount(x); }
CUSIM_MATH int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
CUSIM_MATH int __clz(int x) { return x ? __builtin_clz(x) : 32; }
CUSIM_MATH int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
CUSIM_MATH int __ffs(int x) { return __builtin_ffs(x); }
CUSIM_MATH int __ffsll(long long x) { return __builtin_ffsll(x); }
CUSIM_MATH unsigned __brev(unsigned x) {
    x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
    x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
    x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(x);
}
CUSIM_MATH unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
CUSIM_MATH unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const unsigned long long bytes = (unsigned long long)b << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; i++) {
        const unsigned pick = selector >> 4 * i;
        unsigned byte = (unsigned)(bytes >> 8 * (pick & 7)) & 0xff;
        if (pick & 8) byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}
CUSIM_MATH int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
CUSIM_MATH unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
CUSIM_MATH long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
CUSIM_MATH unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
CUSIM_MATH int __mul24(int a, int b) { return (int)((unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8)); }
CUSIM_MATH unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
CUSIM_MATH unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) << (shift & 31) >> 32);
}
CUSIM_MATH unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((unsigned long long)high << 32 | low) >> (shift & 31));
}

// min and max: only the overloads of CUDA, so that calls that are ambiguous there are ambiguous here. Among
// floating-point numbers a NaN is ignored, as in fmin and fmax.
#define CUSIM_MIN_MAX(A, B, Both)                                                   \
    CUSIM_MATH Both min(A a, B b) { return (Both)b < (Both)a ? (Both)b : (Both)a; } \
    CUSIM_MATH Both max(A a, B b) { return (Both)b > (Both)a ? (Both)b : (Both)a; }
#define CUSIM_MIN_MAX_INTEGER(Signed)                                \
    CUSIM_MIN_MAX(Signed, Signed, Signed)                            \
    CUSIM_MIN_MAX(unsigned Signed, unsigned Signed, unsigned Signed) \
    CUSIM_MIN_MAX(Signed, unsigned Signed, unsigned Signed)          \
    CUSIM_MIN_MAX(unsigned Signed, Signed, unsigned Signed)
CUSIM_MIN_MAX_INTEGER(int)
CUSIM_MIN_MAX_INTEGER(long)
CUSIM_MIN_MAX_INTEGER(long long)
CUSIM_MATH float min(float a, float b) { return fminf(a, b); }
CUSIM_MATH float max(float a, float b) { return fmaxf(a, b); }
CUSIM_MATH double min(double a, double b) { return fmin(a, b); }
CUSIM_MATH double max(double a, double b) { return fmax(a, b); }
CUSIM_MATH double min(float a, double b) { return fmin((double)a, b); }
CUSIM_MATH double max(float a, double b) { return fmax((double)a, b); }
CUSIM_MATH double min(double a, float b) { return fmin(a, (double)b); }
CUSIM_MATH double max(double a, float b) { return fmax(a, (double)b); }
CUSIM_MATH unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
CUSIM_MATH unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
