// float2, int4, uchar3, ... and dim3, with the sizes and alignments of CUDA.
#pragma once

#define CUSIM_VECTORS(name, T, alignment2, alignment4)                        \
    struct name##1 { T x; };                                                  \
    struct alignas(alignment2) name##2 { T x, y; };                           \
    struct name##3 { T x, y, z; };                                            \
    struct alignas(alignment4) name##4 { T x, y, z, w; };                     \
    static inline name##1 make_##name##1(T x) { return {x}; }                 \
    static inline name##2 make_##name##2(T x, T y) { return {x, y}; }         \
    static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
    static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

CUSIM_VECTORS(char, signed char, 2, 4)
CUSIM_VECTORS(uchar, unsigned char, 2, 4)
CUSIM_VECTORS(short, short, 4, 8)
CUSIM_VECTORS(ushort, unsigned short, 4, 8)
CUSIM_VECTORS(int, int, 8, 16)
CUSIM_VECTORS(uint, unsigned, 8, 16)
CUSIM_VECTORS(long, long, 2 * sizeof(long), 16)
CUSIM_VECTORS(ulong, unsigned long, 2 * sizeof(long), 16)
CUSIM_VECTORS(longlong, long long, 16, 16)
CUSIM_VECTORS(ulonglong, unsigned long long, 16, 16)
CUSIM_VECTORS(float, float, 8, 16)
CUSIM_VECTORS(double, double, 16, 16)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 u) : x(u.x), y(u.y), z(u.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};
