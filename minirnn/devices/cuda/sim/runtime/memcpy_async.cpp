// Copies that run concurrently with the kernel (memcpy_async). A copy is made at its wait, so a missing wait shows.
#include "internal.h"

#include <unordered_map>
#include <vector>

using namespace sim;

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
        fail_at({pc}, "memcpy_async to an address that is not in shared memory, %s", name_of(thread, block).text);
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
