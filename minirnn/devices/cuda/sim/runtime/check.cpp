// Check mode looks at every access of a kernel. Does it lie inside an allocation? Was that shared memory written
// before? Is there a race?
//
// The kernel is compiled with -fsanitize=thread but linked without its library: the compiler's calls end up here. A
// race is two accesses of the same memory by two threads, one of them a plain write, that nothing orders. Threads of a
// block are ordered by __syncthreads, those of a warp by a warp operation, blocks of a cluster by its barrier, and any
// blocks by fences and words that tell of them (order.cpp).
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <unordered_map>

using namespace sim;

static const uint32_t WHO = 0x7fffffff, MARK = 0x80000000;  // of Access::who: the thread, and the mark
static const int CACHE = 256;

static Allocation *allocation_of_page[CACHE];

// A plain write that met another one. Whether both write the same is known once it is done: at the next access of any
// thread, since nothing else changes memory.
static struct {
    const char *p;  // null: there is none
    uint32_t bytes;
    char before[16];
    Pcs pcs;
    char text[512];
} met;

// What accesses of single bytes know, in this launch. Others know two bytes at a time.
static std::unordered_map<const char *, Cell> single_bytes;

struct ImagePage {
    uintptr_t page;
    Cell *cells;
};
static ImagePage image_pages[CACHE];  // of constants and __device__ variables

void sim::prepare_check() {
    memset(allocation_of_page, 0, sizeof allocation_of_page);
    memset(image_pages, 0, sizeof image_pages);
    single_bytes.clear();
    forget_meetings();
    prepare_order();
}

static const char *verb_of(int kind) { return kind & WRITE ? "write" : "read"; }

// ----------------------------------------------------------------------------------------------------- races

struct Place {  // where an access goes
    const Allocation *allocation;
    uint64_t offset;
    const char *variable;  // a __device__ variable; if neither: shared memory
};

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
    if (other / launch.cluster == block->number / launch.cluster) return "no barrier between them of their cluster";
    return "and blocks run in any order: use an atomic, or tell the other block by __threadfence() and a flag";
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

void sim::forget_write() { met.p = nullptr; }

void sim::settle_write() {
    if (!met.p) return;
    const bool same = met.bytes <= sizeof met.before && !memcmp(met.p, met.before, met.bytes);
    met.p = nullptr;
    fail_at(met.pcs, "race: two writes%s, %s", same ? " of the same value" : "", met.text);
}

// The current thread, as race detection sees it.
struct Me {
    const uint32_t first, size,
        number;                        // `who` of the block's first thread, threads of the block, number in the block
    const uint32_t phase, warp_phase;  // when this block, this warp last met
    const uint32_t passed;             // what came before is in order for it
    const uint32_t cluster_first, cluster_threads;  // the same of its cluster
    const bool shared;                              // the memory: other blocks have their own

    explicit Me(bool shared)
        : first(1 + block->number * block->size),
          size(block->size),
          number(thread->number),
          phase(block->phase),
          warp_phase(block->warp_phase[thread->number / 32]),
          passed(past().passed),
          cluster_first(1 + block->cluster[0]->number * block->size),
          cluster_threads(launch.cluster * block->size),
          shared(shared) {}

    uint32_t who() const { return first + number; }
    uint32_t warp_of(uint32_t who) const { return ((who & WHO) - first) / 32; }

    // Whether the access that `who` made at the time `when` may run at the same time as what this thread does now.
    bool meets(uint32_t who, uint32_t when) const {
        const uint32_t other = (who & WHO) - first;
        if (other >= size) return who && when >= launch.met && meets_block(who & WHO, when, who & MARK);
        if (other == number || when < phase) return false;
        if (other / 32 == number / 32 && when < warp_phase) return false;
        if (when < passed || is_before_cluster_barrier(block, other, when)) return false;
        return when > past().heard_until || (who & WHO) != past().heard_of;
    }

    bool meets_block(uint32_t who, uint32_t when, bool atomic) const {
        const uint32_t place = who - cluster_first;
        if (place >= cluster_threads) return !shared && !is_behind(who, when, atomic);
        return when >= passed && !is_before_cluster_barrier(block->cluster[place / size], place % size, when) &&
               !is_behind(who, when, atomic);
    }
};

// Two readers are remembered, so that a thread that reads and then writes still meets the other one. mark: an atomic
static inline void remember_read(Cell *c, const Me &me, int32_t pc, uint32_t mark = 0) {
    if (!me.meets(c->read.who, c->read.when)) {
        if (!me.meets(c->second_who & WHO, c->second_when)) c->second_who = 0;
        else if (pc != c->read.pc) c->second_who &= WHO;
        c->read = {me.who() | mark, now, pc};
    } else if (me.warp_of(me.who()) != me.warp_of(c->read.who) || !me.meets(c->second_who & WHO, c->second_when) ||
               me.warp_of(c->second_who) == me.warp_of(c->read.who)) {
        // One of another warp stays: then whoever writes meets one of the two.
        c->second_who = me.who() | (pc == c->read.pc ? MARK : 0);
        c->second_when = now;
    }
}

static inline void check_read(Cell *c, const Me &me, int32_t here, const Place &place, void *pc) {
    const Access &w = c->written;
    if (me.meets(w.who, w.when)) {
        if (!(w.who & MARK)) fail_race("read after write", w.who, w.pc, place, pc);
        if (me.shared) fail_race("read after atomic", w.who, w.pc, place, pc);
    }
    remember_read(c, me, here);
}

static void met_write(const Access &w, const Place &place, const char *p, uint32_t bytes, void *pc) {
    met.p = p;
    met.bytes = bytes;
    if (bytes <= sizeof met.before) memcpy(met.before, p, bytes);
    met.pcs = {pc, pc_at(w.pc)};
    memcpy(met.text, describe_race(place, w.who & WHO).text, sizeof met.text);
}

static inline void check_write(Cell *c, const Me &me, int32_t here, const Place &place, const char *p, uint32_t bytes,
                               void *pc) {
    const Access &w = c->written, &r = c->read;
    if (me.meets(r.who, r.when))
        fail_race(r.who & MARK ? "write after atomic" : "write after read", r.who, r.pc, place, pc);
    if (me.meets(c->second_who & WHO, c->second_when)) {
        fail_race("write after read", c->second_who, c->second_who & MARK ? r.pc : 0, place, pc);
    }
    if (me.meets(w.who, w.when)) {
        if (w.who & MARK) fail_race("write after atomic", w.who, w.pc, place, pc);
        if (!met.p) met_write(w, place, p, bytes, pc);
    }
    c->written = {me.who(), now, here};
}

// Atomic and volatile accesses of global memory race only with plain writes: who waits for another block, or asks
// whether an atomic is worth while, reads what it changes.
static inline void check_atomic_write(Cell *c, const Me &me, int32_t here, const Place &place, void *pc) {
    const Access &w = c->written, &r = c->read;
    const bool plain = w.who && !(w.who & MARK);
    if (plain && me.meets(w.who, w.when)) fail_race("atomic after write", w.who, w.pc, place, pc);
    if (me.shared && !(r.who & MARK) && me.meets(r.who, r.when)) fail_race("atomic after read", r.who, r.pc, place, pc);
    // A plain write that others must not meet, either, is not forgotten.
    const bool own = w.who == me.who() && w.when >= me.phase;
    if (plain && (own || (!me.shared && w.when >= launch.met))) remember_read(c, me, here, MARK);
    else c->written = {me.who() | MARK, now, here};
}

static void check_cells(Cell *c, const char *p, uint32_t bytes, int kind, const Place &place, void *pc) {
    const Me me(!place.allocation && !place.variable);
    const int32_t here = distance_of(pc);
    const Cell *end = c + bytes / 2;
    if (bytes == 1) {
        Busy while_it_grows;
        c = &single_bytes[p];
        end = c + 1;
    }
    if (kind & ATOMIC && kind & READ) {
        const Access &w = c->written;
        if (w.who && !(w.who & MARK) && w.when >= launch.met && w.who - me.first >= me.size) hear_from(w.who, w.when);
        hear(p);
    }
    for (; c < end; c++) {
        if (kind & READ && !c->written.who && me.shared && bytes > 1) {
            fail_at({pc}, "read of shared memory that was never written, %s, %s", describe(place).text,
                    name_of(thread, block).text);
        }
        if (kind == READ) check_read(c, me, here, place, pc);
        else if (kind == WRITE) check_write(c, me, here, place, p, bytes, pc);
        else if (kind & WRITE) check_atomic_write(c, me, here, place, pc);
    }
    if (kind & ATOMIC && kind & WRITE) tell(p);
}

// ---------------------------------------------------------------------------------------------------- bounds

static void record(uint64_t address, int64_t allocation, uint32_t bytes, int kind, void *pc) {
    CusimStats &stats = launch.stats;
    if (allocation >= 0) {
        if (kind & READ) (kind & ATOMIC ? stats.bytes_looked_at : stats.bytes_read) += bytes;
        if (kind & WRITE) (kind & ATOMIC ? stats.bytes_sent : stats.bytes_written) += bytes;
    }
    if (stats.traced < launch.options.trace_capacity) {
        CusimAccess &a = launch.trace[stats.traced++];
        a.address = address;
        a.pc = (uint64_t)pc;
        a.order = stats.accesses;
        a.allocation = (int32_t)allocation;
        a.block = block->number;
        a.thread = thread->number;
        a.size = (uint16_t)bytes;
        a.write = (kind & WRITE) != 0;
        a.atomic = (kind & ATOMIC) != 0;
    }
    stats.accesses++;
}

// `of`: the block whose shared memory it is, the running one or a neighbor in its cluster.
static void check_shared(Block *of, const char *p, uint32_t bytes, int kind, void *pc) {
    const uint32_t offset = (uint32_t)(p - of->arena);
    if (!find_shared(offset, bytes)) {
        fail_at({pc}, "%s outside of shared memory: %s, %s", verb_of(kind), describe_shared(offset).text,
                name_of(thread, block).text);
    }
    if (!of->live) {
        fail_at({pc}, "%s in the shared memory of a block that has returned: %s of block (%u,%u,%u), %s", verb_of(kind),
                describe_shared(offset).text, of->index.x, of->index.y, of->index.z, name_of(thread, block).text);
    }
    if (of != block) check_reach(of, kind & ASYNC, pc);
    kind &= ~ASYNC;
    record(offset, -1, bytes, kind, pc);
    check_cells(of->cells + offset / 2, p, bytes, kind, {nullptr, offset, nullptr}, pc);
}

static void check_global(const char *p, uint32_t bytes, int kind, void *pc) {
    Allocation *&cached = allocation_of_page[(uintptr_t)p / 4096 % CACHE];
    Allocation *a = cached;
    if (!a || p < a->data || p + bytes > a->data + a->bytes) {
        a = find_allocation(p);
        if (!a || p < a->data || p + bytes > a->data + a->bytes) {
            char what[256];
            describe_address(what, sizeof what, p, verb_of(kind));
            fail_at({pc}, "%s, %s", what, name_of(thread, block).text);
        }
        cached = a;
    }
    record((uint64_t)(p - a->data), a->number, bytes, kind, pc);
    if (!a->cells) {
        Busy while_allocating;
        a->cells = (Cell *)calloc(a->bytes / 2 + 1, sizeof(Cell));
        if (!a->cells) fail("out of memory for what check mode knows of %zu bytes of device memory", a->bytes);
    }
    const uint64_t offset = (uint64_t)(p - a->data);
    check_cells(a->cells + offset / 2, p, bytes, kind, {a, offset, nullptr}, pc);
}

// Constants and __device__ variables.
static void check_variable(const char *p, uint32_t bytes, int kind, void *pc) {
    const uintptr_t page = (uintptr_t)p / PAGE;
    ImagePage &cached = image_pages[page % CACHE];
    if (!cached.cells || cached.page != page) {
        Busy while_the_loader_is_locked;
        Dl_info image;
        if (!dladdr(p, &image)) {
            char what[256];
            describe_address(what, sizeof what, p, verb_of(kind));
            fail_at({pc}, "%s, %s", what, name_of(thread, block).text);
        }
        cached = {page, cells_of_variables(page)};
    }
    if ((uintptr_t)p % PAGE + bytes > PAGE) return;  // across two pages: not watched
    check_cells(cached.cells + (uintptr_t)p % PAGE / 2, p, bytes, kind, {nullptr, 0, p}, pc);
}

CUSIM_API void cusim_touch(const void *p, unsigned bytes, int writes, void *pc) {
    if (launch.options.check) check_access(p, bytes, writes ? WRITE : READ, pc);
}

void sim::check_access(const void *address, uint32_t bytes, int kind, void *pc) {
    if (!in_kernel()) return;
    settle_write();
    // Before the access is looked at: between that and the access itself nobody else may run.
    if (launch.options.preempt && random_number() % launch.options.preempt == 0) {
        block->preempted++;
        leave();
        settle_write();
    }
    const char *p = (const char *)address;
    if (p >= block->arena && p < block->arena + launch.arena_bytes) {
        check_shared(block, p, bytes, kind, pc);
    } else if (p >= heap_begin && p < heap_end) {
        check_global(p, bytes, kind, pc);
    } else if (Block *neighbor = launch.cluster > 1 ? neighbor_with(p) : nullptr) {
        check_shared(neighbor, p, bytes, kind, pc);
    } else if (in_stacks(p) || (p >= (char *)launch.args && p < launch.args_end)) {
        return;
    } else {
        check_variable(p, bytes, kind, pc);
    }
}

// A thread that reads the same volatile again and again waits for another one.
static void check_volatile_read(const void *p, uint32_t bytes, void *pc) {
    if (!in_kernel()) return;
    if (thread->polled != p) {
        thread->polled = p;
        thread->spin = 0;
    } else if (++thread->spin > 4) {
        settle_write();
        give_way();
    }
    check_access(p, bytes, READ | ATOMIC, pc);
}

// ------------------------------------------------------------ what -fsanitize=thread makes the compiler call

#define CALLER __builtin_return_address(0)
#define HOOKS(N)                                                                                     \
    CUSIM_API void __tsan_read##N(void *p) { check_access(p, N, READ, CALLER); }                     \
    CUSIM_API void __tsan_write##N(void *p) { check_access(p, N, WRITE, CALLER); }                   \
    CUSIM_API void __tsan_unaligned_read##N(void *p) { check_access(p, N, READ, CALLER); }           \
    CUSIM_API void __tsan_unaligned_write##N(void *p) { check_access(p, N, WRITE, CALLER); }         \
    CUSIM_API void __tsan_read_write##N(void *p) {                                                   \
        check_access(p, N, READ, CALLER);                                                            \
        check_access(p, N, WRITE, CALLER);                                                           \
    }                                                                                                \
    CUSIM_API void __tsan_unaligned_read_write##N(void *p) {                                         \
        check_access(p, N, READ, CALLER);                                                            \
        check_access(p, N, WRITE, CALLER);                                                           \
    }                                                                                                \
    CUSIM_API void __tsan_volatile_read##N(void *p) { check_volatile_read(p, N, CALLER); }           \
    CUSIM_API void __tsan_volatile_write##N(void *p) { check_access(p, N, WRITE | ATOMIC, CALLER); } \
    CUSIM_API void __tsan_unaligned_volatile_read##N(void *p) { check_volatile_read(p, N, CALLER); } \
    CUSIM_API void __tsan_unaligned_volatile_write##N(void *p) { check_access(p, N, WRITE | ATOMIC, CALLER); }

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

CUSIM_API void __tsan_read_range(void *p, size_t n) { check_access(p, (uint32_t)n, READ, CALLER); }
CUSIM_API void __tsan_write_range(void *p, size_t n) { check_access(p, (uint32_t)n, WRITE, CALLER); }
CUSIM_API void __tsan_init() {}
CUSIM_API void __tsan_func_entry(void *) {}
CUSIM_API void __tsan_func_exit() {}
CUSIM_API void __tsan_vptr_update(void **, void *) {}
CUSIM_API void __tsan_vptr_read(void **) {}
