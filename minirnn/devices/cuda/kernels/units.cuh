// Neighboring units of a row in one access of memory.
#pragma once
#include "real.cuh"

// A compile-time constant: the number of units per thread. More than one only if rows are whole multiples of it and
// all arrays begin at addresses from which the GPU can read that many numbers at once, which the launcher checks.
#ifndef PER_THREAD
#define PER_THREAD 1
#endif

template <class T>
struct alignas(sizeof(T) * PER_THREAD) Units {
    T unit[PER_THREAD];

    __device__ T &operator[](int n) { return unit[n]; }
    __device__ const T &operator[](int n) const { return unit[n]; }
};

template <class T>
__device__ inline Units<T> load(const T *p) {
    return *(const Units<T> *)p;
}

template <class T>
__device__ inline Units<T> load_if(bool wanted, const T *p) {
    return wanted ? load(p) : Units<T>{};
}

// The bits of a single store. Without this, nvcc stores some `Units` number by number.
template <int BYTES> struct Bits;
template <> struct Bits<2> {
    typedef u16 type;
};
template <> struct Bits<4> {
    typedef u32 type;
};
template <> struct Bits<8> {
    typedef uint2 type;
};
template <> struct Bits<16> {
    typedef uint4 type;
};

template <class T>
__device__ inline void store(T *p, const Units<T> &units) {
    typedef typename Bits<sizeof(Units<T>)>::type Word;
    union {
        Units<T> units;
        Word word;
    } both = {units};
    __stwb((Word *)p, both.word);
}

// The first unit of this thread, where one thread = PER_THREAD units of one row of a batch.
__device__ inline int first_unit() { return cell_unit() * PER_THREAD; }
