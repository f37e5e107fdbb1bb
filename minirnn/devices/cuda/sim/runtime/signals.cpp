// Signals while a launch runs: faults of the kernel, the watchdog's ticks, Ctrl-C. All handlers are restored
// afterwards.
#include "internal.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#if defined(__linux__)
#include <ucontext.h>
#endif

using namespace sim;

static pthread_t runner;  // the operating system thread of the launch
static char handler_stack[1 << 16];
static stack_t stack_before;

// The address after the faulting instruction, as if that had been a call.
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
    if (!on_runner()) {  // not the kernel's: restore the previous handler, and fault again
        for (Handler &h : faults) {
            if (h.signal == signal) sigaction(signal, &h.before, nullptr);
        }
        return;
    }
    void *pc = fault_pc(context);
    if (signal == SIGFPE) fail_at({pc}, "integer division by zero, %s", name_of(thread, block).text);
    if (signal == SIGILL) fail_at({pc}, "illegal instruction, %s", name_of(thread, block).text);
    char what[256];
    describe_address(what, sizeof what, (char *)info->si_addr, fault_verb(context));
    fail_at({pc}, "%s, %s", what, name_of(thread, block).text);
}

static void stop_for(int reason) {
    if (Busy::wanted != Busy::INTERRUPT) Busy::wanted = reason;
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
    const double ms = 1e3 * processor_seconds();
    if (watched_progress != progress) {
        watched_progress = progress;
        watched_since = ms;
    } else if (ms - watched_since >= launch.options.watchdog_ms) {
        stop_for(Busy::WATCHDOG);
    }
}

static void on_interrupt(int) {
    if (running && !on_runner()) {
        pthread_kill(runner, SIGINT);
    } else {
        stop_for(Busy::INTERRUPT);
    }
}

static void set_timer(uint32_t ms) {
    itimerval timer = {};
    timer.it_interval.tv_sec = ms / 1000;
    timer.it_interval.tv_usec = ms % 1000 * 1000;
    timer.it_value = timer.it_interval;
    setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

void sim::install_handlers() {
    stack_t own_stack = {};  // the fault may be a stack overflow
    own_stack.ss_sp = handler_stack;
    own_stack.ss_size = sizeof handler_stack;
    sigaltstack(&own_stack, &stack_before);
    runner = pthread_self();

    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (Handler &h : faults) sigaction(h.signal, &action, &h.before);

    action = {};
    action.sa_handler = on_tick;
    action.sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART;
    sigaction(SIGVTALRM, &action, &tick_handler.before);
    watched_progress = progress;
    watched_since = 1e3 * processor_seconds();
    const uint32_t ms = launch.options.watchdog_ms;
    set_timer(ms > 40 ? ms / 4 : 10);

    // A process that dies of Ctrl-C, or ignores it, keeps this behavior.
    sigaction(SIGINT, nullptr, &interrupt_handler.before);
    const auto handler = interrupt_handler.before.sa_handler;
    interrupt_handled = handler != SIG_DFL && handler != SIG_IGN;
    action.sa_handler = on_interrupt;
    if (interrupt_handled) sigaction(SIGINT, &action, nullptr);
}

void sim::restore_handlers() {
    if (interrupt_handled) sigaction(SIGINT, &interrupt_handler.before, nullptr);
    set_timer(0);
    // Another tick may be pending. Its default action would end the process, so on_tick stays installed.
    if (tick_handler.before.sa_handler != SIG_DFL) sigaction(SIGVTALRM, &tick_handler.before, nullptr);
    for (Handler &h : faults) sigaction(h.signal, &h.before, nullptr);
    sigaltstack(&stack_before, nullptr);
}
