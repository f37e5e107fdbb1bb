// c = a @ b by tiles in shared memory, as in most CUDA courses. cuBLAS is several times faster, and is used where
// possible: this kernel multiplies integers, and everything if cuBLAS is not installed.
//   a: (M, K), b: (K, N), c: (M, N), C order; blockIdx.z counts the products, `a_stride` .. apart (0: the same one)
//   one block = one tile of c, one thread = one element of it
#include "real.cuh"

#define TILE 16

extern "C" __global__ void matmul(const real *a, const real *b, real *c, int M, int N, int K, i64 a_stride,
                                  i64 b_stride) {
    __shared__ acc a_tile[TILE][TILE], b_tile[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    a += blockIdx.z * a_stride, b += blockIdx.z * b_stride, c += blockIdx.z * (i64)M * N;
    acc sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int a_column = k0 + threadIdx.x, b_row = k0 + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < M && a_column < K ? acc(a[(i64)row * K + a_column]) : acc(0);
        b_tile[threadIdx.y][threadIdx.x] = b_row < K && column < N ? acc(b[(i64)b_row * N + column]) : acc(0);
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && column < N) c[(i64)row * N + column] = real(sum);
}
