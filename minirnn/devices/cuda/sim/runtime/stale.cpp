// Check mode: unordered volatile messages. A thread writes x and then y, both volatile, without a fence between them; a
// thread of another block finds y changed, and reads x. On a GPU it may still find the old x, which is returned here
// once. A kernel whose numbers show whether they have arrived reads again, and is correct. One that takes y as the
// signal for x never reads again, and is reported at the end of that thread.
#include "internal.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

using namespace sim;

namespace {

struct Written {  // the last volatile or atomic write of a word
    uint32_t who;
    uint64_t when, fence;  // in order of all writes and fences; and the last fence of that thread before
    uint64_t old;          // the old value
    uint32_t bytes;        // 0: with an atomic
    void *pc;
    std::vector<uint32_t> readers;  // that have read since
};

struct Told {  // the words of a thread that a block has found changed
    uint64_t when = 0, fence = 0;
};

struct Owed {  // a thread got the old value and has to read again
    const void *p;
    void *here, *earlier;
    uint32_t writer;
};

std::unordered_map<const void *, Written> words;
std::unordered_map<uint32_t, uint64_t> fences;  // by thread
std::unordered_map<uint64_t, Told> told;        // by reading block and writing thread
std::unordered_map<uint32_t, std::vector<Owed>> owed;
uint64_t order;
bool somebody_gives_up;  // and may return early, without having to read again

struct {
    void *p;  // null: no old value is out
    uint64_t value;
    uint32_t bytes;
} lent;

uint32_t me() { return 1 + block->number * launch.threads + thread->number; }
uint32_t block_of(uint32_t who) { return (who - 1) / launch.threads; }

}  // namespace

void sim::forget_stale() {
    forget_words();
    fences.clear();
    owed.clear();
    order = 0;
    somebody_gives_up = false;
    lent.p = nullptr;
}

void sim::forget_words() {
    words.clear();
    told.clear();
}

void sim::give_back_lent() {
    if (!lent.p) return;
    memcpy(lent.p, &lent.value, lent.bytes);
    lent.p = nullptr;
}

void sim::looked_in_vain() { somebody_gives_up = true; }

void sim::note_fence() { fences[me()] = ++order; }

void sim::note_strong_write(const void *p, uint32_t bytes, void *pc) {
    if (bytes > 8) return;
    Busy while_it_grows;
    Written &word = words[p];
    word = {me(), ++order, fences[me()], 0, bytes, pc, {}};
    memcpy(&word.old, p, bytes);
}

void sim::look_at_volatile(const void *p, uint32_t bytes, void *pc) {
    const auto found = words.find(p);
    if (found == words.end()) return;
    Busy while_it_grows;
    Written &word = found->second;
    const uint32_t who = me();
    if (block_of(word.who) == block->number) return;
    auto &own = owed[who];
    own.erase(std::remove_if(own.begin(), own.end(), [&](const Owed &o) { return o.p == p; }), own.end());
    Told &known = told[(uint64_t)block->number << 32 | word.who];
    const bool is_new = std::find(word.readers.begin(), word.readers.end(), who) == word.readers.end();
    if (is_new) word.readers.push_back(who);
    if (is_new && known.when > word.when && known.fence < word.when && word.bytes == bytes) {
        own.push_back({p, pc, word.pc, word.who});
        lent = {(void *)p, 0, bytes};
        memcpy(&lent.value, p, bytes);
        memcpy((void *)p, &word.old, bytes);
        return;
    }
    if (word.when > known.when) known = {word.when, std::max(known.fence, word.fence)};
}

void sim::end_of_thread() {
    const auto found = owed.find(me());
    if (found == owed.end() || found->second.empty() || somebody_gives_up) return;
    const Owed &o = found->second.front();
    const uint32_t t = (o.writer - 1) % launch.threads, b = block_of(o.writer);
    fail_at(
        {o.here, o.earlier},
        "message without a fence: %s reads what thread %u of block %u wrote before a word that was found changed, and "
        "no __threadfence() lies between the two writes: it may still be old",
        name_of(thread, block).text, t, b);
}
