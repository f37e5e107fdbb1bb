// __syncthreads, __syncthreads_count, __syncthreads_and, __syncthreads_or.
#include "../include/cusim_agreed.h"
#include "internal.h"

using namespace sim;

CUSIM_API void cusim_syncthreads(const char *file, int line) {
    wait_in(AT_BARRIER, file, line);
    block->waiting++;
    leave();
}

CUSIM_API int cusim_syncthreads_vote(int predicate, int operation, const char *file, int line) {
    thread->value = predicate;
    thread->operation = operation;
    block->votes = true;
    cusim_syncthreads(file, line);
    return (int)thread->result;
}

static void count_votes(Block *b) {
    uint64_t count = 0, threads = 0;
    for (uint32_t i = 0; i < b->size; i++) {
        const Thread *t = b->threads + i;
        if (t->state != AT_BARRIER) continue;
        count += t->value;
        threads++;
    }
    for (uint32_t i = 0; i < b->size; i++) {
        Thread *t = b->threads + i;
        t->result = t->operation == CUSIM_COUNT ? count : t->operation == CUSIM_AND ? count == threads : count > 0;
    }
    b->votes = false;
}

// All threads that have not returned wait at a barrier. If it is the same one, they continue.
void sim::release_barrier(Block *b) {
    if (b->votes) count_votes(b);
    Thread *first = nullptr;
    for (uint32_t i = 0; i < b->size; i++) {
        Thread *t = b->threads + i;
        if (t->state != AT_BARRIER) continue;
        if (!first) first = t;
        if (t->line != first->line || t->file != first->file) {
            fail(
                "divergent barrier: %s waits at %s:%d, %s at %s:%d; all threads of a block must meet at the same"
                " __syncthreads",
                name_of(first, b).text, first->file, first->line, name_of(t, b).text, t->file, t->line);
        }
        t->state = READY;
    }
    if (launch.options.check && b->live < b->size) {
        fail("barrier at %s:%d reached by %u of %u threads of block (%u,%u,%u): the others have already returned",
             first->file, first->line, b->live, b->size, b->index.x, b->index.y, b->index.z);
    }
    b->waiting = 0;
    tick();
    b->phase = now;
    progress++;
    launch.stats.barriers++;
}
