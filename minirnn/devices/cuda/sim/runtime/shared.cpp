// Shared memory: an arena in each block. [dynamic][red zone][variable][red zone][variable]...
//
// A variable gets its place when the first thread of a launch reaches its declaration. Memory starts as NaN, so that
// reading unwritten memory shows.
#include "../include/cusim_agreed.h"
#include "internal.h"

#include <stdio.h>
#include <sys/mman.h>

using namespace sim;
using cusim::Slot;  // a static variable in the kernel's module for each declaration

static const uint32_t RED_ZONE = 64;
static const int MOST_VARIABLES = 256;

static SharedVariable variables[MOST_VARIABLES];
static int count;
static uint32_t epoch, top;

void sim::reset_shared() {
    epoch++;
    count = 0;
    top = launch.dynamic_shared;
    launch.stats.shared_bytes = launch.dynamic_shared;
    if (launch.dynamic_shared) variables[count++] = {0, launch.dynamic_shared, nullptr};
}

void sim::prepare_shared(Block *b, uint32_t bytes) {
    if (bytes <= b->prepared) return;
    fill_fresh(b->arena + b->prepared, bytes - b->prepared);
    if (b->cells) memset(b->cells + b->prepared / 2, 0, ((bytes + 1) / 2 - b->prepared / 2) * sizeof(Cell));
    b->prepared = (bytes + 1) & ~1u;
}

static void place(Slot *slot, uint32_t bytes, uint32_t align, const char *names) {
    launch.stats.shared_bytes += bytes;
    const uint32_t offset = (top + RED_ZONE + align - 1) / align * align;
    const bool fits = offset + bytes + RED_ZONE <= launch.arena_bytes && count < MOST_VARIABLES;
    if (launch.stats.shared_bytes > launch.options.shared_limit || !fits) {
        fail("too much shared memory: %llu bytes used, limit %u", (unsigned long long)launch.stats.shared_bytes,
             launch.options.shared_limit);
    }
    *slot = {epoch, offset, offset + bytes};
    top = offset + bytes;
    variables[count++] = {offset, bytes, names};
}

CUSIM_API void *cusim_shared(Slot *slot, unsigned bytes, unsigned align, const char *names) {
    if (__builtin_expect(slot->epoch != epoch, 0)) place(slot, bytes, align, names);
    Block *b = block;
    if (__builtin_expect(slot->end > b->prepared, 0)) prepare_shared(b, slot->end);
    return b->arena + slot->offset;
}

CUSIM_API void *cusim_dynshared() { return block->arena; }

SharedVariable *sim::find_shared(uint32_t offset, uint32_t bytes) {
    static int last;
    if (last < count && offset >= variables[last].offset &&
        offset + bytes <= variables[last].offset + variables[last].bytes) {
        return variables + last;
    }
    for (int i = 0; i < count; i++) {
        if (offset < variables[i].offset || offset + bytes > variables[i].offset + variables[i].bytes) continue;
        last = i;
        return variables + i;
    }
    return nullptr;
}

// "byte 12 of shared variable `s` (256 bytes)", or of the variable before, where it is past the end of all
Text sim::describe_shared(uint32_t offset) {
    Text t;
    const SharedVariable *v = nullptr;
    for (int i = 0; i < count; i++) {
        if (variables[i].offset <= offset) v = variables + i;
    }
    if (!v) {
        snprintf(t.text, sizeof t.text, "byte %u of shared memory, of which none is in use", offset);
        return t;
    }
    char what[64] = "dynamic shared memory";
    if (v->names) snprintf(what, sizeof what, "shared memory `%s`", v->names);
    else if (v->offset >= RED_ZONE) snprintf(what, sizeof what, "shared variable number %d", (int)(v - variables) + 1);
    snprintf(t.text, sizeof t.text, "byte %u of %s (%u bytes)", offset - v->offset, what, v->bytes);
    return t;
}
