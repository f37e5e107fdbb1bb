// Comparisons of arrays of one type, and selection by a condition.        one thread = one element of y
#include "views.cuh"

#define COMPARE(name, formula)                                                                    \
    extern "C" __global__ void name(const Views views, const real *a_, const real *b_, bool *y) { \
        const i64 k = element();                                                                  \
        if (k >= views.size) return;                                                              \
        const acc a = acc(a_[at(views, 1, k)]), b = acc(b_[at(views, 2, k)]);                     \
        y[k] = formula;                                                                           \
    }

COMPARE(equal, a == b)
COMPARE(not_equal, a != b)
COMPARE(less, a < b)
COMPARE(less_equal, a <= b)
COMPARE(greater, a > b)
COMPARE(greater_equal, a >= b)

// y = a where condition, else b
extern "C" __global__ void where(const Views views, const bool *condition, const real *a, const real *b, real *y) {
    const i64 k = element();
    if (k >= views.size) return;
    y[k] = condition[at(views, 1, k)] ? a[at(views, 2, k)] : b[at(views, 3, k)];
}
