// Fibers: stacks for simulated threads, and the switch between them.
//
// All stacks are in one range of reserved addresses, so "is this a local variable?" is one comparison. Below each
// is an inaccessible page, which catches a stack overflow.
#include "internal.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <vector>

#if defined(CUSIM_UCONTEXT) || !(defined(__x86_64__) || defined(__aarch64__))
#define CUSIM_PORTABLE_SWITCH
#include <ucontext.h>
#endif

namespace sim {

static const size_t LARGEST_RESERVATION = (size_t)16 << 30;
static const unsigned STACKS_AT_ONCE = 64;
static const unsigned MOST_GUARDS = 8192;  // each guard page costs two of the (usually 65 530) mappings of a process

char *stacks_begin, *stacks_end;
static char *reserved_end;
static size_t stack_bytes;
static unsigned guards;
static Fiber *idle;
static std::vector<Fiber *> made;  // STACKS_AT_ONCE at each

// ------------------------------------------------------------------------------------------------ the switch

#ifdef CUSIM_PORTABLE_SWITCH

extern "C" void cusim_switch(void **from, void *to) {
    if (!*from) *from = calloc(1, sizeof(ucontext_t));
    swapcontext((ucontext_t *)*from, (ucontext_t *)to);
}

static void start_at_fiber_main(Fiber *f) {
    ucontext_t *context = (ucontext_t *)f->stack_pointer;
    if (!context) context = (ucontext_t *)calloc(1, sizeof *context);
    getcontext(context);
    context->uc_stack.ss_sp = f->stack;
    context->uc_stack.ss_size = f->bytes;
    context->uc_link = nullptr;
    makecontext(context, fiber_main, 0);
    f->stack_pointer = context;
}

#else

#ifdef __APPLE__
#define FUNCTION(name) ".text\n.private_extern _" name "\n.globl _" name "\n.p2align 4\n_" name ":\n"
#else
#define FUNCTION(name) ".text\n.hidden " name "\n.globl " name "\n.p2align 4\n" name ":\n"
#endif

#ifdef __x86_64__

asm(FUNCTION("cusim_switch")
    "  push %rbp\n"
    "  push %rbx\n"
    "  push %r12\n"
    "  push %r13\n"
    "  push %r14\n"
    "  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n"
    "  pop %r14\n"
    "  pop %r13\n"
    "  pop %r12\n"
    "  pop %rbx\n"
    "  pop %rbp\n"
    "  ret\n");

static void start_at_fiber_main(Fiber *f) {
    void **top = (void **)((uintptr_t)(f->stack + f->bytes) & ~(uintptr_t)15);
    top[-1] = nullptr;             // fiber_main never returns
    top[-2] = (void *)fiber_main;  // the target of `ret`
    memset(top - 8, 0, 6 * sizeof(void *));
    f->stack_pointer = top - 8;
}

#else  // aarch64

asm(FUNCTION("cusim_switch")
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n"
    "  stp x21, x22, [sp, #16]\n"
    "  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n"
    "  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n"
    "  stp d10, d11, [sp, #112]\n"
    "  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov sp, x1\n"
    "  ldp x19, x20, [sp]\n"
    "  ldp x21, x22, [sp, #16]\n"
    "  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n"
    "  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n"
    "  ldp d10, d11, [sp, #112]\n"
    "  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");

static void start_at_fiber_main(Fiber *f) {
    char *frame = (char *)((uintptr_t)(f->stack + f->bytes) & ~(uintptr_t)15) - 160;
    memset(frame, 0, 160);
    ((void **)frame)[11] = (void *)fiber_main;  // x30, what `ret` goes to
    f->stack_pointer = frame;
}

#endif
#endif

// ------------------------------------------------------------------------------------------------ the stacks

void prepare_fibers() {
    const size_t page = page_bytes();
    const size_t wanted = ((launch.options.stack_bytes + page - 1) / page + 1) * page;  // and the guard page
    if (wanted == stack_bytes) return;
    Busy while_lists_change;
    for (Fiber *fibers : made) {
#ifdef CUSIM_PORTABLE_SWITCH
        for (unsigned i = 0; i < STACKS_AT_ONCE; i++) free(fibers[i].stack_pointer);
#endif
        free(fibers);
    }
    made.clear();
    idle = nullptr;
    if (stacks_begin) munmap(stacks_begin, reserved_end - stacks_begin);
    stacks_begin = stacks_end = reserved_end = nullptr;
    guards = 0;
    stack_bytes = wanted;
}

void recycle_fiber(Fiber *f) {
    f->next = idle;
    idle = f;
}

void reclaim_fibers() {
    idle = nullptr;
    for (Fiber *fibers : made) {
        for (unsigned i = 0; i < STACKS_AT_ONCE; i++) {
            if (fibers[i].stack) recycle_fiber(fibers + i);
        }
    }
}

static void make_stacks() {
    Busy while_lists_change;
    if (!stacks_begin) {
        size_t bytes = 0;
        stacks_begin = stacks_end = reserve_addresses(LARGEST_RESERVATION, 3, &bytes);
        reserved_end = stacks_begin + bytes;
    }
    size_t n = (reserved_end - stacks_end) / stack_bytes;
    if (n > STACKS_AT_ONCE) n = STACKS_AT_ONCE;
    if (!stacks_begin || !n || mprotect(stacks_end, n * stack_bytes, PROT_READ | PROT_WRITE)) {
        fail("out of memory: too many simulated threads wait at the same time for a stack of %zu kB each",
             stack_bytes >> 10);
    }
    const size_t page = page_bytes();
    made.push_back((Fiber *)calloc(STACKS_AT_ONCE, sizeof(Fiber)));
    for (size_t i = 0; i < n; i++) {
        Fiber *f = made.back() + i;
        if (guards++ < MOST_GUARDS) mprotect(stacks_end, page, PROT_NONE);
        f->stack = stacks_end + page;
        // Stacks are whole pages apart, and caches index addresses by their offset in a page, so the stacks that
        // are in use at once must not all begin at the same offset.
        f->bytes = stack_bytes - page - i % 32 * 128;
        stacks_end += stack_bytes;
        recycle_fiber(f);
    }
}

Fiber *new_fiber() {
    if (!idle) make_stacks();
    Fiber *f = idle;
    idle = f->next;
    start_at_fiber_main(f);
    return f;
}

}  // namespace sim
