// The indices that sort rows: merge sort, with one launch for each doubling of the sorted runs.
//   x: (rows, n)        from, to: (rows, n) places in a row of x, in sorted runs of `width` and of 2 * `width`
// One thread = one element of `from`. Its place in the merged run is the number of elements before it in its own run
// plus the number of those in the neighboring run, found by binary search. Equal elements keep their order.
#include "real.cuh"

// Whether a goes before b. NaN is larger than all numbers.
__device__ inline bool before(acc a, acc b, int descending) {
    if (a != a || b != b) return descending ? a != a && b == b : a == a && b != b;
    return descending ? a > b : a < b;
}

extern "C" __global__ void merge_runs(const real *x, const i64 *from, i64 *to, i64 rows, i64 n, i64 width,
                                      int descending) {
    const i64 k = element();
    if (k >= rows * n) return;
    const i64 row = k / n * n, i = k % n;
    x += row, from += row, to += row;
    const i64 start = i / (2 * width) * (2 * width);  // the left run begins here, the right one at `middle`
    const i64 middle = start + width < n ? start + width : n;
    const i64 end = middle + width < n ? middle + width : n;
    const bool is_left = i < middle;
    const i64 place = width == 1 ? i : from[i];  // runs of one element: nothing has moved yet
    const acc value = acc(x[place]);
    i64 low = is_left ? middle : start, high = is_left ? end : middle;
    const i64 first = low;
    while (low < high) {  // those at [first, low) go before `value`, those at [high, ..) do not
        const i64 half = (low + high) / 2;
        const acc other = acc(x[width == 1 ? half : from[half]]);
        // Among equal elements, the left one goes first.
        const bool other_first = is_left ? before(other, value, descending) : !before(value, other, descending);
        if (other_first) low = half + 1;
        else high = half;
    }
    to[start + (is_left ? i - start : i - middle) + (low - first)] = place;
}
