// Copies between types and between orders of elements.        one thread = one element
// A kernel for each type of x: cast_half, cast_float, ... A module for each pair of types would be ten times as many.
#include "views.cuh"

// The value of a number of type `source`: half is converted to float first.
template <typename T> __device__ inline T worth(T x) { return x; }
__device__ inline float worth(half x) { return float(x); }

__device__ inline void store(bool *y, acc, bool is_true) { *y = is_true; }  // 0.5 is true, but acc makes it 0
template <typename T> __device__ inline void store(T *y, acc x, bool) { *y = T(x); }

// y = x        both of any strides
template <typename source> __device__ inline void cast(const Views &views, const source *x, real *y) {
    const i64 k = element();
    if (k >= views.size) return;
    const auto value = worth(x[at(views, 1, k)]);
    store(y + at(views, 0, k), acc(value), value != 0);
}

#define MOST 24

template <typename source> struct Casts {
    i64 count;      // how many arrays
    i64 end[MOST];  // the number of elements in an array and all before it
    const source *x[MOST];
    real *y[MOST];
};

// y = x        for several arrays in C order
template <typename source> __device__ inline void cast_all(const Casts<source> &casts) {
    i64 k = element();
    int a = 0;
    while (a < casts.count && k >= casts.end[a]) a++;
    if (a == casts.count) return;
    if (a) k -= casts.end[a - 1];
    const auto value = worth(casts.x[a][k]);
    store(casts.y[a] + k, acc(value), value != 0);
}

#define FROM(source)                                                                                             \
    extern "C" __global__ void cast_##source(const Views views, const source *x, real *y) { cast(views, x, y); } \
    extern "C" __global__ void cast_all_##source(const Casts<source> casts) { cast_all(casts); }
FROM(bool)
FROM(i8)
FROM(i16)
FROM(int)
FROM(i64)
FROM(u8)
FROM(u16)
FROM(u32)
FROM(u64)
FROM(half)
FROM(float)
FROM(double)
