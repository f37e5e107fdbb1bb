// Cooperative groups: copies into shared memory by all threads of a group, made when they are waited for.
#pragma once
#include "../cooperative_groups.h"

CUSIM_API void cusim_copy_async(void *shared, const void *global, unsigned bytes, void *pc);
CUSIM_API void cusim_copy_commit();
CUSIM_API void cusim_copy_wait(unsigned left);

namespace cooperative_groups {

template <class Group, class T, class From>
CUSIM_OWN void memcpy_async(const Group &group, T *to, const From *from, size_t bytes) {
    const size_t unit = ((uintptr_t)to | (uintptr_t)from | bytes) % 4 ? 1 : 4;
    for (size_t at = group.thread_rank() * unit; at < bytes; at += group.num_threads() * unit)
        cusim_copy_async((char *)to + at, (const char *)from + at, (unsigned)unit, CUSIM_CALLER);
    cusim_copy_commit();
}

template <class Group>
CUSIM_INLINE void wait(const Group &group, CUSIM_HERE) {
    cusim_copy_wait(0);
    group.sync(file, line);
}

// Waits until at most the STAGES latest copies are unfinished.
template <unsigned STAGES, class Group>
CUSIM_INLINE void wait_prior(const Group &group, CUSIM_HERE) {
    cusim_copy_wait(STAGES);
    group.sync(file, line);
}

}  // namespace cooperative_groups
