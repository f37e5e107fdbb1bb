// ex18  A matrix product that reads each number once per block.
//
//     y = x @ w          x (M, K)    w (K, N)    y (M, N)
//
// A block of 8 x 8 threads computes 8 x 8 numbers of y; blockIdx.x counts tiles of columns, blockIdx.y tiles of rows.
// This version is right, but every thread reads a whole row of x and a whole column of w by itself: 2*M*K*N reads. Let
// the block fetch an 8 x 8 tile of x and one of w into shared memory, wait, use them, wait, and go on to the next pair.
// The simulator counts the reads. M, K and N are not multiples of 8.

#define TILE 8

extern "C" __global__ void product(int M, int K, int N, const float *x, const float *w, float *y) {
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += x[row * K + k] * w[k * N + column];
    y[row * N + column] = sum;
}
