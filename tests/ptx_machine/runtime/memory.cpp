// Device memory with all behavior that the PTX memory consistency model allows. README.md says why each step is
// allowed.
//
// For each 8 bytes that a launch writes, all messages (writes) are kept in coherence order. A read may take any of them
// that is not older than the knowledge of its thread. Barriers, fences, releases and acquires increase this knowledge.
#include "machine.h"

namespace ptx {

struct Message {
    u64 order, when;  // place in the coherence order, and time of the write
    u32 who, block;   // that wrote it
    u64 value;
    u8 mask;        // which of the 8 bytes
    u8 strong;      // 0: a weak write, else 1 + its scope
    bool attached;  // to the previous message, by an atomic that read it
    u64 ripe;       // the round from which it is visible to threads that need not know it
    Release release;
};

typedef std::vector<Message> History;

static const size_t LONGEST = 24;
static const u32 LONGEST_WAIT = 200;     // rounds, until a fence takes its place
static const u64 DISTANCE = 1ull << 20;  // of two messages in the order, so that others fit between
static std::unordered_map<u64, History> histories;
static u8 pages[1 << 16];  // whether anything in a page was written, by page number

static u8 *page_of(u64 at) { return &pages[at >> 12 & 0xffff]; }

void forget_memory() {
    histories.clear();
    memset(pages, 0, sizeof pages);
}

void forget_thread(Runner &t) {
    t.own.clear();
    t.heard.clear();
    t.released.clear();
    t.fenced = {};
}

// ---- the value at a place

static u8 mask_of(u64 at, u32 bytes) { return (u8)(((1u << bytes) - 1) << (at & 7)); }

static u64 memory_now(u64 place, u8 mask) {  // only bytes of the mask are touched
    u64 value = 0;
    for (int k = 0; k < 8; k++)
        if (mask >> k & 1) ((u8 *)&value)[k] = ((u8 *)place)[k];
    return value;
}

static u64 value_at(const History &h, size_t last, u8 mask) {
    u64 value = 0;
    for (int k = 0; k < 8; k++) {
        if (!(mask >> k & 1)) continue;
        size_t i = last;
        while (!(h[i].mask >> k & 1)) i--;
        ((u8 *)&value)[k] = ((const u8 *)&h[i].value)[k];
    }
    return value;
}

static History &history_of(u64 place, u8 mask) {
    History &h = histories[place];
    if (h.empty()) {
        h.push_back({0, 0, ~0u, ~0u, 0, 0, 0, false, 0, {}});
        *page_of(place) = 1;
    }
    if (const u8 unknown = mask & ~h[0].mask) {  // as it was before the launch
        const u64 now = memory_now(place, unknown);
        for (int k = 0; k < 8; k++)
            if (unknown >> k & 1) ((u8 *)&h[0].value)[k] = ((const u8 *)&now)[k];
        h[0].mask |= unknown;
    }
    return h;
}

// ---- what a thread may read

static bool knows(const Runner &t, const Message &m) {
    if (m.who == t.who || m.when == 0) return true;
    const Knowledge &base = t.block->base;
    return Knowledge::of(base.blocks, m.block) >= m.when || Knowledge::of(t.own.threads, m.who) >= m.when ||
           Knowledge::of(t.own.blocks, m.block) >= m.when || Knowledge::of(base.threads, m.who) >= m.when;
}

// The oldest message that it may read. Older ones are overwritten by a message that it knows.
static size_t oldest(const Runner &t, const History &h, u64 at, u8 mask) {
    const u64 own = Knowledge::of(t.own.seen, at), base = Knowledge::of(t.block->base.seen, at);
    const u64 seen = own > base ? own : base;
    for (size_t i = h.size() - 1; i > 0; i--)
        if (h[i].mask & mask && (h[i].order <= seen || knows(t, h[i]))) return i;
    return 0;
}

static size_t any_of(const History &h, size_t from, u8 mask) {
    size_t ripe[LONGEST + 2];
    size_t count = 0;
    for (size_t i = from; i < h.size(); i++)
        if (i == from || (h[i].mask & mask && h[i].ripe <= machine.round)) ripe[count++] = i;
    machine.counts[READS]++;
    const size_t chosen = one_in(2) ? ripe[count - 1] : ripe[random_number() % count];
    machine.counts[OLDER] += chosen + 1 < h.size();
    return chosen;
}

// The result of a weak read: the line of the L1, unless the thread knows that it is stale.
static size_t through_cache(Runner &t, const History &h, size_t from, u64 at, u8 mask) {
    const auto found = t.block->cached.find(at);
    if (found != t.block->cached.end() && found->second >= h[from].order && !(machine.evicts && one_in(8))) {
        size_t i = h.size() - 1;
        while (i > from && h[i].order > found->second) i--;
        machine.counts[OLDER] += i + 1 < h.size();
        return i;
    }
    const size_t i = any_of(h, from, mask);
    t.block->cached[at] = h[i].order;
    return i;
}

// ---- synchronization

static std::shared_ptr<const Knowledge> all_that_it_knows(const Runner &t) {
    auto all = std::make_shared<Knowledge>(t.block->base);
    all->join(t.own);
    Knowledge::raise(all->threads, t.who, machine.now);
    all->made = machine.now;
    return all;
}

static bool tells(const Release &release) { return release.in_block || release.on_device; }

static void keep_newer(std::shared_ptr<const Knowledge> &a, const std::shared_ptr<const Knowledge> &b) {
    if (b && (!a || b->made > a->made)) a = b;
}

// Whether what the thread of an open fence wrote behind it is known, or anything later at that place.
static bool is_known(const Fence &fence, const Knowledge &known) {
    if (!fence.at) return false;
    if (Knowledge::of(known.seen, fence.at) >= fence.order) return true;
    for (const Message &m : histories.at(fence.at & ~7ull))
        if (m.order >= fence.order && m.mask & fence.mask && m.when &&
            (Knowledge::of(known.blocks, m.block) >= m.when || Knowledge::of(known.threads, m.who) >= m.when))
            return true;
    return false;
}

// The fence takes the next place in the order, and knows what those before it knew. Open fences come before it if it
// knows what was written behind them.
static void close(Fence &fence) {
    auto &open = machine.open;
    fence.open = false;
    for (size_t k = 0; k < open.size(); k++)
        if (open[k].get() == &fence) open.erase(open.begin() + k--);
    fence.known.join(machine.sequential);
    for (size_t k = 0; k < open.size();) {
        const std::shared_ptr<Fence> other = open[k++];
        if (!is_known(*other, fence.known)) continue;
        close(*other);
        fence.known.join(other->known);
        k = 0;
    }
    machine.sequential.join(fence.known);
    fence.block->sequential.join(fence.known);
}

template <class Which>
static void close_those(Which which) {
    for (size_t k = 0; k < machine.open.size();) {
        const std::shared_ptr<Fence> fence = machine.open[k++];
        if (!which(*fence)) continue;
        close(*fence);
        k = 0;
    }
}

static void learn(Runner &t, const Knowledge &told) {
    for (const auto &fence : told.fences)
        if (fence->open) close(*fence);
    t.own.join(told);
}

// A read took a message that was written behind an open fence, or a later one. Causality order tells of it only if the
// read was strong and took just that number.
static void has_read(u64 at, u8 mask, const Message &m, bool strong) {
    if (machine.open.empty()) return;
    close_those([&](const Fence &f) {
        const bool overlaps = f.at && f.at >> 3 == at >> 3 && f.mask & mask;
        return overlaps && f.order <= m.order && !(strong && f.at == at && f.mask == mask);
    });
}

// Knowledge that the thread received at this place (0: anywhere) counts from now on.
static void acquire(Runner &t, Scope scope, u64 at) {
    size_t kept = 0;
    for (auto &heard : t.heard) {
        const auto &told = heard.same_block ? heard.release.in_block : heard.release.on_device;
        if ((at && heard.at != at) || (!heard.same_block && scope == BLOCK)) t.heard[kept++] = heard;
        else if (told) learn(t, *told);
    }
    t.heard.resize(kept);
}

// A read has taken the message. This has an effect only if both name scopes that include the other thread.
static void observe(Runner &t, const Message &m, u64 at, u8 mask, Order order, Scope scope) {
    const bool same_block = m.block == t.block->number;
    const bool strong = order != WEAK && m.strong && (same_block || (scope == DEVICE && m.strong != 1 + BLOCK));
    has_read(at, mask, m, strong);
    if (!strong) return;
    t.own.saw(at, m.order);
    if (tells(m.release)) t.heard.push_back({at, m.release, same_block});
    if (order == ACQUIRE || order == ACQ_REL) acquire(t, scope, at);
}

static Release release_of(Runner &t, u64 at, Order order, Scope scope) {
    Release release = t.fenced;
    if (order == RELEASE || order == ACQ_REL) {
        Release &own = t.released[at];
        own.in_block = all_that_it_knows(t);
        if (scope == DEVICE) own.on_device = own.in_block;
    }
    const auto earlier = t.released.find(at);
    if (earlier != t.released.end()) {
        keep_newer(release.in_block, earlier->second.in_block);
        keep_newer(release.on_device, earlier->second.on_device);
    }
    return release;
}

static std::shared_ptr<const Knowledge> both(const std::shared_ptr<const Knowledge> &a,
                                             const std::shared_ptr<const Knowledge> &b) {
    if (!a || !b) return a ? a : b;
    auto sum = std::make_shared<Knowledge>();
    sum->join(*a);
    sum->join(*b);
    sum->made = machine.now;
    return sum;
}

// ---- reads and writes

static void shorten(History &h) {
    if (h.size() <= LONGEST) return;
    for (int k = 0; k < 8; k++)
        if (h[1].mask >> k & 1) ((u8 *)&h[0].value)[k] = ((const u8 *)&h[1].value)[k];
    h[0].mask |= h[1].mask;
    h.erase(h.begin() + 1);
}

static void to_memory(u64 place, u64 value, u8 mask) {
    for (int k = 0; k < 8; k++)
        if (mask >> k & 1) ((u8 *)place)[k] = ((const u8 *)&value)[k];
}

// Behind an open fence: it comes after those that have a place by now, so their knowledge is the writer's.
static void before_a_write(Runner &t) {
    if (!t.fence) return;
    t.fence->known.join(machine.sequential);
    t.own.join(machine.sequential);
}

static void append(Runner &t, History &h, u64 at, u64 value, u8 mask, Order order, Scope scope, bool attached,
                   const Release &release) {
    const u64 ripe = machine.round + (one_in(2) ? 0 : random_number() % machine.options.delay);
    const u8 strong = order == WEAK ? 0 : 1 + scope;
    Message m = {0, ++machine.now, t.who, t.block->number, value, mask, strong, attached, ripe, release};
    const size_t last = h.size() - 1;
    const bool before_it = !attached && !t.fence && last && !h[last].attached && one_in(8) &&
                           oldest(t, h, at, 0xff) < last && h[last].order - h[last - 1].order > 1;
    m.order = before_it ? (h[last - 1].order + h[last].order) / 2 : h[last].order + DISTANCE;
    machine.counts[INSERTED] += before_it;
    h.insert(h.begin() + last + !before_it, m);
    to_memory(at & ~7ull, value_at(h, h.size() - 1, mask), mask);
    const auto cached = t.block->cached.find(at);
    if (cached != t.block->cached.end() && cached->second < m.order) cached->second = m.order;
    if (t.fence) t.fence->at = at, t.fence->order = m.order, t.fence->mask = mask;
    shorten(h);
}

static u64 changed(Change change, Kind kind, u32 bytes, u64 old, u64 a, u64 b) {
    const u64 all = bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
    const i64 x = bytes == 4 ? (i64)(i32)old : (i64)old, y = bytes == 4 ? (i64)(i32)a : (i64)a;
    const bool less = kind == SIGNED ? x < y : old < a;
    if (change == ADD && kind == FLOAT)
        return bytes == 8   ? bits_of(to_f64(old) + to_f64(a))
               : bytes == 4 ? bits_of(to_f32(old) + to_f32(a))
                            : bits_of((f16)(to_f16(old) + to_f16(a)));
    if (change == ADD) return (old + a) & all;
    if (change == MIN) return less ? old : a;
    if (change == MAX) return less ? a : old;
    if (change == AND) return old & a;
    if (change == OR) return old | a;
    if (change == XOR) return old ^ a;
    if (change == COMPARE) return old == a ? b : old;
    if (change == INCREASE) return old >= a ? 0 : old + 1;
    if (change == DECREASE) return old == 0 || old > a ? a : old - 1;
    return a;
}

}  // namespace ptx

using namespace ptx;

static void place_now(Runner &t) {
    if (!t.fence) return;
    const std::shared_ptr<Fence> fence = t.fence;
    t.fence.reset();
    if (fence->open) close(*fence);
    t.own.join(fence->known);
}

void ptx::take_place(Runner &t) {
    while (t.fence && t.fence->open && machine.round < t.fence->until) leave();
    place_now(t);
}

static u64 direct(u64 at, u32 bytes) {
    u64 value = 0;
    memcpy(&value, (const void *)at, bytes);
    return value;
}

// Before a read of memory that others may change, let them run.
static void others_turn(Runner &t, Order order) {
    if (order != WEAK || (machine.options.weak && one_in(machine.interrupts))) leave();
}

u64 ptx_load(Thread &thread, u64 at, u32 bytes, Order order, Scope scope) {
    Runner &t = runner(thread);
    if (at >= SHARED_WINDOW) {
        if (order != WEAK) leave();
        return direct((u64)shared_at(t, at - SHARED_WINDOW, bytes), bytes);
    }
    check_bounds(t, at, bytes, "a read");
    finish_late(t, at, bytes, true);
    if (!machine.options.weak || (!*page_of(at) && order == WEAK)) {
        if (order != WEAK) leave();
        return direct(at, bytes);
    }
    others_turn(t, order);
    take_place(t);
    const u64 place = at & ~7ull;
    const u8 mask = mask_of(at, bytes);
    const auto found = histories.find(place);
    if (found == histories.end()) return direct(at, bytes);
    History &h = history_of(place, mask);
    const size_t from = oldest(t, h, at, mask);
    const bool cached = order == WEAK || scope == BLOCK;
    size_t i = cached ? through_cache(t, h, from, at, mask) : any_of(h, from, mask);
    const u64 value = value_at(h, i, mask) >> 8 * (at & 7);
    while (i > 0 && !(h[i].mask & mask)) i--;
    observe(t, h[i], at, mask, order, scope);
    return value;
}

// The kernel has promised that nothing changes this memory during the launch, so no barrier or fence reaches the cache
// that the load reads: it may return any message, whatever its thread knows.
u64 ptx_load_constant(Thread &thread, u64 at, u32 bytes) {
    Runner &t = runner(thread);
    check_bounds(t, at, bytes, "a read");
    if (!machine.options.weak || !*page_of(at)) return direct(at, bytes);
    others_turn(t, WEAK);
    const auto found = histories.find(at & ~7ull);
    if (found == histories.end()) return direct(at, bytes);
    const u8 mask = mask_of(at, bytes);
    const History &h = history_of(at & ~7ull, mask);
    return value_at(h, any_of(h, 0, mask), mask) >> 8 * (at & 7);
}

void ptx_store(Thread &thread, u64 at, u32 bytes, u64 value, Order order, Scope scope) {
    Runner &t = runner(thread);
    machine.moved = true;
    if (at >= SHARED_WINDOW) {
        memcpy(shared_at(t, at - SHARED_WINDOW, bytes), &value, bytes);
        return;
    }
    check_bounds(t, at, bytes, "a write");
    if (!machine.options.weak) {
        memcpy((void *)at, &value, bytes);
        return;
    }
    finish_late(t, at, bytes);
    if (order >= RELEASE) finish_all_late(t);
    if (order >= RELEASE || (t.fence && t.fence->at)) take_place(t);
    before_a_write(t);
    const u8 mask = mask_of(at, bytes);
    History &h = history_of(at & ~7ull, mask);
    const Release release = order == WEAK ? Release() : release_of(t, at, order, scope);
    append(t, h, at, value << 8 * (at & 7), mask, order, scope, false, release);
    others_turn(t, WEAK);
}

u64 ptx_change(Thread &thread, u64 at, u32 bytes, Change change, Kind kind, u64 a, u64 b, Order order, Scope scope) {
    Runner &t = runner(thread);
    finish_all_late(t);
    leave();
    const bool in_shared = at >= SHARED_WINDOW;
    if (in_shared || order != RELAXED || scope != DEVICE || change == COMPARE || (t.fence && t.fence->at))
        take_place(t);
    if (in_shared) at = (u64)shared_at(t, at - SHARED_WINDOW, bytes);
    else check_bounds(t, at, bytes, "an atomic");
    if (in_shared || !machine.options.weak) {
        const u64 old = direct(at, bytes), next = changed(change, kind, bytes, old, a, b);
        memcpy((void *)at, &next, bytes);
        if (next != old) machine.moved = true;
        return old;
    }
    const u8 mask = mask_of(at, bytes);
    History &h = history_of(at & ~7ull, mask);
    size_t i = h.size() - 1;
    while (i > 0 && !(h[i].mask & mask)) i--;
    const bool together = !i || h[i].block == t.block->number || (scope == DEVICE && h[i].strong != 1 + BLOCK);
    if (together) before_a_write(t);
    else place_now(t);
    if (!together && one_in(2)) i = any_of(h, oldest(t, h, at, mask), mask);  // nothing makes it atomic
    const u64 old = value_at(h, i, mask) >> 8 * (at & 7), next = changed(change, kind, bytes, old, a, b);
    Release release = release_of(t, at, order, scope);
    if (together) {  // this message passes on the knowledge of the previous one
        release.in_block = both(h[i].release.in_block, release.in_block);
        release.on_device = both(h[i].release.on_device, release.on_device);
    }
    const Message before = h[i];
    observe(t, before, at, mask, order, scope);
    if (change == COMPARE && old != a) return old;
    if (next != old) machine.moved = true;
    append(t, h, at, next << 8 * (at & 7), mask, order, scope, together, release);
    return old;
}

void ptx_fence(Thread &thread, bool sequential, Scope scope) {
    Runner &t = runner(thread);
    finish_all_late(t);
    if (!machine.options.weak) return;
    take_place(t);
    if (one_in(4)) leave();  // so that others come between it and the previous ones
    machine.counts[FENCES]++;
    machine.now++;
    acquire(t, scope, 0);
    if (sequential) {
        close_those([&](const Fence &f) { return f.block == t.block; });
        t.own.join(t.block->sequential);
        t.block->sequential.join(*all_that_it_knows(t));
    }
    auto told = std::make_shared<Knowledge>(*all_that_it_knows(t));
    if (sequential && scope == DEVICE) {
        const u64 until = machine.round + random_number() % (one_in(2) ? 16 : LONGEST_WAIT);
        t.fence = std::make_shared<Fence>(Fence{t.block, *told, until});
        machine.open.push_back(t.fence);
        told->fences.push_back(t.fence);
    }
    t.fenced.in_block = told;
    if (scope == DEVICE) t.fenced.on_device = told;
    if (one_in(2)) place_now(t);
}

bool ptx_backwards(Thread &t) { return machine.options.weak && one_in(2); }
