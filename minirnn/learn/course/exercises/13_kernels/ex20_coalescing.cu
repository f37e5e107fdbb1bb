// ex20  Neighbors should read neighbors.
//
//     h[b][k] = o[b][k] * tanh(cs[b][k])          o, cs, h (B, H)
//
// This CUDA kernel is right, but it moves almost six times as many sectors of 32 bytes as it has to. The block has
// 32 x 4 threads, the grid 2 x 11 blocks: enough for B and H up to 44, whichever of the two is x. A warp is 32 threads
// that differ only in threadIdx.x. Look at which numbers they access.

extern "C" __global__ void cell_output(int B, int H, const float *o, const float *cs, float *h) {
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    const int k = blockIdx.y * blockDim.y + threadIdx.y;
    if (b >= B || k >= H) return;
    h[b * H + k] = o[b * H + k] * tanhf(cs[b * H + k]);
}
