// Clusters: blocks that are resident together, meet at a barrier of their own, and reach each other's shared memory.
#include "internal.h"

using namespace sim;

void sim::form_cluster(Block **members) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        memcpy(members[i]->cluster, members, launch.cluster * sizeof *members);
        members[i]->cluster_phase = now;
    }
}

bool sim::is_over(const Block *b) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        if (b->cluster[i]->live) return false;
    }
    return true;
}

CUSIM_API void cusim_cluster_barrier(const char *file, int line) {
    wait_in(AT_CLUSTER, file, line);
    block->at_cluster++;
    leave();
}

static void check_same_place(const Thread *first, const Block *of, const Thread *t, const Block *b) {
    if (t->line == first->line && t->file == first->file) return;
    fail("divergent barrier: %s waits at %s:%d, %s at %s:%d; all threads of a cluster must meet at the same one",
         name_of(first, of).text, first->file, first->line, name_of(t, b).text, t->file, t->line);
}

// If all threads of the cluster that have not returned wait at its barrier, they go on.
bool sim::release_cluster(Block *b) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        if (b->cluster[i]->at_cluster != b->cluster[i]->live) return false;
    }
    const Thread *first = nullptr;
    const Block *of = nullptr;
    tick();
    for (uint32_t i = 0; i < launch.cluster; i++) {
        Block *one = b->cluster[i];
        for (uint32_t k = 0; k < one->size; k++) {
            Thread *t = one->threads + k;
            if (t->state != AT_CLUSTER) continue;
            if (!first) first = t, of = one;
            check_same_place(first, of, t, one);
            t->state = READY;
        }
        one->at_cluster = 0;
        one->phase = one->cluster_phase = now;
    }
    if (launch.options.check) order_cluster(b);
    progress++;
    launch.stats.cluster_barriers++;
    return true;
}

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

Block *sim::neighbor_with(const char *p) {
    for (uint32_t i = 0; i < launch.cluster; i++) {
        Block *other = block->cluster[i];
        if (p >= other->arena && p < other->arena + launch.arena_bytes) return other;
    }
    return nullptr;
}
