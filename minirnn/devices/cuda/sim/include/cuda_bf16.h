// The specific part of bfloat16, the upper half of a float. The rest is in cusim_sixteen_bits.h.
#pragma once
#include "cusim_odd.h"

struct __nv_bfloat16_raw {
    unsigned short x;
};

namespace cusim {

enum Rounding { NEAREST, TO_ZERO, DOWN, UP };

CUSIM_OWN uint16_t rounded(float x, __nv_bfloat16_raw *, Rounding rounding = NEAREST) {
    const uint32_t bits = cusim::bits<uint32_t>(x);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;  // NaN
    const bool negative = bits >> 31, inexact = bits & 0xffff;
    uint32_t more = 0;
    if (rounding == NEAREST) more = 0x7fff + (bits >> 16 & 1);
    else if (inexact && (rounding == UP ? !negative : rounding == DOWN ? negative : false)) more = 0x10000;
    return (uint16_t)((bits + more) >> 16);  // a carry goes into the exponent, and finally to infinity
}

CUSIM_OWN float widened(__nv_bfloat16_raw raw) { return cusim::bits<float>((uint32_t)raw.x << 16); }

}  // namespace cusim

#define Number __nv_bfloat16
#define Raw __nv_bfloat16_raw
#define Pair __nv_bfloat162
#define CUSIM_WORD bfloat16
#define CUSIM_WORD2 bfloat162
#define CUSIM_INFINITE 0x7f80
#include "cusim_sixteen_bits.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

namespace cusim {
template <>
struct Letter<__nv_bfloat16> {
    static constexpr char value = 'H';  // NumPy has no such type, so it is passed as numpy.uint16
};
}  // namespace cusim

#define CUSIM_ROUNDED(suffix, rounding)                                                      \
    static CUSIM_INLINE __nv_bfloat16 __float2bfloat16_##suffix(float x) {                   \
        return __nv_bfloat16_raw{cusim::rounded(x, (__nv_bfloat16_raw *)nullptr, rounding)}; \
    }
CUSIM_ROUNDED(rz, cusim::TO_ZERO)
CUSIM_ROUNDED(rd, cusim::DOWN)
CUSIM_ROUNDED(ru, cusim::UP)
#undef CUSIM_ROUNDED
static CUSIM_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
