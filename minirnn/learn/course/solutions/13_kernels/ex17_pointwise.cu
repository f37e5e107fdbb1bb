extern "C" __global__ void blend_gradient(int N, const float *dh, const float *h_prev, const float *u, const float *c,
                                          float *dh_prev, float *du, float *dc) {
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= N) return;
    dh_prev[k] = dh[k] * u[k];
    du[k] = dh[k] * (h_prev[k] - c[k]);
    dc[k] = dh[k] * (1 - u[k]);
}
