#define THREADS 64

extern "C" __global__ void softmax_rows(int H, const float *x, float *y) {
    __shared__ float part[THREADS];
    const int b = blockIdx.x, k = threadIdx.x;

    float most = -INFINITY;
    for (int j = k; j < H; j += THREADS) most = fmaxf(most, x[b * H + j]);
    part[k] = most;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (k < half) part[k] = fmaxf(part[k], part[k + half]);
        __syncthreads();
    }
    const float largest = part[0];
    __syncthreads();  // all have read it before the memory is used again

    float share = 0;
    for (int j = k; j < H; j += THREADS) share += expf(x[b * H + j] - largest);
    part[k] = share;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (k < half) part[k] += part[k + half];
        __syncthreads();
    }
    const float sum = part[0];

    for (int j = k; j < H; j += THREADS) y[b * H + j] = expf(x[b * H + j] - largest) / sum;
}
