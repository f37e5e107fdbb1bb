// Messages in global memory, by which the blocks of one grid tell each other numbers while all of them run. No fence,
// no barrier, no flag: each word is written and read as a whole, and says by itself whether it is there. Memory for
// messages starts with all bits set. There are two kinds, both 4 bytes a number (double: 8).
//
//   Words    at places that are written once, and a load looks at 16 bytes of them. All bits set is one of many ways to
//            write NaN; a word with these bits is sent as another NaN. So what is not all ones was sent
//   Phased   a number at a place that is written again and again. Its last bit is the phase, which changes from one
//            time to the next, so the number is rounded to one bit less. What has the wrong phase is of the time before,
//            if three things hold: one thread reads the place, each time; nobody writes it before that was done; and
//            what allows to write it follows from what was read. Then no look can see what was two times before
//            (looks of one thread at one place never go back) or what is to come
//
// All blocks must be on the device at the same time: whoever launches makes sure of it. If a message stays away all the
// same, the wait ends after `polls` looks, `error` says what was missing, and the kernel returns.
#pragma once
#include "real.cuh"

// ---- single words. They must reach the memory that all blocks share: never the cache of one multiprocessor.

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
// Several words at once. Each is read as a whole, but not all of them together: each must be looked at.
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

// ---- how a thread waits

struct Watch {
    u32 *error;  // of the launch: 0, or the first step whose message was missed
    u32 polls;   // turns of looks before giving up
    bool lost;   // this thread gave up: what it holds is worth nothing

    // After `looked` looks in vain at messages of that step.
    __device__ void missed(u32 looked, u32 step) {
#ifdef __CUDASIM__
        __nanosleep(0);  // the others' turn
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

// Some words side by side, aligned to all of them.
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

// ---- numbers at places that are written again and again

// The bits of a number whose last one is 0: the nearest such number, of two the one whose last but one bit is 0 as well.
// A NaN remains one, of whatever bits; the largest number becomes infinity.
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

// Calls use(number) for the first `count` of N messages that lie `stride` apart. In each turn all that are still missing
// are looked at, so that the looks travel together: one after the other, each would take a whole way to the memory.
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
