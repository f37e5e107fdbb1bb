// The functions that a cell calls, for single numbers. They compute in `acc`.
#pragma once
#include "real.cuh"

#define CELL_FN __device__ inline  // declares the functions of a cell

// 1 / (1 + exp(-z)) by tanh: no overflow, exactly 0 and 1 at saturation.
CELL_FN acc sigmoid(acc z) { return acc(0.5) * tanh(acc(0.5) * z) + acc(0.5); }

CELL_FN acc relu(acc x) { return x < 0 ? acc(0) : x; }  // NaN stays NaN

CELL_FN acc clip(acc x, acc low, acc high) { return x < low ? low : x > high ? high : x; }  // NaN stays NaN

// Custom cells call the following functions.
CELL_FN acc softplus(acc x) { return relu(x) + log1p(exp(-abs(x))); }  // log(1 + e^x), without overflow of e^x

CELL_FN acc sign(acc x) { return x > 0 ? acc(1) : x < 0 ? acc(-1) : x; }  // 0 and NaN stay

CELL_FN acc maximum(acc a, acc b) { return larger(a, b); }

CELL_FN acc minimum(acc a, acc b) { return smaller(a, b); }
