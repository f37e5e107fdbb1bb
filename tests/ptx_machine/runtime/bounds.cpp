// The addresses that may be accessed: device memory, the thread's own stack, variables of the kernel's file.
#include <stdio.h>

#include "machine.h"

// from the simulator, which owns this memory
extern "C" int cusim_range(const void *p, const char **begin, size_t *bytes);

namespace ptx {

struct Range {
    u8 *begin;
    u64 bytes;
};
static const int CACHED = 64;
static Range cached[CACHED];
static const Range *variables;

void forget_bounds(const void *of_kernel) {
    memset(cached, 0, sizeof cached);
    variables = (const Range *)of_kernel;
}

static bool inside(const Range &range, u64 at, u32 bytes) {
    return at >= (u64)range.begin && at + bytes <= (u64)range.begin + range.bytes;
}

void check_bounds(Runner &t, u64 at, u32 bytes, const char *verb) {
    if (at % bytes) fail("%s of %u bytes at an address that is no multiple of %u", verb, bytes, bytes);
    Range &known = cached[at / 4096 % CACHED];
    if (inside(known, at, bytes)) return;
    const char *begin;
    size_t count;
    if (cusim_range((const void *)at, &begin, &count) > 0) {
        known = {(u8 *)begin, count};
        if (inside(known, at, bytes)) return;
        // In front of an array whose pages follow those of another one: this is past the end of that one.
        const char *other;
        size_t others;
        const void *page_before = (const void *)(at / 4096 * 4096 - 1);
        if (at < (u64)begin && cusim_range(page_before, &other, &others) > 0 && other < begin) {
            begin = other;
            count = others;
        }
        fail("%s of %u bytes at byte %lld of an array of %zu bytes", verb, bytes, (long long)(at - (u64)begin), count);
    }
    for (const Range *v = variables; v && v->begin; v++)
        if (inside(*v, at, bytes)) return;
    if (in_stack(at, bytes)) return;
    fail("%s of %u bytes at %#llx, where no memory is", verb, bytes, (unsigned long long)at);
}

}  // namespace ptx

using namespace ptx;

u8 *ptx_outside_of_shared(Thread &t, u64 at, u32 bytes) {
    if (at % bytes) fail("an access of shared memory, of %u bytes, at byte %llu", bytes, (unsigned long long)at);
    fail("an access of byte %llu of shared memory, of which the block has %u bytes", (unsigned long long)at,
         t.shared_bytes);
}
