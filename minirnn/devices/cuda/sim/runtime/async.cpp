// Copies that go on beside the kernel (cp.async), barriers that count arrivals and bytes (mbarrier), and stores into
// another block's shared memory that such a barrier counts (st.async).
//
// A copy is made when it is waited for, a store at once: a barrier that is not waited for shows as a race.
#include "internal.h"

#include <unordered_map>
#include <vector>

using namespace sim;

// ---------------------------------------------------------------------------------------------------- copies

struct Copy {
    char *to;
    const char *from;
    uint32_t bytes;
    void *pc;
};
typedef std::vector<Copy> Group;

static std::unordered_map<const Thread *, std::vector<Group>> under_way;  // by thread: its groups, the open one last

void sim::forget_copies(const Block *b) {
    if (under_way.empty()) return;
    for (uint32_t i = 0; b && i < b->size; i++) under_way.erase(b->threads + i);
    if (!b) under_way.clear();
}

static bool in_shared_memory(const void *p) {
    return (char *)p >= block->arena && (char *)p < block->arena + launch.arena_bytes;
}

CUSIM_API void cusim_copy_async(void *to, const void *from, unsigned bytes, void *pc) {
    if (!in_shared_memory(to))
        fail_at({pc}, "copy_async to an address that is not in shared memory, %s", name_of(thread, block).text);
    if ((uintptr_t)to % bytes || (uintptr_t)from % bytes) {
        fail_at({pc}, "copy_async<%u> of addresses that are no multiples of %u bytes, %s", bytes, bytes,
                name_of(thread, block).text);
    }
    Busy while_it_grows;
    std::vector<Group> &groups = under_way[thread];
    if (groups.empty()) groups.emplace_back();
    groups.back().push_back({(char *)to, (const char *)from, bytes, pc});
}

CUSIM_API void cusim_copy_commit() {
    Busy while_it_grows;
    std::vector<Group> &groups = under_way[thread];
    if (groups.empty()) groups.emplace_back();
    groups.emplace_back();
}

CUSIM_API void cusim_copy_wait(unsigned left) {
    const auto found = under_way.find(thread);
    if (found == under_way.end()) return;
    while (found->second.size() > left + 1) {
        Group group;
        {
            Busy while_it_shrinks;
            group.swap(found->second.front());
            found->second.erase(found->second.begin());
        }
        for (const Copy &copy : group) {
            if (launch.options.check) {
                check_access(copy.from, copy.bytes, READ, copy.pc);
                check_access(copy.to, copy.bytes, WRITE, copy.pc);
            }
            memcpy(copy.to, copy.from, copy.bytes);
        }
    }
}

// -------------------------------------------------------------------------------------------------- barriers

static const uint32_t MOST = (1 << 20) - 1;

struct Meeting {  // as it lies in shared memory, 8 bytes
    uint64_t count : 20, missing : 20, phase : 1, valid : 2;
    int64_t bytes : 21;
};
static const uint32_t VALID = 2;  // shared memory starts as ones

static std::unordered_map<const void *, uint32_t> over_since;  // when the last phase of a barrier ended

void sim::forget_meetings() { over_since.clear(); }

static Meeting *meeting_at(void *p, void *pc) {
    Meeting *m = (Meeting *)p;
    if ((uintptr_t)p % 8) fail_at({pc}, "a Meeting at no multiple of 8 bytes, %s", name_of(thread, block).text);
    if (m->valid != VALID) {
        fail_at({pc}, "a Meeting that meeting_init has not made, or that was written over, %s",
                name_of(thread, block).text);
    }
    return m;
}

static void touch(void *p, int kind, void *pc) {
    if (launch.options.check) check_access(p, sizeof(Meeting), kind, pc);
}

CUSIM_API void cusim_meeting_init(void *p, unsigned count, void *pc) {
    if (!in_shared_memory(p))
        fail_at({pc}, "meeting_init of an address that is not in shared memory, %s", name_of(thread, block).text);
    if (!count || count > MOST) fail_at({pc}, "meeting_init for %u arrivals, %s", count, name_of(thread, block).text);
    touch(p, WRITE, pc);
    Meeting m = {};
    m.count = m.missing = count;
    m.valid = VALID;
    memcpy(p, &m, sizeof m);
    Busy while_it_grows;
    over_since[p] = now;
}

static void end_phase_if_complete(Meeting *m) {
    if (m->missing || m->bytes) return;
    m->phase ^= 1;
    m->missing = m->count;
    progress++;
    block->moved = 1;
    tick();
    Busy while_it_grows;
    over_since[m] = now;
}

static void arrive(void *p, uint32_t bytes, int remote, void *pc) {
    touch(p, READ | WRITE | ATOMIC | remote, pc);
    Meeting *m = meeting_at(p, pc);
    if (!m->missing) {
        fail_at({pc}, "an arrival too many: all %u of this phase have come, %s", (unsigned)m->count,
                name_of(thread, block).text);
    }
    if (bytes > MOST)
        fail_at({pc}, "meeting_expect: %u bytes, at most %u, %s", bytes, MOST, name_of(thread, block).text);
    m->bytes += bytes;
    m->missing--;
    end_phase_if_complete(m);
}

CUSIM_API void cusim_meeting_arrive(void *p, unsigned bytes, void *pc) { arrive(p, bytes, 0, pc); }

CUSIM_API void cusim_meeting_arrive_at(void *p, unsigned rank, void *pc) {
    arrive(cusim_cluster_map(p, rank), 0, ASYNC, pc);
}

CUSIM_API void cusim_meeting_wait(void *p, unsigned parity, int until_over, int *over, void *pc) {
    for (;;) {
        touch(p, READ | ATOMIC, pc);
        const Meeting *m = meeting_at(p, pc);
        *over = m->phase != (parity & 1);
        if (*over || !until_over) break;
        give_way();
    }
    if (!*over) {
        give_way();
        return;
    }
    // What came before the end of that phase is in order now.
    const auto found = over_since.find(p);
    if (found != over_since.end() && found->second > past().passed) past().passed = found->second;
}

CUSIM_API void cusim_store_async(void *to, const void *value, unsigned bytes, void *p, unsigned rank, void *pc) {
    void *there = cusim_cluster_map(to, rank), *meeting = cusim_cluster_map(p, rank);
    if ((uintptr_t)there % bytes) {
        fail_at({pc}, "store_async of %u bytes to no multiple of as many, %s", bytes, name_of(thread, block).text);
    }
    if (launch.options.check) check_access(there, bytes, WRITE | ASYNC, pc);
    memcpy(there, value, bytes);
    touch(meeting, READ | WRITE | ATOMIC | ASYNC, pc);
    Meeting *m = meeting_at(meeting, pc);
    if (m->bytes - (int64_t)bytes < -(int64_t)MOST)
        fail_at({pc}, "store_async: bytes that nobody expects, %s", name_of(thread, block).text);
    m->bytes -= bytes;
    end_phase_if_complete(m);
}
