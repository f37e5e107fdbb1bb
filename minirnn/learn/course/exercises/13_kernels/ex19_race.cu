// ex19  Find the race.
//
//     norm[b] = sqrt(sum over k of x[b][k] squared)          x (B, H)    norm (B,)
//
// A block of 128 threads computes one row: each thread adds up its share, then half of the threads add the other
// half's sums to theirs, and so on until one is left. Something is missing in more than one place. Check it as it is
// (change a comment first). The simulator names the line of the first place and, once that is fixed, the line of the
// next.

extern "C" __global__ void row_norms(int H, const float *x, float *norm) {
    __shared__ float part[128];
    const int b = blockIdx.x, k = threadIdx.x;
    float sum = 0;
    for (int j = k; j < H; j += 128) sum += x[b * H + j] * x[b * H + j];
    part[k] = sum;
    for (int half = 64; half > 0; half /= 2) {
        if (k < half) part[k] += part[k + half];
    }
    if (k == 0) norm[b] = sqrtf(part[0]);
}
