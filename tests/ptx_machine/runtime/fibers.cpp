// Each thread of the grid has a stack and runs until it yields. One thread of the host runs them all.
#undef _FORTIFY_SOURCE  // its longjmp refuses to leave a stack
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "machine.h"

namespace ptx {

static const size_t STACK = 128 << 10, AT_ONCE = 64;

struct Fiber {
    char *stack;
    jmp_buf place;
    bool begun;
};

static std::vector<Fiber *> idle;
static jmp_buf scheduler;
static ucontext_t first_context, back;

static Fiber *new_fiber() {
    if (idle.empty()) {
        void *stacks =
            mmap(nullptr, STACK * AT_ONCE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
        if (stacks == MAP_FAILED) fail("no memory for the stacks of threads");
        for (size_t k = 0; k < AT_ONCE; k++) idle.push_back(new Fiber{(char *)stacks + k * STACK, {}, false});
    }
    Fiber *fiber = idle.back();
    idle.pop_back();
    fiber->begun = false;
    return fiber;
}

void start(Runner *t) { t->fiber = new_fiber(); }

void free_stack(Runner *t) {
    if (t->fiber) idle.push_back(t->fiber);
    t->fiber = nullptr;
}

bool in_stack(u64 at, u32 bytes) {
    const u64 stack = (u64)machine.running->fiber->stack;
    return at >= stack && at + bytes <= stack + STACK;
}

static void enter() {
    thread_main();
    leave();
}

void go_on(Runner *t) {
    machine.running = t;
    if (_setjmp(scheduler)) return;
    if (t->fiber->begun) _longjmp(t->fiber->place, 1);
    t->fiber->begun = true;
    getcontext(&first_context);
    first_context.uc_stack.ss_sp = t->fiber->stack;
    first_context.uc_stack.ss_size = STACK;
    first_context.uc_link = nullptr;
    makecontext(&first_context, enter, 0);
    swapcontext(&back, &first_context);
}

void leave() {
    if (!_setjmp(machine.running->fiber->place)) _longjmp(scheduler, 1);
}

}  // namespace ptx
