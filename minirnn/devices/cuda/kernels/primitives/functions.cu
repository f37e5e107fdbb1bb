// Elementwise functions of floats.        one thread = one element of y
#include "activation.cuh"
#include "views.cuh"

// The primitive: like `sigmoid`, but also exact for large negative z, where 0.5 * tanh + 0.5 rounds to 0.
__device__ inline acc logistic(acc z) {
    const acc e = exp(z < 0 ? z : -z);
    return z != z ? z : z < 0 ? e / (1 + e) : 1 / (1 + e);
}

#define FUNCTION(name, formula)                                                      \
    extern "C" __global__ void name##_(const Views views, const real *a_, real *y) { \
        const i64 k = element();                                                     \
        if (k >= views.size) return;                                                 \
        const acc a = acc(a_[at(views, 1, k)]);                                      \
        y[k] = real(formula);                                                        \
    }

FUNCTION(exp, exp(a))
FUNCTION(log, log(a))
FUNCTION(sqrt, sqrt(a))
FUNCTION(tanh, tanh(a))
FUNCTION(sigmoid, logistic(a))
FUNCTION(relu, a < 0 ? acc(0) : a)  // NaN stays NaN
FUNCTION(sin, sin(a))
FUNCTION(cos, cos(a))
FUNCTION(tan, tan(a))
FUNCTION(erf, erf(a))
FUNCTION(log1p, log1p(a))
FUNCTION(expm1, expm1(a))
FUNCTION(floor, floor(a))
FUNCTION(ceil, ceil(a))
FUNCTION(round, rint(a))  // halves go to the even neighbor
