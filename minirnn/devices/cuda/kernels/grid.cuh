// Messages in global memory, through which the blocks of one grid exchange numbers while they run. They need no fence,
// barrier or flag: each word is written and read as a whole, and shows by its bits whether it has arrived. Memory for
// messages starts with all bits set. There are two kinds, both with 4 bytes per number (double: 8).
//
//   Words    at places that are written once; a load reads 16 bytes of them. All bits set is one of many encodings
//            of NaN; a word with these bits is sent as another NaN. So a word that is not all ones was sent
//   Phased   numbers at places that are written repeatedly. The last bit is the phase, which changes
//            each time, so the number is rounded to one bit less. A number with the wrong phase is the previous one
//            if three conditions hold: one thread reads the place, each time; no thread writes it before that; and
//            the permission to write it depends on the value read. Then no read can see a number from two times before
//            (reads of one thread at one place never go back) or a later one
//
// All blocks must be on the device at the same time, which the launcher ensures. If a message does not arrive
// nevertheless, the wait ends after `polls` reads, `error` says what was missing, and the kernel returns.
#pragma once
#include "real.cuh"

// ---- single words. They must be in memory that all blocks share, never in the cache of one multiprocessor.

#ifdef __CUDASIM__
template <class T>
__device__ inline T load_word(const T *p) {
    return *(const volatile T *)p;
}
template <class T>
__device__ inline void store_word(T *p, T word) {
    *(volatile T *)p = word;
}
template <int N, class T>
__device__ inline void load_words(const T *p, T (&word)[N]) {
    for (int k = 0; k < N; k++) word[k] = load_word(p + k);
}
#else
__device__ inline u64 load_word(const u64 *p) {
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(p) : "memory");
    return word;
}
__device__ inline u32 load_word(const u32 *p) {
    u32 word;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    return word;
}
__device__ inline void store_word(u64 *p, u64 word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(p), "l"(word) : "memory");
}
__device__ inline void store_word(u32 *p, u32 word) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(word) : "memory");
}
// Several words at once. Each is read as a whole, but not all of them together, so each must be checked.
template <int N, class T>
__device__ inline void load_words(const T *p, T (&word)[N]) {
    if constexpr (N == 4 && sizeof(T) == 4)
        asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                     : "l"(p)
                     : "memory");
    else if constexpr (N == 2 && sizeof(T) == 8)
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0,%1}, [%2];" : "=l"(word[0]), "=l"(word[1]) : "l"(p) : "memory");
    else
        for (int k = 0; k < N; k++) word[k] = load_word(p + k);
}
#endif

// ---- waiting

struct Watch {
    u32 *error;  // of the launch: 0, or the first step whose message was missed
    u32 polls;   // rounds of reads before giving up
    bool lost;   // this thread gave up, and its values are invalid

    // Called after `looked` unsuccessful reads of messages of that step.
    __device__ void missed(u32 looked, u32 step) {
#ifdef __CUDASIM__
        __nanosleep(0);  // let other threads run
#endif
        const bool others_lost = looked % 256 == 0 && *(volatile u32 *)error;
        if (others_lost || looked >= polls) {
            atomicCAS(error, 0u, step);
            lost = true;
        }
    }
};

// ---- words at places that are written once

template <int BYTES>
struct BitsOf {
    typedef u32 type;
};
template <>
struct BitsOf<8> {
    typedef u64 type;
};
typedef BitsOf<sizeof(real)>::type Bits;
#define NOT_SENT (~Bits(0))

union Number {
    real number;
    Bits bits;
};

__device__ inline void send_word(Bits *to, Bits word) { store_word(to, word == NOT_SENT ? NOT_SENT >> 1 : word); }

__device__ inline void send(real *to, real number) {
    const Number message = {number};
    send_word((Bits *)to, message.bits);
}

// Adjacent words, aligned to their total size.
template <int COUNT>
struct alignas(COUNT * sizeof(Bits)) Words {
    Bits word[COUNT];

    // Whether the first `count` of them were sent.
    __device__ bool has(int count) const {
        bool complete = true;
#pragma unroll
        for (int k = 0; k < COUNT; k++) complete = complete && (k >= count || word[k] != NOT_SENT);
        return complete;
    }
};

template <int COUNT>
__device__ inline Words<COUNT> look(const Words<COUNT> *from) {
    Words<COUNT> found;
    load_words<COUNT>(from->word, found.word);
    return found;
}

// ---- numbers at places that are written repeatedly

// The bits of the nearest number whose last bit is 0; of two, the one whose second to last bit is also 0. A NaN stays a
// NaN; the largest number becomes infinity.
__device__ inline Bits without_last_bit(real number) {
    const Number message = {number};
    const Bits rounded = message.bits + (message.bits >> 1 & 1);
    return (number != number ? NOT_SENT >> 1 : rounded) & ~Bits(1);
}

struct Phased {
    Bits word;

    __device__ bool has(u32 phase) const { return (word & 1) == phase; }

    __device__ real number() const {
        Number message;
        message.bits = word & ~Bits(1);
        return message.number;
    }
};

// phase: 0 the first time, then 1, 0, and so on
__device__ inline void send(Phased *to, u32 phase, real number) {
    store_word(&to->word, without_last_bit(number) | phase);
}

__device__ inline Phased look(const Phased *from) { return {load_word(&from->word)}; }

// Calls use(number) for the first `count` of N messages that are `stride` apart. Each round reads all missing ones
// together, because reading them one by one would cost a full memory latency each.
template <int N, class Use>
__device__ void receive(const Phased *from, i64 stride, int count, u32 phase, u32 step, Watch &watch, Use use) {
    Phased found[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        if (n < count) found[n] = look(from + n * stride);
    const auto complete = [&] {
        bool whole = true;
#pragma unroll
        for (int n = 0; n < N; n++) whole = whole && (n >= count || found[n].has(phase));
        return whole;
    };
    for (u32 looked = 1; !watch.lost && !complete(); looked++) {
        watch.missed(looked, step);
#pragma unroll
        for (int n = 0; n < N; n++)
            if (n < count && !found[n].has(phase)) found[n] = look(from + n * stride);
    }
#pragma unroll
    for (int n = 0; n < N; n++)
        if (n < count) use(found[n].number());
}
