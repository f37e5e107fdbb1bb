// Reading and adding at places that the host computed.
#include "real.cuh"

// y[k] = x[place[k]]        place, y: (size,)        one thread = one element of y
extern "C" __global__ void gather(const real *x, const i64 *place, real *y, i64 size) {
    const i64 k = element();
    if (k < size) y[k] = x[place[k]];
}

// y[r] = x[row[r]]        x: (rows of n elements), row: (size,), y: (size, n)        one thread = one element of y
extern "C" __global__ void gather_rows(const real *x, const i64 *row, real *y, i64 size, i64 n) {
    const i64 k = element();
    if (k < size * n) y[k] = x[row[k / n] * n + k % n];
}

// y[place[p]] = sum of values[order[j]] for j in start[p] .. start[p+1]        place: (places,), start: (places+1,)
// Rows of n elements each.                                            one thread = one element of one place in y
// One thread adds the values of a place in order, without atomics, so the bits are the same every time.
extern "C" __global__ void scatter_add(const real *values, const i64 *place, const i64 *start, const i64 *order,
                                       real *y, i64 places, i64 n) {
    const i64 k = element();
    if (k >= places * n) return;
    const i64 p = k / n, column = k % n;
    acc sum = 0;
    for (i64 j = start[p]; j < start[p + 1]; j++) sum = sum + acc(values[order[j] * n + column]);
    y[place[p] * n + column] = real(sum);
}
