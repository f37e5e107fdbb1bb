// The early end of a launch, and its message.
//
// Every early end is one siglongjmp back to cusim_launch, from wherever the kernel was. Simulated threads that were
// left in the middle are never resumed; their stacks are reused.
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

using namespace sim;

sigjmp_buf sim::exit_point;
volatile sig_atomic_t sim::Busy::depth, sim::Busy::wanted;

static char text[2048];
static void *pcs[2];

CUSIM_API const char *cusim_error() { return text; }

CUSIM_API void cusim_error_pcs(void **both) {
    both[0] = pcs[0];
    both[1] = pcs[1];
}

void sim::clear_error() {
    text[0] = 0;
    pcs[0] = pcs[1] = nullptr;
}

[[noreturn]] static void fail_with(const char *format, va_list arguments) {
    vsnprintf(text, sizeof text, format, arguments);
    siglongjmp(exit_point, CUSIM_FAILED);
}

void sim::fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_with(format, arguments);
}

void sim::fail_at(Pcs where, const char *format, ...) {
    pcs[0] = where.here;
    pcs[1] = where.earlier;
    va_list arguments;
    va_start(arguments, format);
    fail_with(format, arguments);
}

void sim::refuse(const char *why) { snprintf(text, sizeof text, "invalid launch: %s", why); }

void sim::Busy::stop() {
    if (wanted == INTERRUPT) {
        snprintf(text, sizeof text, "interrupted");
        siglongjmp(exit_point, CUSIM_INTERRUPTED);
    }
    fail(
        "watchdog: no progress for %u ms of processor time; %s is running. An endless loop? A loop that"
        " waits for another thread needs __nanosleep() or an atomic in it, or check mode",
        launch.options.watchdog_ms, name_of(thread, block).text);
}

Text sim::name_of(const Thread *t, const Block *b) {
    Text name;
    if (!t) {
        snprintf(name.text, sizeof name.text, "the scheduler");
    } else {
        snprintf(name.text, sizeof name.text, "thread (%u,%u,%u) of block (%u,%u,%u)", t->index.x, t->index.y,
                 t->index.z, b->index.x, b->index.y, b->index.z);
    }
    return name;
}
