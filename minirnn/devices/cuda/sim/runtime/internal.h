// The common part of the simulator's runtime: its state, and the few hot functions that must be inlined.
//
//   launch.cpp        cusim_launch                     signals.cpp   faults, watchdog, Ctrl-C
//   scheduler.cpp     which block, which thread next   blocks.cpp    the blocks themselves
//   fibers.cpp        stacks, and the switch           errors.cpp    how a launch ends early
//   barriers.cpp      __syncthreads and its relatives  warp.cpp      shuffles, votes, __syncwarp
//   shared.cpp        shared memory of a block         language.cpp  __nanosleep, atomics, printf
//   memory.cpp        device memory                    check.cpp     check mode: every access
//   memcpy_async.cpp  copies while a kernel runs           races.cpp     check mode: races
//   variables.cpp     check mode: __device__ variables copies.cpp    check mode: memcpy and structs
//   stale.cpp         check mode: volatile messages   order.cpp     check mode: fences, blocks that tell others
//
// One operating system thread runs all simulated threads of a launch, and switches only inside calls into this
// library. So nothing here needs an atomic, and an atomicAdd is a plain addition.
#pragma once
#undef _FORTIFY_SOURCE  // the fortified longjmp refuses to leave the stack of a fiber
#include "api.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include <atomic>

namespace sim {

struct Uint3 {
    uint32_t x, y, z;
};

// ---------------------------------------------------------------------------------------- threads and blocks

struct Fiber {
    void *stack_pointer;  // where it continues
    char *stack;          // lowest usable address
    size_t bytes;
    Fiber *next;  // in the list of idle ones
};

enum State : uint8_t { FRESH, READY, AT_BARRIER, AT_GRID, IN_WARP, GATHERING, DONE };  // the first two can run

struct Thread {
    Fiber *fiber;     // null before it first runs and after its end
    Uint3 index;      // its threadIdx
    uint32_t number;  // in its block
    State state;
    uint8_t lane;
    uint8_t operation;  // the barrier or warp operation it waits in; the rest are its arguments and results
    int line;
    const char *file;
    uint32_t mask;
    int argument, width;
    uint64_t value, result;
    uint32_t spin;       // how often it read memory without doing anything else, as in a spin loop
    const void *polled;  // its last read
};

// More data of a thread, stored separately because rarely used data would make the rest slow.
struct Past {
    uint32_t heard_of, heard_until;  // a thread of its block whose signal it received, and up to which time
    uint32_t looks;                  // at the same volatile word, one after the other
};

// An access of a thread, kept until another thread touches the same memory.
struct Access {
    uint32_t who;   // 1 + number of the thread in the grid, 0: none; the three top bits: marks (races.cpp)
    uint32_t when;  // value of `now`
    int32_t pc;     // distance from the entry of the kernel; 0: unknown
};

// The recorded accesses of two bytes of memory.
struct Cell {
    Access written, read;
    uint32_t second_who;  // another thread that read it; the top bit: by the same instruction as `read`
    uint32_t second_when;
};

struct Block {
    Uint3 index;  // blockIdx
    uint32_t number;
    uint32_t size, live;  // threads, and those that have not returned
    uint32_t waiting;     // at the barrier
    uint32_t at_grid;     // that wait at the barrier of the grid
    uint32_t gathering;   // that wait for the lanes that arrive at the same place
    uint32_t spinning;    // in this round: threads that yielded in a spin loop
    uint32_t moved;       // in this round: whether anything happened
    uint32_t preempted;   // in this round: threads that were made to yield
    bool votes;           // the barrier is a __syncthreads_count, _and or _or
    uint32_t phase;       // when its threads last met at a barrier
    int position;         // in `order`
    uint32_t *order;
    Thread *threads;
    Past *past;            // by thread
    uint32_t *arrived;     // by warp: the lanes that wait in a warp operation
    uint32_t *warp_phase;  // by warp: when its lanes last met
    char *arena;           // shared memory
    uint32_t prepared;     // how much of it is filled with NaN
    Cell *cells;           // of the arena, in check mode
    Uint3 shape;           // of the block, when `threads` was filled
    Block *next, *next_all;
};

// -------------------------------------------------------------------------------------------- the one launch

struct Launch {
    CusimOptions options;
    CusimStats stats;
    CusimAccess *trace;
    void (*call)(void **);
    void **args;
    const char *args_end;
    Uint3 grid, block;
    uint32_t threads, blocks;  // in a block, in the grid
    uint32_t dynamic_shared;
    uint32_t arena_bytes;
    uint32_t begun;  // when it began
    uint32_t met;    // everything before this time is ordered for all: an earlier launch, or a barrier of the grid
};

extern Launch launch;
extern Thread *thread;     // the running one; null: the scheduler
extern Block *block;       // the running one
extern void *scheduler;    // where the scheduler continues
extern uint64_t progress;  // ends of threads, barriers, warp operations: progress that a hanging kernel lacks
extern uint32_t now;       // logical time: ticks at every barrier and warp operation
extern uint32_t random_state;
extern volatile sig_atomic_t running;

// Kernels read these as threadIdx, blockIdx, blockDim, gridDim.
CUSIM_API Uint3 cusim_thread_index, cusim_block_index, cusim_block_size, cusim_grid_size;
CUSIM_API void *cusim_dynamic_shared;  // dynamic shared memory of the running block
extern "C" void cusim_switch(void **from, void *to);

[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct Pcs {  // return addresses
    void *here;
    void *earlier = nullptr;  // of the access that a race is with
};
[[noreturn]] void fail_at(Pcs where, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct Text {  // small, because a large frame would extend the stack of a waiting thread
    char text[128];
};
void clear_error();
void refuse(const char *why);
extern sigjmp_buf exit_point;

Text name_of(const Thread *t, const Block *b);  // "thread (1,0,0) of block (0,0,0)"

// Ctrl-C and the watchdog may come at any time, but must not interrupt malloc or printf: while a Busy exists, they
// wait for its end.
struct Busy {
    static volatile sig_atomic_t depth;
    enum { NOTHING, WATCHDOG, INTERRUPT };
    static volatile sig_atomic_t wanted;  // a reason to stop that arrived in the meantime
    Busy() {
        depth = depth + 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Busy() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        depth = depth - 1;
        if (__builtin_expect(wanted, 0) && !depth) stop();
    }
    [[noreturn]] static void stop();
};

// -------------------------------------------------------------------------------------- parts used elsewhere

Fiber *new_fiber();
void recycle_fiber(Fiber *f);
void prepare_fibers();                   // before a launch: makes stacks of the requested size
void reclaim_fibers();                   // after a launch that failed: makes all fibers idle again
extern char *stacks_begin, *stacks_end;  // of the stacks in use
inline bool in_stacks(const void *p) { return (char *)p >= stacks_begin && (char *)p < stacks_end; }

// False while another thread of the process calls a small function of a kernel's module that was compiled for check
// mode.
inline bool in_kernel() { return in_stacks(__builtin_frame_address(0)); }
void fiber_main();

void install_handlers();
void restore_handlers();

void prepare_blocks();
Block *take_block(uint32_t number);
void give_block_back(Block *b);
void reclaim_blocks();
void run_grid();
void release_barrier(Block *b);
void gather(Block *b);
bool finish_warp_operation(Block *b, uint32_t warp, uint32_t mask, bool without_returned);

struct SharedVariable {
    uint32_t offset, bytes;
    const char *names;
};
void reset_shared();
void prepare_shared(Block *b, uint32_t bytes);
SharedVariable *find_shared(uint32_t offset, uint32_t bytes);
Text describe_shared(uint32_t offset);

struct Allocation {
    char *data;
    size_t bytes;
    char *region;         // the pages: data lies at their end, red zones around it
    size_t region_bytes;  // without the guard page
    bool guarded;         // an inaccessible page follows
    int64_t number;
    Cell *cells;
};
extern char *heap_begin, *heap_end;
void fill_fresh(char *p, size_t bytes);      // with NaN
Allocation *find_allocation(const char *p);  // a live one whose pages hold p, or null
void forget_times();                         // `now` restarts: no access has been recorded yet
void forget_block_times();
void describe_address(char *text, size_t size, const char *p, const char *verb);
char *reserve_addresses(size_t largest, int share, size_t *got);
size_t page_bytes();
double processor_seconds();  // of this operating system thread
extern bool launched;        // whether something was, since the red zones were last looked at

// Kinds of access. ATOMIC: or volatile; then a read alone is a volatile one, and a write has its own mark. OF_BLOCK: an
// atomic of this scope. CONSTANT: a read of what no thread writes during the launch.
enum { READ = 1, WRITE = 2, ATOMIC = 4, VOLATILE_WRITE = 8, OF_BLOCK = 16, CONSTANT = 32 };
void check_access(const void *p, uint32_t bytes, int kind, void *pc);
void prepare_check();

struct Place {  // where an access goes
    const Allocation *allocation;
    uint64_t offset;
    const char *variable;  // a __device__ variable; if neither: shared memory
};
void check_cells(Cell *c, const char *p, uint32_t bytes, int kind, const Place &place, void *pc);
void forget_races();
void forget_write();
void forget_copies(const Block *b);  // that its threads did not wait for; null: of all blocks
void settle_write();                 // decides about a write that conflicted with another one, now that it is done

static const uintptr_t PAGE = 4096;
Cell *cells_of_variables(uintptr_t page);  // of a page of a module's constants and __device__ variables
Text describe_variable(const char *p);
void forget_variables();

// Volatile messages (stale.cpp): before a write, before a read, at a fence, and at the end of a thread.
void note_strong_write(const void *p, uint32_t bytes, void *pc);
void look_at_volatile(const void *p, uint32_t bytes, void *pc);
void note_fence();
void end_of_thread();
void looked_in_vain();  // a thread, so often that it may give up
void give_back_lent();  // before any other access
void forget_words();    // the whole grid has met
void forget_stale();

void prepare_order();
void tell(const void *word);  // the running thread changes a word that others may be waiting for
void hear(const void *word);  // it has read one
// Whether an access of another block is known to be earlier. told: or would be, after a fence of this block.
bool is_behind(uint32_t who, uint32_t when, bool atomic, bool told);
void flush_prints();

// ----------------------------------------------------------------------------------------------- hot inlines

inline uint32_t random_number() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

inline void tick() {
    if (__builtin_expect(++now == 0, 0)) forget_times();
}

inline Thread *next_runnable() {
    Block *b = block;
    while (++b->position < (int)b->size) {
        Thread *t = b->threads + b->order[b->position];
        if (t->state <= READY) return t;
    }
    return nullptr;
}

inline void select(Thread *t) {
    thread = t;
    cusim_thread_index = t->index;
    if (!t->fiber) t->fiber = new_fiber();
}

// The fiber `me` stops here; the next runnable thread of the block continues, or the scheduler.
inline void hand_over(Fiber *me) {
    Thread *t = next_runnable();
    launch.stats.switches++;
    if (t) {
        select(t);
        cusim_switch(&me->stack_pointer, t->fiber->stack_pointer);
    } else {
        thread = nullptr;
        cusim_switch(&me->stack_pointer, scheduler);
    }
}

inline void leave() { hand_over(thread->fiber); }

// The running thread waits in a barrier or a warp operation until another one makes it READY.
inline void wait_in(State state, const char *file, int line) {
    thread->state = state;
    thread->file = file;
    thread->line = line;
    thread->spin = 0;
}

inline Past &past() { return block->past[thread->number]; }

inline void give_way() {
    block->spinning++;
    thread->spin = 0;
    leave();
}

}  // namespace sim
