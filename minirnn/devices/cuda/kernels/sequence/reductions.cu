// Functions of the units of a row, between two stages of a cell.        one block = one row of one of them
#include "activation.cuh"
#include "cells/form.h"
#include "row_sums.cuh"

// found[k] = a function of v[k] over the units of each row, the same for every unit. `kinds` has three bits for each k:
// minus the Reduction, or 0 for none
//   v: (., B, H), each `apart` elements after the last      found: (., B, H)
extern "C" __global__ void unit_reductions(int B, int H, i64 kinds, i64 apart, const real *v, real *found) {
    extern __shared__ double memory[];
    acc *shares = (acc *)memory;
    int k = 0;
    for (int left = blockIdx.y; left > 0 || !(kinds & 7); kinds >>= 3, k++) left -= (kinds & 7) != 0;
    const int kind = -int(kinds & 7);
    v += k * apart + (i64)blockIdx.x * H, found += ((i64)k * B + blockIdx.x) * H;
    acc a = 0, base = 0;
    if (kind == UNIT_SUM || kind == UNIT_MEAN || kind == UNIT_VAR) {
        for (int unit = threadIdx.x; unit < H; unit += blockDim.x) a += acc(v[unit]);
        a = total(a, shares);
        if (kind != UNIT_SUM) a /= H;
        base = a;
    } else {
        a = acc(v[threadIdx.x < H ? threadIdx.x : 0]);
        for (int unit = threadIdx.x + blockDim.x; unit < H; unit += blockDim.x) a = larger(a, acc(v[unit]));
        base = a = largest(a, shares);
    }
    if (kind == UNIT_VAR || kind == UNIT_TIES || kind == UNIT_EXP_SUM) {
        a = 0;
        for (int unit = threadIdx.x; unit < H; unit += blockDim.x) {
            const acc apart_from_base = acc(v[unit]) - base;
            a += kind == UNIT_VAR    ? apart_from_base * apart_from_base
                 : kind == UNIT_TIES ? acc(apart_from_base >= 0)
                                     : exp(apart_from_base);
        }
        a = total(a, shares);
        if (kind == UNIT_VAR) a /= H;
    }
    for (int unit = threadIdx.x; unit < H; unit += blockDim.x) found[unit] = real(a);
}
