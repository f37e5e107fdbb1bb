// Elementwise arithmetic of arrays of one type, with broadcasting.        one thread = one element of y
#include "views.cuh"

// Integers by repeated squaring, exactly, wrapping around like NumPy's.
template <typename T> __device__ inline T raise(T a, T b) {
    T y = 1;
    for (; b > 0; b /= 2, a = a * a)
        if (b % 2) y = y * a;
    return y;
}
__device__ inline float raise(float a, float b) { return powf(a, b); }
__device__ inline double raise(double a, double b) { return pow(a, b); }

#define UNARY(name, formula)                                                      \
    extern "C" __global__ void name(const Views views, const real *a_, real *y) { \
        const i64 k = element();                                                  \
        if (k >= views.size) return;                                              \
        const acc a = acc(a_[at(views, 1, k)]);                                   \
        y[k] = real(acc(formula));                                                \
    }

UNARY(negative, -a)
UNARY(absolute, a < 0 ? -a : a + 0)  // + 0 turns -0.0 into 0.0
UNARY(sign, a != a ? a : a > 0 ? acc(1) : a < 0 ? acc(-1) : acc(0))

#define BINARY(name, formula)                                                                     \
    extern "C" __global__ void name(const Views views, const real *a_, const real *b_, real *y) { \
        const i64 k = element();                                                                  \
        if (k >= views.size) return;                                                              \
        const acc a = acc(a_[at(views, 1, k)]), b = acc(b_[at(views, 2, k)]);                     \
        y[k] = real(acc(formula));                                                                \
    }

BINARY(add, a + b)
BINARY(subtract, a - b)
BINARY(multiply, (a * b))
BINARY(divide, a / b)
BINARY(power, raise(a, b))
BINARY(maximum, larger(a, b))
BINARY(minimum, smaller(a, b))

// y = a limited to low .. high; NaN stays NaN
extern "C" __global__ void clip(const Views views, const real *a_, real *y, acc low, acc high) {
    const i64 k = element();
    if (k >= views.size) return;
    const acc a = acc(a_[at(views, 1, k)]);
    y[k] = real(a < low ? low : a > high ? high : a);
}

// y = value        y: (size,)
extern "C" __global__ void fill(real *y, acc value, i64 size) {
    const i64 k = element();
    if (k < size) y[k] = real(value);
}
