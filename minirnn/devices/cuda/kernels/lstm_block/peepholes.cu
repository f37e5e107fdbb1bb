// The gradients of the peepholes of LSTMBlockCell and BlockLSTM, sums over all rows of all steps, in two stages:
//   wci_grad = sum of dzi * cs_prev        wcf_grad = sum of dzf * cs_prev        wco_grad = sum of dzo * cs
//
//   rows = T*B, cut into parts of `length` rows; a first launch sums each part, a second one the parts
// Both add in an order that depends only on the sizes, so every run on every GPU gives the same bits.
#include "units.cuh"

#define GROUPS 8  // of threads; each takes every eighth row of a part

// cs: (rows, H); cs_prev of the first B rows is `cs_first`, of the others it lies B rows earlier in cs
// sums: (parts, 3, H), or null if there is one part, whose sums are the gradients
//   a block has 32 x GROUPS threads; one thread = PER_THREAD units, grid (parts, groups of 32 threads of units)
extern "C" __global__ void lstm_peephole_parts(i64 rows, i64 length, int B, int H, const real *dicfo,
                                               const real *cs_first, const real *cs, acc *sums, real *wci_grad,
                                               real *wcf_grad, real *wco_grad) {
    __shared__ Units<acc> shares[3][GROUPS][32];
    const int unit = first_unit(), lane = threadIdx.x, group = threadIdx.y;
    const i64 first = blockIdx.x * length, end = first + length < rows ? first + length : rows;

    Units<acc> dwci = {}, dwcf = {}, dwco = {};
    for (i64 r = first + group; r < end && unit < H; r += GROUPS) {
        const Units<real> cs_prev = load(r < B ? cs_first + r * H + unit : cs + (r - B) * H + unit);
        const real *dz = dicfo + r * 4 * H + unit;
        const Units<real> dzi = load(dz), dzf = load(dz + 2 * H), dzo = load(dz + 3 * H),
                          cs_now = load(cs + r * H + unit);
#pragma unroll
        for (int n = 0; n < PER_THREAD; n++) {
            dwci[n] += acc(dzi[n]) * acc(cs_prev[n]);
            dwcf[n] += acc(dzf[n]) * acc(cs_prev[n]);
            dwco[n] += acc(dzo[n]) * acc(cs_now[n]);
        }
    }
    shares[0][group][lane] = dwci, shares[1][group][lane] = dwcf, shares[2][group][lane] = dwco;
    __syncthreads();
    if (group >= 3 || unit >= H) return;
    Units<acc> total = {};
    for (int g = 0; g < GROUPS; g++)
#pragma unroll
        for (int n = 0; n < PER_THREAD; n++) total[n] += shares[group][g][lane][n];
    if (sums) {
        store(sums + ((i64)blockIdx.x * 3 + group) * H + unit, total);
        return;
    }
    real *gradient = group == 0 ? wci_grad : group == 1 ? wcf_grad : wco_grad;
    Units<real> rounded;
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) rounded[n] = real(total[n]);
    store(gradient + unit, rounded);
}

// one thread = one unit of one of the three
extern "C" __global__ void lstm_peephole_grad(int parts, int H, const acc *sums, real *wci_grad, real *wcf_grad,
                                              real *wco_grad) {
    const int unit = (int)element(), which = blockIdx.y;
    if (unit >= H) return;
    acc total = 0;
    for (int part = 0; part < parts; part++) total += sums[((i64)part * 3 + which) * H + unit];
    real *gradient = which == 0 ? wci_grad : which == 1 ? wcf_grad : wco_grad;
    gradient[unit] = real(total);
}
