// Races, for check mode: two accesses of the same memory by two threads, one of them a plain write, that nothing
// orders.
//
// Threads of a block are ordered by __syncthreads, those of a warp by a warp operation, and blocks by fences and words
// that signal them (order.cpp).
#include "internal.h"

#include <stdio.h>

#include <unordered_map>

using namespace sim;

// Of Access::who: the thread, and three marks. MARK: it was atomic or volatile; with VOLATILE: volatile; with NARROW: an
// atomic of the block's scope. VOLATILE alone, of a read: a volatile one.
static const uint32_t WHO = 0x1fffffff, MARK = 0x80000000, VOLATILE = 0x40000000, NARROW = 0x20000000;

// A plain write that conflicted with another one. Whether both write the same is known at the next access of any
// thread, because nothing else changes memory.
static struct {
    const char *p;  // null: there is none
    uint32_t bytes;
    bool may_agree;  // no race if both write the same
    char before[16];
    Pcs pcs;
    char text[512];
} met;

// The records of single-byte accesses in this launch. Others are for two bytes at a time.
static std::unordered_map<const char *, Cell> single_bytes;

static Text describe(const Place &place) {
    if (place.variable) return describe_variable(place.variable);
    if (!place.allocation) return describe_shared((uint32_t)place.offset);
    Text t;
    snprintf(t.text, sizeof t.text, "byte %llu of device allocation #%lld (%zu bytes)",
             (unsigned long long)place.offset, (long long)place.allocation->number, place.allocation->bytes);
    return t;
}

static int32_t distance_of(void *pc) { return (int32_t)((char *)pc - (char *)launch.call); }
static void *pc_at(int32_t distance) { return distance ? (char *)launch.call + distance : nullptr; }

// The name of a thread of the grid, which may have returned.
static Text name_of(uint32_t who) {
    const uint32_t b = (who - 1) / launch.threads, t = (who - 1) % launch.threads;
    const Uint3 grid = launch.grid, shape = launch.block;
    Text name;
    snprintf(name.text, sizeof name.text, "thread (%u,%u,%u) of block (%u,%u,%u)", t % shape.x, t / shape.x % shape.y,
             t / shape.x / shape.y, b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
    return name;
}

static const char *missing_between(uint32_t who) {
    const uint32_t other = (who - 1) / launch.threads;
    if (other == block->number) return "no barrier between them";
    return "and blocks run in any order: use an atomic, or tell the other block with __threadfence() and a flag";
}

struct LongText {
    char text[512];
};

static LongText describe_race(const Place &place, uint32_t who) {
    LongText t;
    snprintf(t.text, sizeof t.text, "%s: %s after %s, %s", describe(place).text, name_of(thread, block).text,
             name_of(who).text, missing_between(who));
    return t;
}

[[noreturn]] static void fail_race(const char *kind, uint32_t other, int32_t other_pc, const Place &place, void *pc) {
    fail_at({pc, pc_at(other_pc)}, "race: %s, %s", kind, describe_race(place, other & WHO).text);
}

// The other block has signaled its write, but this one has made no fence since then.
[[noreturn]] static void fail_unread(const char *kind, uint32_t other, int32_t other_pc, const Place &place, void *pc) {
    fail_at({pc, pc_at(other_pc)},
            "race: %s, %s: %s after %s, and what this one found changed counts only after a __threadfence() of its own",
            kind, describe(place).text, name_of(thread, block).text, name_of(other & WHO).text);
}

void sim::forget_write() { met.p = nullptr; }

void sim::forget_races() {
    single_bytes.clear();
    forget_stale();
    prepare_order();
}

void sim::settle_write() {
    give_back_lent();
    if (!met.p) return;
    const bool same = met.bytes <= sizeof met.before && !memcmp(met.p, met.before, met.bytes);
    met.p = nullptr;
    if (same && met.may_agree) return;
    fail_at(met.pcs, "race: two writes%s, %s", same ? " of the same value" : "", met.text);
}

// The current thread, as race detection sees it.
struct Me {
    const uint32_t first, size,
        number;                        // `who` of the block's first thread, threads of the block, number in the block
    const uint32_t phase, warp_phase;  // when this block, this warp last met
    const bool shared;                 // the memory: other blocks have their own

    explicit Me(bool shared)
        : first(1 + block->number * block->size),
          size(block->size),
          number(thread->number),
          phase(block->phase),
          warp_phase(block->warp_phase[thread->number / 32]),
          shared(shared) {}

    uint32_t who() const { return first + number; }
    bool is_of_other_block(uint32_t who) const { return who && (who & WHO) - first >= size; }
    uint32_t warp_of(uint32_t who) const { return ((who & WHO) - first) / 32; }

    // Whether the access that `who` made at the time `when` may run at the same time as the present one of this thread.
    // told: a signal of the other block is enough, without a later fence of this block.
    bool meets(uint32_t who, uint32_t when, bool told = true) const {
        const uint32_t other = (who & WHO) - first;
        if (other >= size) return who && when >= launch.met && !shared && !is_behind(who & WHO, when, who & MARK, told);
        if (other == number || when < phase) return false;
        if (other / 32 == number / 32 && when < warp_phase) return false;
        return when > past().heard_until || (who & WHO) != past().heard_of;
    }
};

// "read after volatile write", and so on.
static Text kind_of(const char *access, uint32_t other, const char *what) {
    Text t;
    const char *how = other & VOLATILE ? "volatile " : "";
    snprintf(t.text, sizeof t.text, "%s after %s%s", access, how, other & MARK && !*how ? "atomic" : what);
    return t;
}

// Two readers are recorded, so that a thread that reads and then writes still conflicts with the other one. mark: an
// atomic, or a volatile read, which does not replace a plain one
static inline void remember_read(Cell *c, const Me &me, int32_t pc, uint32_t mark = 0) {
    if (mark == VOLATILE && (c->read.who & WHO) && !(c->read.who & VOLATILE) && c->read.when >= launch.met) return;
    if (!me.meets(c->read.who, c->read.when)) {
        if (!me.meets(c->second_who & WHO, c->second_when)) c->second_who = 0;
        else if (pc != c->read.pc) c->second_who &= WHO;
        c->read = {me.who() | mark, now, pc};
    } else if (me.warp_of(me.who()) != me.warp_of(c->read.who) || !me.meets(c->second_who & WHO, c->second_when) ||
               me.warp_of(c->second_who) == me.warp_of(c->read.who)) {
        // One of another warp is kept, so that a writer conflicts with one of the two.
        c->second_who = me.who() | (pc == c->read.pc ? MARK : 0);
        c->second_when = now;
    }
}

static inline void check_read(Cell *c, const Me &me, int32_t here, const Place &place, void *pc) {
    const Access &w = c->written;
    if (me.meets(w.who, w.when, false) && (!(w.who & MARK) || w.who & VOLATILE || me.shared)) {
        const Text kind = kind_of("read", w.who, "write");
        if (!me.meets(w.who, w.when)) fail_unread(kind.text, w.who, w.pc, place, pc);
        fail_race(kind.text, w.who, w.pc, place, pc);
    }
    remember_read(c, me, here);
}

// Of global memory.
static inline void check_volatile_read(Cell *c, const Me &me, int32_t here, const Place &place, void *pc) {
    const Access &w = c->written;
    if (!(w.who & MARK) && me.meets(w.who, w.when)) fail_race("volatile read after write", w.who, w.pc, place, pc);
    remember_read(c, me, here, VOLATILE);
}

static void met_write(const Access &w, const Place &place, const char *p, uint32_t bytes, void *pc) {
    met.p = p;
    met.bytes = bytes;
    met.may_agree = w.who & MARK;
    if (bytes <= sizeof met.before) memcpy(met.before, p, bytes);
    met.pcs = {pc, pc_at(w.pc)};
    memcpy(met.text, describe_race(place, w.who & WHO).text, sizeof met.text);
}

static inline void check_write(Cell *c, const Me &me, int32_t here, const Place &place, const char *p, uint32_t bytes,
                               void *pc) {
    const Access &w = c->written, &r = c->read;
    if (me.meets(r.who, r.when)) fail_race(kind_of("write", r.who, "read").text, r.who, r.pc, place, pc);
    if (me.meets(c->second_who & WHO, c->second_when)) {
        fail_race("write after read", c->second_who, c->second_who & MARK ? r.pc : 0, place, pc);
    }
    if (me.meets(w.who, w.when)) {
        if (w.who & MARK) fail_race(kind_of("write", w.who, "write").text, w.who, w.pc, place, pc);
        if (!met.p) met_write(w, place, p, bytes, pc);
    }
    c->written = {me.who(), now, here};
}

// Atomics of global memory race only with plain writes, because a thread may read first to see whether an atomic is
// needed. Volatile writes also race with plain reads, and with other values that another block wrote so and that this one
// has not acquired: a volatile increment is two accesses. An atomic of the block's scope is none for other blocks. mark: of
// the write
static inline void check_atomic_write(Cell *c, const Me &me, int32_t here, const Place &place, const char *p,
                                      uint32_t bytes, void *pc, uint32_t mark) {
    const Access &w = c->written, &r = c->read;
    const bool plain = w.who && !(w.who & MARK);
    const char *access = mark & VOLATILE ? "volatile write" : "atomic";
    if (plain && me.meets(w.who, w.when)) fail_race(kind_of(access, w.who, "write").text, w.who, w.pc, place, pc);
    if (!me.shared && w.who & MARK && me.is_of_other_block(w.who) && me.meets(w.who, w.when, false)) {
        if ((mark | w.who) & NARROW) fail_race("atomics of the scope of a block", w.who, w.pc, place, pc);
        if (mark & w.who & VOLATILE && !met.p) met_write(w, place, p, bytes, pc);
    }
    const bool plain_read = !(r.who & (MARK | VOLATILE));
    if ((me.shared || mark & VOLATILE) && plain_read && me.meets(r.who, r.when))
        fail_race(kind_of(access, r.who, "read").text, r.who, r.pc, place, pc);
    // A plain write that others must not touch either is kept.
    const bool own = w.who == me.who() && w.when >= me.phase;
    if (plain && (own || (!me.shared && w.when >= launch.met))) remember_read(c, me, here, MARK);
    else c->written = {me.who() | mark, now, here};
}

// There was no access in this launch, or since the last barrier of the grid.
static inline bool is_new(const Cell &c) {
    return c.written.when < launch.met && c.read.when < launch.met && c.second_when < launch.met;
}

// Its cache is not told of writes, neither by a barrier nor by a fence, nor by the launch's own thread.
static void check_constant(const Cell &c, const Place &place, void *pc) {
    if (!c.written.who || c.written.when < launch.begun) return;
    fail_at({pc, pc_at(c.written.pc)},
            "read as a constant of the launch (__ldg), %s: %s after %s wrote it; read it as other memory",
            describe(place).text, name_of(thread, block).text, name_of(c.written.who & WHO).text);
}

void sim::check_cells(Cell *c, const char *p, uint32_t bytes, int kind, const Place &place, void *pc) {
    const int32_t here = distance_of(pc);
    if (kind & CONSTANT) {
        if (place.allocation)
            for (uint32_t k = 0; k < bytes / 2; k++) check_constant(c[k], place, pc);
        kind = READ;
    }
    const Cell *end = c + bytes / 2;
    if (place.allocation && !(kind & ATOMIC)) {  // most accesses are the first ones of this launch
        const uint32_t who = 1 + block->number * block->size + thread->number;
        for (; c < end && is_new(*c); c++) {
            if (kind & READ) c->read = {who, now, here};
            if (kind & WRITE) c->written = {who, now, here};
        }
        if (c == end && bytes > 1) return;
    }
    const Me me(!place.allocation && !place.variable);
    if (bytes == 1) {
        Busy while_it_grows;
        c = &single_bytes[p];
        end = c + 1;
    }
    if (kind & ATOMIC && kind & READ) hear(p);
    const bool is_volatile = kind == (READ | ATOMIC) || kind == (WRITE | ATOMIC | VOLATILE_WRITE);
    const uint32_t mark = MARK | (is_volatile ? VOLATILE : 0) | (kind & OF_BLOCK ? NARROW : 0);
    for (; c < end; c++) {
        if (kind & READ && !c->written.who && me.shared && bytes > 1) {
            fail_at({pc}, "read of shared memory that was never written, %s, %s", describe(place).text,
                    name_of(thread, block).text);
        }
        if (kind == READ) check_read(c, me, here, place, pc);
        else if (kind == WRITE) check_write(c, me, here, place, p, bytes, pc);
        else if (kind & WRITE) check_atomic_write(c, me, here, place, p, bytes, pc, mark);
        else if (!me.shared) check_volatile_read(c, me, here, place, pc);
    }
    if (kind & ATOMIC && kind & WRITE) tell(p);
}
