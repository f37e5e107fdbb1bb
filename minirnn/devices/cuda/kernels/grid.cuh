// Messages in global memory, by which the blocks of one grid tell each other numbers while all of them run.
//
// A message is a number and its tag. They lie in one 8-byte word (double: two words, half a number each), and such a
// word is written and read as a whole. So who finds the tag it waits for has the number too: no fence, no barrier, no
// flag. Memory for messages starts as zeros; no tag is 0.
//
// All blocks must be on the device at the same time: whoever launches makes sure of it. If a message stays away all the
// same, the wait ends after `polls` looks, `error` says what was missing, and the kernel returns.
#pragma once
#include "real.cuh"

#define WORDS ((int)sizeof(real) / 4)
struct Message {
    u64 word[WORDS];  // tag in the upper half, data in the lower one
};

// ---- single words. They must reach the memory that all blocks share: never the cache of one multiprocessor.

#ifdef __CUDASIM__
__device__ inline u64 load_word(const u64 *p) { return *(const volatile u64 *)p; }
__device__ inline void store_word(u64 *p, u64 word) { *(volatile u64 *)p = word; }
#else
__device__ inline u64 load_word(const u64 *p) {
    u64 word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(p) : "memory");
    return word;
}
__device__ inline void store_word(u64 *p, u64 word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" : : "l"(p), "l"(word) : "memory");
}
#endif

// ---- a number as words

__device__ inline u64 tagged(u32 tag, u32 data) { return (u64)tag << 32 | data; }

__device__ inline void pack(float number, u32 tag, u64 *word) { word[0] = tagged(tag, __float_as_uint(number)); }
__device__ inline void pack(double number, u32 tag, u64 *word) {
    word[0] = tagged(tag, (u32)__double2loint(number));
    word[1] = tagged(tag, (u32)__double2hiint(number));
}
__device__ inline void unpack(const u64 *word, float &number) { number = __uint_as_float((u32)word[0]); }
__device__ inline void unpack(const u64 *word, double &number) {
    number = __hiloint2double((int)(u32)word[1], (int)(u32)word[0]);
}

// ---- messages

__device__ inline void send(Message *to, u32 tag, real number) {
    Message message;
    pack(number, tag, message.word);
    for (int k = 0; k < WORDS; k++) store_word(&to->word[k], message.word[k]);
}

__device__ inline Message look(const Message *from) {
    Message message;
    for (int k = 0; k < WORDS; k++) message.word[k] = load_word(&from->word[k]);
    return message;
}

__device__ inline bool has(const Message &message, u32 tag) {
    bool complete = true;
    for (int k = 0; k < WORDS; k++) complete = complete && (u32)(message.word[k] >> 32) == tag;
    return complete;
}

// How long a thread waits, and where it says that it gave up.
struct Watch {
    u32 *error;  // of the launch: 0, or the first tag that was missed
    u32 polls;   // looks at one message before giving up
    bool lost;   // this thread gave up: what it holds is worth nothing
};

// The number in a message that was looked at once; waits for it if its tag is another one.
__device__ inline real await(const Message *from, Message message, u32 tag, Watch &watch) {
    for (u32 polls = 1; !has(message, tag) && !watch.lost; polls++) {
#ifdef __CUDASIM__
        __nanosleep(0);  // the others' turn
#endif
        const bool others_lost = polls % 256 == 0 && *(volatile u32 *)watch.error;
        if (others_lost || polls >= watch.polls) {
            atomicCAS(watch.error, 0u, tag);
            watch.lost = true;
        }
        message = look(from);
    }
    real number;
    unpack(message.word, number);
    return number;
}

// Calls use(n, number) for the first `count` of N messages that lie `stride` apart. All are looked at before the first
// is waited for.
template <int N, class Use>
__device__ void receive(const Message *from, i64 stride, int count, u32 tag, Watch &watch, Use use) {
    Message found[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        if (n < count) found[n] = look(from + n * stride);
#pragma unroll
    for (int n = 0; n < N; n++)
        if (n < count) use(n, await(from + n * stride, found[n], tag, watch));
}
