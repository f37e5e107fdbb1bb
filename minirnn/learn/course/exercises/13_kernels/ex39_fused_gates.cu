// ex39  The backward pass of an LSTM's gates in one kernel.
//
//     forward (ex07):   i, f, o are sigmoids, ci is a tanh
//                       cs = i * ci + f * cs_prev        co = tanh(cs)        h = o * co
//     given dcs and dh, the gradients of cs and h from outside, compute
//
//     dz (B, 4H), the gradient of the arguments of sigmoid and tanh: in each row the gates i, ci, f, o, H numbers each
//     dcs_prev (B, H)
//
// All other arrays are (B, H). The blocks have 64 threads, and there are enough for B * H numbers and a few more. A
// fused kernel saves memory accesses: read each of the 8 * B * H numbers once. The simulator counts the reads.

extern "C" __global__ void lstm_gates_gradient(int B, int H, const float *cs_prev, const float *i, const float *f,
                                               const float *o, const float *ci, const float *co, const float *dcs,
                                               const float *dh, float *dz, float *dcs_prev) {
    // Write your code here. Which b and k belong to this thread?
}
