// Device memory.  [red zone .. data .. red zone][guard page]  in whole pages, the data at their end
//
// All of it is in one range of reserved addresses, which is used as a ring: a freed address is reused only after
// the whole ring was used. With the guard page, running past the end is caught in any build; damage to the red zones,
// 16 bytes at least, is found afterwards.
#include "internal.h"
#include "lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <thread>

using namespace sim;

static const size_t LARGEST_RESERVATION = (size_t)256 << 30;
static const size_t SMALLEST_RESERVATION = (size_t)64 << 20;
static const size_t MOST_GUARDS = 12000;      // each costs two of the (usually 65 530) mappings of a process
static const size_t LARGE = (size_t)1 << 20;  // from this size on, an allocation always has a guard page
static const size_t MOST_FREED = 65536;       // freed allocations that are remembered, to name them
static const char RED = (char)0xA5;

struct Freed {
    char *end;
    size_t bytes;
    int64_t number;
};

static std::map<char *, Allocation> live;  // by first page
static std::map<char *, Freed> freed;
static std::deque<std::pair<char *, int64_t>> freed_order;  // oldest first
static char *cursor;                                        // where the next allocation is attempted
static size_t live_bytes, guards;
static bool came_round;  // the ring was used once: free memory may be accessible
static int64_t next_number;
char *sim::heap_begin, *sim::heap_end;
bool sim::launched;
std::mutex sim::the_lock;

size_t sim::page_bytes() {
    static const size_t bytes = sysconf(_SC_PAGESIZE);
    return bytes;
}

static char *map_nothing(size_t bytes) {
    void *p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? nullptr : (char *)p;
}

// Reserves addresses without memory; fewer under `ulimit -v`, so that `share` times as many are left for the rest of
// the process.
char *sim::reserve_addresses(size_t largest, int share, size_t *got) {
    for (size_t bytes = largest; bytes >= SMALLEST_RESERVATION; bytes /= 2) {
        char *p = map_nothing(bytes);
        if (!p) continue;
        char *rest = map_nothing(share * bytes);
        if (rest) {
            munmap(rest, share * bytes);
            *got = bytes;
            return p;
        }
        munmap(p, bytes);
    }
    return nullptr;
}

// ---------------------------------------------------------------------------------------- positions in the ring

static std::map<char *, Allocation>::iterator first_live_after(char *p) {
    auto it = live.upper_bound(p);
    if (it == live.begin()) return it;
    auto before = std::prev(it);
    const Allocation &a = before->second;
    return a.region + a.region_bytes + a.guarded * page_bytes() > p ? before : it;
}

static char *find_place(size_t bytes) {
    char *const start = cursor;
    char *at = start;
    for (bool wrapped = false;;) {
        if (at + bytes > heap_end) {
            if (wrapped) return nullptr;
            wrapped = true;
            at = heap_begin + page_bytes();
        }
        auto it = first_live_after(at);
        if (it == live.end() || it->first >= at + bytes) return at;
        const Allocation &a = it->second;
        at = a.region + a.region_bytes + a.guarded * page_bytes();
        if (wrapped && at > start) return nullptr;
    }
}

static void forget_freed(char *from, char *to) {
    auto it = freed.lower_bound(from);
    if (it != freed.begin() && std::prev(it)->second.end > from) --it;
    while (it != freed.end() && it->first < to) it = freed.erase(it);
}

static void remember_freed(const Allocation &a) {
    freed[a.region] = {a.region + a.region_bytes, a.bytes, a.number};
    freed_order.emplace_back(a.region, a.number);
    while (freed_order.size() > MOST_FREED) {
        auto it = freed.find(freed_order.front().first);
        if (it != freed.end() && it->second.number == freed_order.front().second) freed.erase(it);
        freed_order.pop_front();
    }
}

// ------------------------------------------------------------------------------------------------- red zones

// What memory holds that nobody has written: a quiet NaN as half, float and double, and not the one whose bits are all
// set, which kernels take for "not sent yet".
void sim::fill_fresh(char *p, size_t bytes) {
    const uint16_t fresh = 0x7ffb;
    for (size_t k = 0; k + 1 < bytes; k += 2) memcpy(p + k, &fresh, 2);
    if (bytes % 2) p[bytes - 1] = (char)0xfb;
}

static void fill_red_zones(const Allocation &a) {
    memset(a.region, RED, a.data - a.region);
    char *end = a.data + a.bytes;
    memset(end, RED, a.region + a.region_bytes - end);
}

static bool is_red(const char *p, const char *end) {
    uint64_t red;
    memset(&red, RED, sizeof red);
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, sizeof word);
        if (word != red) return false;
    }
    for (; p < end; p++) {
        if (*p != RED) return false;
    }
    return true;
}

static bool is_damaged(const Allocation &a) {
    return !is_red(a.region, a.data) || !is_red(a.data + a.bytes, a.region + a.region_bytes);
}

// ----------------------------------------------------------------------------------------------- C interface

CUSIM_API void *cusim_alloc(size_t bytes) {
    std::lock_guard<std::mutex> hold(the_lock);
    const size_t page = page_bytes();
    if (!heap_begin) {
        size_t reserved = 0;
        heap_begin = reserve_addresses(LARGEST_RESERVATION, 1, &reserved);
        if (!heap_begin) return nullptr;
        heap_end = heap_begin + reserved;
        cursor = heap_begin + page;
    }
    if (bytes > (size_t)(heap_end - heap_begin)) return nullptr;
    const size_t room = bytes ? bytes : 1;  // even 0 bytes have their own address
    const size_t region_bytes = (room + 16 + page - 1) / page * page;
    const bool guarded = guards < MOST_GUARDS || bytes >= LARGE;
    char *region = find_place(region_bytes + guarded * page);
    if (!region || mprotect(region, region_bytes, PROT_READ | PROT_WRITE)) return nullptr;
    if (guarded && region < cursor) came_round = true;
    if (guarded && came_round) mprotect(region + region_bytes, page, PROT_NONE);
    cursor = region + region_bytes + guarded * page;
    forget_freed(region, cursor);

    Allocation a = {};
    a.data = region + ((region_bytes - room) & ~(size_t)15);
    a.bytes = bytes;
    a.region = region;
    a.region_bytes = region_bytes;
    a.guarded = guarded;
    a.number = next_number++;
    fill_red_zones(a);
    fill_fresh(a.data, bytes);
    live[region] = a;
    live_bytes += bytes;
    guards += guarded;
    return a.data;
}

CUSIM_API int cusim_free(void *p) {
    std::lock_guard<std::mutex> hold(the_lock);
    char *data = (char *)p;
    auto it = live.upper_bound(data);
    if (it == live.begin() || (--it)->second.data != data) {
        auto old = freed.upper_bound(data);
        const bool was_one = old != freed.begin() && data < std::prev(old)->second.end;
        return was_one ? 2 : 1;
    }
    const Allocation a = it->second;
    const bool damaged = is_damaged(a);
    live.erase(it);
    free(a.cells);
    if (a.guarded) {
        const int flags = MAP_PRIVATE | MAP_ANON | MAP_NORESERVE | MAP_FIXED;
        mmap(a.region, a.region_bytes, PROT_NONE, flags, -1, 0);
    } else {
        madvise(a.region, a.region_bytes, MADV_DONTNEED);  // stays accessible: a hole would cost two mappings
    }
    live_bytes -= a.bytes;
    guards -= a.guarded;
    remember_freed(a);
    return damaged ? 3 : 0;
}

CUSIM_API size_t cusim_live_bytes() { return live_bytes; }

CUSIM_API int64_t cusim_damaged(size_t *bytes) {
    std::lock_guard<std::mutex> hold(the_lock);
    if (!launched) return -1;
    for (const auto &entry : live) {
        const Allocation &a = entry.second;
        if (!is_damaged(a)) continue;
        fill_red_zones(a);
        if (bytes) *bytes = a.bytes;
        return a.number;
    }
    launched = false;
    return -1;
}

Allocation *sim::find_allocation(const char *p) {
    auto it = live.upper_bound((char *)p);
    if (it == live.begin()) return nullptr;
    Allocation &a = std::prev(it)->second;
    return p < a.region + a.region_bytes + a.guarded * page_bytes() ? &a : nullptr;
}

CUSIM_API int64_t cusim_allocation(const void *p) {
    std::lock_guard<std::mutex> hold(the_lock);
    const Allocation *a = find_allocation((const char *)p);
    const bool inside = a && p >= a->data && (p < a->data + a->bytes || p == a->data);
    return inside ? a->number : -1;
}

// The array that contains p. -1 if a launch in another thread keeps the lock; a copy does not wait for its end.
CUSIM_API int cusim_range(const void *p, const char **begin, size_t *bytes) {
    std::unique_lock<std::mutex> hold(the_lock, std::try_to_lock);
    for (int k = 0; k < 100 && !hold.owns_lock(); k++) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        hold.try_lock();
    }
    if (!hold.owns_lock()) return -1;
    const Allocation *a = find_allocation((const char *)p);
    if (!a) return 0;
    *begin = a->data;
    *bytes = a->bytes;
    return 1;
}

void sim::forget_times() {
    now = launch.met = launch.begun = 1;
    forget_block_times();
    forget_variables();
    prepare_check();
    for (auto &entry : live) {
        Allocation &a = entry.second;
        if (a.cells) memset(a.cells, 0, (a.bytes / 2 + 1) * sizeof(Cell));
    }
}

static void describe_past_the_end(char *text, size_t size, const char *p, const char *verb, const Allocation &a) {
    snprintf(text, size, "%s past the end of device allocation #%lld (%zu bytes), at byte %ld", verb,
             (long long)a.number, a.bytes, (long)(p - a.data));
}

// Describes an address that should not have been accessed.
void sim::describe_address(char *text, size_t size, const char *p, const char *verb) {
    if (p < heap_begin || p >= heap_end) {
        const char *guess = (uintptr_t)p < 4096 ? "a null pointer" : "an address of the host, or not one at all";
        if (in_stacks(p)) {
            snprintf(text, size, "stack overflow of a simulated thread (or a wild pointer into a stack)");
        } else {
            snprintf(text, size, "%s at %p, which is no device memory (%s)", verb, (const void *)p, guess);
        }
        return;
    }
    if (const Allocation *a = find_allocation(p)) {
        if (p < a->data) {
            snprintf(text, size, "%s %ld bytes before device allocation #%lld (%zu bytes)", verb, (long)(a->data - p),
                     (long long)a->number, a->bytes);
        } else {
            describe_past_the_end(text, size, p, verb, *a);
        }
        return;
    }
    auto it = freed.upper_bound((char *)p);
    if (it != freed.begin() && p < std::prev(it)->second.end) {
        const Freed &f = std::prev(it)->second;
        snprintf(text, size, "%s in freed device memory (allocation #%lld of %zu bytes)", verb, (long long)f.number,
                 f.bytes);
        return;
    }
    auto next = live.upper_bound((char *)p);
    if (next != live.begin()) {
        describe_past_the_end(text, size, p, verb, std::prev(next)->second);
        return;
    }
    snprintf(text, size, "%s at %p, in device memory that is not allocated", verb, (const void *)p);
}
