// The element type of a kernel. Every .cu file here is compiled once for each type it is used with:
//   -DREAL=float   what lies in memory: half, float, double, or an integer type
//   -DACC=float    in what the kernel computes: float where REAL is half, int where it is a smaller integer, else the same
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

// The element this thread works on, where one thread = one element of `n`.
__device__ inline i64 element() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }

// The cell this thread works on, where one thread = one unit of one row of a batch: units along x, rows along y. The grid
// has rows first, because only its first axis may be longer than 65535.
__device__ inline int cell_row() { return blockIdx.x * blockDim.y + threadIdx.y; }
__device__ inline int cell_unit() { return blockIdx.y * blockDim.x + threadIdx.x; }
