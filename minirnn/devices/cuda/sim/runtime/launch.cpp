// cusim_launch: checks the launch, runs the grid, and ends it early for an error, the watchdog or Ctrl-C.
//
// Every early end is one siglongjmp back to cusim_launch, from wherever the kernel was. Simulated threads that were left
// in the middle are never resumed; their stacks are used again.
#include "internal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#if defined(__linux__)
#include <ucontext.h>
#endif

using namespace sim;

Launch sim::launch;
volatile sig_atomic_t sim::running;
void *sim::error_pcs[2];
volatile sig_atomic_t sim::Busy::depth, sim::Busy::wanted;

static char error_text[2048];
static sigjmp_buf exit_point;
static pthread_t runner;  // the operating system thread of the launch

enum { NOTHING, WATCHDOG, INTERRUPT };  // Busy::wanted

CUSIM_API const char *cusim_error() { return error_text; }

CUSIM_API void cusim_error_pcs(void **pcs) {
    pcs[0] = error_pcs[0];
    pcs[1] = error_pcs[1];
}

// --------------------------------------------------------------------------------------------------------------- failing

void sim::fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    siglongjmp(exit_point, CUSIM_FAILED);
}

void sim::fail_at(void *pc, const char *format, ...) {
    error_pcs[0] = pc;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    siglongjmp(exit_point, CUSIM_FAILED);
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

void sim::Busy::stop() {
    if (wanted == INTERRUPT) {
        snprintf(error_text, sizeof error_text, "interrupted");
        siglongjmp(exit_point, CUSIM_INTERRUPTED);
    }
    fail("watchdog: no progress for %u ms of processor time; %s is running. An endless loop? A loop that waits for another"
         " thread needs __nanosleep() or an atomic in it, or check mode",
         launch.options.watchdog_ms, name_of(thread, block).text);
}

// --------------------------------------------------------------------------------------------------------------- signals

static double processor_ms() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}

// Returns what comes after the faulting instruction, as if it had been a call.
static void *fault_pc(void *context) {
#if defined(__linux__) && defined(__x86_64__)
    return (char *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] + 1;
#elif defined(__linux__) && defined(__aarch64__)
    return (char *)((ucontext_t *)context)->uc_mcontext.pc + 1;
#else
    return nullptr;
#endif
}

static const char *fault_verb(void *context) {
#if defined(__linux__) && defined(__x86_64__)
    return ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "write" : "read";
#else
    return "access";
#endif
}

struct Handler {
    int signal;
    struct sigaction before;
};
static Handler faults[] = {{SIGSEGV, {}}, {SIGBUS, {}}, {SIGFPE, {}}, {SIGILL, {}}};
static Handler tick_handler = {SIGVTALRM, {}}, interrupt_handler = {SIGINT, {}};
static bool interrupt_handled;

static bool on_runner() { return running && pthread_equal(pthread_self(), runner); }

static void on_fault(int signal, siginfo_t *info, void *context) {
    if (!on_runner()) {  // not the kernel's: back to whoever handled it before, and again
        for (Handler &h : faults) {
            if (h.signal == signal) sigaction(signal, &h.before, nullptr);
        }
        return;
    }
    void *pc = fault_pc(context);
    if (signal == SIGFPE) fail_at(pc, "integer division by zero, %s", name_of(thread, block).text);
    if (signal == SIGILL) fail_at(pc, "illegal instruction, %s", name_of(thread, block).text);
    char what[256];
    describe_address(what, sizeof what, (char *)info->si_addr, fault_verb(context));
    fail_at(pc, "%s, %s", what, name_of(thread, block).text);
}

static void stop_for(int reason) {
    if (Busy::wanted != INTERRUPT) Busy::wanted = reason;
    if (on_runner() && !Busy::depth) Busy::stop();
}

static uint64_t watched_progress;
static double watched_since;

static void on_tick(int) {
    if (!running) return;
    if (!on_runner()) {
        pthread_kill(runner, SIGVTALRM);
        return;
    }
    const double ms = processor_ms();
    if (watched_progress != progress) {
        watched_progress = progress;
        watched_since = ms;
    } else if (ms - watched_since >= launch.options.watchdog_ms) {
        stop_for(WATCHDOG);
    }
}

static void on_interrupt(int) {
    if (running && !on_runner()) {
        pthread_kill(runner, SIGINT);
    } else {
        stop_for(INTERRUPT);
    }
}

static void set_timer(uint32_t ms) {
    itimerval timer = {};
    timer.it_interval.tv_sec = ms / 1000;
    timer.it_interval.tv_usec = ms % 1000 * 1000;
    timer.it_value = timer.it_interval;
    setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

static void install_handlers() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (Handler &h : faults) sigaction(h.signal, &action, &h.before);

    action = {};
    action.sa_handler = on_tick;
    action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART;
    sigaction(SIGVTALRM, &action, &tick_handler.before);
    watched_progress = progress;
    watched_since = processor_ms();
    const uint32_t ms = launch.options.watchdog_ms;
    set_timer(ms > 40 ? ms / 4 : 10);

    // A process that dies of Ctrl-C, or ignores it, keeps its way.
    sigaction(SIGINT, nullptr, &interrupt_handler.before);
    const auto handler = interrupt_handler.before.sa_handler;
    interrupt_handled = handler != SIG_DFL && handler != SIG_IGN;
    action.sa_handler = on_interrupt;
    if (interrupt_handled) sigaction(SIGINT, &action, nullptr);
}

static void restore_handlers() {
    if (interrupt_handled) sigaction(SIGINT, &interrupt_handler.before, nullptr);
    set_timer(0);
    // One more tick may be on its way. Its default action would end the process, so then on_tick stays.
    if (tick_handler.before.sa_handler != SIG_DFL) sigaction(SIGVTALRM, &tick_handler.before, nullptr);
    for (Handler &h : faults) sigaction(h.signal, &h.before, nullptr);
}

// ---------------------------------------------------------------------------------------------------------------- launch

// A forked child has none of the other threads of its parent: not the one that holds the lock, either.
static void after_fork() {
    new (&the_lock) std::mutex;
    running = 0;
}
static const int forks_are_watched = pthread_atfork(nullptr, nullptr, after_fork);

static const char *refusal(uint64_t threads, uint64_t blocks) {
    const Uint3 g = launch.grid, b = launch.block;
    static char text[256];
    if (!threads || !blocks) {
        snprintf(text, sizeof text, "grid (%u,%u,%u) of blocks (%u,%u,%u) is empty", g.x, g.y, g.z, b.x, b.y, b.z);
    } else if (threads > 1024 || b.z > 64) {
        snprintf(text, sizeof text, "block (%u,%u,%u): at most 1024 threads in all, 64 along z", b.x, b.y, b.z);
    } else if (blocks > 0x7fffffff || g.y > 65535 || g.z > 65535) {
        snprintf(text, sizeof text, "grid (%u,%u,%u): at most 2147483647 blocks in all, 65535 along y and z", g.x, g.y,
                 g.z);
    } else if (launch.dynamic_shared > launch.options.shared_limit) {
        snprintf(text, sizeof text, "%u bytes of dynamic shared memory, limit %u", launch.dynamic_shared,
                 launch.options.shared_limit);
    } else {
        return nullptr;
    }
    return text;
}

// Returns how it ended: CUSIM_OK, CUSIM_FAILED or CUSIM_INTERRUPTED.
static int run_until_the_end() {
    const int end = sigsetjmp(exit_point, 1);
    if (end == 0) {
        running = 1;
        if (Busy::wanted) Busy::stop();
        prepare_fibers();
        prepare_blocks();
        run_grid();
    }
    running = 0;
    if (end) {
        reclaim_fibers();
        reclaim_blocks();
    }
    return end;
}

CUSIM_API int cusim_launch(void (*call)(void **), void **args, size_t args_bytes, const uint32_t grid[3],
                           const uint32_t shape[3], uint32_t dynamic_shared, const CusimOptions *options,
                           CusimStats *stats, CusimAccess *trace) {
    std::lock_guard<std::mutex> hold(the_lock);
    launch = {};
    launch.options = *options;
    launch.trace = trace;
    launch.call = call;
    launch.args = args;
    launch.args_end = (char *)args + args_bytes;
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block = {shape[0], shape[1], shape[2]};
    launch.dynamic_shared = dynamic_shared;
    launch.arena_bytes = (options->shared_limit + (32 << 10)) & ~4095u;  // room for the red zones
    if (!trace) launch.options.trace_capacity = 0;
    error_text[0] = 0;
    error_pcs[0] = error_pcs[1] = nullptr;
    *stats = {};

    const uint64_t threads = (uint64_t)shape[0] * shape[1] * shape[2];
    const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
    if (const char *why = refusal(threads, blocks)) {
        snprintf(error_text, sizeof error_text, "invalid launch: %s", why);
        return CUSIM_FAILED;
    }
    launch.threads = (uint32_t)threads;
    launch.blocks = (uint32_t)blocks;
    cusim_block_size = launch.block;
    cusim_grid_size = launch.grid;
    random_state = options->seed ? options->seed * 2654435761u | 1 : 12345;
    Busy::depth = 0;
    Busy::wanted = NOTHING;
    thread = nullptr;
    reset_shared();
    if (options->check) prepare_check();
    launched = true;

    static char signal_stack[1 << 16];
    stack_t alternate = {}, before = {};
    alternate.ss_sp = signal_stack;
    alternate.ss_size = sizeof signal_stack;
    sigaltstack(&alternate, &before);
    runner = pthread_self();
    install_handlers();
    int end = run_until_the_end();
    restore_handlers();
    sigaltstack(&before, nullptr);

    if (Busy::wanted == INTERRUPT) end = CUSIM_INTERRUPTED;
    Busy::depth = 0;
    thread = nullptr;
    block = nullptr;
    flush_prints();
    *stats = launch.stats;
    return end;
}
