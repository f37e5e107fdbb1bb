// Means over the units of a row, between two stages of a cell.        one block = one row of one mean
#include "row_sums.cuh"

// mean[k] = the mean of v[k] over the units of each row, the same for every unit, for each k whose bit is set in `which`
//   v: (., B, H), each `apart` elements after the last      mean: (., B, H)
extern "C" __global__ void unit_means(int B, int H, i64 which, i64 apart, const real *v, real *mean) {
    extern __shared__ double shares[];
    int k = 0;
    for (int left = blockIdx.y; left > 0 || !(which & 1); which >>= 1, k++) left -= int(which & 1);
    v += k * apart + (i64)blockIdx.x * H, mean += ((i64)k * B + blockIdx.x) * H;
    acc sum = 0;
    for (int unit = threadIdx.x; unit < H; unit += blockDim.x) sum += acc(v[unit]);
    const real m = real(total(sum, (acc *)shares) / H);
    for (int unit = threadIdx.x; unit < H; unit += blockDim.x) mean[unit] = m;
}
