// Messages in global memory, by which the blocks of one grid tell each other numbers while all of them run. No fence,
// no barrier, no flag: whoever finds a message has its number, because both lie in a word that is written and read as a
// whole. There are two kinds.
//
//   Bits      the number alone, at a place that is written once. Such memory starts with all bits set, which is a NaN;
//             a number with these bits is sent as another NaN. 4 bytes (double: 8), and a load looks at 16 of them
//   Tagged    the number and a tag, for a place that is written again and again. 8 bytes (double: two words, half a
//             number each). Memory starts as zeros; no tag is 0
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
    u32 *error;  // of the launch: 0, or the first tag that was missed
    u32 polls;   // looks at one message before giving up
    bool lost;   // this thread gave up: what it holds is worth nothing

    // After `looked` looks in vain at a message of that tag.
    __device__ void missed(u32 looked, u32 tag) {
#ifdef __CUDASIM__
        __nanosleep(0);  // the others' turn
#endif
        const bool others_lost = looked % 256 == 0 && *(volatile u32 *)error;
        if (others_lost || looked >= polls) {
            atomicCAS(error, 0u, tag);
            lost = true;
        }
    }
};

// Looks at a message until it is there. tag: what `error` says if it is not
template <class Message>
__device__ inline void await(const Message *from, Message &found, u32 tag, Watch &watch) {
    for (u32 looked = 1; !found.has(tag) && !watch.lost; looked++) {
        watch.missed(looked, tag);
        found = look(from);
    }
}

// ---- numbers alone

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

__device__ inline void send(real *to, real number) {
    const Number message = {number};
    store_word((Bits *)to, message.bits == NOT_SENT ? NOT_SENT >> 1 : message.bits);
}

// Some numbers side by side, aligned to all of them.
template <int COUNT>
struct alignas(COUNT * sizeof(Bits)) Numbers {
    Bits word[COUNT];

    __device__ bool has(u32) const {
        bool complete = true;
#pragma unroll
        for (int k = 0; k < COUNT; k++) complete = complete && word[k] != NOT_SENT;
        return complete;
    }
};

template <int COUNT>
__device__ inline Numbers<COUNT> look(const Numbers<COUNT> *from) {
    Numbers<COUNT> found;
    load_words<COUNT>(from->word, found.word);
    return found;
}

// ---- numbers with tags

__device__ inline u64 tagged(u32 tag, u32 data) { return (u64)tag << 32 | data; }

#define WORDS ((int)sizeof(real) / 4)
struct Tagged {
    u64 word[WORDS];  // tag in the upper half, data in the lower one

    __device__ bool has(u32 tag) const {
        bool complete = true;
#pragma unroll
        for (int k = 0; k < WORDS; k++) complete = complete && (u32)(word[k] >> 32) == tag;
        return complete;
    }

    __device__ real number() const {
        Number result;
        result.bits = (Bits)(u32)word[0];
        if constexpr (WORDS == 2) result.bits |= (Bits)(word[1] << 32);
        return result.number;
    }
};

__device__ inline void send(Tagged *to, u32 tag, real number) {
    const Number message = {number};
#pragma unroll
    for (int k = 0; k < WORDS; k++) store_word(&to->word[k], tagged(tag, (u32)((u64)message.bits >> 32 * k)));
}

__device__ inline Tagged look(const Tagged *from) {
    Tagged found;
#pragma unroll
    for (int k = 0; k < WORDS; k++) found.word[k] = load_word(&from->word[k]);
    return found;
}

// Calls use(n, number) for the first `count` of N messages that lie `stride` apart. All are looked at before the first
// is waited for.
template <int N, class Use>
__device__ void receive(const Tagged *from, i64 stride, int count, u32 tag, Watch &watch, Use use) {
    Tagged found[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        if (n < count) found[n] = look(from + n * stride);
#pragma unroll
    for (int n = 0; n < N; n++) {
        if (n < count) {
            await(from + n * stride, found[n], tag, watch);
            use(n, found[n].number());
        }
    }
}
