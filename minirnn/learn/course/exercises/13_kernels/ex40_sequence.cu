// ex40  A whole sequence in one launch.
//
//     h[t] = tanh(a[t] + h[t-1] @ R)          a, h (T, H)    R (H, H)    h0 (H,) is used as h[-1]
//
// One thread computes one number of each h[t]; the blocks have 32 threads, enough for H numbers and a few more, and
// each block computes its share. To compute h[t], a thread needs all of h[t-1], which other blocks write. So between
// two steps all blocks must wait for each other: a barrier of the whole grid. A plain launch in CUDA has none, so
// write one. `arrived` points to a number in device memory that is zero at the beginning, and atomicAdd(arrived, 1u)
// returns what it was and adds one.
//
// A thread that waits in a loop should say __nanosleep(20), so that others get their turn. All blocks of this launch
// fit onto the device at the same time; otherwise they would wait forever.

extern "C" __global__ void rnn_sequence(int T, int H, const float *a, const float *R, const float *h0,
                                        unsigned *arrived, float *h) {
    // Write your code here.
}
