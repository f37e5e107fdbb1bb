// The functions of vectors that a cell calls. The errors of sigmoid and tanh are at most two units in the last place.
//
// Both come from e^y. With n the whole number nearest to y / ln 2, and r = y - n ln 2 (so |r| <= ln 2 / 2),
//
//     e^y = 2^n (1 + q),        q = e^r - 1 = r + r^2/2! + r^3/3! + ...
//
// The series ends where the next term no longer changes the sum: after 7 terms in float, 13 in double. Then
//
//     sigmoid(x) = 1 / (1 + e^-x)        tanh(x) = (e^2x - 1) / (e^2x - 1 + 2)
//
// where e^2x - 1 = 2^n q + (2^n - 1) is exact for small x as well. For large |x| they are exactly 0, 1 and -1. NaN
// stays NaN: a comparison with it is false, so the limits let it pass.
#pragma once
#include <cmath>
#include <type_traits>

#include "vector.h"

template <class real>
struct Exponential;

template <>
struct Exponential<float> {
    using Bits = std::int32_t;
    static constexpr int TERMS = 7, MANTISSA = 23, BIAS = 127;
    static constexpr float ROUND = 0x1.8p23f;  // v + ROUND has no bits for the fraction of v
    static constexpr float LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;  // n * LN2_HIGH is exact
    static constexpr float LOWEST = -87, HIGHEST = 89;  // e^-87 is a normal number; 2^128 is infinite
    static constexpr float SATURATED = 40;              // e^40 + 2 = e^40
};

template <>
struct Exponential<double> {
    using Bits = std::int64_t;
    static constexpr int TERMS = 13, MANTISSA = 52, BIAS = 1023;
    static constexpr double ROUND = 0x1.8p52;
    static constexpr double LN2_HIGH = 6.93145751953125e-1, LN2_LOW = 1.42860682030941723212e-6;
    static constexpr double LOWEST = -708, HIGHEST = 710, SATURATED = 80;
};

constexpr double INVERSE_FACTORIAL[] = {
    1,         1,          1. / 2,      1. / 6,       1. / 24,       1. / 120,       1. / 720,
    1. / 5040, 1. / 40320, 1. / 362880, 1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800.};

// e^y = scale * (1 + q)
template <class real>
INLINE void exponential(Vector<real> y, Vector<real> &scale, Vector<real> &q) {
    using E = Exponential<real>;
    typedef typename E::Bits Whole __attribute__((vector_size(VECTOR_BYTES)));
    const Vector<real> rounded = y * real(1.44269504088896340736) + E::ROUND;
    const Vector<real> n = rounded - E::ROUND;
    const Vector<real> r = (y - n * E::LN2_HIGH) - n * E::LN2_LOW;
    Vector<real> p = Vector<real>{} + real(INVERSE_FACTORIAL[E::TERMS]);
#pragma GCC unroll 16
    for (int k = E::TERMS - 1; k >= 2; k--) p = p * r + real(INVERSE_FACTORIAL[k]);
    q = p * (r * r) + r;
    Whole bits;  // n is in the lowest bits of `rounded`; an exponent with 0 behind it is a power of 2
    std::memcpy(&bits, &rounded, sizeof bits);
    bits = (bits + E::BIAS) << E::MANTISSA;
    std::memcpy(&scale, &bits, sizeof bits);
}

template <class V>
using Number = std::remove_reference_t<decltype(V{}[0])>;  // the type of the elements of V

template <class V>
INLINE V clip(V y, Number<V> low, Number<V> high) {
    y = y > high ? V{} + high : y;
    return y < low ? V{} + low : y;
}

template <class V>
INLINE V relu(V x) {
    return x < 0 ? V{} : x;  // NaN stays NaN
}

template <class V>
INLINE V sigmoid(V x) {
    using E = Exponential<Number<V>>;
    V scale, q;
    exponential<Number<V>>(clip(-x, E::LOWEST, E::HIGHEST), scale, q);
    return 1 / (scale * (q + 1) + 1);
}

template <class V>
INLINE V tanh(V x) {
    using E = Exponential<Number<V>>;
    V scale, q;
    exponential<Number<V>>(clip(x + x, -E::SATURATED, E::SATURATED), scale, q);
    const V e = scale * q + (scale - 1);
    return e / (e + 2);
}

// e^x as the square of e^(x/2): infinite or 0 if it is out of range.
template <class V>
INLINE V exp(V x) {
    using E = Exponential<Number<V>>;
    V scale, q;
    exponential<Number<V>>(clip(x / 2, E::LOWEST, E::HIGHEST), scale, q);
    const V root = scale * q + scale;
    return root * root;
}

template <class V>
INLINE V abs(V x) {
    return x < 0 ? -x : x;
}

template <class V>
INLINE V sign(V x) {
    return x > 0 ? V{} + 1 : x < 0 ? V{} - 1 : x;  // 0 and NaN stay
}

// One of two operands may be a number. NaN wins.
template <class V>
INLINE V maximum(V a, V b) {
    return a != a || a > b ? a : b;
}
template <class V>
INLINE V maximum(V a, Number<V> b) {
    return maximum(a, V{} + b);
}
template <class V>
INLINE V maximum(Number<V> a, V b) {
    return maximum(V{} + a, b);
}
template <class V>
INLINE V minimum(V a, V b) {
    return -maximum(-a, -b);
}
template <class V>
INLINE V minimum(V a, Number<V> b) {
    return minimum(a, V{} + b);
}
template <class V>
INLINE V minimum(Number<V> a, V b) {
    return minimum(V{} + a, b);
}

// Functions that C++ has only for single numbers.
template <class V, class F>
INLINE V each(V x, F f) {
    for (int k = 0; k < LANES<Number<V>>; k++) x[k] = f(x[k]);
    return x;
}
#define OF_EACH(name, function)                                                 \
    template <class V>                                                          \
    INLINE V name(V x) {                                                        \
        return each(x, [](Number<V> number) { return std::function(number); }); \
    }
OF_EACH(log, log)
OF_EACH(log_of_1_plus, log1p)
OF_EACH(sqrt, sqrt)
OF_EACH(sin, sin)
OF_EACH(cos, cos)
OF_EACH(floor, floor)
OF_EACH(erf, erf)

// log(1 + e^x), without overflow of e^x
template <class V>
INLINE V softplus(V x) {
    return relu(x) + log_of_1_plus(exp(-abs(x)));
}

#define CELL_FN INLINE  // declares the functions of a cell
