// Operations of a warp: __shfl_*_sync, __ballot_sync, __match_*_sync, __reduce_*_sync, __syncwarp.
#include "../include/cusim_agreed.h"
#include "internal.h"

using namespace sim;

static uint32_t lanes_of(const Block *b, uint32_t warp) {
    const uint32_t n = b->size - warp * 32;
    return n >= 32 ? ~0u : (1u << n) - 1;
}

// Rarely needed; inlining it would slow down every warp operation.
__attribute__((noinline)) static uint32_t returned_lanes(const Block *b, uint32_t warp) {
    const uint32_t lanes = lanes_of(b, warp);
    uint32_t returned = 0;
    for (int i = 0; i < 32; i++) {
        if (lanes >> i & 1 && b->threads[warp * 32 + i].state == DONE) returned |= 1u << i;
    }
    return returned;
}

// The lanes that arrive at the same place in the same round of the scheduler; a GPU has no rule for it either.
CUSIM_API unsigned cusim_gather(const char *file, int line) {
    wait_in(GATHERING, file, line);
    block->gathering++;
    leave();
    return (unsigned)thread->result;
}

// All threads of the block have run until they had to wait.
void sim::gather(Block *b) {
    for (uint32_t first = 0; first < b->size; first++) {
        Thread *t = b->threads + first;
        if (t->state != GATHERING) continue;
        const uint32_t warp = first / 32 * 32, end = warp + 32 < b->size ? warp + 32 : b->size;
        uint32_t together = 0;
        for (uint32_t i = warp; i < end; i++) {
            const Thread *other = b->threads + i;
            if (other->state == GATHERING && other->line == t->line && other->file == t->file)
                together |= 1u << (i - warp);
        }
        for (uint32_t i = warp; i < end; i++) {
            if (!(together >> (i - warp) & 1)) continue;
            b->threads[i].result = together;
            b->threads[i].state = READY;
        }
    }
    b->gathering = 0;
    progress++;
}

// The lane whose value a shuffle returns to `lane`; segments of `width` lanes are separate.
static int source_of(int lane, int operation, int argument, int width) {
    const int begin = lane & ~(width - 1), end = begin + width;
    switch (operation) {
        case CUSIM_SHUFFLE: return begin + (argument & (width - 1));
        case CUSIM_SHUFFLE_UP: return lane - argument < begin ? lane : lane - argument;
        case CUSIM_SHUFFLE_DOWN: return lane + argument >= end ? lane : lane + argument;
        default: return (lane ^ argument) >= end ? lane : lane ^ argument;
    }
}

static uint32_t equal_lanes(const Thread *lanes, uint32_t taking_part, uint64_t value) {
    uint32_t equal = 0;
    for (int i = 0; i < 32; i++) {
        if (taking_part >> i & 1 && lanes[i].value == value) equal |= 1u << i;
    }
    return equal;
}

// The header sends signed numbers as signed 64-bit ones, so one comparison fits both kinds.
static uint64_t reduce(const Thread *lanes, uint32_t taking_part, int operation) {
    const int first = __builtin_ctz(taking_part);
    int64_t sum = (int64_t)lanes[first].value;
    for (int i = first + 1; i < 32; i++) {
        if (!(taking_part >> i & 1)) continue;
        const int64_t value = (int64_t)lanes[i].value;
        switch (operation) {
            case CUSIM_REDUCE_ADD: sum += value; break;
            case CUSIM_REDUCE_MIN: sum = value < sum ? value : sum; break;
            case CUSIM_REDUCE_MAX: sum = value > sum ? value : sum; break;
            case CUSIM_REDUCE_AND: sum &= value; break;
            case CUSIM_REDUCE_OR: sum |= value; break;
            default: sum ^= value;
        }
    }
    return (uint64_t)sum;
}

static void check_same_operation(const Block *b, const Thread *first, const Thread *t, uint32_t mask) {
    if (t->operation == first->operation && t->line == first->line && t->mask == mask) return;
    fail("divergent warp operation: %s is at %s:%d with mask %08x, %s at %s:%d with mask %08x", name_of(first, b).text,
         first->file, first->line, first->mask, name_of(t, b).text, t->file, t->line, t->mask);
}

static uint64_t shuffled(const Block *b, const Thread *lanes, int lane, uint32_t taking_part) {
    const Thread *t = lanes + lane;
    const int source = source_of(lane, t->operation, t->argument, t->width);
    if (taking_part >> source & 1) return lanes[source].value;
    if (launch.options.check) {
        fail("shuffle at %s:%d: lane %d reads lane %d, which takes no part (mask %08x), %s", t->file, t->line, lane,
             source, t->mask, name_of(t, b).text);
    }
    return t->value;
}

// If all lanes of `mask` have arrived, they get their results and go on. Lanes that returned from the kernel are waited
// for, unless it is known that no other lane can arrive.
bool sim::finish_warp_operation(Block *b, uint32_t warp, uint32_t mask, bool without_returned) {
    uint32_t awaited = mask & lanes_of(b, warp);
    if (without_returned) awaited &= ~returned_lanes(b, warp);
    if (!awaited || (b->arrived[warp] & awaited) != awaited) return false;

    Thread *lanes = b->threads + warp * 32;
    const Thread *first = lanes + __builtin_ctz(awaited);
    uint32_t ballot = 0;
    for (int i = first->lane; i < 32; i++) {
        if (!(awaited >> i & 1)) continue;
        check_same_operation(b, first, lanes + i, mask);
        ballot |= (uint32_t)(lanes[i].value & 1) << i;
    }
    const int operation = first->operation;
    const uint64_t common = operation < CUSIM_REDUCE_ADD ? ballot : reduce(lanes, awaited, operation);
    for (int i = first->lane; i < 32; i++) {
        if (!(awaited >> i & 1)) continue;
        Thread *t = lanes + i;
        if (operation >= CUSIM_SHUFFLE && operation <= CUSIM_SHUFFLE_XOR) {
            t->result = shuffled(b, lanes, i, awaited);
        } else if (operation == CUSIM_MATCH_ANY || operation == CUSIM_MATCH_ALL) {
            const uint32_t equal = equal_lanes(lanes, awaited, t->value);
            t->result = operation == CUSIM_MATCH_ANY || equal == awaited ? equal : 0;
        } else {
            t->result = common;
        }
        t->state = READY;
    }
    b->arrived[warp] &= ~awaited;
    b->moved = 1;
    tick();
    b->warp_phase[warp] = now;
    progress++;
    launch.stats.warp_operations++;
    return true;
}

CUSIM_API uint64_t cusim_warp(unsigned mask, int operation, uint64_t value, int argument, int width, const char *file,
                              int line) {
    Thread *t = thread;
    const uint32_t warp = t->number / 32;
    if (!(mask >> t->lane & 1)) {
        fail("%s:%d: lane %d calls a warp operation with mask %08x, which leaves it out, %s", file, line, t->lane, mask,
             name_of(t, block).text);
    }
    wait_in(IN_WARP, file, line);
    t->operation = operation;
    t->mask = mask;
    t->value = value;
    t->argument = argument;
    t->width = width;
    block->arrived[warp] |= 1u << t->lane;
    if (!finish_warp_operation(block, warp, mask, false)) leave();
    return t->result;
}
