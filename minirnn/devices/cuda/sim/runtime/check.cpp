// Check mode checks every access of a kernel. Is it inside an allocation? Was this shared memory written before? Is
// there a race (races.cpp)?
//
// The kernel is compiled with -fsanitize=thread but linked without its library: the compiler's calls end up here.
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

using namespace sim;

static const int CACHE = 256;
static const uint32_t LOOKS_IN_VAIN = 250;

static Allocation *allocation_of_page[CACHE];

struct ImagePage {
    uintptr_t page;
    Cell *cells;
};
static ImagePage image_pages[CACHE];  // of constants and __device__ variables

void sim::prepare_check() {
    memset(allocation_of_page, 0, sizeof allocation_of_page);
    memset(image_pages, 0, sizeof image_pages);
    forget_races();
}

static const char *verb_of(int kind) { return kind & WRITE ? "write" : "read"; }

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

static void check_shared(const char *p, uint32_t bytes, int kind, void *pc) {
    const uint32_t offset = (uint32_t)(p - block->arena);
    if (!find_shared(offset, bytes)) {
        fail_at({pc}, "%s outside of shared memory: %s, %s", verb_of(kind), describe_shared(offset).text,
                name_of(thread, block).text);
    }
    record(offset, -1, bytes, kind, pc);
    check_cells(block->cells + offset / 2, p, bytes, kind, {nullptr, offset, nullptr}, pc);
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
    if (kind & WRITE) record((uintptr_t)p, -2, bytes, kind, pc);  // its reads look like reads of constants
    if ((uintptr_t)p % PAGE + bytes > PAGE) return;               // across two pages: not checked
    check_cells(cached.cells + (uintptr_t)p % PAGE / 2, p, bytes, kind, {nullptr, 0, p}, pc);
}

void sim::check_access(const void *address, uint32_t bytes, int kind, void *pc) {
    if (!in_kernel()) return;
    settle_write();
    // Called before the access is checked, because no other thread may run between the check and the access.
    if (launch.options.preempt && random_number() % launch.options.preempt == 0) {
        block->preempted++;
        leave();
        settle_write();
    }
    const char *p = (const char *)address;
    if (p >= block->arena && p < block->arena + launch.arena_bytes) {
        check_shared(p, bytes, kind, pc);
    } else if (p >= heap_begin && p < heap_end) {
        check_global(p, bytes, kind, pc);
    } else if (in_stacks(p) || (p >= (char *)launch.args && p < launch.args_end)) {
        return;
    } else {
        check_variable(p, bytes, kind, pc);
    }
}

// A thread that reads the same volatile repeatedly is waiting for another one.
static void check_volatile_read(const void *p, uint32_t bytes, void *pc) {
    if (!in_kernel()) return;
    if (thread->polled != p) {
        thread->polled = p;
        thread->spin = 0;
        past().looks = 0;
    } else if (++past().looks == LOOKS_IN_VAIN) {
        looked_in_vain();
    } else if (++thread->spin > 4) {
        settle_write();
        give_way();
    }
    check_access(p, bytes, READ | ATOMIC, pc);
    look_at_volatile(p, bytes, pc);
}

static void check_volatile_write(const void *p, uint32_t bytes, void *pc) {
    if (!in_kernel()) return;
    check_access(p, bytes, WRITE | ATOMIC | VOLATILE_WRITE, pc);
    note_strong_write(p, bytes, pc);
}

// ------------------------------------------------------------ functions that -fsanitize=thread calls

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
    CUSIM_API void __tsan_volatile_write##N(void *p) { check_volatile_write(p, N, CALLER); }         \
    CUSIM_API void __tsan_unaligned_volatile_read##N(void *p) { check_volatile_read(p, N, CALLER); } \
    CUSIM_API void __tsan_unaligned_volatile_write##N(void *p) { check_volatile_write(p, N, CALLER); }

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
