#define TILE 8

extern "C" __global__ void product(int M, int K, int N, const float *x, const float *w, float *y) {
    __shared__ float xs[TILE][TILE], ws[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < K; start += TILE) {
        // No thread returns early, because all must reach the barriers. Outside x and w there are zeros.
        const int k_of_x = start + threadIdx.x, k_of_w = start + threadIdx.y;
        xs[threadIdx.y][threadIdx.x] = row < M && k_of_x < K ? x[row * K + k_of_x] : 0;
        ws[threadIdx.y][threadIdx.x] = k_of_w < K && column < N ? w[k_of_w * N + column] : 0;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += xs[threadIdx.y][k] * ws[k][threadIdx.x];
        __syncthreads();  // no thread fetches the next tiles while another still reads these
    }
    if (row < M && column < N) y[row * N + column] = sum;
}
