// A direction of a layer in a kernel that computes its whole sequence: blockIdx.y tells which one a block belongs to.
#pragma once
#include "real.cuh"

struct Direction {
    int T, B, H;
    int d, D;  // number 1 of 2 runs backwards in time

    __device__ Direction(int T, int B, int H) : T(T), B(B), H(H), d(blockIdx.y), D(gridDim.y) {}

    // The time step that comes as number `step` on the way forward, and on the way back.
    __device__ int forward(int step) const { return d == 0 ? step : T - 1 - step; }
    __device__ int backward(int step) const { return d == 0 ? T - 1 - step : step; }

    // The place of a unit in y and dy, (T, B, D*H).
    __device__ i64 at(int t, int row, int unit) const { return ((i64)t * B + row) * D * H + d * H + unit; }
};
