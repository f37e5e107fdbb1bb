// The threads behind `together`: they start on first use, sleep between calls, and are recreated after a fork.
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace {

constexpr int SPINS = 1000;  // polls before a waiting thread yields the core: about 30 microseconds

// The time for which a worker polls before it sleeps, because between two calls of a training step there are fractions
// of a millisecond. Waking takes 20 to 40 microseconds, in which the caller waits at its first barrier. But if another
// thread had the core between two polls, it needs it, and the worker sleeps at once.
using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds LINGER{500}, SOMEBODY_ELSE{50};

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Poll for a while, then yield between polls: on a busy machine the awaited thread may need this core.
template <class F>
void wait_until(F done) {
    for (int spins = 0; !done(); spins++) {
        if (spins < SPINS) {
            pause();
        } else {
            sched_yield();
        }
    }
}

struct Job {
    const std::function<void(Member)> &work;
    Barrier *barrier;
    const std::atomic<bool> *interrupted;
    int members;
    std::atomic<int> left;  // workers that are not done
};

// A thread and its next job.
class Worker {
  public:
    explicit Worker(int id) : id(id) {
        std::thread(&Worker::live, this).detach();  // it is not joined at the end of the process
    }

    void give(Job *job) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            next.store(job, std::memory_order_release);
        }
        wake.notify_one();
    }

  private:
    [[noreturn]] void live() {
        for (;;) {
            linger();
            if (!next.load(std::memory_order_acquire)) {
                std::unique_lock<std::mutex> lock(mutex);
                wake.wait(lock, [&] { return next.load(std::memory_order_acquire) != nullptr; });
            }
            Job *job = next.exchange(nullptr, std::memory_order_acq_rel);
            job->work({id, job->members, job->barrier, job->interrupted});
            job->left.fetch_sub(1, std::memory_order_release);  // the last access: the job is on the caller's stack
        }
    }

    void linger() const {
        const auto until = Clock::now() + LINGER;
        for (int spins = 0; spins < SPINS && !next.load(std::memory_order_acquire); spins++) pause();
        for (auto before = Clock::now(), now = before; !next.load(std::memory_order_acquire); before = now) {
            sched_yield();
            now = Clock::now();
            if (now > until || now - before > SOMEBODY_ELSE) return;
        }
    }

    const int id;
    std::mutex mutex;
    std::condition_variable wake;
    std::atomic<Job *> next{nullptr};
};

struct Pool {
    std::mutex busy;  // held by the call that uses the workers
    std::vector<Worker *> workers;

    // At least `wanted` workers, or as many as the system allows. They block signals, which are for Python's threads.
    void grow(size_t wanted) {
        if (workers.size() >= wanted) return;
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            while (workers.size() < wanted) workers.push_back(new Worker(int(workers.size()) + 1));
        } catch (const std::system_error &) {}
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
};

const std::atomic<bool> never{false};
std::atomic<bool> interrupted{false};
struct sigaction before_watching;
bool watching = false;

void on_interrupt(int) { interrupted.store(true, std::memory_order_relaxed); }

// While it exists, Ctrl-C only sets `interrupted`.
struct Watch {
    explicit Watch(bool wanted) : wanted(wanted) {
        if (!wanted) return;
        interrupted.store(false, std::memory_order_relaxed);
        struct sigaction action = {};
        action.sa_handler = on_interrupt;
        action.sa_flags = SA_RESTART;
        sigaction(SIGINT, &action, &before_watching);
        watching = true;
    }
    ~Watch() {
        if (!wanted) return;
        watching = false;
        sigaction(SIGINT, &before_watching, nullptr);
    }
    bool wanted;
};

Pool *pool();

// A child has none of its parent's threads, and their locks may be held forever, so it starts with a new pool.
Pool *the_pool = nullptr;
void after_fork() {
    the_pool = new Pool;
    if (watching) sigaction(SIGINT, &before_watching, nullptr);
    watching = false;
}

Pool *pool() {
    static const int registered = (the_pool = new Pool, pthread_atfork(nullptr, nullptr, after_fork));
    (void)registered;
    return the_pool;
}

// When this returns, the members of the team are done and no longer use it.
void run_together(int threads, const std::atomic<bool> *stop, const std::function<void(Member)> &work) {
    Barrier barrier;
    std::unique_lock<std::mutex> lock;
    if (threads > 1) {
        Pool *shared = pool();
        lock = std::unique_lock<std::mutex>(shared->busy, std::try_to_lock);
        if (lock.owns_lock()) shared->grow(threads - 1);
        const int workers = lock.owns_lock() ? int(shared->workers.size()) : 0;
        if (threads > workers + 1) threads = workers + 1;
        Job job{work, &barrier, stop, threads, {threads - 1}};
        for (int k = 0; k < threads - 1; k++) shared->workers[k]->give(&job);
        work({0, threads, &barrier, stop});
        wait_until([&] { return job.left.load(std::memory_order_acquire) == 0; });
    } else {
        work({0, 1, &barrier, stop});
    }
}

}  // namespace

// On a busy machine thousands of barriers can take as long as the turns of all others. Ctrl-C skips them.
void Barrier::wait(int members, const std::atomic<bool> &stop) {
    const unsigned now = round.load(std::memory_order_acquire);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
        arrived.store(0, std::memory_order_relaxed);
        round.store(now + 1, std::memory_order_release);
    } else {
        wait_until(
            [&] { return round.load(std::memory_order_acquire) != now || stop.load(std::memory_order_relaxed); });
    }
}

Status together(int threads, bool watch, const std::function<void(Member)> &work) {
    const std::atomic<bool> *stop = watch ? &interrupted : &never;
    {
        Watch watched(watch);
        run_together(threads, stop, work);
    }
    // Checked after the old handler is restored: a late Ctrl-C is either in the flag or Python's.
    return stop->load(std::memory_order_relaxed) ? INTERRUPTED : DONE;
}
