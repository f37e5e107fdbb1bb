// What goes on while a kernel computes: copies into shared memory, barriers that count arrivals and bytes, and stores
// into the shared memory of another block of the cluster.
//
//   copy_async<BYTES>(shared, global)   a copy of 4, 8 or 16 bytes, aligned to as many (compute capability 8.0)
//   copy_commit()                       closes a group: the copies of this thread since the last one
//   copy_wait<N>()                      until at most the N latest groups are under way; then a __syncthreads tells others
//
//   Meeting *m                          a barrier in shared memory, 8 bytes (9.0); its phases are even, odd, even, ...
//   meeting_init(m, count)              by one thread; then meeting_visible() and a barrier, before anybody uses it
//   meeting_arrive(m)                   one of `count` arrivals; meeting_arrive(m, rank): at that of block `rank`
//   meeting_expect(m, bytes)            an arrival that also waits for so many bytes of store_async
//   meeting_wait(m, parity)             until the phase of this parity is over: 0 for the first, then 1, 0, ...
//   store_async(to, value, m, rank)     4, 8 or 16 bytes into block `rank`; `to` and `m` are places in this block's memory
#pragma once

typedef unsigned long long Meeting;

#ifdef __CUDASIM__
#include "cusim_async.h"  // the same functions
#else

__device__ inline unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// The same place in the shared memory of block `rank` of the cluster.
__device__ inline unsigned address_in_block(const void *p, unsigned rank) {
    unsigned address;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
    return address;
}

template <int BYTES>
__device__ inline void copy_async(void *shared, const void *global) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :
                     : "r"(shared_address(shared)), "l"(global)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
                     :
                     : "r"(shared_address(shared)), "l"(global), "n"(BYTES)
                     : "memory");
}
__device__ inline void copy_commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int N>
__device__ inline void copy_wait() {
    asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}

__device__ inline void meeting_init(Meeting *m, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(m)), "r"(count) : "memory");
}
__device__ inline void meeting_visible() { asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory"); }
__device__ inline void meeting_arrive(Meeting *m) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(shared_address(m)) : "memory");
}
__device__ inline void meeting_arrive(Meeting *m, unsigned rank) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];"
                 :
                 : "r"(address_in_block(m, rank))
                 : "memory");
}
__device__ inline void meeting_expect(Meeting *m, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 :
                 : "r"(shared_address(m)), "r"(bytes)
                 : "memory");
}
__device__ inline bool meeting_over(Meeting *m, unsigned parity) {
    unsigned over;
    asm volatile(
        "{\n"
        " .reg .pred p;\n"
        " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        " selp.u32 %0, 1, 0, p;\n"
        "}\n"
        : "=r"(over)
        : "r"(shared_address(m)), "r"(parity)
        : "memory");
    return over;
}
__device__ inline void meeting_wait(Meeting *m, unsigned parity) { while (!meeting_over(m, parity)); }

template <class T>
__device__ inline void store_async(T *to, T value, Meeting *m, unsigned rank) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16, "st.async stores 4, 8 or 16 bytes");
    const unsigned address = address_in_block(to, rank), meeting = address_in_block(m, rank);
    union {
        T value;
        unsigned word[sizeof(T) / 4];
    } bits = {value};
    if constexpr (sizeof(T) == 4)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                     :
                     : "r"(address), "r"(bits.word[0]), "r"(meeting)
                     : "memory");
    else if constexpr (sizeof(T) == 8)
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1,%2}, [%3];"
                     :
                     : "r"(address), "r"(bits.word[0]), "r"(bits.word[1]), "r"(meeting)
                     : "memory");
    else
        asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1,%2,%3,%4}, [%5];"
                     :
                     : "r"(address), "r"(bits.word[0]), "r"(bits.word[1]), "r"(bits.word[2]), "r"(bits.word[3]),
                       "r"(meeting)
                     : "memory");
}

#endif
