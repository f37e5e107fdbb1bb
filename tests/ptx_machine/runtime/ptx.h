// The machine's interface for a translated kernel: its thread, and the instructions that affect more than registers.
// Registers are local variables of the kernel's function. Everything that waits for others is a call of one of these
// functions.
#pragma once
#include "values.h"

// The part of a thread that a kernel reads itself.
struct Thread {
    u32 tid[3], ctaid[3];
    const u32 *ntid, *nctaid;
    u32 lane, warp;
    u32 place;   // of the instruction that it executes: an index into the kernel's table of source lines
    u8 *shared;  // of its block
    u32 shared_bytes;
    u64 workspace;  // of the grid's barrier: %envreg2 and %envreg1
    u32 patience;   // jumps back that remain before others run
};

enum Order { WEAK, RELAXED, ACQUIRE, RELEASE, ACQ_REL };
enum Scope { BLOCK, DEVICE };
enum Change { ADD, MIN, MAX, AND, OR, XOR, EXCHANGE, COMPARE, INCREASE, DECREASE };
enum Kind { UNSIGNED, SIGNED, FLOAT };
enum Exchange {
    SHUFFLE_UP,
    SHUFFLE_DOWN,
    SHUFFLE_XOR,
    SHUFFLE_INDEX,
    VOTE,
    SYNC,
    SUM,
    LEAST,
    MOST,
    AND_ALL,
    OR_ALL,
    XOR_ALL
};

// Addresses of shared memory begin at 0. As generic addresses, they are in this range, where the host has no memory.
static const u64 SHARED_WINDOW = 1ull << 60;

// A load whose value may be determined as late as at its first use.
struct Late {
    u64 at, value;
    u8 bytes, order, scope;
    bool pending;
    Late *next;
};

extern "C" {
u64 ptx_load(Thread &t, u64 at, u32 bytes, Order order, Scope scope);
u64 ptx_load_constant(Thread &t, u64 at, u32 bytes);  // ld.global.nc
void ptx_store(Thread &t, u64 at, u32 bytes, u64 value, Order order, Scope scope);
u64 ptx_change(Thread &t, u64 at, u32 bytes, Change change, Kind kind, u64 a, u64 b, Order order, Scope scope);
void ptx_load_late(Thread &t, Late &late, u64 at, u32 bytes, Order order, Scope scope);
u64 ptx_value_of(Thread &t, Late &late);
void ptx_fence(Thread &t, bool sequential, Scope scope);
void ptx_barrier(Thread &t, u32 number, u32 threads);
u32 ptx_barrier_vote(Thread &t, u32 number,
                     u32 vote);  // how many threads voted 1, times 65536, plus how many there are
u64 ptx_exchange(Thread &t, Exchange what, u32 mask, u64 value, u32 argument, u32 limits);
u32 ptx_active(Thread &t);
bool ptx_backwards(Thread &t);  // the order in which the elements of a vector are accessed
void ptx_give_way(Thread &t);
void ptx_tired(Thread &t);
[[noreturn]] void ptx_fail(Thread &t, const char *why);
u8 *ptx_outside_of_shared(Thread &t, u64 at, u32 bytes);
}

// Before a jump back.
static inline void jump_back(Thread &t) {
    if (__builtin_expect(--t.patience == 0, 0)) ptx_tired(t);
}

// The target of a shared-memory access.
static inline u8 *shared_at(Thread &t, u64 at, u32 bytes) {
    if (__builtin_expect(at + bytes <= t.shared_bytes && at % bytes == 0, 1)) return t.shared + at;
    return ptx_outside_of_shared(t, at, bytes);
}

template <class T>
static inline T read(const u8 *from) {
    T x;
    memcpy(&x, from, sizeof x);
    return x;
}

template <class T>
static inline void write(u8 *to, T x) {
    memcpy(to, &x, sizeof x);
}
