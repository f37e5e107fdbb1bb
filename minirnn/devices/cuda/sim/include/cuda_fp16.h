// half and half2 in software: 16 bits of storage, arithmetic in float, rounded once for each operation.
//
// float carries more than twice the digits of half, so the second rounding changes nothing: + - * / sqrt are exact.
#pragma once

namespace cusim {

// Round to nearest, ties to even.
CUSIM_OWN uint16_t half_from_float(float x) {
    const uint32_t bits = cusim::bits<uint32_t>(x);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7fff);   // NaN
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // 65520 and more: infinity
    if (magnitude < 0x38800000) {  // subnormal: let the float unit round at the last bit
        const float shifted = cusim::bits<float>(magnitude) + 0.5f;
        return (uint16_t)(sign | (cusim::bits<uint32_t>(shifted) - 0x3f000000));
    }
    return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

CUSIM_OWN float float_from_half(uint16_t x) {
    const uint32_t sign = (uint32_t)(x & 0x8000) << 16, magnitude = x & 0x7fff;
    if (magnitude >= 0x7c00) return cusim::bits<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400) {  // subnormal, in units of 2^-24
        const float value = (float)magnitude * 5.9604644775390625e-8f;
        return cusim::bits<float>(cusim::bits<uint32_t>(value) | sign);
    }
    return cusim::bits<float>(sign | ((magnitude << 13) + 0x38000000));
}

// Rounds to odd, so that the rounding to half that follows sees on which side of a tie the double was.
CUSIM_OWN float odd_float(double x) {
    const float nearest = (float)x;
    uint32_t bits = cusim::bits<uint32_t>(nearest);
    if (nearest == x || x != x || (bits & 0x7fffffff) == 0x7f800000) return nearest;
    if (fabs((double)nearest) > fabs(x)) bits--;
    return cusim::bits<float>(bits | 1);
}

}  // namespace cusim

struct __half_raw {
    unsigned short x;
};

struct alignas(2) __half {
    uint16_t bits;

    __half() = default;
    __half(const __half_raw &raw) : bits(raw.x) {}
    __half(float x) : bits(cusim::half_from_float(x)) {}
    __half(double x) : bits(cusim::half_from_float(cusim::odd_float(x))) {}
    __half(short x) : __half((float)x) {}
    __half(unsigned short x) : __half((float)x) {}
    __half(int x) : __half((float)x) {}
    __half(unsigned x) : __half((float)x) {}
    __half(long x) : __half((float)x) {}
    __half(unsigned long x) : __half((float)x) {}
    __half(long long x) : __half((float)x) {}
    __half(unsigned long long x) : __half((float)x) {}

    // All the conversions of CUDA, so that what is ambiguous there (float += half) is ambiguous here.
    operator float() const { return cusim::float_from_half(bits); }
    operator __half_raw() const { return {bits}; }
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
        return cusim::clamped<T>(truncf(cusim::float_from_half(bits)));
    }
};
typedef __half half;
static_assert(sizeof(half) == 2, "half has 16 bits");

namespace cusim {
template <>
struct Letter<__half> {
    static constexpr char value = 'e';
};
}  // namespace cusim

#define CUSIM_HALF static CUSIM_INLINE

#define CUSIM_HALF_OPERATOR(op)                                                                      \
    CUSIM_HALF __half operator op(const __half &a, const __half &b) { return float(a) op float(b); } \
    CUSIM_HALF __half &operator op## = (__half & a, const __half &b) { return a = a op b; }
CUSIM_HALF_OPERATOR(+)
CUSIM_HALF_OPERATOR(-)
CUSIM_HALF_OPERATOR(*)
CUSIM_HALF_OPERATOR(/)
CUSIM_HALF __half operator+(const __half &a) { return a; }
CUSIM_HALF __half operator-(const __half &a) { return __half_raw{(unsigned short)(a.bits ^ 0x8000)}; }
CUSIM_HALF __half &operator++(__half &a) { return a = a + __half(1); }
CUSIM_HALF __half &operator--(__half &a) { return a = a - __half(1); }
CUSIM_HALF __half operator++(__half &a, int) {
    const __half before = a;
    ++a;
    return before;
}
CUSIM_HALF __half operator--(__half &a, int) {
    const __half before = a;
    --a;
    return before;
}

#define CUSIM_HALF_COMPARISON(op, name)                                                            \
    CUSIM_HALF bool operator op(const __half &a, const __half &b) { return float(a) op float(b); } \
    CUSIM_HALF bool name(__half a, __half b) { return float(a) op float(b); }
CUSIM_HALF_COMPARISON(==, __heq)
CUSIM_HALF_COMPARISON(!=, __hne)
CUSIM_HALF_COMPARISON(<, __hlt)
CUSIM_HALF_COMPARISON(<=, __hle)
CUSIM_HALF_COMPARISON(>, __hgt)
CUSIM_HALF_COMPARISON(>=, __hge)

// ----------------------------------------------------------------------------------------------- conversions

CUSIM_HALF __half __float2half(float x) { return x; }
CUSIM_HALF __half __float2half_rn(float x) { return x; }
CUSIM_HALF __half __double2half(double x) { return x; }
CUSIM_HALF __half __int2half_rn(int x) { return x; }
CUSIM_HALF __half __uint2half_rn(unsigned x) { return x; }
CUSIM_HALF __half __short2half_rn(short x) { return x; }
CUSIM_HALF __half __ushort2half_rn(unsigned short x) { return x; }
CUSIM_HALF float __half2float(__half x) { return x; }
CUSIM_HALF int __half2int_rn(__half x) { return __float2int_rn(x); }
CUSIM_HALF int __half2int_rz(__half x) { return __float2int_rz(x); }
CUSIM_HALF int __half2int_rd(__half x) { return __float2int_rd(x); }
CUSIM_HALF int __half2int_ru(__half x) { return __float2int_ru(x); }
CUSIM_HALF unsigned __half2uint_rn(__half x) { return __float2uint_rn(x); }
CUSIM_HALF unsigned __half2uint_rz(__half x) { return __float2uint_rz(x); }
CUSIM_HALF unsigned short __half_as_ushort(__half x) { return x.bits; }
CUSIM_HALF short __half_as_short(__half x) { return (short)x.bits; }
CUSIM_HALF __half __ushort_as_half(unsigned short x) { return __half_raw{x}; }
CUSIM_HALF __half __short_as_half(short x) { return __half_raw{(unsigned short)x}; }

// ------------------------------------------------------------------------------------------------ arithmetic

CUSIM_HALF __half __hadd(__half a, __half b) { return a + b; }
CUSIM_HALF __half __hsub(__half a, __half b) { return a - b; }
CUSIM_HALF __half __hmul(__half a, __half b) { return a * b; }
CUSIM_HALF __half __hdiv(__half a, __half b) { return a / b; }
CUSIM_HALF __half __hadd_rn(__half a, __half b) { return a + b; }
CUSIM_HALF __half __hsub_rn(__half a, __half b) { return a - b; }
CUSIM_HALF __half __hmul_rn(__half a, __half b) { return a * b; }
CUSIM_HALF __half cusim_saturated(__half a) { return __saturatef((float)a); }
CUSIM_HALF __half __hadd_sat(__half a, __half b) { return cusim_saturated(a + b); }
CUSIM_HALF __half __hsub_sat(__half a, __half b) { return cusim_saturated(a - b); }
CUSIM_HALF __half __hmul_sat(__half a, __half b) { return cusim_saturated(a * b); }
CUSIM_HALF __half __hneg(__half a) { return -a; }
CUSIM_HALF __half __habs(__half a) { return __half_raw{(unsigned short)(a.bits & 0x7fff)}; }
CUSIM_HALF __half __hfma(__half a, __half b, __half c) {
    return double(float(a)) * double(float(b)) + double(float(c));
}
CUSIM_HALF __half __hfma_relu(__half a, __half b, __half c) {
    const __half sum = __hfma(a, b, c);
    return float(sum) < 0 ? __half(0) : sum;
}
CUSIM_HALF bool __hisnan(__half a) { return (a.bits & 0x7fff) > 0x7c00; }
CUSIM_HALF int __hisinf(__half a) { return a.bits == 0x7c00 ? 1 : a.bits == 0xfc00 ? -1 : 0; }
CUSIM_HALF __half __hmax(__half a, __half b) { return fmaxf(float(a), float(b)); }
CUSIM_HALF __half __hmin(__half a, __half b) { return fminf(float(a), float(b)); }
CUSIM_HALF __half __hmax_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmax(a, b); }
CUSIM_HALF __half __hmin_nan(__half a, __half b) { return __hisnan(a) ? a : __hisnan(b) ? b : __hmin(a, b); }

#define CUSIM_HALF_FUNCTION(name, function) \
    CUSIM_HALF __half name(__half a) { return function((float)a); }
CUSIM_HALF_FUNCTION(hexp, expf)
CUSIM_HALF_FUNCTION(hexp2, exp2f)
CUSIM_HALF_FUNCTION(hexp10, exp10f)
CUSIM_HALF_FUNCTION(hlog, logf)
CUSIM_HALF_FUNCTION(hlog2, log2f)
CUSIM_HALF_FUNCTION(hlog10, log10f)
CUSIM_HALF_FUNCTION(hsin, sinf)
CUSIM_HALF_FUNCTION(hcos, cosf)
CUSIM_HALF_FUNCTION(htanh, tanhf)
CUSIM_HALF_FUNCTION(htanh_approx, tanhf)
CUSIM_HALF_FUNCTION(hsqrt, sqrtf)
CUSIM_HALF_FUNCTION(hrsqrt, rsqrtf)
CUSIM_HALF_FUNCTION(hrcp, __frcp_rn)
CUSIM_HALF_FUNCTION(hfloor, floorf)
CUSIM_HALF_FUNCTION(hceil, ceilf)
CUSIM_HALF_FUNCTION(htrunc, truncf)
CUSIM_HALF_FUNCTION(hrint, rintf)

// ----------------------------------------------------------------------------------------------------- half2

struct alignas(4) __half2 {
    __half x, y;

    __half2() = default;
    __half2(const __half &x, const __half &y) : x(x), y(y) {}
};
typedef __half2 half2;

CUSIM_HALF __half2 make_half2(__half x, __half y) { return {x, y}; }
CUSIM_HALF __half2 __halves2half2(__half x, __half y) { return {x, y}; }
CUSIM_HALF __half2 __half2half2(__half x) { return {x, x}; }
CUSIM_HALF __half2 __float2half2_rn(float x) { return {x, x}; }
CUSIM_HALF __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
CUSIM_HALF __half2 __float22half2_rn(float2 a) { return {a.x, a.y}; }
CUSIM_HALF float2 __half22float2(__half2 a) { return {a.x, a.y}; }
CUSIM_HALF float __low2float(__half2 a) { return a.x; }
CUSIM_HALF float __high2float(__half2 a) { return a.y; }
CUSIM_HALF __half __low2half(__half2 a) { return a.x; }
CUSIM_HALF __half __high2half(__half2 a) { return a.y; }
CUSIM_HALF __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
CUSIM_HALF __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
CUSIM_HALF __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
CUSIM_HALF __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
CUSIM_HALF __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }

#define CUSIM_HALF2_OPERATOR(op, name)                                                                      \
    CUSIM_HALF __half2 operator op(const __half2 &a, const __half2 &b) { return {a.x op b.x, a.y op b.y}; } \
    CUSIM_HALF __half2 &operator op## = (__half2 & a, const __half2 &b) { return a = a op b; }              \
    CUSIM_HALF __half2 name(__half2 a, __half2 b) { return a op b; }
CUSIM_HALF2_OPERATOR(+, __hadd2)
CUSIM_HALF2_OPERATOR(-, __hsub2)
CUSIM_HALF2_OPERATOR(*, __hmul2)
CUSIM_HALF2_OPERATOR(/, __h2div)
CUSIM_HALF __half2 operator-(const __half2 &a) { return {-a.x, -a.y}; }
CUSIM_HALF bool operator==(const __half2 &a, const __half2 &b) { return a.x == b.x && a.y == b.y; }
CUSIM_HALF bool operator!=(const __half2 &a, const __half2 &b) { return a.x != b.x && a.y != b.y; }
CUSIM_HALF __half2 __hneg2(__half2 a) { return -a; }
CUSIM_HALF __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
CUSIM_HALF __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
CUSIM_HALF __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
CUSIM_HALF __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
CUSIM_HALF __half2 h2exp(__half2 a) { return {hexp(a.x), hexp(a.y)}; }
CUSIM_HALF __half2 h2tanh(__half2 a) { return {htanh(a.x), htanh(a.y)}; }
CUSIM_HALF __half2 h2sqrt(__half2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }
CUSIM_HALF __half2 h2rcp(__half2 a) { return {hrcp(a.x), hrcp(a.y)}; }
