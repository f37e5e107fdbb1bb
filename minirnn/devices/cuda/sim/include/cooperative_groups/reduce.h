// Cooperative groups: reductions over all threads of a tile, or over coalesced lanes.
#pragma once
#include "../cooperative_groups.h"

namespace cooperative_groups {

#define CUSIM_OPERATION(name, result)                                              \
    template <class T>                                                             \
    struct name {                                                                  \
        CUSIM_INLINE T operator()(const T &a, const T &b) const { return result; } \
    };
CUSIM_OPERATION(plus, a + b)
CUSIM_OPERATION(less, b < a ? b : a)
CUSIM_OPERATION(greater, a < b ? b : a)
CUSIM_OPERATION(bit_and, a &b)
CUSIM_OPERATION(bit_or, a | b)
CUSIM_OPERATION(bit_xor, a ^ b)
#undef CUSIM_OPERATION

// Neighbors first, then neighbors of those: the order of a GPU's shuffles.
template <unsigned SIZE, class Parent, class T, class Operation>
CUSIM_INLINE T reduce(const thread_block_tile<SIZE, Parent> &tile, T value, Operation &&operation, CUSIM_HERE) {
    for (unsigned distance = SIZE / 2; distance; distance /= 2)
        value = operation(value, tile.shfl_xor(value, distance, file, line));
    return value;
}
template <class T, class Operation>
CUSIM_INLINE T reduce(const coalesced_group &group, T value, Operation &&operation, CUSIM_HERE) {
    T total = group.shfl(value, 0, file, line);
    for (unsigned rank = 1; rank < group.num_threads(); rank++)
        total = operation(total, group.shfl(value, (int)rank, file, line));
    return total;
}

}  // namespace cooperative_groups
