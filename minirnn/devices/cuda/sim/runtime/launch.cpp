// cusim_launch checks its arguments, runs the grid, and returns how it ended.
#include "internal.h"
#include "lock.h"

#include <pthread.h>
#include <stdio.h>

using namespace sim;

Launch sim::launch;
volatile sig_atomic_t sim::running;

// A forked child has none of the other threads of its parent, so the one that holds the lock is also missing.
static void after_fork() {
    new (&the_lock) std::mutex;
    running = 0;
}
static const int forks_are_watched = pthread_atfork(nullptr, nullptr, after_fork);

static const char *refusal(uint64_t threads, uint64_t blocks) {
    const Uint3 g = launch.grid, b = launch.block;
    static char text[256];
    if (!threads || !blocks) {
        snprintf(text, sizeof text, "grid (%u,%u,%u) of blocks (%u,%u,%u) is empty", g.x, g.y, g.z, b.x, b.y, b.z);
    } else if (threads > 1024 || b.z > 64) {
        snprintf(text, sizeof text, "block (%u,%u,%u): at most 1024 threads in all, 64 along z", b.x, b.y, b.z);
    } else if (blocks > 0x7fffffff || g.y > 65535 || g.z > 65535) {
        snprintf(text, sizeof text, "grid (%u,%u,%u): at most 2147483647 blocks in all, 65535 along y and z", g.x, g.y,
                 g.z);
    } else if (launch.dynamic_shared > launch.options.shared_limit) {
        snprintf(text, sizeof text, "%u bytes of dynamic shared memory, limit %u", launch.dynamic_shared,
                 launch.options.shared_limit);
    } else {
        return nullptr;
    }
    return text;
}

// Returns how it ended: CUSIM_OK, CUSIM_FAILED or CUSIM_INTERRUPTED.
static int run_until_the_end() {
    const int end = sigsetjmp(exit_point, 1);
    if (end == 0) {
        running = 1;
        if (Busy::wanted) Busy::stop();
        prepare_fibers();
        prepare_blocks();
        run_grid();
        settle_write();
    }
    running = 0;
    if (end) {
        give_back_lent();
        forget_write();
        forget_copies(nullptr);
        reclaim_fibers();
        reclaim_blocks();
    }
    return end;
}

CUSIM_API int cusim_launch(void (*call)(void **), void **args, size_t args_bytes, const uint32_t grid[3],
                           const uint32_t shape[3], uint32_t dynamic_shared, const CusimOptions *options,
                           CusimStats *stats, CusimAccess *trace) {
    std::lock_guard<std::mutex> hold(the_lock);
    launch = {};
    launch.options = *options;
    launch.trace = trace;
    launch.call = call;
    launch.args = args;
    launch.args_end = (char *)args + args_bytes;
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block = {shape[0], shape[1], shape[2]};
    launch.dynamic_shared = dynamic_shared;
    launch.arena_bytes = (options->shared_limit + (32 << 10)) & ~4095u;  // room for the red zones
    if (!trace) launch.options.trace_capacity = 0;
    clear_error();
    *stats = {};

    const uint64_t threads = (uint64_t)shape[0] * shape[1] * shape[2];
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    if (const char *why = refusal(threads, blocks)) {
        refuse(why);
        return CUSIM_FAILED;
    }
    launch.threads = (uint32_t)threads;
    launch.blocks = (uint32_t)blocks;
    cusim_block_size = launch.block;
    cusim_grid_size = launch.grid;
    random_state = options->seed ? options->seed * 2654435761u | 1 : 12345;
    Busy::depth = 0;
    Busy::wanted = Busy::NOTHING;
    thread = nullptr;
    reset_shared();
    tick();
    launch.met = launch.begun = now;
    if (options->check) prepare_check();
    launched = true;

    install_handlers();
    int end = run_until_the_end();
    restore_handlers();

    if (Busy::wanted == Busy::INTERRUPT) end = CUSIM_INTERRUPTED;
    Busy::depth = 0;
    thread = nullptr;
    block = nullptr;
    flush_prints();
    *stats = launch.stats;
    return end;
}
