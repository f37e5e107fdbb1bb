// Up to four arrays viewed in one shape by their strides: broadcast, transposed or sliced arrays are read in place.
#pragma once
#include "real.cuh"

#define MAX_AXES 8

// The host has merged axes that are contiguous in all arrays, so arrays in C order have one axis.
struct Views {
    i64 size;                 // elements of the result
    i64 axes;                 // the number of used entries of `shape` and `stride`
    i64 shape[MAX_AXES];      // of the result
    i64 stride[4][MAX_AXES];  // elements between neighbors, by array (0: the result) and axis
};

// The place in array `a` of the operand of element k of the result (in C order).
__device__ inline i64 at(const Views &views, int a, i64 k) {
    i64 offset = 0;
    for (int d = (int)views.axes - 1; d > 0; d--) {
        offset += k % views.shape[d] * views.stride[a][d];
        k /= views.shape[d];
    }
    return offset + k * views.stride[a][0];
}
