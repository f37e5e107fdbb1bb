// Words in fresh memory, by which the blocks of one grid tell each other numbers while all of them run.
//
// Each word has a place of its own for each step, and all of them are EMPTY when the kernel begins. So a word that is
// not EMPTY any more is the number itself: no tag, no fence, no flag, and sixteen bytes at a time carry four words.
// EMPTY is one of many ways to write NaN; a NaN that is written like this is sent as another one.
//
// All blocks must be on the device at the same time, and a wait ends at last: see grid.cuh.
#pragma once
#include "grid.cuh"

#define EMPTY 0xffffffffu

struct alignas(16) Words {
    u32 word[4];
};

#ifdef __CUDASIM__
__device__ inline void store_fresh(u32 *p, u32 word) { *(volatile u32 *)p = word; }
__device__ inline Words load_fresh(const Words *p) {
    const volatile u32 *word = p->word;
    return {{word[0], word[1], word[2], word[3]}};
}
#else
__device__ inline void store_fresh(u32 *p, u32 word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(word) : "memory");
}
// Every word of the four by itself is whole; nothing more is needed.
__device__ inline Words load_fresh(const Words *p) {
    Words w;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(w.word[0]), "=r"(w.word[1]), "=r"(w.word[2]), "=r"(w.word[3])
                 : "l"(p)
                 : "memory");
    return w;
}
#endif

__device__ inline void tell(u32 *to, u32 word) { store_fresh(to, word == EMPTY ? 0x7fffffffu : word); }

// Whether the first `count` words are there.
__device__ inline bool complete(const Words &words, int count) {
    bool all = true;
#pragma unroll
    for (int k = 0; k < 4; k++) all = all && (k >= count || words.word[k] != EMPTY);
    return all;
}

// To be called after each look in vain: waits a little, and gives up at last. step: what `error` says then
__device__ inline void look_again(u32 polls, u32 step, Watch &watch) {
#ifdef __CUDASIM__
    __nanosleep(0);  // the others' turn
#endif
    const bool others_lost = polls % 256 == 0 && *(volatile u32 *)watch.error;
    if (others_lost || polls >= watch.polls) {
        atomicCAS(watch.error, 0u, step);
        watch.lost = true;
    }
}

// The first `count` words of four that were looked at once, the others 0; waits for what is EMPTY
__device__ inline Words hear(const Words *from, Words words, int count, u32 step, Watch &watch) {
    for (u32 polls = 1; !complete(words, count) && !watch.lost; polls++) {
        look_again(polls, step, watch);
        words = load_fresh(from);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) words.word[k] = k < count ? words.word[k] : 0;
    return words;
}
