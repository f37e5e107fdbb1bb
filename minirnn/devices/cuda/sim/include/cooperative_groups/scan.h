// Cooperative groups: running totals over the ranks of a tile, or of coalesced lanes.
#pragma once
#include "reduce.h"

namespace cooperative_groups {

template <class Group, class T, class Operation>
CUSIM_INLINE T inclusive_scan(const lanes<Group> &lanes, T value, Operation &&operation, CUSIM_HERE) {
    const Group &group = (const Group &)lanes;
    for (unsigned distance = 1; distance < group.num_threads(); distance *= 2) {
        const T before = group.shfl_up(value, distance, file, line);
        if (group.thread_rank() >= distance) value = operation(before, value);
    }
    return value;
}
template <class Group, class T>
CUSIM_INLINE T inclusive_scan(const lanes<Group> &group, T value, CUSIM_HERE) {
    return inclusive_scan(group, value, plus<T>(), file, line);
}

// Without the thread's own value: rank 0 has T()
template <class Group, class T, class Operation>
CUSIM_INLINE T exclusive_scan(const lanes<Group> &lanes, T value, Operation &&operation, CUSIM_HERE) {
    const Group &group = (const Group &)lanes;
    const T before = group.shfl_up(inclusive_scan(lanes, value, operation, file, line), 1, file, line);
    return group.thread_rank() ? before : T();
}
template <class Group, class T>
CUSIM_INLINE T exclusive_scan(const lanes<Group> &group, T value, CUSIM_HERE) {
    return exclusive_scan(group, value, plus<T>(), file, line);
}

}  // namespace cooperative_groups
