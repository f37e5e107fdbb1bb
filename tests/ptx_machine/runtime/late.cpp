// Loads out of order: a load begins where it is written, and its value is determined there or as late as at its first
// use. Other actions of the thread may therefore happen before the load. Only accesses to the same place, fences,
// barriers, atomics, acquires and releases wait for it. Two loads from one place keep their order if the first one is
// strong.
#include "machine.h"

using namespace ptx;

static void find(Runner &t, Late &late) {
    late.pending = false;
    late.value = ptx_load(t, late.at, late.bytes, (Order)late.order, (Scope)late.scope);
}

enum Which { ALL, OVERLAPPING, STRONG };

static void finish(Runner &t, Which which, u64 at, u32 bytes) {
    for (Late **link = &t.late; *link;) {
        Late *late = *link;
        const bool apart = late->at >= at + bytes || at >= late->at + late->bytes;
        if ((which != ALL && apart) || (which == STRONG && late->order == WEAK)) {
            link = &late->next;
            continue;
        }
        *link = late->next;
        find(t, *late);
    }
}

void ptx::finish_late(Runner &t, u64 at, u32 bytes, bool before_a_load) {
    if (t.late) finish(t, before_a_load ? STRONG : OVERLAPPING, at, bytes);
}

void ptx::finish_all_late(Runner &t) {
    if (t.late) finish(t, ALL, 0, 0);
}

void ptx_load_late(Thread &thread, Late &late, u64 at, u32 bytes, Order order, Scope scope) {
    Runner &t = runner(thread);
    late.at = at, late.bytes = bytes, late.order = order, late.scope = scope;
    if (!machine.options.weak || !one_in(4)) return find(t, late);
    finish_late(t, at, bytes, true);
    machine.counts[LATE]++;
    late.pending = true;
    late.next = t.late;
    t.late = &late;
}

u64 ptx_value_of(Thread &thread, Late &late) {
    Runner &t = runner(thread);
    if (late.pending) {
        if (one_in(2)) leave();
        if (late.pending) finish(t, OVERLAPPING, late.at, late.bytes);
    }
    return late.value;
}
