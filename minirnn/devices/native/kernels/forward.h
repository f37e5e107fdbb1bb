// All steps of one direction of a layer, with any cell of the form that is told in `cells/form.h`.
//
// The weights are packed once. Then a step is one pass over tiles of samples and units: bias, W x, R h' and the cell, all
// in registers. Threads share the tiles of a step, each always the same panels of the weights, and meet after it.
//
// Where the weights are more than the caches hold, or a step has too few samples for a tile, W x of some steps is computed
// ahead, so that W goes by once for all of them.
#pragma once
#include "cell.h"
#include "shares.h"

template <class real, class Cell>
class Forward {
    using V = Vector<real>;
    static constexpr int lanes = LANES<real>, GX = ROWS_OF_W<Cell>, GH = ROWS_OF_R<Cell>, SUMS = GATES<Cell>;
    static_assert(GX <= 4 && GH <= 4, "a tile has up to four gates from x, and four from h'");
    // A tile has the gates of one vector of units or, of a cell with a single gate, several vectors of units.
    static constexpr bool SEVERAL = SUMS > 1 || GH == 0;
    static constexpr int TILE_ROWS = SEVERAL ? GATE_ROWS : ROWS;
    static constexpr Index UNITS = SEVERAL ? lanes : PANEL<real>;
    static constexpr Index CACHED_BYTES = 1 << 21, ROWS_AHEAD = 64, LEAST_AHEAD = 4;

  public:
    Forward(const Layer<real> &d, const Cell &cell)
        : d(d),
          cell(cell),
          visit(d),
          panels((d.H + UNITS - 1) / UNITS),
          width(packed_width<real>(d.H)),
          W(d.W.p ? GX * width * d.I : 0),
          R(GH * width * d.P),
          Wp(d.Wp.p ? packed_width<real>(d.P) * d.H : 0),
          bias(SUMS * width),
          state(2 * d.B * d.P),
          m(d.Wp.p ? d.B * d.H : 0),
          ahead(steps_ahead()),
          inputs(ahead * d.B * GX * width) {}

    void run(Member me) {
        pack(me);
        me.wait();
        const Shares shares(me, d, TILE_ROWS, weight_bytes());
        for (Index k = 0; k < d.T; k++) {
            if (ahead && k % ahead == 0) {  // never with shares by samples: the weights are large, or the samples few
                if (!me.stopped()) look_ahead(k, me);
                me.wait();
            }
            if (!me.stopped()) d.zh.p || d.zc.p ? step<true>(k, shares) : step<false>(k, shares);
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
    Index weight_bytes() const { return width * (GX * d.I + GH * d.P) * Index(sizeof(real)); }

    Index steps_ahead() const {
        if (!d.W.p || (d.B >= TILE_ROWS && weight_bytes() <= CACHED_BYTES)) return 0;
        return std::min(d.T, std::max(LEAST_AHEAD, ROWS_AHEAD / std::max<Index>(1, d.B)));
    }

    void pack(Member me) {
        if constexpr (SEVERAL) {
            if (d.W.p) pack_gates(d.W, d.H, d.I, GX, (real *)W, me.begin(panels), me.end(panels));
            pack_gates(d.R, d.H, d.P, GH, (real *)R, me.begin(panels), me.end(panels));
        } else {
            if (d.W.p) pack_columns<real>(transposed(d.W), d.I, d.H, W, me.begin(d.I), me.end(d.I));
            pack_columns<real>(transposed(d.R), d.P, d.H, R, me.begin(d.P), me.end(d.P));
        }
        if (d.Wp.p) pack_columns<real>(transposed(d.Wp), d.H, d.P, Wp, me.begin(d.H), me.end(d.H));
        for (int sum = 0; sum < SUMS; sum++) {
            for (Index u = me.begin(width); u < me.end(width); u++) {
                bias[sum * width + u] = u < d.H ? bias_of(sum, u) : real(0);
            }
        }
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            for (int half = 0; half < 2; half++) {  // a sample that joins late finds its h0 in either
                std::memcpy(state + (half * d.B + b) * d.P, d.h0.at(b), d.P * sizeof(real));
            }
            for (Index row = b; row < INNER<Cell> * d.B; row += d.B) {
                std::memcpy(d.c_n.at(row), d.c0.at(row), d.H * sizeof(real));
            }
        }
    }

    real bias_of(int gate, Index u) const {
        if (gate >= GX) return d.bR[(gate - Cell::OF_X) * d.H + u];
        return d.bW[gate * d.H + u] + (gate < Cell::OF_BOTH && d.bR ? d.bR[gate * d.H + u] : real(0));
    }

    static Matrix<const real> transposed(Matrix<const real> a) { return {a.p, a.column, a.row}; }

    template <bool ZONED>
    void step(Index k, const Shares &shares) {
        const Index samples = visit.samples(k), t = visit.step(k);
        const Member &me = shares.me;
        shares.each_tile(Blocks(samples, TILE_ROWS), panels, [&](Index b, Index rows, Index panel) {
            if constexpr (SEVERAL) {
                gates<ZONED>(k, b, panel * UNITS, rows);
            } else {
                units<ZONED>(k, b, panel * UNITS, rows);
            }
        });
        for (Index b = samples + me.begin(d.B - samples); b < samples + me.end(d.B - samples); b++) {
            std::memset(d.y.at(t * d.B + b), 0, d.P * sizeof(real));
        }
    }

    // A tile of a cell with several gates: a vector of units, M samples.
    template <bool ZONED>
    void gates(Index k, Index b, Index u, Index M) {
        constexpr int BOTH = Cell::OF_BOTH;
        Sums<real> x, apart;
        from_x(x.at, k, visit.step(k) * d.B + b, u, M, GX);
        // R h' is added to the same sums, unless the cell keeps what comes from x and from h' apart for a gate.
        real *sums = SUMS > BOTH ? apart.at : x.at;
        for (Index i = 0; i < M && SUMS > BOTH; i++) {
            for (int g = 0; g < GH; g++) {
                store(sums + (i * GH + g) * lanes,
                      load<real>(g < BOTH ? x.at + (i * GX + g) * lanes : bias + (g + Cell::OF_X) * width + u));
            }
        }
        multiply<real>(M, GH, d.P, state + ((k & 1) * d.B + b) * d.P, d.P, R + u * d.P * GH, sums);
        for (Index i = 0; i < M; i++) {
            V a[SUMS];
            for (int g = 0; g < BOTH; g++) a[g] = load<real>(sums + (i * GH + g) * lanes);
            for (int g = BOTH; g < GX; g++) a[g] = load<real>(x.at + (i * GX + g) * lanes);
            for (int g = GX; g < SUMS; g++) a[g] = load<real>(sums + (i * GH + g - Cell::OF_X) * lanes);
            leave<ZONED>(k, b + i, u, a);
        }
    }

    // A tile of a cell with a single gate: N vectors of units, M samples.
    template <bool ZONED>
    void units(Index k, Index b, Index u, Index M) {
        const Index row = visit.step(k) * d.B + b, N = (std::min(UNITS, d.H - u) + lanes - 1) / lanes;
        Sums<real> sums;
        from_x(sums.at, k, row, u, M, N);
        multiply<real>(M, N, d.P, state + ((k & 1) * d.B + b) * d.P, d.P, R + u * d.P, sums.at);
        for (Index i = 0; i < M; i++) {
            for (Index n = 0; n < N; n++) {
                V a[SUMS] = {load<real>(sums.at + (i * N + n) * lanes)};
                leave<ZONED>(k, b + i, u + n * lanes, a);
            }
        }
    }

    // Bias and W x of a tile: computed now, or fetched.
    INLINE void from_x(real *sums, Index k, Index row, Index u, Index M, Index N) {
        if (ahead) {
            std::memcpy(sums, input(k, row, u, N), M * N * lanes * sizeof(real));
        } else {
            begin(sums, row, u, M, N);
            if (d.W.p) multiply<real>(M, N, d.I, d.x.at(row), d.x.ld, W + u * d.I * GX, sums);
        }
    }

    // The sums begin with the bias and, without W, with x.
    void begin(real *sums, Index row, Index u, Index M, Index N) {
        for (Index n = 0; n < N; n++) {
            const V b = load<real>(bias + (SEVERAL ? n * width + u : u + n * lanes));
            const Index at = SEVERAL ? u : u + n * lanes;
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
            const Index N = SEVERAL ? GX : (std::min(UNITS, d.H - u) + lanes - 1) / lanes;
            real *sums = input(k, row + r, u, N);
            begin(sums, row + r, u, M, N);
            multiply<real>(M, N, d.I, d.x.at(row + r), d.x.ld, W + u * d.I * GX, sums);
        }
    }

    // Where the sums of a row are that was computed ahead, and the first row of all that were so together.
    real *input(Index k, Index row, Index u, Index N) {
        return inputs + u * GX * ahead * d.B + (row - first_row(k - k % ahead)) * N * lanes;
    }
    Index first_row(Index k) const { return (d.reverse ? std::max<Index>(0, d.T - k - ahead) : k) * d.B; }

    // The cell of one sample and one vector of units; its h goes where the next step reads it, and to y. The inner states
    // of a sample are in d.c_n while the steps run.
    template <bool ZONED>
    INLINE void leave(Index k, Index b, Index u, const V (&a)[SUMS]) {
        constexpr int S = Cell::SAVED;
        const Place at{visit.step(k) * d.B + b, -1, b, u, d.H - u};
        Step<V, Cell> s;
#pragma GCC unroll 8
        for (int g = 0; g < SUMS; g++) s.gates[g] = a[g];
#pragma GCC unroll 8
        for (int j = 0; j < INNER<Cell>; j++) s.before[j] = load(d.c_n, j * d.B + b, at);
        if (SUMS > Cell::OF_BOTH || !d.Wp.p) {  // projected, h has another width, and no such cell reads it
            s.before[LAST<Cell>] = load(state + ((k & 1) * d.B + b) * d.P + u, at.count);
        }
        if (d.vectors) {
#pragma GCC unroll 8
            for (int j = 0; j < Cell::VECTORS; j++) s.vectors[j] = load(d.vectors + j * d.H + u, at.count);
        }
        cell.step(s);

        if (ZONED && d.zc.p) s.after[0] = zoned<V>(load(d.zc, at.row, at), s.before[0], s.after[0]);
#pragma GCC unroll 8
        for (int j = 0; j < INNER<Cell>; j++) store(d.c_n, j * d.B + b, at, s.after[j]);
        if (saves) {
#pragma GCC unroll 8
            for (int j = 0; j < S; j++) store(d.values[j], at.row, at, s.saved[j]);
#pragma GCC unroll 8
            for (int j = 0; j < INNER<Cell>; j++) store(d.values[S + j], at.row, at, s.after[j]);
        }
        V h = s.after[LAST<Cell>];
        if (d.Wp.p) return store(m + b * d.H + u, h, at.count);
        if constexpr (ZONED) {
            if (reads_h<Cell> && d.values[S + INNER<Cell>].p) store(d.values[S + INNER<Cell>], at.row, at, h);
            if (d.zh.p) h = zoned<V>(load(d.zh, at.row, at), s.before[LAST<Cell>], h);
        }
        store(state + ((~k & 1) * d.B + b) * d.P + u, h, at.count);
        store(d.y, at.row, at, h);
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
                    const Index u = j + n * lanes;
                    const Place at{row + b + i, -1, b + i, u, d.P - u};
                    V h = load<real>(sums.at + (i * N + n) * lanes);
                    if (d.zh.p) {
                        const V h_prev = load(state + ((k & 1) * d.B + b + i) * d.P + u, at.count);
                        h = zoned<V>(load(d.zh, at.row, at), h_prev, h);
                    }
                    store(state + ((~k & 1) * d.B + b + i) * d.P + u, h, at.count);
                    store(d.y, at.row, at, h);
                }
            }
        });
    }

    const Layer<real> &d;
    const Cell cell;
    const bool saves = d.values[0].p;
    const Visit visit;
    const Index panels, width;
    Scratch<real> W, R, Wp, bias, state, m;
    const Index ahead;  // steps whose W x is computed at once; 0: each with its step
    Scratch<real> inputs;
};

// One direction of a layer with this cell. Returns a `Status`.
template <class real, class Cell>
int forward(const Cell &cell, const Layer<real> &d, int threads, bool watch) {
    try {
        Forward pass(d, cell);
        const double work = double(d.B) * d.H * (ROWS_OF_W<Cell> * d.I + ROWS_OF_R<Cell> * d.P);
        return together(threads_for(work, threads), watch, [&](Member me) { pass.run(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}
