// ex37  A reduction over rows.
//
//     db[k] = sum over n of dz[n][k]          dz (N, H)    db (H,)          this is the gradient of a bias
//
// A block has 32 x 8 threads: threadIdx.x counts 32 columns (neighbors read neighbors), threadIdx.y shares their rows
// among 8 threads. There are enough blocks for H columns, and H is not a multiple of 32. Each thread adds up its
// rows. Then the 8 sums of a column are added in shared memory, half of them at a time.
//
// There are two mistakes that everybody makes once: a missing __syncthreads(), and one that not all threads of the
// block reach.

#define ROWS 8
#define COLUMNS 32

extern "C" __global__ void bias_gradient(int N, int H, const float *dz, float *db) {
    // Write your code here.
}
