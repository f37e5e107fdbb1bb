extern "C" __global__ void cell_output(int B, int H, const float *o, const float *cs, float *h) {
    const int b = blockIdx.y * blockDim.y + threadIdx.y;
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= B || k >= H) return;
    h[b * H + k] = o[b * H + k] * tanhf(cs[b * H + k]);
}
