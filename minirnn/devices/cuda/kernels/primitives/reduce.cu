// Sums, products, extremes and the positions of extremes over some axes.
//   kept:    the axes of the result; view 0 is y, view 1 is x
//   reduced: the axes that are reduced; view 1 is x
// `_each`: one thread = one element of y, which reads its operands one after another; for many results with few
// operands. `_block`: one block = one element of y; its threads read side by side, then fold their shares in a tree.
#include "views.cuh"

#define SUM(share, x) share = share + (x)
#define PROD(share, x) share = share * (x)
#define MAX(share, x) share = larger(share, x)
#define MIN(share, x) share = smaller(share, x)

#define REDUCTION(name, FOLD)                                                                                      \
    extern "C" __global__ void name##_each(const Views kept, const Views reduced, const real *x, real *y) {        \
        const i64 k = element();                                                                                   \
        if (k >= kept.size) return;                                                                                \
        const real *from = x + at(kept, 1, k);                                                                     \
        acc share = acc(from[at(reduced, 1, 0)]);                                                                  \
        for (i64 j = 1; j < reduced.size; j++) FOLD(share, acc(from[at(reduced, 1, j)]));                          \
        y[k] = real(share);                                                                                        \
    }                                                                                                              \
    extern "C" __global__ void name##_block(const Views kept, const Views reduced, const real *x, real *y) {       \
        extern __shared__ double shares_[];                                                                        \
        acc *shares = (acc *)shares_; /* (blockDim.x,) */                                                          \
        const i64 k = blockIdx.x;                                                                                  \
        const int t = threadIdx.x;                                                                                 \
        const real *from = x + at(kept, 1, k);                                                                     \
        acc share = acc(from[at(reduced, 1, t)]); /* the host starts no more threads than operands */              \
        for (i64 j = t + blockDim.x; j < reduced.size; j += blockDim.x) FOLD(share, acc(from[at(reduced, 1, j)])); \
        shares[t] = share;                                                                                         \
        for (int n = blockDim.x / 2; n > 0; n /= 2) { /* blockDim.x is a power of two */                           \
            __syncthreads();                                                                                       \
            if (t < n) FOLD(shares[t], shares[t + n]);                                                             \
        }                                                                                                          \
        if (t == 0) y[k] = real(shares[0]);                                                                        \
    }

REDUCTION(sum, SUM)
REDUCTION(prod, PROD)
REDUCTION(max, MAX)
REDUCTION(min, MIN)

// y = the position of the extreme among the reduced elements: the first one; NaN is the most extreme    y: int64
#define PLACE(name, is_more_extreme)                                                                       \
    extern "C" __global__ void name##_each(const Views kept, const Views reduced, const real *x, i64 *y) { \
        const i64 k = element();                                                                           \
        if (k >= kept.size) return;                                                                        \
        const real *from = x + at(kept, 1, k);                                                             \
        acc best = acc(from[at(reduced, 1, 0)]);                                                           \
        i64 where = 0;                                                                                     \
        for (i64 j = 1; j < reduced.size && best == best; j++) {                                           \
            const acc candidate = acc(from[at(reduced, 1, j)]);                                            \
            if (is_more_extreme || candidate != candidate) {                                               \
                best = candidate;                                                                          \
                where = j;                                                                                 \
            }                                                                                              \
        }                                                                                                  \
        y[k] = where;                                                                                      \
    }

PLACE(argmax, candidate > best)
PLACE(argmin, candidate < best)
