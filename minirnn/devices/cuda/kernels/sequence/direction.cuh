// A direction of a layer in a kernel that computes its whole sequence: blockIdx.y is the direction of a block.
#pragma once
#include "real.cuh"

struct Direction {
    int T, B, H;
    int d, D;  // direction 1 of 2 runs backwards in time

    __device__ Direction(int T, int B, int H) : T(T), B(B), H(H), d(blockIdx.y), D(gridDim.y) {}

    // The time step with index `step` in the forward pass, and in the backward pass.
    __device__ int forward(int step) const { return d == 0 ? step : T - 1 - step; }
    __device__ int backward(int step) const { return d == 0 ? T - 1 - step : step; }

    // The place of a unit in y and dy, (T, B, D*H).
    __device__ i64 at(int t, int row, int unit) const { return ((i64)t * B + row) * D * H + d * H + unit; }
};

// What a kernel gets for its cell: `cell` has its constants. Arrays are null if the cell does not have them.
//   vectors: (D, VECTORS, H)      masks: (D, T, MASKS, B, H)      d_vectors: (D, T, VECTORS, B, H), of each row
//   dc_each: (D, T, B, H), gradients of the first state after each step, or null
template <class Cell>
struct Own {
    const real *vectors, *masks, *dc_each;
    real *d_vectors;
    Cell cell;

    template <class Struct>
    __device__ void read(Struct &s, const Direction &in, int t, int row, int unit) const {
#pragma unroll
        for (int j = 0; j < Cell::VECTORS; j++) s.vectors[j] = vectors[(in.d * Cell::VECTORS + j) * in.H + unit];
#pragma unroll
        for (int j = 0; j < Cell::MASKS; j++) s.masks[j] = masks[at<Cell::MASKS>(in, t, j, row, unit)];
    }

    template <class Struct>
    __device__ void leave(const Struct &s, const Direction &in, int t, int row, int unit, bool valid) const {
#pragma unroll
        for (int j = 0; j < Cell::VECTORS; j++)
            d_vectors[at<Cell::VECTORS>(in, t, j, row, unit)] = valid ? s.d_vectors[j] : real(0);
    }

    // The place in an array (D, T, n, B, H).
    template <int n>
    static __device__ i64 at(const Direction &in, int t, int j, int row, int unit) {
        return ((((i64)in.d * in.T + t) * n + j) * in.B + row) * in.H + unit;
    }
};
