// The assignment of the tiles of a step to threads.
//
// A sample's step depends on all units of that sample's previous step, and on no other sample. So threads that share
// the tiles by samples never wait for each other until the last step. But then each of them reads all of R at every
// step, from its own cache, and each needs enough samples for its own tiles.
//
// Otherwise they share them by units: each reads only its own panels of R, and all meet after every step.
#pragma once
#include "layer.h"
#include "team.h"

class Shares {
    static constexpr Index NEAR_BYTES = 3 << 19;  // of weights that stay in a cache of 2 MiB next to streamed data

  public:
    const Member me;

    // `bytes` is the size of the weights that a step reads. `mixed`: tiles of a step hold different samples.
    template <class Layer>
    Shares(Member me, const Layer &d, int most_rows, Index bytes, bool mixed = false) : me(me) {
        const Index blocks = Blocks(d.B, most_rows).count, largest = (blocks + me.count - 1) / me.count;
        const bool even = 8 * blocks >= 7 * largest * me.count;  // the largest share is at most 1/7 above the mean
        // With lengths the first samples have the most steps. The tiles of a projection may hold other samples than
        // those of the cell, whose results they read.
        by_samples = me.count > 1 && even && bytes <= NEAR_BYTES && !d.lengths && !d.Wp.p && !mixed;
    }

    // After a step.
    void wait() const {
        if (!by_samples) me.wait();
    }

    // f(first sample, samples, panel) for each of this member's tiles. The blocks of samples are the same for any
    // number of threads, and so are the bits of the results.
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
