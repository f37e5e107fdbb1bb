// Thread indices, barriers and warp operations; also printf and assert.
#pragma once

// Set by the scheduler; const, because their values never change for a thread.
CUSIM_API const uint3 cusim_thread_index, cusim_block_index;
CUSIM_API const dim3 cusim_block_size, cusim_grid_size;
#define threadIdx cusim_thread_index
#define blockIdx cusim_block_index
#define blockDim cusim_block_size
#define gridDim cusim_grid_size
static constexpr int warpSize = 32;

CUSIM_API void cusim_syncthreads(const char *file, int line);
CUSIM_API int cusim_syncthreads_vote(int predicate, int operation, const char *file, int line);
CUSIM_API uint64_t cusim_warp(unsigned mask, int operation, uint64_t value, int argument, int width, const char *file,
                              int line);
CUSIM_API unsigned cusim_gather(const char *file, int line);
CUSIM_API void cusim_yield();
CUSIM_API void cusim_trap(const char *what, const char *file, int line);
CUSIM_API int cusim_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
CUSIM_API long long cusim_clock();

// -------------------------------------------------------------------------------------------------- barriers

#define __syncthreads() cusim_syncthreads(__FILE__, __LINE__)
#define __syncthreads_count(predicate) cusim_syncthreads_vote(!!(predicate), CUSIM_COUNT, __FILE__, __LINE__)
#define __syncthreads_and(predicate) cusim_syncthreads_vote(!!(predicate), CUSIM_AND, __FILE__, __LINE__)
#define __syncthreads_or(predicate) cusim_syncthreads_vote(!!(predicate), CUSIM_OR, __FILE__, __LINE__)

// One processor runs all threads, and a switch is a call, so memory is always in order; only check mode uses fences.
#ifdef CUSIM_CHECK
CUSIM_API void cusim_fence();
#else
CUSIM_INLINE void cusim_fence() { __asm__ volatile("" ::: "memory"); }
#endif
CUSIM_INLINE void __threadfence() { cusim_fence(); }
CUSIM_INLINE void __threadfence_system() { cusim_fence(); }
CUSIM_INLINE void __threadfence_block() { __asm__ volatile("" ::: "memory"); }

// ------------------------------------------------------------------------------------------- warp operations

namespace cusim {

template <class T>
CUSIM_OWN T shuffle(int operation, const char *file, int line, unsigned mask, T value, int argument, int width = 32) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = cusim_warp(mask, operation, bits, argument, width, file, line);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T>
CUSIM_OWN unsigned match(int operation, const char *file, int line, unsigned mask, T value, int *all = nullptr) {
    static_assert(sizeof(T) <= 8, "a match compares at most 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    const unsigned lanes = (unsigned)cusim_warp(mask, operation, bits, 0, 32, file, line);
    if (all) *all = lanes != 0;
    return lanes;
}

template <class T>
CUSIM_OWN T reduce(int operation, const char *file, int line, unsigned mask, T value) {
    static_assert(sizeof(T) == 4 && std::is_integral<T>::value, "__reduce_*_sync takes int or unsigned");
    return (T)cusim_warp(mask, operation, (uint64_t)(int64_t)value, 0, 32, file, line);
}

struct Syncwarp {  // an object, because the mask may be left out
    const char *file;
    int line;
    void operator()(unsigned mask = ~0u) const { cusim_warp(mask, CUSIM_SYNC, 0, 0, 32, file, line); }
};

}  // namespace cusim

#define __syncwarp(...) (cusim::Syncwarp{__FILE__, __LINE__}(__VA_ARGS__))
#define __shfl_sync(mask, value, ...) cusim::shuffle(CUSIM_SHUFFLE, __FILE__, __LINE__, mask, value, __VA_ARGS__)
#define __shfl_up_sync(mask, value, ...) cusim::shuffle(CUSIM_SHUFFLE_UP, __FILE__, __LINE__, mask, value, __VA_ARGS__)
#define __shfl_down_sync(mask, value, ...) \
    cusim::shuffle(CUSIM_SHUFFLE_DOWN, __FILE__, __LINE__, mask, value, __VA_ARGS__)
#define __shfl_xor_sync(mask, value, ...) \
    cusim::shuffle(CUSIM_SHUFFLE_XOR, __FILE__, __LINE__, mask, value, __VA_ARGS__)
#define __ballot_sync(mask, predicate) \
    ((unsigned)cusim_warp(mask, CUSIM_BALLOT, !!(predicate), 0, 32, __FILE__, __LINE__))
#define __any_sync(mask, predicate) ((int)(__ballot_sync(mask, predicate) != 0))
#define __all_sync(mask, predicate) ((int)(__ballot_sync(mask, !(predicate)) == 0))
#define __match_any_sync(mask, value) cusim::match(CUSIM_MATCH_ANY, __FILE__, __LINE__, mask, value)
#define __match_all_sync(mask, value, all) cusim::match(CUSIM_MATCH_ALL, __FILE__, __LINE__, mask, value, all)
#define __reduce_add_sync(mask, value) cusim::reduce(CUSIM_REDUCE_ADD, __FILE__, __LINE__, mask, value)
#define __reduce_min_sync(mask, value) cusim::reduce(CUSIM_REDUCE_MIN, __FILE__, __LINE__, mask, value)
#define __reduce_max_sync(mask, value) cusim::reduce(CUSIM_REDUCE_MAX, __FILE__, __LINE__, mask, value)
#define __reduce_and_sync(mask, value) cusim::reduce(CUSIM_REDUCE_AND, __FILE__, __LINE__, mask, value)
#define __reduce_or_sync(mask, value) cusim::reduce(CUSIM_REDUCE_OR, __FILE__, __LINE__, mask, value)
#define __reduce_xor_sync(mask, value) cusim::reduce(CUSIM_REDUCE_XOR, __FILE__, __LINE__, mask, value)
#define __activemask() cusim_gather(__FILE__, __LINE__)

// ----------------------------------------------------------------------------------- waiting, output, errors

#define __nanosleep(nanoseconds) ((void)(nanoseconds), cusim_yield())
#define __trap() cusim_trap("__trap()", __FILE__, __LINE__)
#define __brkpt() cusim_trap("__brkpt()", __FILE__, __LINE__)
#define printf(...) cusim_printf(__VA_ARGS__)
namespace std {
using ::cusim_printf;  // std::printf
}
CUSIM_INLINE long long clock64() { return cusim_clock(); }
#include "assert.h"
