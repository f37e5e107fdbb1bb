// Check mode: which accesses of other blocks are earlier. Blocks run in any order, unless one signals another:
//
//   it writes, makes a fence, and then writes a word (with an atomic, or volatile);
//   the other one finds the word changed (with an atomic, or volatile), makes a fence, and reads
//
// An access of another block is ordered if its thread made a fence after it, by itself or after a barrier that it
// shared with a thread that did, and if the running block has learned of that fence: a thread of it has found the word
// changed, and then made a fence itself, or another one after a barrier. A block passes on what it has learned with its
// own words. Knowledge belongs to blocks and not to threads, so a missing barrier after the word is not found here.
#include "internal.h"

#include <unordered_map>
#include <utility>
#include <vector>

using namespace sim;

namespace {

struct Fences {                  // of a block
    uint32_t phase = 0;          // everything that its threads did before this time is before a fence
    uint32_t last = 0;           // when the last one was made
    std::vector<uint32_t> made;  // by thread: when it made its last one
    std::vector<uint32_t> old;   // and the one before
    std::vector<uint32_t> warp;  // by warp: everything that its lanes did before this time is before a fence

    static void raise(std::vector<uint32_t> &times, uint32_t i, uint32_t when) {
        if (i >= times.size()) times.resize(i + 1);
        if (when > times[i]) times[i] = when;
    }
    static uint32_t at(const std::vector<uint32_t> &times, uint32_t i) { return i < times.size() ? times[i] : 0; }
};

typedef std::vector<std::pair<uint32_t, uint32_t>> Clock;  // blocks, and up to when they are known; sorted

struct Word {
    Clock clock;
    uint32_t version = 0;
    uint32_t teller = 0, fence = 0;  // the last signal of `who`, and the time of its fence
};

struct Told {  // by a word that a thread found changed, without a fence since then
    uint32_t thread, when;
    Clock clock;
};

struct Heard {  // by a block
    Clock clock;
    std::vector<Told> told;
    const void *word = nullptr;  // the last one, its version then, and its reader
    uint32_t version = 0, thread = 0;
};

std::unordered_map<uint32_t, Fences> fences;
std::unordered_map<uint32_t, Heard> heard;
std::unordered_map<const void *, Word> words;

void join(Clock &into, const Clock &from) {
    Clock both;
    both.reserve(into.size() + from.size());
    auto a = into.begin();
    for (const auto &b : from) {
        while (a != into.end() && a->first < b.first) both.push_back(*a++);
        if (a != into.end() && a->first == b.first) {
            both.emplace_back(b.first, a->second > b.second ? a->second : b.second);
            ++a;
        } else {
            both.push_back(b);
        }
    }
    both.insert(both.end(), a, into.end());
    into.swap(both);
}

uint32_t time_of(const Clock &clock, uint32_t block) {
    size_t low = 0, high = clock.size();
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (clock[middle].first < block) low = middle + 1;
        else high = middle;
    }
    return low < clock.size() && clock[low].first == block ? clock[low].second : 0;
}

uint32_t block_of(uint32_t who) { return (who - 1) / launch.threads; }
uint32_t thread_of(uint32_t who) { return (who - 1) % launch.threads; }

// The last fence before the present actions of this thread: its own, or one before the block's last barrier.
uint32_t fence_before(const Fences &f) {
    const uint32_t own = Fences::at(f.made, thread->number);
    return f.last < block->phase && f.last > own ? f.last : own;
}

// Signals that this thread received, or another one before the block's last barrier, count after its fence.
void acquire(Heard &own) {
    size_t kept = 0;
    for (Told &told : own.told) {
        if (told.thread == thread->number || told.when < block->phase) join(own.clock, told.clock);
        else if (&own.told[kept++] != &told) own.told[kept - 1] = std::move(told);
    }
    own.told.resize(kept);
}

}  // namespace

void sim::prepare_order() {
    fences.clear();
    heard.clear();
    words.clear();
}

CUSIM_API void cusim_fence() {
    if (!in_kernel() || !launch.options.check) return;
    Busy while_it_grows;
    note_fence();
    Fences &f = fences[block->number];
    const uint32_t number = thread->number;
    if (block->phase > f.phase) f.phase = block->phase;
    if (block->warp_phase[number / 32] > f.phase) Fences::raise(f.warp, number / 32, block->warp_phase[number / 32]);
    Fences::raise(f.old, number, Fences::at(f.made, number));
    Fences::raise(f.made, number, now);
    f.last = now;
    const auto own = heard.find(block->number);
    if (own != heard.end()) acquire(own->second);
    tick();
}

void sim::tell(const void *word) {
    const auto own = fences.find(block->number);
    if (own == fences.end()) return;
    Busy while_it_grows;
    const uint32_t fence = fence_before(own->second);
    if (!fence) return;
    Word &w = words[word];
    const auto known = heard.find(block->number);
    if (known != heard.end()) join(w.clock, known->second.clock);
    join(w.clock, {{block->number, fence}});
    w.version++;
    w.teller = 1 + block->number * launch.threads + thread->number;
    w.fence = fence;
}

void sim::hear(const void *word) {
    if (words.empty()) return;
    Busy while_it_grows;
    const auto found = words.find(word);
    if (found == words.end()) return;
    const Word &w = found->second;
    if (block_of(w.teller) == block->number) {  // one thread of the block to another: a lock, or a flag
        past().heard_of = w.teller;
        past().heard_until = w.fence;
    }
    Heard &own = heard[block->number];
    if (own.word == word && own.version == w.version && own.thread == thread->number) return;
    own.word = word;
    own.version = w.version;
    own.thread = thread->number;
    for (Told &told : own.told) {
        if (told.thread != thread->number) continue;
        if (told.when >= block->phase) {
            join(told.clock, w.clock);
            return;
        }
    }
    own.told.push_back({thread->number, now, w.clock});
}

bool sim::is_behind(uint32_t who, uint32_t when, bool atomic, bool told) {
    if (heard.empty()) return false;
    const auto own = heard.find(block->number);
    uint32_t known = own == heard.end() ? 0 : time_of(own->second.clock, block_of(who));
    if (told && own != heard.end()) {
        for (const Told &one : own->second.told) {
            const uint32_t time = time_of(one.clock, block_of(who));
            if (time > known) known = time;
        }
    }
    const auto other = fences.find(block_of(who));
    if (!known || other == fences.end()) return false;
    const Fences &f = other->second;
    const uint32_t made = Fences::at(f.made, thread_of(who));
    if (atomic) {  // it signals the fence before it: who knows that fence knows the atomic
        const uint32_t before = made <= when ? made : Fences::at(f.old, thread_of(who));
        if (before && known >= before) return true;
    }
    if (known < when) return false;
    return when < f.phase || when <= made || when < Fences::at(f.warp, thread_of(who) / 32);
}
