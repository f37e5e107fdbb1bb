// Small things that kernels call: spin loops, atomics, printf, traps, the clock.
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

using namespace sim;

static const uint32_t ATOMICS_IN_A_ROW = 256;  // then it may be a spin loop, so others get a turn

static bool printed;

CUSIM_API void cusim_yield() { give_way(); }

__attribute__((noinline)) static void checked_atomic(const void *p, unsigned bytes, int how, void *pc) {
    if (++thread->spin > ATOMICS_IN_A_ROW) give_way();  // first: no other thread may run between check and atomic
    check_access(p, bytes, WRITE | ATOMIC | (how & 1 ? READ : 0) | (how & 2 ? OF_BLOCK : 0), pc);
    note_strong_write(p, 0, pc);
}

// Called before every atomic. One operating system thread runs all simulated ones, so the operation itself is plain.
CUSIM_API void cusim_atomic(const void *p, unsigned bytes, int how, void *pc) {
    launch.stats.atomics++;
    if (__builtin_expect(launch.options.check, 0)) {
        checked_atomic(p, bytes, how, pc);
        return;
    }
    if (++thread->spin > ATOMICS_IN_A_ROW) give_way();
}

CUSIM_API void cusim_read_only(const void *p, unsigned bytes, void *pc) { check_access(p, bytes, READ | CONSTANT, pc); }

CUSIM_API void cusim_trap(const char *what, const char *file, int line) {
    fail("%s at %s:%d, %s", what, file, line, name_of(thread, block).text);
}

CUSIM_API int cusim_printf(const char *format, ...) {
    static char text[4096];
    Busy while_printing;
    va_list arguments;
    va_start(arguments, format);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n > 0) fwrite(text, 1, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1, stdout);
    printed = true;
    return n;
}

void sim::flush_prints() {
    if (printed) fflush(stdout);
    printed = false;
}

CUSIM_API long long cusim_clock() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}
