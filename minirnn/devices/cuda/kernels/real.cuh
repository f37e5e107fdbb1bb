// The element type of a kernel. Every .cu file here is compiled once for each type it is used with:
//   -DREAL=float   the type in memory: half, float, double, or an integer type
//   -DACC=float    the type of the computation: float for half, int for smaller integers, otherwise the same as REAL
#pragma once
#include <cuda_fp16.h>

typedef signed char i8;
typedef short i16;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

typedef REAL real;
typedef ACC acc;

// The element that this thread works on, where one thread = one element.
__device__ inline i64 element() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }

// The cell that this thread works on, where one thread = one unit of one row of a batch: units along x, rows along y.
// The grid has rows first, because only its first axis may be longer than 65535.
__device__ inline int cell_row() { return blockIdx.x * blockDim.y + threadIdx.y; }
__device__ inline int cell_unit() { return blockIdx.y * blockDim.x + threadIdx.x; }

__device__ inline acc larger(acc a, acc b) { return a != a || a > b ? a : b; }  // NaN wins
__device__ inline acc smaller(acc a, acc b) { return a != a || a < b ? a : b; }
