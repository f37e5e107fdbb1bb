// The specific part of half and half2. The rest is in cusim_sixteen_bits.h.
#pragma once
#include "cusim_odd.h"

struct __half_raw {
    unsigned short x;
};

namespace cusim {

// Round to nearest, ties to even.
CUSIM_OWN uint16_t rounded(float x, __half_raw *) {
    const uint32_t bits = cusim::bits<uint32_t>(x);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7fff);   // NaN
    if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // 65520 and more: infinity
    if (magnitude < 0x38800000) {
        // Subnormal: the float unit rounds at the last bit.
        const float shifted = cusim::bits<float>(magnitude) + 0.5f;
        return (uint16_t)(sign | (cusim::bits<uint32_t>(shifted) - 0x3f000000));
    }
    return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

CUSIM_OWN float widened(__half_raw raw) {
    const uint32_t sign = (uint32_t)(raw.x & 0x8000) << 16, magnitude = raw.x & 0x7fff;
    if (magnitude >= 0x7c00) return cusim::bits<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
    if (magnitude < 0x400) {  // subnormal, in units of 2^-24
        const float value = (float)magnitude * 5.9604644775390625e-8f;
        return cusim::bits<float>(cusim::bits<uint32_t>(value) | sign);
    }
    return cusim::bits<float>(sign | ((magnitude << 13) + 0x38000000));
}

}  // namespace cusim

#define Number __half
#define Raw __half_raw
#define Pair __half2
#define CUSIM_WORD half
#define CUSIM_WORD2 half2
#define CUSIM_INFINITE 0x7c00
#include "cusim_sixteen_bits.h"

typedef __half half;
typedef __half2 half2;

namespace cusim {
template <>
struct Letter<__half> {
    static constexpr char value = 'e';
};
}  // namespace cusim

static CUSIM_INLINE __half2 __half2half2(__half x) { return {x, x}; }
