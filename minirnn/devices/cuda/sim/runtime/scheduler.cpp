// The choice of the next simulated thread.
//
// The threads of a block take turns: each runs until it blocks, then hands over to the next. Blocks run one after
// another; another block becomes resident only when all resident ones spin, so a hand-written grid barrier works.
#include "internal.h"

#include <time.h>

#include <algorithm>
#include <vector>

namespace sim {

Uint3 cusim_thread_index, cusim_block_index, cusim_block_size, cusim_grid_size;
void *cusim_dynamic_shared;
Thread *thread;
Block *block;
void *scheduler;
uint64_t progress;
uint32_t now;
uint32_t random_state;

void fiber_main() {
    for (;;) {
        thread->state = READY;
        launch.call(launch.args);
        if (launch.options.check) end_of_thread();

        Fiber *me = thread->fiber;
        thread->state = DONE;
        thread->fiber = nullptr;
        block->live--;
        progress++;
        Thread *t = next_runnable();
        if (t && t->state == FRESH) {  // it can have this fiber: no switch
            t->fiber = me;
            select(t);
            continue;
        }
        recycle_fiber(me);
        block->position--;  // hand_over checks again
        hand_over(me);
    }
}

// --------------------------------------------------------------------------------------------------- running

static void shuffle(uint32_t *order, uint32_t n) {
    for (uint32_t i = n - 1; i > 0; i--) {
        const uint32_t j = random_number() % (i + 1), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}

[[noreturn]] static void fail_stuck(Block *b) {
    Thread *in_warp = nullptr, *at_barrier = nullptr, *at_grid = nullptr;
    for (uint32_t i = 0; i < b->size; i++) {
        Thread *t = b->threads + i;
        if (t->state == IN_WARP && !in_warp) in_warp = t;
        if (t->state == AT_BARRIER && !at_barrier) at_barrier = t;
        if (t->state == AT_GRID && !at_grid) at_grid = t;
    }
    if (at_barrier && at_grid && !in_warp)
        fail("divergent barrier: %s waits for its block at %s:%d, %s for the grid at %s:%d",
             name_of(at_barrier, b).text, at_barrier->file, at_barrier->line, name_of(at_grid, b).text, at_grid->file,
             at_grid->line);
    const char *others = at_barrier ? " (others wait at __syncthreads)" : "";
    if (!in_warp) fail("deadlock in block (%u,%u,%u)", b->index.x, b->index.y, b->index.z);
    fail("deadlock: %s waits in a warp operation at %s:%d (mask %08x) for lanes that never come%s",
         name_of(in_warp, b).text, in_warp->file, in_warp->line, in_warp->mask, others);
}

// The end of a block's turn.
enum Outcome { FINISHED, SPINS, AT_GRID_BARRIER };

static Outcome run_block(Block *b) {
    block = b;
    cusim_block_index = b->index;
    cusim_dynamic_shared = b->arena;
    for (;;) {
        b->position = -1;
        b->spinning = b->moved = b->preempted = 0;
        if (launch.options.seed) shuffle(b->order, b->size);
        if (Thread *t = next_runnable()) {
            select(t);
            launch.stats.switches++;
            cusim_switch(&scheduler, t->fiber->stack_pointer);
        }
        if (!b->live) return FINISHED;
        if (b->waiting == b->live) {
            release_barrier(b);
            continue;
        }
        if (b->gathering) {
            gather(b);
            continue;
        }
        if (b->moved) continue;
        if (b->spinning) return SPINS;
        if (b->preempted) continue;
        // No thread can run: lanes that returned are not waited for.
        for (uint32_t w = 0; w * 32 < b->size; w++) {
            const uint32_t arrived = b->arrived[w];
            if (!arrived) continue;
            const Thread *first = b->threads + w * 32 + __builtin_ctz(arrived);
            finish_warp_operation(b, w, first->mask, true);
        }
        if (b->moved) continue;
        if (b->at_grid == b->live) return AT_GRID_BARRIER;
        fail_stuck(b);
    }
}

double processor_seconds() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b) {
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// A random order of the blocks that needs no list: first, first + jump, ... by a jump that has no factor in common
// with their number.
struct BlockOrder {
    uint64_t at = 0, jump = 1, n, left;

    explicit BlockOrder(uint32_t blocks) : n(blocks), left(blocks) {
        if (!launch.options.seed || blocks == 1) return;
        at = random_number() % blocks;
        do jump = 1 + random_number() % (blocks - 1);
        while (greatest_common_divisor(blocks, (uint32_t)jump) != 1);
    }

    uint32_t next() {
        const uint64_t number = at;
        at = (at + jump) % n;
        left--;
        return (uint32_t)number;
    }
};

[[noreturn]] static void fail_deadlocked(size_t resident, uint64_t outside) {
    if (outside) {
        fail(
            "deadlock: %zu blocks spin, waiting for blocks that are not resident"
            " (grid of %u blocks, only %u fit at a time)",
            resident, launch.blocks, launch.options.resident);
    }
    fail("deadlock: all resident blocks (%zu) spin and nothing changes", resident);
}

CUSIM_API void cusim_grid_barrier(const char *file, int line) {
    if (launch.blocks > launch.options.resident) {
        fail("%s waits for the grid at %s:%d: it has %u blocks, of which only %u fit on the device",
             name_of(thread, block).text, file, line, launch.blocks, launch.options.resident);
    }
    wait_in(AT_GRID, file, line);
    block->at_grid++;
    leave();
}

// All threads of all blocks that have not returned wait at the barrier of the grid.
static void release_grid(const std::vector<Block *> &resident) {
    const Thread *first = nullptr;
    const Block *of = nullptr;
    for (Block *b : resident) {
        for (uint32_t i = 0; i < b->size; i++) {
            Thread *t = b->threads + i;
            if (t->state != AT_GRID) continue;
            if (!first) first = t, of = b;
            if (t->line != first->line || t->file != first->file) {
                fail(
                    "divergent barrier: %s waits at %s:%d, %s at %s:%d; all threads of the grid must meet at the same one",
                    name_of(first, of).text, first->file, first->line, name_of(t, b).text, t->file, t->line);
            }
            t->state = READY;
        }
        b->at_grid = 0;
    }
    if (resident.size() < launch.blocks) {
        fail("%s waits for the grid at %s:%d, but %u of its %u blocks have already returned", name_of(first, of).text,
             first->file, first->line, launch.blocks - (uint32_t)resident.size(), launch.blocks);
    }
    tick();
    launch.met = now;
    forget_words();
    for (Block *b : resident) b->phase = now;
    progress++;
}

void run_grid() {
    static std::vector<Block *> resident;  // blocks that were started, and wait or spin
    {
        Busy while_it_grows;
        resident.clear();
        resident.reserve(std::min(launch.options.resident, launch.blocks) + 1);
    }
    BlockOrder order(launch.blocks);
    uint64_t seen = progress;
    unsigned idle_rounds = 0;
    double idle_since = 0;
    while (!resident.empty() || order.left) {
        bool changed = false, spins = false;
        size_t at_grid = 0;
        for (size_t i = 0; i < resident.size();) {
            const Outcome outcome = run_block(resident[i]);
            spins = spins || outcome == SPINS;
            at_grid += outcome == AT_GRID_BARRIER;
            if (outcome == FINISHED) {
                give_block_back(resident[i]);
                resident[i] = resident.back();
                resident.pop_back();
                changed = true;
            } else {
                i++;
            }
        }
        while (resident.empty() && order.left) {
            resident.push_back(take_block(order.next()));
            changed = true;
            const Outcome outcome = run_block(resident[0]);
            spins = spins || outcome == SPINS;
            if (outcome == FINISHED) {
                give_block_back(resident[0]);
                resident.pop_back();
            }
        }
        if (at_grid && at_grid == resident.size() && !order.left) {
            release_grid(resident);
            changed = true;
        }
        if (!changed && (spins || at_grid) && order.left && resident.size() < launch.options.resident) {
            resident.push_back(take_block(order.next()));
            changed = true;
        }
        if (resident.size() > launch.stats.resident_blocks) launch.stats.resident_blocks = resident.size();

        if (changed || progress != seen) {
            seen = progress;
            idle_rounds = 0;
        } else if (idle_rounds++ % 1024 == 0) {
            const double seconds = processor_seconds();
            if (idle_rounds == 1) idle_since = seconds;
            const bool long_enough = (seconds - idle_since) * 4000 > launch.options.watchdog_ms;
            if (idle_rounds > 10000 && long_enough) fail_deadlocked(resident.size(), order.left);
        }
    }
}

}  // namespace sim
