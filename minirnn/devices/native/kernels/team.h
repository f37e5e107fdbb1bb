// Threads that work on one call together.
//
// All run the same function and take a share that depends only on their number. No sum is split between them, so the
// result has the same bits with any number of threads.
#pragma once
#include <atomic>
#include <functional>
#include <new>

#include "vector.h"

enum Status { DONE, INTERRUPTED, NO_MEMORY };

// All wait here until everyone has arrived, or until `stop`, when no results are needed.
class Barrier {
  public:
    SHARED void wait(int members, const std::atomic<bool> &stop);

  private:
    std::atomic<int> arrived{0};
    std::atomic<unsigned> round{0};
};

// A member of a call.
struct Member {
    int id, count;
    Barrier *barrier;
    const std::atomic<bool> *interrupted;  // then the rest is skipped, and no member waits

    void wait() const {
        if (count > 1) barrier->wait(count, *interrupted);
    }
    bool stopped() const { return interrupted->load(std::memory_order_relaxed); }
    Index begin(Index things) const { return things * id / count; }  // this member's share of `n` things
    Index end(Index things) const { return things * (id + 1) / count; }
};

// Run `work` as a team of `threads`, the caller among them; alone if another call has the threads. With `watch`, which
// is for the main thread alone, Ctrl-C ends the call early.
SHARED Status together(int threads, bool watch, const std::function<void(Member)> &work);

// The number of threads, at most `most`, with enough work between two barriers to be worth waking.
inline int threads_for(double multiply_adds, int most) {
    const double worth = 1e5;
    return multiply_adds < 2 * worth ? 1 : int(multiply_adds / worth < most ? multiply_adds / worth : most);
}

// Memory of a call, aligned to a cache line.
template <class real>
class Scratch {
  public:
    explicit Scratch(Index count) : p(static_cast<real *>(::operator new(count * sizeof(real), ALIGNMENT))) {}
    ~Scratch() { ::operator delete(p, ALIGNMENT); }
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    operator real *() { return p; }

  private:
    static constexpr std::align_val_t ALIGNMENT{64};
    real *p;
};
