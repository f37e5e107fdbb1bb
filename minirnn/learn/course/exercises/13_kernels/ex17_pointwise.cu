// ex17  Your first CUDA kernel: one thread, one number.
//
//     forward:   h[k] = u[k] * h_prev[k] + (1 - u[k]) * c[k]                this is the last line of a GRU
//     given dh, the gradient of h, compute    dh_prev[k], du[k], dc[k]      for k = 0 .. N-1
//
// The CUDA kernel is launched with blocks of 64 threads, enough of them for N numbers. N is not a multiple of 64, so
// some threads of the last block have nothing to do.

extern "C" __global__ void blend_gradient(int N, const float *dh, const float *h_prev, const float *u, const float *c,
                                          float *dh_prev, float *du, float *dc) {
    // Write your code here. Which k belongs to this thread? Is it below N? Then three lines are enough.
}
