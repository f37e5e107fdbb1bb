// Cooperative groups, as far as barriers and shuffles go: the block, its parts of up to 32 threads, and their ranks.
#pragma once

namespace cooperative_groups {

// A barrier tells where it stands in the caller's file, as __syncthreads does.
#define CUSIM_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

class thread_block {
  public:
    static void sync(CUSIM_HERE) { cusim_syncthreads(file, line); }
    static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};

CUSIM_INLINE thread_block this_thread_block() { return thread_block(); }

template <unsigned Size, class Parent = thread_block>
class thread_block_tile {
    static_assert(Size && Size <= 32 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

    static unsigned lane() { return thread_block::thread_rank() % 32; }
    static unsigned mask() { return (Size == 32 ? ~0u : (1u << Size % 32) - 1) << (lane() / Size * Size); }

  public:
    static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
    static constexpr unsigned size() { return Size; }
    static constexpr unsigned num_threads() { return Size; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
    static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
    static void sync(CUSIM_HERE) { cusim::Syncwarp{file, line}(mask()); }
    template <class T>
    static T shfl(T value, int rank, CUSIM_HERE) {
        return cusim::shuffle(CUSIM_SHUFFLE, file, line, mask(), value, rank, Size);
    }
    template <class T>
    static T shfl_up(T value, unsigned by, CUSIM_HERE) {
        return cusim::shuffle(CUSIM_SHUFFLE_UP, file, line, mask(), value, (int)by, Size);
    }
    template <class T>
    static T shfl_down(T value, unsigned by, CUSIM_HERE) {
        return cusim::shuffle(CUSIM_SHUFFLE_DOWN, file, line, mask(), value, (int)by, Size);
    }
    template <class T>
    static T shfl_xor(T value, int by, CUSIM_HERE) {
        return cusim::shuffle(CUSIM_SHUFFLE_XOR, file, line, mask(), value, by, Size);
    }
};

template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent &) {
    return thread_block_tile<Size, Parent>();
}

template <class Group>
void sync(const Group &group, CUSIM_HERE) {
    group.sync(file, line);
}

#undef CUSIM_HERE

}  // namespace cooperative_groups
