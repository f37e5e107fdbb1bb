// The common declarations of the parts of the machine.
//
//   launch.cpp     ptx_launch: which block and which thread run next, and barriers
//   fibers.cpp     stacks, and the switch between threads
//   warps.cpp      shuffles, votes, __syncwarp
//   memory.cpp     loads, stores, atomics and fences: the weak memory
//   late.cpp       loads whose values are found later
//   bounds.cpp     which addresses may be touched
//   knowledge.h    what a thread knows to have happened
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "knowledge.h"
#include "ptx.h"

namespace ptx {

enum State : u8 { RUNS, AT_BARRIER, IN_WARP, DONE };

struct Block;
struct Fiber;

struct Release {  // knowledge that a strong write passes to readers in its block, and to all others
    std::shared_ptr<const Knowledge> in_block, on_device;
};

struct Heard {  // knowledge from strong reads, which takes effect at the next fence
    u64 at;
    Release release;
    bool same_block;
};

struct Runner : Thread {
    Fiber *fiber = nullptr;
    Block *block = nullptr;
    u32 number = 0, who = 0;  // in the block, in the grid
    State state = RUNS;
    u32 barrier = 0, votes = 0, vote = 0;
    // a warp operation
    Exchange what = SYNC;
    u32 mask = 0, argument = 0, limits = 0;
    u64 value = 0, result = 0;
    // memory
    Knowledge own;                              // since the last barrier of the block
    Release fenced;                             // by its last fences
    std::unordered_map<u64, Release> released;  // by its own release operations, at that place
    std::vector<Heard> heard;
    std::shared_ptr<Fence> fence;  // its last one, if its place is open
    Late *late = nullptr;          // loads that it began
};

struct Barrier {
    u32 waiting = 0, expected = 0, votes = 0;
};

struct Block {
    u32 number = 0, size = 0, live = 0;
    std::vector<Runner> threads;
    std::vector<u8> shared;
    Barrier barriers[16];
    Knowledge base;                       // knowledge that all its threads share
    Knowledge sequential;                 // of fence.sc with the scope of a block
    std::unordered_map<u64, u64> cached;  // its multiprocessor's L1: place -> order of the message that lies there
    u64 starved_until = 0;
};

struct Options {  // of a launch
    u32 seed, weak, delay, resident;
};

struct Machine {
    Options options;
    u32 grid[3], shape[3], threads;
    void (*kernel)(Thread &, const u8 *);
    const u8 *parameters;
    u64 now, round;
    bool moved;      // this round had an effect other than reads of memory
    bool evicts;     // in this launch, lines of an L1 are sometimes replaced
    u32 interrupts;  // in this launch, one in this many weak accesses lets others run first
    Runner *running;
    // rounds that a thread ended by exhausting its jumps, since the last effect
    u64 tired;
    Knowledge sequential;                      // of fence.sc with the scope of the device, and a place
    std::vector<std::shared_ptr<Fence>> open;  // those without one
    u64 counts[8];
};

extern Machine machine;

enum Count { READS, OLDER, LATE, INSERTED, FENCES, ROUNDS };

extern u64 random_state;
inline u32 random_number() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (u32)(random_state >> 16);
}
inline bool one_in(u32 n) { return random_number() % n == 0; }

inline Runner &runner(Thread &t) { return static_cast<Runner &>(t); }

// ---- fibers.cpp
void start(Runner *t);  // creates its stack
void go_on(Runner *t);  // runs it until it yields
void leave();           // the running thread yields
void free_stack(Runner *t);
bool in_stack(u64 at, u32 bytes);
void thread_main();

// ---- others
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void finish_late(Runner &t, u64 at, u32 bytes, bool before_a_load = false);  // the loads that overlap it
void finish_all_late(Runner &t);
bool settle_warp(Runner *t);  // whether the operation that it waits for is complete
void settle_barrier(Block *b, u32 number);
void meet(Block *b);  // all threads of the block know the actions of each of them
void check_bounds(Runner &t, u64 at, u32 bytes, const char *verb);
void forget_bounds(const void *variables);
void forget_memory();
void take_place(Runner &t);     // its last fence.sc comes after all that have a place
void forget_thread(Runner &t);  // at its end

}  // namespace ptx
