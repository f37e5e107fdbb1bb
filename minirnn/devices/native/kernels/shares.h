// Who computes which tiles of a step.
//
// What a sample computes at a step depends on that sample's step before, in all its units, and on no other sample. So
// threads that share the tiles by samples never wait for each other until the last step. But then each of them reads all
// of R at every step, from a cache of its own, and each needs enough samples for tiles of its own.
//
// Otherwise they share them by units: each reads its own panels of R only, and all meet after every step.
#pragma once
#include "layer.h"
#include "team.h"

class Shares {
  public:
    const Member me;

    template <class real>
    Shares(Member me, const Layer<real> &d, int most_rows, bool near) : me(me), by_samples(false) {
        const Index blocks = Blocks(d.B, most_rows).count, largest = (blocks + me.count - 1) / me.count;
        // With lengths the first samples have the most steps.
        by_samples = near && !d.lengths && me.count > 1 && 8 * blocks >= 7 * largest * me.count;
    }

    // After a step.
    void wait() const {
        if (!by_samples) me.wait();
    }

    // f(first sample, samples, panel) for each of this member's tiles. The blocks of samples are the same however many
    // threads there are, and so are the bits of what comes out.
    template <class F>
    INLINE void each_tile(const Blocks &blocks, Index panels, F f) const {
        const Index first = by_samples ? me.begin(blocks.count) : 0,
                    last = by_samples ? me.end(blocks.count) : blocks.count;
        const Index count = last - first, tiles = count * panels;
        const Index begin = by_samples ? 0 : me.begin(tiles), end = by_samples ? tiles : me.end(tiles);
        for (Index tile = begin; tile < end; tile++) {
            const Index block = first + tile % count, b = blocks.start(block);
            f(b, blocks.start(block + 1) - b, tile / count);
        }
    }

  private:
    bool by_samples;
};
