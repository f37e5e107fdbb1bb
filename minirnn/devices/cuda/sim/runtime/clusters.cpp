// Clusters: blocks that are resident together, meet at a barrier of their own, and reach each other's shared memory.
//
// A thread arrives at the barrier, and later waits for the others: what it does in between it does beside them. So each
// thread keeps when it arrived: what it did before that is in order for those that have waited.
#include "internal.h"

#include <stdio.h>

using namespace sim;

void sim::form_cluster(Block **members) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        Block *b = members[i];
        memcpy(b->cluster, members, launch.cluster * sizeof *members);
        b->at_cluster = b->arrived_at_cluster = b->rounds = 0;
        b->reached = {};
        if (!b->met_cluster) continue;
        b->met_cluster = false;
        for (uint32_t k = 0; k < b->size; k++) {
            b->threads[k].waits = 0;
            b->threads[k].open = false;
        }
    }
}

bool sim::is_over(const Block *b) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        if (b->cluster[i]->live) return false;
    }
    return true;
}

// ----------------------------------------------------------------------------------------------- the barrier

static Text arrived_where(const Thread *t, const Block *b) {
    Text text = {};
    const Past &p = b->past[t->number];
    if (launch.options.check) snprintf(text.text, sizeof text.text, " at %s:%d", p.arrive_file, p.arrive_line);
    return text;
}

// Out of line: what they say would make the frame of whoever waits larger.
[[noreturn]] __attribute__((noinline)) static void fail_twice(const char *file, int line) {
    fail("%s arrives at the barrier of its cluster%s and again at %s:%d, without waiting in between",
         name_of(thread, block).text, arrived_where(thread, block).text, file, line);
}

[[noreturn]] __attribute__((noinline)) static void fail_unarrived(const char *file, int line) {
    fail("%s waits for its cluster at %s:%d without having arrived there: __cluster_barrier_arrive() comes first",
         name_of(thread, block).text, file, line);
}

CUSIM_API void cusim_cluster_arrive(int relaxed, const char *file, int line) {
    Thread *t = thread;
    if (t->open) fail_twice(file, line);
    t->open = true;
    block->met_cluster = true;
    block->arrived_at_cluster++;
    if (!launch.options.check) return;
    Past &p = past();
    p.arrive_file = file;
    p.arrive_line = line;
    uint32_t &arrival = p.arrival[(t->waits + 1) % 2];
    if (relaxed) {  // only what is behind a fence is in order
        const uint32_t fence = last_fence(), before = t->waits ? p.arrival[t->waits % 2] : 0;
        arrival = fence && fence >= before ? fence + 1 : before;
    } else {
        tick();
        arrival = now;
    }
}

[[noreturn]] __attribute__((noinline)) static void fail_open(const Thread *t, const Block *b) {
    fail("%s returns after it has arrived at the barrier of its cluster%s, without waiting there", name_of(t, b).text,
         arrived_where(t, b).text);
}

[[noreturn]] __attribute__((noinline)) static void fail_divergent(const Thread *first, const Block *of, const Thread *t,
                                                                  const Block *b) {
    fail("divergent barrier: %s waits at %s:%d, %s at %s:%d; all threads of a cluster must meet at the same one",
         name_of(first, of).text, first->file, first->line, name_of(t, b).text, t->file, t->line);
}

static inline void pass(Thread *t) {
    t->open = false;
    t->waits++;
}

// If all threads of the cluster that have not returned have arrived, those that wait go on.
bool sim::release_cluster(Block *b) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        if (b->cluster[i]->arrived_at_cluster < b->cluster[i]->live) return false;
    }
    const Thread *first = nullptr;
    const Block *of = nullptr;
    for (uint32_t i = 0; i < launch.cluster; i++) {
        Block *one = b->cluster[i];
        for (uint32_t k = 0; k < one->size; k++) {
            Thread *t = one->threads + k;
            if (t->state != AT_CLUSTER) {
                if (t->state == DONE && t->open) fail_open(t, one);
                continue;
            }
            if (!first) first = t, of = one;
            if (t->line != first->line || t->file != first->file) fail_divergent(first, of, t, one);
            pass(t);
            t->state = READY;
        }
        one->at_cluster = one->arrived_at_cluster = 0;
        one->rounds++;
    }
    if (launch.options.check) order_cluster(b);
    tick();
    progress++;
    launch.stats.cluster_barriers++;
    return true;
}

CUSIM_API void cusim_cluster_wait(const char *file, int line) {
    Thread *t = thread;
    if (!t->open) fail_unarrived(file, line);
    if (block->rounds != t->waits) {
        pass(t);
        return;
    }
    wait_in(AT_CLUSTER, file, line);
    block->at_cluster++;
    leave();
}

// Whether what a thread of block b did at the time `when` is in order for the running one, by the cluster's barrier.
bool sim::is_before_cluster_barrier(const Block *b, uint32_t number, uint32_t when) {
    if (!thread->waits) return false;
    const Thread &other = b->threads[number];
    return other.waits + other.open < thread->waits || when < b->past[number].arrival[thread->waits % 2];
}

// ------------------------------------------------------------------------------------------- blocks that end

// The running thread uses shared memory of `owner`, which must neither begin later nor end earlier.
void sim::check_reach(Block *owner, bool asynchronous, void *pc) {
    if (!thread->waits) {
        fail_at({pc},
                "%s uses the shared memory of block (%u,%u,%u), which may not have started yet: the cluster must have"
                " met at its barrier before",
                name_of(thread, block).text, owner->index.x, owner->index.y, owner->index.z);
    }
    if (asynchronous) return;                                           // the owner itself waits for it
    const uint32_t round = thread->waits + 1 + (thread->open ? 1 : 0);  // at which the owner may end, at the earliest
    if (round < owner->reached.round) return;
    owner->reached = {round, block->number, thread->number, pc};
}

// All threads of the block have returned.
void sim::check_end(const Block *b) {
    for (uint32_t k = 0; k < b->size; k++) {
        if (b->threads[k].open) fail_open(b->threads + k, b);
    }
    if (!b->reached.round) return;
    uint32_t waits = 0;
    for (uint32_t k = 0; k < b->size; k++) waits = b->threads[k].waits > waits ? b->threads[k].waits : waits;
    if (waits >= b->reached.round) return;
    const Block *user = b->cluster[b->reached.block % launch.cluster];
    fail_at({b->reached.pc},
            "%s uses the shared memory of block (%u,%u,%u), which may have returned by then: the cluster must meet at"
            " its barrier once more before it returns",
            name_of(user->threads + b->reached.thread, user).text, b->index.x, b->index.y, b->index.z);
}

// ------------------------------------------------------------------------------------------------- addresses

CUSIM_API unsigned cusim_cluster_size() { return launch.cluster; }

// The place in block `rank` of the cluster that corresponds to p in the running block.
CUSIM_API void *cusim_cluster_map(const void *p, unsigned rank) {
    const char *at = (const char *)p;
    if (at < block->arena || at >= block->arena + launch.arena_bytes)
        fail("__cluster_map_shared_rank of an address that is not in shared memory, %s", name_of(thread, block).text);
    if (rank >= launch.cluster)
        fail("__cluster_map_shared_rank: block %u of a cluster of %u, %s", rank, launch.cluster,
             name_of(thread, block).text);
    Block *other = block->cluster[rank];
    prepare_shared(other, block->prepared);  // it may not have come by the declaration yet
    return other->arena + (at - block->arena);
}

CUSIM_API unsigned cusim_cluster_rank_of(const void *p) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        const Block *b = block->cluster[i];
        if ((const char *)p >= b->arena && (const char *)p < b->arena + launch.arena_bytes) return i;
    }
    fail("__cluster_query_shared_rank of an address that is not in shared memory, %s", name_of(thread, block).text);
}

Block *sim::neighbor_with(const char *p) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        Block *other = block->cluster[i];
        if (p >= other->arena && p < other->arena + launch.arena_bytes) return other;
    }
    return nullptr;
}
