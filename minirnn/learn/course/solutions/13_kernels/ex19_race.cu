extern "C" __global__ void row_norms(int H, const float *x, float *norm) {
    __shared__ float part[128];
    const int b = blockIdx.x, k = threadIdx.x;
    float sum = 0;
    for (int j = k; j < H; j += 128) sum += x[b * H + j] * x[b * H + j];
    part[k] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (k < half) part[k] += part[k + half];
        __syncthreads();
    }
    if (k == 0) norm[b] = sqrtf(part[0]);
}
