extern "C" __global__ void lstm_gates_gradient(int B, int H, const float *cs_prev, const float *i, const float *f,
                                               const float *o, const float *ci, const float *co, const float *dcs,
                                               const float *dh, float *dz, float *dcs_prev) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= B * H) return;
    const int b = n / H, k = n % H;
    const float in = i[n], fn = f[n], on = o[n], cin = ci[n], con = co[n], dhn = dh[n];
    const float c = dcs[n] + dhn * on * (1 - con * con);
    float *row = dz + 4 * H * b;
    row[k] = c * cin * in * (1 - in);
    row[H + k] = c * in * (1 - cin * cin);
    row[2 * H + k] = c * cs_prev[n] * fn * (1 - fn);
    row[3 * H + k] = dhn * con * on * (1 - on);
    dcs_prev[n] = c * fn;
}
