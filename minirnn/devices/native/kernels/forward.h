// All steps of one direction of a layer, with any cell: `lstm.h`, `gru.h`, `simple.h`.
//
// The weights are packed once. Then a step is one pass over tiles of samples and units: bias, W x, R h' and the cell, all
// in registers. Threads share the tiles of a step, each always the same panels of the weights, and meet after it.
//
// Where the weights are more than the caches hold, or a step has too few samples for a tile, W x of some steps is computed
// ahead, so that W goes by once for all of them.
#pragma once
#include "layer.h"
#include "shares.h"

template <class real, class Cell>
class Forward {
    using V = Vector<real>;
    static constexpr int lanes = LANES<real>, G = Cell::GATES, SUMS = Cell::SUMS;
    // A tile has the gates of one vector of units or, of a cell without gates, several vectors of units.
    static constexpr int TILE_ROWS = G > 1 ? GATE_ROWS : ROWS;
    static constexpr Index UNITS = G > 1 ? lanes : PANEL<real>;
    static constexpr Index CACHED_BYTES = 1 << 21, ROWS_AHEAD = 64, LEAST_AHEAD = 4;

  public:
    explicit Forward(const Layer<real> &d)
        : d(d),
          cell(d),
          visit(d),
          panels((d.H + UNITS - 1) / UNITS),
          width(packed_width<real>(d.H)),
          W(d.W.p ? G * width * d.I : 0),
          R(G * width * d.P),
          Wp(d.Wp.p ? packed_width<real>(d.P) * d.H : 0),
          bias(SUMS * width),
          state(2 * d.B * d.P),
          m(d.Wp.p ? d.B * d.H : 0),
          ahead(steps_ahead()),
          inputs(ahead * d.B * G * width) {}

    void run(Member me) {
        pack(me);
        me.wait();
        const Shares shares(me, d, TILE_ROWS, weight_bytes());
        for (Index k = 0; k < d.T; k++) {
            if (ahead && k % ahead == 0) {  // never with shares by samples: the weights are large, or the samples few
                if (!me.stopped()) look_ahead(k, me);
                me.wait();
            }
            if (!me.stopped()) step(k, shares);
            shares.wait();
            if (d.Wp.p) {
                if (!me.stopped()) project(k, shares);
                shares.wait();
            }
        }
        me.wait();
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            const Index last = d.reverse ? 0 : (d.lengths ? d.lengths[b] : d.T) - 1;
            std::memcpy(d.h_n.at(b), d.y.at(last * d.B + b), d.P * sizeof(real));
        }
    }

  private:
    Index weight_bytes() const { return G * width * (d.I + d.P) * Index(sizeof(real)); }

    Index steps_ahead() const {
        if (!d.W.p || (d.B >= TILE_ROWS && weight_bytes() <= CACHED_BYTES)) return 0;
        return std::min(d.T, std::max(LEAST_AHEAD, ROWS_AHEAD / std::max<Index>(1, d.B)));
    }

    void pack(Member me) {
        int rows[4];
        cell.order(rows);
        if constexpr (G > 1) {
            if (d.W.p) pack_gates(d.W, d.H, d.I, G, rows, (real *)W, me.begin(panels), me.end(panels));
            pack_gates(d.R, d.H, d.P, G, rows, (real *)R, me.begin(panels), me.end(panels));
        } else {
            if (d.W.p) pack_columns<real>(transposed(d.W), d.I, d.H, W, me.begin(d.I), me.end(d.I));
            pack_columns<real>(transposed(d.R), d.P, d.H, R, me.begin(d.P), me.end(d.P));
        }
        if (d.Wp.p) pack_columns<real>(transposed(d.Wp), d.H, d.P, Wp, me.begin(d.H), me.end(d.H));
        for (int sum = 0; sum < SUMS; sum++) {
            for (Index u = me.begin(width); u < me.end(width); u++) {
                bias[sum * width + u] = u < d.H ? cell.bias(sum, u) : real(0);
            }
        }
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            for (int half = 0; half < 2; half++) {  // a sample that joins late finds its h0 in either
                std::memcpy(state + (half * d.B + b) * d.P, d.h0.at(b), d.P * sizeof(real));
            }
            if (d.c_n.p) std::memcpy(d.c_n.at(b), d.c0.at(b), d.H * sizeof(real));
        }
    }

    static Matrix<const real> transposed(Matrix<const real> a) { return {a.p, a.column, a.row}; }

    void step(Index k, const Shares &shares) {
        const Index samples = visit.samples(k), t = visit.step(k);
        const Member &me = shares.me;
        shares.each_tile(Blocks(samples, TILE_ROWS), panels, [&](Index b, Index rows, Index panel) {
            if constexpr (G > 1) {
                gates(k, b, panel * UNITS, rows);
            } else {
                units(k, b, panel * UNITS, rows);
            }
        });
        for (Index b = samples + me.begin(d.B - samples); b < samples + me.end(d.B - samples); b++) {
            std::memset(d.y.at(t * d.B + b), 0, d.P * sizeof(real));
        }
    }

    // A tile of a cell with gates: a vector of units, M samples.
    void gates(Index k, Index b, Index u, Index M) {
        const Index row = visit.step(k) * d.B + b;
        Sums<real> sums, x_n;
        from_x(sums.at, k, row, u, M, G);
        if constexpr (SUMS > G) {  // a GRU keeps apart what comes from x and from h' for its last gate
            for (Index i = 0; i < M; i++) {
                real *last = sums.at + (i * G + G - 1) * lanes;
                store(x_n.at + i * lanes, load(const_cast<const real *>(last)));
                store(last, load<real>(bias + G * width + u));
            }
        }
        multiply<real>(M, G, d.P, state + ((k & 1) * d.B + b) * d.P, d.P, R + u * d.P * G, sums.at);
        for (Index i = 0; i < M; i++) {
            V a[SUMS];
            for (int g = 0; g < G; g++) a[g] = load<real>(sums.at + (i * G + g) * lanes);
            if constexpr (SUMS > G) {
                a[SUMS - 1] = a[G - 1];
                a[G - 1] = load(x_n.at + i * lanes);
            }
            leave(k, b + i, u, a);
        }
    }

    // A tile of a cell without gates: N vectors of units, M samples.
    void units(Index k, Index b, Index u, Index M) {
        const Index row = visit.step(k) * d.B + b, N = (std::min(UNITS, d.H - u) + lanes - 1) / lanes;
        Sums<real> sums;
        from_x(sums.at, k, row, u, M, N);
        multiply<real>(M, N, d.P, state + ((k & 1) * d.B + b) * d.P, d.P, R + u * d.P, sums.at);
        for (Index i = 0; i < M; i++) {
            for (Index n = 0; n < N; n++) {
                V a[SUMS] = {load<real>(sums.at + (i * N + n) * lanes)};
                leave(k, b + i, u + n * lanes, a);
            }
        }
    }

    // Bias and W x of a tile: computed now, or fetched.
    INLINE void from_x(real *sums, Index k, Index row, Index u, Index M, Index N) {
        if (ahead) {
            std::memcpy(sums, input(k, row, u, N), M * N * lanes * sizeof(real));
        } else {
            begin(sums, row, u, M, N);
            if (d.W.p) multiply<real>(M, N, d.I, d.x.at(row), d.x.ld, W + u * d.I * G, sums);
        }
    }

    // The sums begin with the bias and, without W, with x.
    void begin(real *sums, Index row, Index u, Index M, Index N) {
        for (Index n = 0; n < N; n++) {
            const V b = load<real>(bias + (G > 1 ? n * width + u : u + n * lanes));
            const Index at = G > 1 ? u : u + n * lanes;
            for (Index i = 0; i < M; i++) {
                store(sums + (i * N + n) * lanes, d.W.p ? b : b + load(d.x.at(row + i) + at, d.H - at));
            }
        }
    }

    // Bias and W x of the steps from k on, in blocks of rows that need not end where a step ends.
    void look_ahead(Index k, Member me) {
        const Index row = first_row(k);
        const Blocks blocks(std::min(ahead, d.T - k) * d.B, TILE_ROWS);
        for (Index tile = me.begin(panels * blocks.count); tile < me.end(panels * blocks.count); tile++) {
            const Index r = blocks.start(tile % blocks.count), u = tile / blocks.count * UNITS;
            const Index M = blocks.start(tile % blocks.count + 1) - r;
            const Index N = G > 1 ? G : (std::min(UNITS, d.H - u) + lanes - 1) / lanes;
            real *sums = input(k, row + r, u, N);
            begin(sums, row + r, u, M, N);
            multiply<real>(M, N, d.I, d.x.at(row + r), d.x.ld, W + u * d.I * G, sums);
        }
    }

    // Where the sums of a row are that was computed ahead, and the first row of all that were so together.
    real *input(Index k, Index row, Index u, Index N) {
        return inputs + u * G * ahead * d.B + (row - first_row(k - k % ahead)) * N * lanes;
    }
    Index first_row(Index k) const { return (d.reverse ? std::max<Index>(0, d.T - k - ahead) : k) * d.B; }

    // The cell of one sample and one vector of units; its h goes where the next step reads it, and to y.
    INLINE void leave(Index k, Index b, Index u, V (&a)[SUMS]) {
        const Index row = visit.step(k) * d.B + b;
        const Index before = b < visit.samples(k - 1) ? visit.step(k - 1) * d.B + b : -1;
        const Place at{row, before, b, u, d.H - u};
        const V h = cell.step(at, a);
        if (d.Wp.p) {
            store(m + b * d.H + u, h, at.count);
        } else {
            store(state + ((~k & 1) * d.B + b) * d.P + u, h, at.count);
            store(d.y, row, at, h);
        }
    }

    // h = Wp m
    void project(Index k, const Shares &shares) {
        const Index row = visit.step(k) * d.B, strips = (d.P + PANEL<real> - 1) / PANEL<real>;
        shares.each_tile(Blocks(visit.samples(k), ROWS), strips, [&](Index b, Index M, Index strip) {
            const Index j = strip * PANEL<real>;
            const Index N = (std::min<Index>(PANEL<real>, d.P - j) + lanes - 1) / lanes;
            Sums<real> sums = {};
            multiply<real>(M, N, d.H, m + b * d.H, d.H, Wp + j * d.H, sums.at);
            for (Index i = 0; i < M; i++) {
                for (Index n = 0; n < N; n++) {
                    const V h = load<real>(sums.at + (i * N + n) * lanes);
                    const Index u = j + n * lanes;
                    store(state + ((~k & 1) * d.B + b + i) * d.P + u, h, d.P - u);
                    store(d.y.at(row + b + i) + u, h, d.P - u);
                }
            }
        });
    }

    const Layer<real> &d;
    const Cell cell;
    const Visit visit;
    const Index panels, width;
    Scratch<real> W, R, Wp, bias, state, m;
    const Index ahead;  // steps whose W x is computed at once; 0: each with its step
    Scratch<real> inputs;
};
