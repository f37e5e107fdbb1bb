// What a thread knows to have happened: which accesses come before what it does now, in causality order.
//
// Time is a counter of the machine. "All that thread 7 did until 40" and "all that block 2 did until 55" are enough,
// because what comes before something in a thread is known with it.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "values.h"

namespace ptx {

struct Block;
struct Fence;

struct Knowledge {
    std::unordered_map<u32, u64> threads, blocks;  // until when
    std::unordered_map<u64, u64> seen;             // place -> order of a message that was read there by a strong read
    u64 made = 0;                                  // when it was written down
    std::vector<std::shared_ptr<Fence>> fences;    // fence.sc whose knowledge this is, and may grow yet

    static void raise(std::unordered_map<u32, u64> &map, u32 key, u64 value) {
        u64 &known = map[key];
        if (value > known) known = value;
    }
    void saw(u64 place, u64 order) {
        u64 &known = seen[place];
        if (order > known) known = order;
    }
    inline void join(const Knowledge &other);
    template <class Map>
    static u64 of(const Map &map, typename Map::key_type key) {
        if (map.empty()) return 0;
        const auto found = map.find(key);
        return found == map.end() ? 0 : found->second;
    }
    void clear() {
        threads.clear();
        blocks.clear();
        seen.clear();
        fences.clear();
    }
};

// A fence.sc with the scope of the device. Its place in the order of all such fences is open for as long as its thread
// has done nothing behind it, or written a single number: so fences that are made later may yet come before it.
struct Fence {
    Block *block;
    Knowledge known;  // of its thread; with a place also what the fences before it knew
    u64 until;        // the round to which its thread waits before it does more
    bool open = true;
    u64 at = 0, order = 0;  // of the number that its thread wrote behind it: where, and in the coherence order there
    u8 mask = 0;            // which of 8 bytes that are
};

void Knowledge::join(const Knowledge &other) {
    for (const auto &entry : other.threads) raise(threads, entry.first, entry.second);
    for (const auto &entry : other.blocks) raise(blocks, entry.first, entry.second);
    for (const auto &entry : other.seen) saw(entry.first, entry.second);
    for (const auto &fence : other.fences)
        if (fence->open) fences.push_back(fence);
        else join(fence->known);
}

}  // namespace ptx
