// ptx_launch runs a grid: in each round, every block runs in a random order, and in it every thread.
#undef _FORTIFY_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <algorithm>

#include "machine.h"

namespace ptx {

Machine machine;
u64 random_state;
static jmp_buf failed;
static char error[1024];
static std::vector<Block *> blocks;

static const u64 PATIENCE = 40000;  // rounds without any progress
static const u32 TIRED = 1 << 16;   // jumps back before the others run
static const u64 MOST_TIRED = 4000;
static const u32 LONGEST_HUNGER = 800;  // rounds; kernels give up after some thousand looks
static const size_t AT_FIRST = 8;       // blocks that start at once; the others start one by one

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, sizeof error, format, arguments);
    va_end(arguments);
    _longjmp(failed, 1);
}

void thread_main() {
    Runner *t = machine.running;
    machine.kernel(*t, machine.parameters);
    take_place(*t);
    t->state = DONE;
}

// ---- barriers

void meet(Block *b) {
    if (!machine.options.weak) return;
    for (auto &t : b->threads) {
        b->base.join(t.own);
        t.own.clear();
    }
    b->base.blocks[b->number] = machine.now++;
}

void settle_barrier(Block *b, u32 number) {
    Barrier &barrier = b->barriers[number];
    const u32 expected = barrier.expected ? barrier.expected : b->live;
    if (!barrier.waiting || barrier.waiting < expected) return;
    const u32 votes = barrier.votes << 16 | barrier.waiting;
    for (auto &t : b->threads) {
        if (t.state != AT_BARRIER || t.barrier != number) continue;
        t.votes = votes;
        t.state = RUNS;
    }
    meet(b);
    barrier = {};
    machine.moved = true;
}

static void wait(Runner &t, u32 number, u32 threads, u32 vote) {
    finish_all_late(t);
    take_place(t);
    if (number > 15) fail("barrier %u: there are 16", number);
    Barrier &barrier = t.block->barriers[number];
    barrier.expected = threads;
    barrier.waiting++;
    barrier.votes += vote;
    t.barrier = number;
    t.state = AT_BARRIER;
    settle_barrier(t.block, number);
    if (t.state == AT_BARRIER) leave();
}

// ---- blocks

static Block *new_block(u32 number, u32 shared_bytes, u64 workspace) {
    Block *b = new Block;
    b->number = number;
    b->size = b->live = machine.threads;
    b->shared.resize(shared_bytes);
    for (u32 k = 0; k < shared_bytes; k++) b->shared[k] = k % 2 ? 0x7f : 0xfb;  // NaN of every type
    b->threads.resize(b->size);
    const u32 *shape = machine.shape, *grid = machine.grid;
    for (u32 k = 0; k < b->size; k++) {
        Runner &t = b->threads[k];
        t.block = b;
        t.number = k;
        t.who = number * b->size + k;
        t.lane = k % 32, t.warp = k / 32;
        const u32 tid[] = {k % shape[0], k / shape[0] % shape[1], k / shape[0] / shape[1]};
        const u32 ctaid[] = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
        memcpy(t.tid, tid, sizeof tid);
        memcpy(t.ctaid, ctaid, sizeof ctaid);
        t.ntid = shape, t.nctaid = grid;
        t.shared = b->shared.data(), t.shared_bytes = shared_bytes;
        t.workspace = workspace;
        t.patience = TIRED;
        start(&t);
    }
    return b;
}

static void drop(Block *b) {
    for (auto &t : b->threads) free_stack(&t);
    delete b;
}

static void take_turn(Block *b) {
    const u32 first = random_number() % b->size;
    const bool down = one_in(2);
    for (u32 k = 0; k < b->size; k++) {
        Runner &t = b->threads[(first + (down ? b->size - k : k)) % b->size];
        if (t.state != RUNS) continue;
        t.patience = TIRED;
        go_on(&t);
        if (t.state != DONE) continue;
        machine.moved = true;
        if (machine.options.weak) b->base.join(t.own);
        forget_thread(t);
        free_stack(&t);
        b->live--;
        for (u32 n = 0; n < 16; n++) settle_barrier(b, n);
        for (u32 lane = t.number / 32 * 32; lane < b->size && lane < t.number / 32 * 32 + 32; lane++)
            if (b->threads[lane].state == IN_WARP) settle_warp(&b->threads[lane]);
    }
}

[[noreturn]] static void nothing_happens() {
    static const char *names[] = {"that runs in vain", "at a barrier", "in a warp operation"};
    for (Block *b : blocks)
        for (auto &t : b->threads)
            if (t.state != DONE) {
                machine.running = &t;
                fail("deadlock: thread %u of block %u, %s, waits for ever", t.number, b->number, names[t.state]);
            }
    fail("deadlock");
}

static void run_grid(u32 count, u32 shared_bytes, u64 workspace) {
    u32 next = 0;
    u64 idle = 0;
    const u32 longest = std::min(20 * machine.options.delay, LONGEST_HUNGER);
    while (next < count || !blocks.empty()) {
        machine.round++;
        while (next < count && blocks.size() < machine.options.resident) {
            if (blocks.size() >= AT_FIRST && !one_in(4) && idle <= 4) break;
            blocks.push_back(new_block(next++, shared_bytes, workspace));
            idle = 0;
        }
        machine.moved = false;
        for (size_t i = blocks.size() - 1; i > 0; i--) std::swap(blocks[i], blocks[random_number() % (i + 1)]);
        for (Block *b : blocks) {
            if (machine.options.weak && blocks.size() > 1) {
                if (one_in(300)) b->starved_until = machine.round + random_number() % longest;
                if (b->starved_until > machine.round || one_in(4)) continue;
            }
            take_turn(b);
        }
        for (size_t i = blocks.size(); i-- > 0;) {
            if (blocks[i]->live) continue;
            drop(blocks[i]);
            blocks.erase(blocks.begin() + i);
        }
        idle = machine.moved ? 0 : idle + 1;
        if (machine.moved) machine.tired = 0;
        if (idle > PATIENCE) nothing_happens();
    }
}

}  // namespace ptx

using namespace ptx;

void ptx_barrier(Thread &t, u32 number, u32 threads) { wait(runner(t), number, threads, 0); }

u32 ptx_barrier_vote(Thread &t, u32 number, u32 vote) {
    wait(runner(t), number, 0, vote);
    return runner(t).votes;
}

void ptx_give_way(Thread &t) { leave(); }

// After many jumps back: a loop that only reads registers, or memory whose changes it need not see.
void ptx_tired(Thread &t) {
    t.patience = TIRED;
    if (++machine.tired > MOST_TIRED) nothing_happens();
    leave();
}

void ptx_fail(Thread &t, const char *why) { fail("%s", why); }

struct Launch {
    void (*kernel)(Thread &, const u8 *);
    const void *variables;
    const u8 *parameters;
    u64 workspace;
    u32 grid[3], shape[3], shared_bytes;
    Options options;
};

// Returns 0, or 1 if it failed; then `said` holds the reason, and `where` the thread, the block and the place.
extern "C" int ptx_launch(const Launch *launch, char *said, u32 *where, u64 *counts) {
    machine = {};
    machine.options = launch->options;
    machine.kernel = launch->kernel;
    machine.parameters = launch->parameters;
    memcpy(machine.grid, launch->grid, sizeof machine.grid);
    memcpy(machine.shape, launch->shape, sizeof machine.shape);
    machine.threads = launch->shape[0] * launch->shape[1] * launch->shape[2];
    machine.now = 1;
    random_state = (launch->options.seed + 1) * 0x9E3779B97F4A7C15ull;
    machine.evicts = one_in(2);
    machine.interrupts = 4u << 2 * (random_number() % 3);
    forget_bounds(launch->variables);
    forget_memory();
    int status = 0;
    if (_setjmp(failed)) {
        status = 1;
        strcpy(said, error);
        const Runner *t = machine.running;
        if (t) where[0] = t->number, where[1] = t->block->number, where[2] = t->place;
        for (Block *b : blocks) drop(b);
        blocks.clear();
    } else {
        run_grid(launch->grid[0] * launch->grid[1] * launch->grid[2], launch->shared_bytes, launch->workspace);
    }
    machine.counts[ROUNDS] = machine.round;
    memcpy(counts, machine.counts, sizeof machine.counts);
    forget_memory();
    machine.sequential.clear();
    machine.open.clear();
    machine.running = nullptr;
    return status;
}
