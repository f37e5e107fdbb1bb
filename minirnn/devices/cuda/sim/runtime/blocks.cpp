// The blocks of a launch. One is created when another becomes resident, and they are reused.
#include "internal.h"

#include <stdlib.h>
#include <sys/mman.h>

namespace sim {

static Block *idle, *all;
static uint32_t pool_threads, pool_check, pool_arena;

static void *map(size_t bytes) {
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}

static size_t cells_bytes() { return pool_arena / 2 * sizeof(Cell); }

void prepare_blocks() {
    const CusimOptions &o = launch.options;
    if (pool_threads == launch.threads && pool_check == o.check && pool_arena == launch.arena_bytes) return;
    Busy while_lists_change;
    while (Block *b = all) {
        all = b->next_all;
        if (b->arena) munmap(b->arena, pool_arena);
        if (b->cells) munmap(b->cells, cells_bytes());
        free(b->threads);
        free(b->past);
        free(b->order);
        free(b->arrived);
        free(b->warp_phase);
        free(b);
    }
    idle = nullptr;
    pool_threads = launch.threads;
    pool_check = o.check;
    pool_arena = launch.arena_bytes;
}

void reclaim_blocks() {
    idle = nullptr;
    for (Block *b = all; b; b = b->next_all) {
        b->shape = {};  // Ctrl-C may have come while `threads` was filled
        b->next = idle;
        idle = b;
    }
}

void forget_block_times() {
    for (Block *b = all; b; b = b->next_all) {
        b->phase = now;
        for (uint32_t w = 0; w * 32 < pool_threads; w++) b->warp_phase[w] = now;
        if (!b->cells) continue;
        for (uint32_t i = 0; i < b->prepared / 2; i++) {
            b->cells[i].written.when = 0;  // but record that it was written
            b->cells[i].read = {};
            b->cells[i].second_who = 0;
        }
    }
}

static void make_block() {
    Busy while_lists_change;
    const uint32_t n = pool_threads, warps = n / 32 + 1;
    Block *b = (Block *)calloc(1, sizeof *b);
    b->next_all = all;
    all = b;
    b->next = idle;
    idle = b;
    b->threads = (Thread *)calloc(n, sizeof(Thread));
    b->past = (Past *)calloc(n, sizeof(Past));
    b->order = (uint32_t *)calloc(n, sizeof(uint32_t));
    b->arrived = (uint32_t *)calloc(warps, sizeof(uint32_t));
    b->warp_phase = (uint32_t *)calloc(warps, sizeof(uint32_t));
    b->arena = (char *)map(pool_arena);
    b->cells = pool_check ? (Cell *)map(cells_bytes()) : nullptr;
    if (!b->arena || (pool_check && !b->cells)) {
        all = b->next_all;
        idle = b->next;
        fail("out of memory for the shared memory of another resident block");
    }
}

static void fill_threads(Block *b) {
    const Uint3 shape = launch.block;
    b->shape = shape;
    Uint3 index = {0, 0, 0};
    for (uint32_t i = 0; i < b->size; i++) {
        Thread *t = b->threads + i;
        t->index = index;
        t->number = i;
        t->lane = i & 31;
        if (++index.x == shape.x) {
            index.x = 0;
            if (++index.y == shape.y) {
                index.y = 0;
                index.z++;
            }
        }
    }
}

Block *take_block(uint32_t number) {
    if (!idle) make_block();
    Block *b = idle;
    idle = b->next;
    b->next = nullptr;
    b->size = b->live = launch.threads;
    b->number = number;
    b->index = {number % launch.grid.x, number / launch.grid.x % launch.grid.y, number / launch.grid.x / launch.grid.y};
    b->waiting = b->at_grid = b->gathering = b->spinning = b->moved = b->preempted = 0;
    b->votes = false;
    tick();
    b->phase = now;
    if (memcmp(&b->shape, &launch.block, sizeof b->shape)) fill_threads(b);
    for (uint32_t i = 0; i < b->size; i++) {
        Thread *t = b->threads + i;
        b->order[i] = i;  // a seed gives the same order each time
        t->fiber = nullptr;
        t->state = FRESH;
        t->spin = 0;
        t->polled = nullptr;
    }
    for (uint32_t w = 0; w * 32 < b->size; w++) {
        b->arrived[w] = 0;
        b->warp_phase[w] = now;
    }
    if (launch.options.check) {
        for (uint32_t i = 0; i < b->size; i++) {
            Past &p = b->past[i];
            p.heard_of = p.heard_until = 0;
        }
    }
    b->prepared = 0;
    if (launch.dynamic_shared) prepare_shared(b, launch.dynamic_shared);
    return b;
}

void give_block_back(Block *b) {
    settle_write();
    forget_copies(b);
    b->next = idle;
    idle = b;
}

}  // namespace sim
