// Neighboring units of a row in one access of memory.
#pragma once
#include "real.cuh"

// A constant of a compilation: how many units a thread takes. More than one only where rows are whole multiples of it and
// all arrays begin at addresses that the GPU can read so many numbers from at once: the launcher looks.
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

// Bits that one store takes. Left to itself, nvcc stores some `Units` number by number.
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
