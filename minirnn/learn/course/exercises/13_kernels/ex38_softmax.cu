// ex38  Softmax of rows.
//
//     y[b][k] = exp(x[b][k]) / sum over k of exp(x[b][k])          x, y (B, H)
//
// A block of 64 threads computes one row, blockIdx.x, which has more than 64 numbers. They may be large, and exp(200)
// is more than a float can hold. So this takes two reductions, one for the largest number and one for the sum. All
// threads read the largest number. When may its memory be used again?

#define THREADS 64

extern "C" __global__ void softmax_rows(int H, const float *x, float *y) {
    // Write your code here. You can use fmaxf, expf and INFINITY.
}
