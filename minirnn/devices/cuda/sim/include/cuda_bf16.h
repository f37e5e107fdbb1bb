// bfloat16 in software: the upper half of a float, arithmetic in float, rounded once for each operation.
//
// float carries more than twice the digits of bfloat16, so the second rounding changes nothing: + - * / sqrt are exact.
#pragma once

namespace cusim {

enum Rounding { NEAREST, TO_ZERO, DOWN, UP };

CUSIM_OWN uint16_t bfloat16_from_float(float x, Rounding rounding = NEAREST) {
    const uint32_t bits = cusim::bits<uint32_t>(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;  // NaN
    const bool negative = bits >> 31, inexact = bits & 0xffff;
    uint32_t more = 0;
    if (rounding == NEAREST) more = 0x7fff + (bits >> 16 & 1);
    else if (inexact && (rounding == UP ? !negative : rounding == DOWN ? negative : false)) more = 0x10000;
    return (uint16_t)((bits + more) >> 16);  // a carry goes into the exponent, and at last to infinity
}

CUSIM_OWN float float_from_bfloat16(uint16_t x) { return cusim::bits<float>((uint32_t)x << 16); }

// Rounds to odd, so that the rounding to bfloat16 that follows sees on which side of a tie the double was.
CUSIM_OWN float float_for_bfloat16(double x) {
    const float nearest = (float)x;
    uint32_t bits = cusim::bits<uint32_t>(nearest);
    if (nearest == x || x != x || (bits & 0x7fffffff) == 0x7f800000) return nearest;
    if (fabs((double)nearest) > fabs(x)) bits--;
    return cusim::bits<float>(bits | 1);
}

}  // namespace cusim

struct __nv_bfloat16_raw {
    unsigned short x;
};

struct alignas(2) __nv_bfloat16 {
    uint16_t bits;

    __nv_bfloat16() = default;
    __nv_bfloat16(const __nv_bfloat16_raw &raw) : bits(raw.x) {}
    __nv_bfloat16(float x) : bits(cusim::bfloat16_from_float(x)) {}
    __nv_bfloat16(double x) : bits(cusim::bfloat16_from_float(cusim::float_for_bfloat16(x))) {}
    __nv_bfloat16(short x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(unsigned short x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(int x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(unsigned x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(long x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(unsigned long x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(long long x) : __nv_bfloat16((double)x) {}
    __nv_bfloat16(unsigned long long x) : __nv_bfloat16((double)x) {}

    // All the conversions of CUDA, so that what is ambiguous there (float += bfloat16) is ambiguous here.
    operator float() const { return cusim::float_from_bfloat16(bits); }
    operator __nv_bfloat16_raw() const { return {bits}; }
    operator bool() const { return (bits & 0x7fff) != 0; }
    operator char() const { return integer<char>(); }
    operator signed char() const { return integer<signed char>(); }
    operator unsigned char() const { return integer<unsigned char>(); }
    operator short() const { return integer<short>(); }
    operator unsigned short() const { return integer<unsigned short>(); }
    operator int() const { return integer<int>(); }
    operator unsigned() const { return integer<unsigned>(); }
    operator long() const { return integer<long>(); }
    operator unsigned long() const { return integer<unsigned long>(); }
    operator long long() const { return integer<long long>(); }
    operator unsigned long long() const { return integer<unsigned long long>(); }

    template <class T>
    CUSIM_INLINE T integer() const {
        return cusim::clamped<T>(truncf(cusim::float_from_bfloat16(bits)));
    }
};
typedef __nv_bfloat16 nv_bfloat16;
static_assert(sizeof(__nv_bfloat16) == 2, "bfloat16 has 16 bits");

namespace cusim {
template <>
struct Letter<__nv_bfloat16> {
    static constexpr char value = 'H';  // NumPy has no such type: its bits, as numpy.uint16
};
}  // namespace cusim

#define CUSIM_BF16 static CUSIM_INLINE

#define CUSIM_BF16_OPERATOR(op)                                                            \
    CUSIM_BF16 __nv_bfloat16 operator op(const __nv_bfloat16 &a, const __nv_bfloat16 &b) { \
        return float(a) op float(b);                                                       \
    }                                                                                      \
    CUSIM_BF16 __nv_bfloat16 &operator op## = (__nv_bfloat16 & a, const __nv_bfloat16 &b) { return a = a op b; }
CUSIM_BF16_OPERATOR(+)
CUSIM_BF16_OPERATOR(-)
CUSIM_BF16_OPERATOR(*)
CUSIM_BF16_OPERATOR(/)
CUSIM_BF16 __nv_bfloat16 operator+(const __nv_bfloat16 &a) { return a; }
CUSIM_BF16 __nv_bfloat16 operator-(const __nv_bfloat16 &a) {
    return __nv_bfloat16_raw{(unsigned short)(a.bits ^ 0x8000)};
}
CUSIM_BF16 __nv_bfloat16 &operator++(__nv_bfloat16 &a) { return a = a + __nv_bfloat16(1); }
CUSIM_BF16 __nv_bfloat16 &operator--(__nv_bfloat16 &a) { return a = a - __nv_bfloat16(1); }
CUSIM_BF16 __nv_bfloat16 operator++(__nv_bfloat16 &a, int) {
    const __nv_bfloat16 before = a;
    ++a;
    return before;
}
CUSIM_BF16 __nv_bfloat16 operator--(__nv_bfloat16 &a, int) {
    const __nv_bfloat16 before = a;
    --a;
    return before;
}

#define CUSIM_BF16_COMPARISON(op, name)                                                                          \
    CUSIM_BF16 bool operator op(const __nv_bfloat16 &a, const __nv_bfloat16 &b) { return float(a) op float(b); } \
    CUSIM_BF16 bool name(__nv_bfloat16 a, __nv_bfloat16 b) { return float(a) op float(b); }
CUSIM_BF16_COMPARISON(==, __heq)
CUSIM_BF16_COMPARISON(!=, __hne)
CUSIM_BF16_COMPARISON(<, __hlt)
CUSIM_BF16_COMPARISON(<=, __hle)
CUSIM_BF16_COMPARISON(>, __hgt)
CUSIM_BF16_COMPARISON(>=, __hge)

// ----------------------------------------------------------------------------------------------- conversions

#define CUSIM_BF16_ROUNDED(suffix, rounding)                                                           \
    CUSIM_BF16 __nv_bfloat16 __float2bfloat16_##suffix(float x) {                                      \
        return __nv_bfloat16_raw{cusim::bfloat16_from_float(x, cusim::rounding)};                      \
    }                                                                                                  \
    CUSIM_BF16 int __bfloat162int_##suffix(__nv_bfloat16 x) { return __float2int_##suffix(x); }        \
    CUSIM_BF16 unsigned __bfloat162uint_##suffix(__nv_bfloat16 x) { return __float2uint_##suffix(x); } \
    CUSIM_BF16 long long __bfloat162ll_##suffix(__nv_bfloat16 x) { return __float2ll_##suffix(x); }
CUSIM_BF16_ROUNDED(rn, NEAREST)
CUSIM_BF16_ROUNDED(rz, TO_ZERO)
CUSIM_BF16_ROUNDED(rd, DOWN)
CUSIM_BF16_ROUNDED(ru, UP)
CUSIM_BF16 __nv_bfloat16 __float2bfloat16(float x) { return x; }
CUSIM_BF16 __nv_bfloat16 __double2bfloat16(double x) { return x; }
CUSIM_BF16 __nv_bfloat16 __int2bfloat16_rn(int x) { return x; }
CUSIM_BF16 __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return x; }
CUSIM_BF16 __nv_bfloat16 __short2bfloat16_rn(short x) { return x; }
CUSIM_BF16 __nv_bfloat16 __ushort2bfloat16_rn(unsigned short x) { return x; }
CUSIM_BF16 float __bfloat162float(__nv_bfloat16 x) { return x; }
CUSIM_BF16 unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
CUSIM_BF16 short __bfloat16_as_short(__nv_bfloat16 x) { return (short)x.bits; }
CUSIM_BF16 __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16_raw{x}; }
CUSIM_BF16 __nv_bfloat16 __short_as_bfloat16(short x) { return __nv_bfloat16_raw{(unsigned short)x}; }

// ------------------------------------------------------------------------------------------------ arithmetic

CUSIM_BF16 __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
CUSIM_BF16 __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
CUSIM_BF16 __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
CUSIM_BF16 __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return a / b; }
CUSIM_BF16 __nv_bfloat16 __hadd_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
CUSIM_BF16 __nv_bfloat16 __hsub_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
CUSIM_BF16 __nv_bfloat16 __hmul_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
CUSIM_BF16 __nv_bfloat16 __hadd_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return __saturatef(a + b); }
CUSIM_BF16 __nv_bfloat16 __hsub_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return __saturatef(a - b); }
CUSIM_BF16 __nv_bfloat16 __hmul_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return __saturatef(a * b); }
CUSIM_BF16 __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
CUSIM_BF16 __nv_bfloat16 __habs(__nv_bfloat16 a) { return __nv_bfloat16_raw{(unsigned short)(a.bits & 0x7fff)}; }
// The product is exact in double; the sum is rounded to odd, once for all if it does not fit.
CUSIM_BF16 __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    const double product = double(float(a)) * double(float(b)), addend = float(c), sum = product + addend;
    const double part = sum - product, error = (product - (sum - part)) + (addend - part);
    unsigned long long bits = cusim::bits<unsigned long long>(sum);
    if (error != 0 && !isinf(sum) && sum == sum && !(bits & 1)) {
        if ((error > 0) == (sum > 0)) bits |= 1;
        else bits -= 1;
    }
    return cusim::bits<double>(bits);
}
CUSIM_BF16 __nv_bfloat16 __hfma_relu(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    const __nv_bfloat16 sum = __hfma(a, b, c);
    return float(sum) < 0 ? __nv_bfloat16(0) : sum;
}
CUSIM_BF16 bool __hisnan(__nv_bfloat16 a) { return (a.bits & 0x7fff) > 0x7f80; }
CUSIM_BF16 int __hisinf(__nv_bfloat16 a) { return a.bits == 0x7f80 ? 1 : a.bits == 0xff80 ? -1 : 0; }
CUSIM_BF16 __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) { return fmaxf(float(a), float(b)); }
CUSIM_BF16 __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) { return fminf(float(a), float(b)); }
CUSIM_BF16 __nv_bfloat16 __hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b);
}
CUSIM_BF16 __nv_bfloat16 __hmin_nan(__nv_bfloat16 a, __nv_bfloat16 b) {
    return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b);
}

#define CUSIM_BF16_FUNCTION(name, function) \
    CUSIM_BF16 __nv_bfloat16 name(__nv_bfloat16 a) { return function((float)a); }
CUSIM_BF16_FUNCTION(hexp, expf)
CUSIM_BF16_FUNCTION(hexp2, exp2f)
CUSIM_BF16_FUNCTION(hexp10, exp10f)
CUSIM_BF16_FUNCTION(hlog, logf)
CUSIM_BF16_FUNCTION(hlog2, log2f)
CUSIM_BF16_FUNCTION(hlog10, log10f)
CUSIM_BF16_FUNCTION(hsin, sinf)
CUSIM_BF16_FUNCTION(hcos, cosf)
CUSIM_BF16_FUNCTION(htanh, tanhf)
CUSIM_BF16_FUNCTION(hsqrt, sqrtf)
CUSIM_BF16_FUNCTION(hrsqrt, rsqrtf)
CUSIM_BF16_FUNCTION(hrcp, __frcp_rn)
CUSIM_BF16_FUNCTION(hfloor, floorf)
CUSIM_BF16_FUNCTION(hceil, ceilf)
CUSIM_BF16_FUNCTION(htrunc, truncf)
CUSIM_BF16_FUNCTION(hrint, rintf)

// ---------------------------------------------------------------------------------------------------- in pairs

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;

    __nv_bfloat162() = default;
    __nv_bfloat162(const __nv_bfloat16 &x, const __nv_bfloat16 &y) : x(x), y(y) {}
};
typedef __nv_bfloat162 nv_bfloat162;

CUSIM_BF16 __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
CUSIM_BF16 __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
CUSIM_BF16 __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
CUSIM_BF16 __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
CUSIM_BF16 __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
CUSIM_BF16 __nv_bfloat162 __float22bfloat162_rn(float2 a) { return {a.x, a.y}; }
CUSIM_BF16 float2 __bfloat1622float2(__nv_bfloat162 a) { return {a.x, a.y}; }
CUSIM_BF16 float __low2float(__nv_bfloat162 a) { return a.x; }
CUSIM_BF16 float __high2float(__nv_bfloat162 a) { return a.y; }
CUSIM_BF16 __nv_bfloat16 __low2bfloat16(__nv_bfloat162 a) { return a.x; }
CUSIM_BF16 __nv_bfloat16 __high2bfloat16(__nv_bfloat162 a) { return a.y; }
CUSIM_BF16 __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
CUSIM_BF16 __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
CUSIM_BF16 __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
CUSIM_BF16 __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
CUSIM_BF16 __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return {a.y, a.x}; }

#define CUSIM_BF162_OPERATOR(op, name)                                                                              \
    CUSIM_BF16 __nv_bfloat162 operator op(const __nv_bfloat162 &a, const __nv_bfloat162 &b) {                       \
        return {a.x op b.x, a.y op b.y};                                                                            \
    }                                                                                                               \
    CUSIM_BF16 __nv_bfloat162 &operator op## = (__nv_bfloat162 & a, const __nv_bfloat162 &b) { return a = a op b; } \
    CUSIM_BF16 __nv_bfloat162 name(__nv_bfloat162 a, __nv_bfloat162 b) { return a op b; }
CUSIM_BF162_OPERATOR(+, __hadd2)
CUSIM_BF162_OPERATOR(-, __hsub2)
CUSIM_BF162_OPERATOR(*, __hmul2)
CUSIM_BF162_OPERATOR(/, __h2div)
CUSIM_BF16 __nv_bfloat162 operator-(const __nv_bfloat162 &a) { return {-a.x, -a.y}; }
CUSIM_BF16 bool operator==(const __nv_bfloat162 &a, const __nv_bfloat162 &b) { return a.x == b.x && a.y == b.y; }
CUSIM_BF16 bool operator!=(const __nv_bfloat162 &a, const __nv_bfloat162 &b) { return a.x != b.x && a.y != b.y; }
CUSIM_BF16 __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return -a; }
CUSIM_BF16 __nv_bfloat162 __habs2(__nv_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
CUSIM_BF16 __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
CUSIM_BF16 __nv_bfloat162 __hmin2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
CUSIM_BF16 __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
    return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
CUSIM_BF16 __nv_bfloat162 h2exp(__nv_bfloat162 a) { return {hexp(a.x), hexp(a.y)}; }
CUSIM_BF16 __nv_bfloat162 h2tanh(__nv_bfloat162 a) { return {htanh(a.x), htanh(a.y)}; }
CUSIM_BF16 __nv_bfloat162 h2sqrt(__nv_bfloat162 a) { return {hsqrt(a.x), hsqrt(a.y)}; }
CUSIM_BF16 __nv_bfloat162 h2rcp(__nv_bfloat162 a) { return {hrcp(a.x), hrcp(a.y)}; }
