// A vector of as many numbers as fit in one register of this machine, and how to load and store it.
//
// The compiler's own vectors (GCC and Clang have them for every processor) support + - * / and comparisons, element by
// element. The last vector of a row may have fewer numbers than lanes. `count` is their number; the rest is 0 when
// loaded, and is not stored.
#pragma once
#include <cstdint>
#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))
#define SHARED \
    __attribute__((visibility("default")))  // also for the libraries of single cells, which are linked to this one

using Index = std::int64_t;

#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64;
#elif defined(__AVX__)
constexpr int VECTOR_BYTES = 32;
#else
constexpr int VECTOR_BYTES = 16;  // SSE, NEON, and the compiler's fallback elsewhere
#endif

template <class real>
struct Register {
    typedef real type __attribute__((vector_size(VECTOR_BYTES)));
};
template <class real>
using Vector = typename Register<real>::type;
template <class real>
constexpr int LANES = VECTOR_BYTES / int(sizeof(real));

template <class real>
INLINE Vector<real> load(const real *p) {
    Vector<real> v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class real>
INLINE void store(real *p, Vector<real> v) {
    std::memcpy(p, &v, sizeof v);
}

// With AVX-512 a mask selects the lanes; elsewhere a short vector is copied element by element.
#if defined(__AVX512F__)
INLINE Vector<float> load(const float *p, Index count) {
    return count >= 16 ? load(p) : (Vector<float>)_mm512_maskz_loadu_ps((1u << count) - 1, p);
}
INLINE void store(float *p, Vector<float> v, Index count) {
    return count >= 16 ? store(p, v) : _mm512_mask_storeu_ps(p, (1u << count) - 1, (__m512)v);
}
INLINE Vector<double> load(const double *p, Index count) {
    return count >= 8 ? load(p) : (Vector<double>)_mm512_maskz_loadu_pd((1u << count) - 1, p);
}
INLINE void store(double *p, Vector<double> v, Index count) {
    return count >= 8 ? store(p, v) : _mm512_mask_storeu_pd(p, (1u << count) - 1, (__m512d)v);
}
#else
template <class real>
__attribute__((noinline, cold)) Vector<real> load_part(const real *p, Index count) {
    Vector<real> v = {};
    for (Index k = 0; k < count; k++) v[k] = p[k];
    return v;
}
template <class real>
__attribute__((noinline, cold)) void store_part(real *p, Vector<real> v, Index count) {
    for (Index k = 0; k < count; k++) p[k] = v[k];
}
template <class real>
INLINE Vector<real> load(const real *p, Index count) {
    return count >= LANES<real> ? load(p) : load_part(p, count);
}
template <class real>
INLINE void store(real *p, Vector<real> v, Index count) {
    return count >= LANES<real> ? store(p, v) : store_part(p, v, count);
}
#endif
