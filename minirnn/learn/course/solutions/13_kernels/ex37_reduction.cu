#define ROWS 8
#define COLUMNS 32

extern "C" __global__ void bias_gradient(int N, int H, const float *dz, float *db) {
    __shared__ float part[ROWS][COLUMNS];
    const int x = threadIdx.x, y = threadIdx.y, k = blockIdx.x * COLUMNS + x;
    float sum = 0;
    // No thread returns early. Those without a column also reach the barriers, with a zero.
    if (k < H)
        for (int n = y; n < N; n += ROWS) sum += dz[n * H + k];
    part[y][x] = sum;
    __syncthreads();
    for (int half = ROWS / 2; half > 0; half /= 2) {
        if (y < half) part[y][x] += part[y + half][x];
        __syncthreads();  // outside the if, because all threads must reach it
    }
    if (y == 0 && k < H) db[k] = part[0][x];
}
