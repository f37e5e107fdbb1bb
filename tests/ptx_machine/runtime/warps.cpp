// Operations of a warp: the threads that a mask names wait for each other, and exchange values.
#include "machine.h"

namespace ptx {

static u64 reduced(Runner **lanes, u32 mask, Exchange what) {
    bool first = true;
    u64 result = 0;
    for (u32 k = 0; k < 32; k++) {
        if (!(mask >> k & 1)) continue;
        const u64 x = lanes[k]->value;
        if (first) result = x;
        else if (what == SUM) result += x;
        else if (what == LEAST) result = (i64)x < (i64)result ? x : result;
        else if (what == MOST) result = (i64)x > (i64)result ? x : result;
        else if (what == AND_ALL) result &= x;
        else if (what == OR_ALL) result |= x;
        else if (what == XOR_ALL) result ^= x;
        first = false;
    }
    return result;
}

// PTX ISA, "shfl.sync": `limits` holds a clamp and a mask of segments. The upper half of the result: whether the other
// lane is in range.
static u64 shuffled(Runner **lanes, u32 mask, u32 lane, const Runner &t) {
    const u32 by = t.argument & 31, clamp = t.limits & 31, segments = t.limits >> 8 & 31;
    const u32 most = (lane & segments) | (clamp & ~segments), least = lane & segments;
    u32 from = lane;
    bool valid = false;
    if (t.what == SHUFFLE_UP) from = lane - by, valid = (i32)from >= (i32)most;
    if (t.what == SHUFFLE_DOWN) from = lane + by, valid = from <= most;
    if (t.what == SHUFFLE_XOR) from = lane ^ by, valid = from <= most;
    if (t.what == SHUFFLE_INDEX) from = least | (by & ~segments), valid = from <= most;
    if (!valid) from = lane;
    if (!(mask >> from & 1)) fail("a shuffle from lane %u, which takes no part", from);
    return (u64)valid << 32 | (u32)lanes[from]->value;
}

bool settle_warp(Runner *t) {
    Runner *lanes[32] = {};
    u32 there = 0;
    Block *b = t->block;
    const u32 first = t->number / 32 * 32;
    for (u32 k = 0; k < 32 && first + k < b->size; k++) {
        Runner *other = &b->threads[first + k];
        lanes[k] = other;
        if (other->state == DONE) there |= 1u << k;
        if (other->state != IN_WARP || other->mask != t->mask) continue;
        if (other->what != t->what) continue;
        there |= 1u << k;
    }
    if (t->mask & ~there) return false;
    u32 mask = 0;
    for (u32 k = 0; k < 32; k++)
        if (t->mask >> k & 1 && lanes[k]->state == IN_WARP) mask |= 1u << k;
    const Exchange what = t->what;
    u64 votes = 0;
    Knowledge all;
    for (u32 k = 0; k < 32; k++) {
        if (!(mask >> k & 1)) continue;
        votes |= (u64)(lanes[k]->value & 1) << k;
        if (what == SYNC && machine.options.weak) {
            all.join(lanes[k]->own);
            Knowledge::raise(all.threads, lanes[k]->who, machine.now);
        }
    }
    for (u32 k = 0; k < 32; k++) {
        if (!(mask >> k & 1)) continue;
        Runner &lane = *lanes[k];
        if (what <= SHUFFLE_INDEX) lane.result = shuffled(lanes, mask, k, lane);
        else if (what == VOTE) lane.result = (u64)mask << 32 | votes;
        else if (what != SYNC) lane.result = reduced(lanes, mask, what);
        if (what == SYNC && machine.options.weak) lane.own = all;
    }
    for (u32 k = 0; k < 32; k++)
        if (mask >> k & 1) lanes[k]->state = RUNS;
    machine.now++;
    machine.moved = true;
    return true;
}

}  // namespace ptx

using namespace ptx;

u64 ptx_exchange(Thread &thread, Exchange what, u32 mask, u64 value, u32 argument, u32 limits) {
    Runner &t = runner(thread);
    if (!(mask >> t.lane & 1))
        fail("a warp operation with mask %08x by lane %u, which the mask leaves out", mask, t.lane);
    finish_all_late(t);
    take_place(t);
    t.what = what, t.mask = mask, t.value = value, t.argument = argument, t.limits = limits;
    t.state = IN_WARP;
    if (!settle_warp(&t)) leave();
    return t.result;
}

// Lanes that are ready to run. On a GPU these would be the ones that run together.
u32 ptx_active(Thread &thread) {
    Runner &t = runner(thread);
    return 1u << t.lane;
}
