// Cooperative groups: the block, tiles of a warp, coalesced lanes, the grid.
//
// These are the functions of CUDA's header of this name, without tiles of more than 32 threads and other partitions.
#pragma once

CUSIM_API void cusim_grid_barrier(const char *file, int line);

#define CUSIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace cooperative_groups {

namespace details {

CUSIM_INLINE unsigned below(unsigned lane) { return (1u << lane) - 1; }
CUSIM_INLINE unsigned thread_number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
CUSIM_INLINE unsigned lane_number() { return thread_number() % 32; }
CUSIM_INLINE dim3 as_dim3(uint3 u) { return dim3(u); }

// The lane with this rank in a mask.
CUSIM_OWN int lane_of(unsigned mask, unsigned rank) {
    for (int lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        if (rank-- == 0) return lane;
    }
    return 32;
}

// The bits of a ballot at the positions of a mask, compacted.
CUSIM_OWN unsigned packed(unsigned ballot, unsigned mask) {
    unsigned result = 0, rank = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        result |= (ballot >> lane & 1) << rank++;
    }
    return result;
}

// The value of `lane`, of any size.
template <class T>
CUSIM_OWN T from_lane(unsigned mask, const T &value, int lane, const char *file, int line) {
    static_assert(std::is_trivially_copyable<T>::value, "a shuffle takes types that can be copied as bytes");
    T result;
    for (size_t at = 0; at < sizeof(T); at += 8) {
        const size_t bytes = sizeof(T) - at < 8 ? sizeof(T) - at : 8;
        uint64_t bits = 0;
        __builtin_memcpy(&bits, (const char *)&value + at, bytes);
        bits = cusim_warp(mask, CUSIM_SHUFFLE, bits, lane, 32, file, line);
        __builtin_memcpy((char *)&result + at, &bits, bytes);
    }
    return result;
}

}  // namespace details

// Some lanes of a warp: the common part of a tile and a coalesced group. Base: lane of a rank
template <class Group>
class lanes {
  public:
    CUSIM_INLINE void sync(CUSIM_HERE) const { cusim_warp(mask(), CUSIM_SYNC, 0, 0, 32, file, line); }

    template <class T>
    CUSIM_INLINE T shfl(T value, int rank, CUSIM_HERE) const {
        return details::from_lane(mask(), value, self().wrapped_lane(rank), file, line);
    }
    template <class T>
    CUSIM_INLINE T shfl_up(T value, unsigned delta, CUSIM_HERE) const {
        const unsigned own = self().thread_rank();
        return details::from_lane(mask(), value, self().lane_of(own < delta ? own : own - delta), file, line);
    }
    template <class T>
    CUSIM_INLINE T shfl_down(T value, unsigned delta, CUSIM_HERE) const {
        const unsigned own = self().thread_rank(), other = own + delta;
        return details::from_lane(mask(), value, self().lane_of(other < self().num_threads() ? other : own), file,
                                  line);
    }

    CUSIM_INLINE unsigned ballot(int predicate, CUSIM_HERE) const {
        return details::packed((unsigned)cusim_warp(mask(), CUSIM_BALLOT, !!predicate, 0, 32, file, line), mask());
    }
    CUSIM_INLINE int any(int predicate, CUSIM_HERE) const { return ballot(predicate, file, line) != 0; }
    CUSIM_INLINE int all(int predicate, CUSIM_HERE) const { return ballot(!predicate, file, line) == 0; }
    template <class T>
    CUSIM_INLINE unsigned match_any(T value, CUSIM_HERE) const {
        return details::packed(cusim::match(CUSIM_MATCH_ANY, file, line, mask(), value), mask());
    }
    template <class T>
    CUSIM_INLINE unsigned match_all(T value, int &same, CUSIM_HERE) const {
        return details::packed(cusim::match(CUSIM_MATCH_ALL, file, line, mask(), value, &same), mask());
    }

  private:
    CUSIM_INLINE const Group &self() const { return *(const Group *)this; }
    CUSIM_INLINE unsigned mask() const { return self().get_mask(); }
};

// --------------------------------------------------------------------------------------------------- the block

class thread_block {
  public:
    struct arrival_token {};
    static CUSIM_INLINE void sync(CUSIM_HERE) { cusim_syncthreads(file, line); }
    static CUSIM_INLINE arrival_token barrier_arrive() { return {}; }  // a thread that waits has also arrived
    static CUSIM_INLINE void barrier_wait(arrival_token &&, CUSIM_HERE) { cusim_syncthreads(file, line); }
    static CUSIM_INLINE unsigned thread_rank() { return details::thread_number(); }
    static CUSIM_INLINE unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    static CUSIM_INLINE unsigned size() { return num_threads(); }
    static CUSIM_INLINE dim3 group_index() { return details::as_dim3(blockIdx); }
    static CUSIM_INLINE dim3 thread_index() { return details::as_dim3(threadIdx); }
    static CUSIM_INLINE dim3 dim_threads() { return blockDim; }
    static CUSIM_INLINE dim3 group_dim() { return blockDim; }
};

CUSIM_INLINE thread_block this_thread_block() { return {}; }

// ------------------------------------------------------------------------------------------------ tiles of a warp

// SIZE threads of a warp, a power of two. Parent: the group that was cut into tiles
template <unsigned SIZE, class Parent = void>
class thread_block_tile : public lanes<thread_block_tile<SIZE, Parent>> {
    static_assert(SIZE >= 1 && SIZE <= 32 && (SIZE & (SIZE - 1)) == 0,
                  "the simulator has tiles of 1, 2, 4, 8, 16 and 32 threads");

    unsigned number, count;

  public:
    CUSIM_INLINE thread_block_tile(unsigned number, unsigned count) : number(number), count(count) {}
    template <class Other>
    CUSIM_INLINE thread_block_tile(const thread_block_tile<SIZE, Other> &other)
        : number(other.meta_group_rank()), count(other.meta_group_size()) {}

    static CUSIM_INLINE unsigned thread_rank() { return details::thread_number() % SIZE; }
    static constexpr unsigned num_threads() { return SIZE; }
    static constexpr unsigned size() { return SIZE; }
    CUSIM_INLINE unsigned meta_group_rank() const { return number; }
    CUSIM_INLINE unsigned meta_group_size() const { return count; }

    static CUSIM_INLINE unsigned first_lane() { return details::lane_number() / SIZE * SIZE; }
    static CUSIM_INLINE unsigned get_mask() { return (SIZE == 32 ? ~0u : details::below(SIZE)) << first_lane(); }
    static CUSIM_INLINE int lane_of(unsigned rank) { return first_lane() + rank; }
    static CUSIM_INLINE int wrapped_lane(int rank) { return first_lane() + (rank & (SIZE - 1)); }

    template <class T>
    CUSIM_INLINE T shfl_xor(T value, unsigned mask, CUSIM_HERE) const {
        const unsigned own = thread_rank(), other = own ^ mask;
        return details::from_lane(get_mask(), value, lane_of(other < SIZE ? other : own), file, line);
    }
};

template <unsigned SIZE>
CUSIM_INLINE thread_block_tile<SIZE, thread_block> tiled_partition(const thread_block &block) {
    return {block.thread_rank() / SIZE, (block.num_threads() + SIZE - 1) / SIZE};
}
template <unsigned SIZE, unsigned OUTER, class Parent>
CUSIM_INLINE thread_block_tile<SIZE, thread_block_tile<OUTER, Parent>> tiled_partition(
    const thread_block_tile<OUTER, Parent> &outer) {
    static_assert(SIZE <= OUTER, "a tile is no larger than what it is cut from");
    return {outer.thread_rank() / SIZE, OUTER / SIZE};
}
CUSIM_INLINE thread_block_tile<1, void> this_thread() { return {0, 1}; }

// ------------------------------------------------------------------------------------------ lanes that are together

class coalesced_group : public lanes<coalesced_group> {
    unsigned mask, number, count;

  public:
    CUSIM_INLINE explicit coalesced_group(unsigned mask, unsigned number = 0, unsigned count = 1)
        : mask(mask), number(number), count(count) {}
    CUSIM_INLINE unsigned get_mask() const { return mask; }
    CUSIM_INLINE unsigned num_threads() const { return __popc(mask); }
    CUSIM_INLINE unsigned size() const { return num_threads(); }
    CUSIM_INLINE unsigned thread_rank() const { return __popc(mask & details::below(details::lane_number())); }
    CUSIM_INLINE unsigned meta_group_rank() const { return number; }
    CUSIM_INLINE unsigned meta_group_size() const { return count; }
    CUSIM_INLINE int lane_of(unsigned rank) const { return details::lane_of(mask, rank); }
    CUSIM_INLINE int wrapped_lane(int rank) const { return details::lane_of(mask, (unsigned)rank % num_threads()); }
};

// The lanes of the warp that arrive here at the same time. They may differ in another run.
CUSIM_INLINE coalesced_group coalesced_threads(CUSIM_HERE) { return coalesced_group(cusim_gather(file, line)); }

// The members of a group with the same predicate, or the same label.
template <class Group>
CUSIM_INLINE coalesced_group binary_partition(const Group &group, bool predicate, CUSIM_HERE) {
    const unsigned yes = (unsigned)cusim_warp(group.get_mask(), CUSIM_BALLOT, predicate, 0, 32, file, line);
    return coalesced_group(predicate ? yes : group.get_mask() & ~yes, predicate, 2);
}
template <class Group, class T>
CUSIM_INLINE coalesced_group labeled_partition(const Group &group, T label, CUSIM_HERE) {
    return coalesced_group(cusim::match(CUSIM_MATCH_ANY, file, line, group.get_mask(), label));
}

// ------------------------------------------------------------------------------------------------- any of these

// A group whose kind is known only at run time.
class thread_group {
    unsigned mask;  // 0: the whole block

  public:
    CUSIM_INLINE thread_group(const thread_block &) : mask(0) {}
    template <class Group>
    CUSIM_INLINE thread_group(const lanes<Group> &group) : mask(((const Group &)group).get_mask()) {}
    CUSIM_INLINE void sync(CUSIM_HERE) const {
        if (mask) cusim_warp(mask, CUSIM_SYNC, 0, 0, 32, file, line);
        else cusim_syncthreads(file, line);
    }
    CUSIM_INLINE unsigned long long num_threads() const { return mask ? __popc(mask) : thread_block::num_threads(); }
    CUSIM_INLINE unsigned long long size() const { return num_threads(); }
    CUSIM_INLINE unsigned long long thread_rank() const {
        return mask ? __popc(mask & details::below(details::lane_number())) : thread_block::thread_rank();
    }
    CUSIM_INLINE unsigned get_mask() const { return mask; }
};

// Tiles of a size that is known only at run time: 1, 2, 4, 8, 16 or 32
CUSIM_INLINE thread_group tiled_partition(const thread_group &parent, unsigned size) {
    const unsigned first = parent.thread_rank() / size * size;
    unsigned members = 0;
    for (unsigned rank = first; rank < first + size && rank < parent.num_threads(); rank++)
        members |= 1u << (parent.get_mask() ? details::lane_of(parent.get_mask(), rank) : rank % 32);
    return coalesced_group(members);
}
CUSIM_INLINE coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
    return coalesced_group(tiled_partition(thread_group(parent), size).get_mask(), parent.thread_rank() / size,
                           (parent.num_threads() + size - 1) / size);
}

// ------------------------------------------------------------------------------------------------------ the grid

class grid_group {
  public:
    struct arrival_token {};
    static CUSIM_INLINE bool is_valid() { return true; }
    static CUSIM_INLINE void sync(CUSIM_HERE) { cusim_grid_barrier(file, line); }
    static CUSIM_INLINE arrival_token barrier_arrive() { return {}; }  // a thread that waits has also arrived
    static CUSIM_INLINE void barrier_wait(arrival_token &&, CUSIM_HERE) { cusim_grid_barrier(file, line); }
    static CUSIM_INLINE dim3 dim_blocks() { return gridDim; }
    static CUSIM_INLINE dim3 group_dim() { return gridDim; }
    static CUSIM_INLINE dim3 block_index() { return details::as_dim3(blockIdx); }
    static CUSIM_INLINE unsigned long long num_blocks() {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    static CUSIM_INLINE unsigned long long block_rank() {
        return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    }
    static CUSIM_INLINE unsigned long long num_threads() { return num_blocks() * thread_block::num_threads(); }
    static CUSIM_INLINE unsigned long long size() { return num_threads(); }
    static CUSIM_INLINE unsigned long long thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
};

CUSIM_INLINE grid_group this_grid() { return {}; }

// -------------------------------------------------------------------------------------------------- of any group

template <class Group>
CUSIM_INLINE void sync(const Group &group, CUSIM_HERE) {
    group.sync(file, line);
}
template <class Group>
CUSIM_INLINE auto thread_rank(const Group &group) -> decltype(group.thread_rank()) {
    return group.thread_rank();
}
template <class Group>
CUSIM_INLINE auto group_size(const Group &group) -> decltype(group.num_threads()) {
    return group.num_threads();
}
template <class Group, class Work>
CUSIM_INLINE void invoke_one(const Group &group, Work work) {
    if (group.thread_rank() == 0) work();
}

}  // namespace cooperative_groups
