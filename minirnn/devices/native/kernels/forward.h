// All steps of one direction of a layer, with any cell of the form in `cells/form.h`.
//
// The weights are packed once. Then a step is one pass over tiles of samples and units: bias, W x, R h' and the cell,
// all in registers. Threads share the tiles of a step, each always the same panels of the weights, and meet after it. A
// cell with inner products has one more pass for each further stage.
//
// If the weights do not fit in the caches, or a step has too few samples for a tile, W x of several steps is computed
// ahead, so that W is read once for all of them.
#pragma once
#include "shares.h"

template <class real, class Cell>
class Forward {
    using V = Vector<real>;
    static constexpr int lanes = LANES<real>, GX = ROWS_OF_W<Cell>, GH = ROWS_OF_R<Cell>, SUMS = GATES<Cell>;
    static constexpr int STAGES = Cell::STAGES, PRODUCTS = Cell::PRODUCTS;
    // A tile has the gates of one vector of units or, for a cell with a single gate, several vectors of units.
    static constexpr bool SEVERAL = SUMS > 1;
    static constexpr int TILE_ROWS = SEVERAL ? GATE_ROWS : ROWS;
    static constexpr Index UNITS = SEVERAL ? lanes : PANEL<real>;
    // Intermediate data between the stages of a step: values, and gates that a later stage reads.
    static constexpr int LATE = MULTIPLIED<Cell> + PRODUCTS, BETWEEN = LATE + SUMS;
    static constexpr Index CACHED_BYTES = 1 << 21, ROWS_AHEAD = 64, LEAST_AHEAD = 4;

  public:
    Forward(const Layer<real, Cell> &d, const Cell &cell)
        : d(d),
          cell(cell),
          visit(d),
          panels((d.H + UNITS - 1) / UNITS),
          width(packed_width<real>(d.H)),
          W(d.W.p ? GX * width * d.I : 0),
          R(GH * width * d.P),
          Wp(d.Wp.p ? packed_width<real>(d.P) * d.H : 0),
          U(Cell::MATRICES * width * d.H),
          between(STAGES > 1 ? d.B * BETWEEN * d.H : 0),
          bias(SUMS * width),
          state(2 * d.B * d.P),
          m(d.Wp.p ? d.B * d.H : 0),
          ahead(steps_ahead()),
          inputs(ahead * d.B * GX * width) {}

    void run(Member me) {
        pack(me);
        me.wait();
        const Shares shares(me, d, TILE_ROWS, weight_bytes(), STAGES > 1 && TILE_ROWS != ROWS);
        for (Index k = 0; k < d.T; k++) {
            if (ahead && k % ahead == 0) {  // never if threads share by samples: large weights or few samples
                if (!me.stopped()) look_ahead(k, me);
                me.wait();
            }
            if (!me.stopped()) step(k, shares);
            shares.wait();
            stages_from<1>(k, shares);
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
    Index weight_bytes() const { return width * (GX * d.I + GH * d.P + PRODUCTS * d.H) * Index(sizeof(real)); }

    Index steps_ahead() const {
        if (!d.W.p || (d.B >= TILE_ROWS && weight_bytes() <= CACHED_BYTES)) return 0;
        return std::min(d.T, std::max(LEAST_AHEAD, ROWS_AHEAD / std::max<Index>(1, d.B)));
    }

    void pack(Member me) {
        if constexpr (SEVERAL) {
            if (d.W.p) pack_chunks<GX>(d.W, d.I, W, me);
            if (GH) pack_chunks<GH>(d.R, d.P, R, me);
        } else {
            if (d.W.p) pack_columns<real>(transposed(d.W), d.I, d.H, W, me.begin(d.I), me.end(d.I));
            if (GH) pack_columns<real>(transposed(d.R), d.P, d.H, R, me.begin(d.P), me.end(d.P));
        }
        if (d.Wp.p) pack_columns<real>(transposed(d.Wp), d.H, d.P, Wp, me.begin(d.H), me.end(d.H));
        for (int p = 0; p < Cell::MATRICES; p++) {
            pack_columns<real>(transposed(d.U[p]), d.H, d.H, U + p * width * d.H, me.begin(d.H), me.end(d.H));
        }
        for (int sum = 0; sum < SUMS; sum++) {
            for (Index u = me.begin(width); u < me.end(width); u++) {
                bias[sum * width + u] = u < d.H ? bias_of(sum, u) : real(0);
            }
        }
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            for (int half = 0; half < 2; half++) {  // a sample that joins late finds its h0 in both
                std::memcpy(state + (half * d.B + b) * d.P, d.h0.at(b), d.P * sizeof(real));
            }
            for (Index row = b; row < INNER<Cell> * d.B; row += d.B) {
                std::memcpy(d.c_n.at(row), d.c0.at(row), d.H * sizeof(real));
            }
        }
    }

    // The gates of each chunk separately.
    template <int G>
    void pack_chunks(Matrix<const real> weights, Index K, real *packed, Member me) {
        for (int c = 0; c < G; c += AT_ONCE) {
            const Matrix<const real> rows{weights.p + c * d.H * weights.row, weights.row, weights.column};
            pack_gates(rows, d.H, K, gates_from<G>(c), packed + c * width * K, me.begin(panels), me.end(panels));
        }
    }

    real bias_of(int gate, Index u) const {
        if (!d.bR) return d.bW ? d.bW[gate * d.H + u] : real(0);
        if (gate >= GX) return d.bR[(gate - Cell::OF_X) * d.H + u];
        return d.bW[gate * d.H + u] + (gate < Cell::OF_BOTH ? d.bR[gate * d.H + u] : real(0));
    }

    static Matrix<const real> transposed(Matrix<const real> a) { return {a.p, a.column, a.row}; }

    void step(Index k, const Shares &shares) {
        const Index samples = visit.samples(k), t = visit.step(k);
        const Member &me = shares.me;
        shares.each_tile(Blocks(samples, TILE_ROWS), panels, [&](Index b, Index rows, Index panel) {
            if constexpr (SEVERAL) {
                gates(k, b, panel * UNITS, rows);
            } else {
                units(k, b, panel * UNITS, rows);
            }
        });
        for (Index b = samples + me.begin(d.B - samples); b < samples + me.end(d.B - samples); b++) {
            const Index row = t * d.B + b;
            std::memset(d.y.at(row), 0, d.P * sizeof(real));
            for (int p = 0; p < PRODUCTS && saves; p++) {  // it meets gradients in products
                std::memset(d.values[MULTIPLIED<Cell> + p].at(row), 0, d.H * sizeof(real));
            }
        }
    }

    // A tile of a cell with several gates: a vector of units, M samples.
    void gates(Index k, Index b, Index u, Index M) {
        constexpr int BOTH = Cell::OF_BOTH;
        GateSums<real, GX> x;
        GateSums<real, GH> apart;
        for (int c = 0; c < GX; c += AT_ONCE)
            from_x(x.chunk(c), k, visit.step(k) * d.B + b, u, M, c, gates_from<GX>(c));
        // R h' is added to the same sums, unless the cell separates the parts of x and h' for a gate.
        for (Index i = 0; i < M && SUMS > BOTH; i++) {
#pragma GCC unroll 16
            for (int g = 0; g < GH; g++) {
                store(apart.at(i, g), load<real>(g < BOTH ? x.at(i, g) : bias + (g + Cell::OF_X) * width + u));
            }
        }
        const auto of_h = [&](Index i, int g) { return SUMS > BOTH ? apart.at(i, g) : x.at(i, g); };
        for (int c = 0; c < GH; c += AT_ONCE) {
            const real *weights = R + (c * width + u * gates_from<GH>(c)) * d.P;
            multiply<real>(M, gates_from<GH>(c), d.P, state + ((k & 1) * d.B + b) * d.P, d.P, weights, of_h(0, c));
        }
        for (Index i = 0; i < M; i++) {
            Step<V, Cell> s;
#pragma GCC unroll 16
            for (int g = 0; g < BOTH; g++) s.gates[g] = load<real>(of_h(i, g));
#pragma GCC unroll 16
            for (int g = BOTH; g < GX; g++) s.gates[g] = load<real>(x.at(i, g));
#pragma GCC unroll 16
            for (int g = GX; g < SUMS; g++) s.gates[g] = load<real>(of_h(i, g - Cell::OF_X));
            leave<0>(k, b + i, u, s);
        }
    }

    // A tile of a cell with a single gate: N vectors of units, M samples.
    void units(Index k, Index b, Index u, Index M) {
        const Index row = visit.step(k) * d.B + b, N = vectors(u, d.H);
        Sums<real> sums;
        from_x(sums.at, k, row, u, M, 0, N);
        if (GH) multiply<real>(M, N, d.P, state + ((k & 1) * d.B + b) * d.P, d.P, R + u * d.P, sums.at);
        for (Index i = 0; i < M; i++) {
            for (Index n = 0; n < N; n++) {
                Step<V, Cell> s;
                s.gates[0] = load<real>(sums.at + (i * N + n) * lanes);
                leave<0>(k, b + i, u + n * lanes, s);
            }
        }
    }

    // The vectors of units, up to those of a panel, from unit u of `width` on.
    static Index vectors(Index u, Index width) { return (std::min<Index>(PANEL<real>, width - u) + lanes - 1) / lanes; }

    // The other stages of a step. Each begins with products of the results of the previous one.
    template <int stage>
    void stages_from(Index k, const Shares &shares) {
        if constexpr (stage < STAGES) {
            const Index strips = (d.H + PANEL<real> - 1) / PANEL<real>, row = saves ? visit.step(k) * d.B : 0;
            if (!shares.me.stopped()) {
                shares.each_tile(Blocks(visit.samples(k), ROWS), strips, [&](Index b, Index M, Index strip) {
                    const Index j = strip * PANEL<real>, N = vectors(j, d.H);
                    Sums<real> sums[PRODUCTS] = {};
                    for (int p = 0; p < PRODUCTS; p++) {
                        if (Cell::multiplied_stage(p) != stage - 1) continue;
                        const Rows<real> from = value(MULTIPLIED<Cell> + p);
                        const int matrix = Cell::matrix_of(p);
                        if (matrix < 0) {
                            reduce(matrix, M, N, d.H, from.at(row + b), from.ld, sums[p].at);
                        } else {
                            const real *weights = U + (matrix * width + j) * d.H;
                            multiply<real>(M, N, d.H, from.at(row + b), from.ld, weights, sums[p].at);
                        }
                    }
                    for (Index i = 0; i < M; i++) {
                        for (Index n = 0; n < N; n++) {
                            Step<V, Cell> s;
#pragma GCC unroll 16
                            for (int p = 0; p < PRODUCTS; p++) {
                                s.products[p] = load<real>(sums[p].at + (i * N + n) * lanes);
                            }
                            leave<stage>(k, b + i, j + n * lanes, s);
                        }
                    }
                });
            }
            shares.wait();
            stages_from<stage + 1>(k, shares);
        }
    }

    // Bias and W x of a tile, computed now or loaded. It has N gates from gate c on, or N vectors of units.
    INLINE void from_x(real *sums, Index k, Index row, Index u, Index M, int c, Index N) {
        if (ahead) {
            std::memcpy(sums, input(k, row, u, c, N), M * N * lanes * sizeof(real));
        } else {
            begin(sums, row, u, M, c, N);
            if (d.W.p) multiply<real>(M, N, d.I, d.x.at(row), d.x.ld, weights_of_x(u, c, N), sums);
        }
    }
    const real *weights_of_x(Index u, int c, Index N) { return W + (c * width + u * (SEVERAL ? N : 1)) * d.I; }

    // The sums begin with the bias and, without W, with x.
    void begin(real *sums, Index row, Index u, Index M, int c, Index N) {
        for (Index n = 0; n < N; n++) {
            const V b = load<real>(bias + (SEVERAL ? (c + n) * width + u : u + n * lanes));
            const Index at = SEVERAL ? u : u + n * lanes;
            for (Index i = 0; i < M; i++) {
                store(sums + (i * N + n) * lanes, d.W.p || !GX ? b : b + load(d.x.at(row + i) + at, d.H - at));
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
            for (int c = 0; c < GX; c += AT_ONCE) {
                const Index N = SEVERAL ? gates_from<GX>(c) : vectors(u, d.H);
                real *sums = input(k, row + r, u, c, N);
                begin(sums, row + r, u, M, c, N);
                multiply<real>(M, N, d.I, d.x.at(row + r), d.x.ld, weights_of_x(u, c, N), sums);
            }
        }
    }

    // The address of the sums of a row that was computed ahead, and the first row of its block.
    real *input(Index k, Index row, Index u, int c, Index N) {
        return inputs + (u * GX + c * lanes) * ahead * d.B + (row - first_row(k - k % ahead)) * N * lanes;
    }
    Index first_row(Index k) const { return (d.reverse ? std::max<Index>(0, d.T - k - ahead) : k) * d.B; }

    // The address of the j-th value of a step, which is kept for the gradient or, between stages, until the step ends.
    Rows<real> value(int j) { return saves ? d.values[j] : Rows<real>{between + j * d.H, BETWEEN * d.H}; }
    // The place of an inner state until the last stage, while the previous state is still read; and that of a gate.
    real *early(int j, Index b, Index u) { return between + (b * BETWEEN + Cell::SAVED + j) * d.H + u; }
    real *late(int gate, Index b, Index u) { return between + (b * BETWEEN + LATE + gate) * d.H + u; }

    // A stage of the cell for one sample and one vector of units; its h is stored for the next step, and in y. The
    // inner states of a sample are in d.c_n while the steps run.
    template <int stage>
    INLINE void leave(Index k, Index b, Index u, Step<V, Cell> &s) {
        constexpr int S = Cell::SAVED, h = LAST<Cell>;
        constexpr bool last = stage == STAGES - 1;
        const Place at{visit.step(k) * d.B + b, -1, b, u, d.H - u};
        const Index row = saves ? at.row : b;
        real *h_new = d.Wp.p ? m + b * d.H + u : state + ((~k & 1) * d.B + b) * d.P + u;
#pragma GCC unroll 8
        for (int j = 0; j < INNER<Cell>; j++) s.before[j] = load(d.c_n, j * d.B + b, at);
        if (SUMS > Cell::OF_BOTH || !d.Wp.p) {  // with a projection, h has another width, and no such cell reads it
            s.before[h] = load(state + ((k & 1) * d.B + b) * d.P + u, at.count);
        }
#pragma GCC unroll 8
        for (int j = 0; j < Cell::VECTORS; j++) s.vectors[j] = load(d.vectors + j * d.H + u, at.count);
#pragma GCC unroll 8
        for (int j = 0; j < Cell::MASKS; j++) s.masks[j] = load(d.masks[j], at.row, at);
#pragma GCC unroll 16
        for (int gate = 0; gate < SUMS; gate++) {
            if (stage == 0 && Cell::gate_stage(gate) > 0) store(late(gate, b, u), s.gates[gate], at.count);
        }
        if constexpr (stage > 0) {
#pragma GCC unroll 16
            for (int gate = 0; gate < SUMS; gate++) {
                if (Cell::gate_stage(gate) >= stage) s.gates[gate] = load((const real *)late(gate, b, u), at.count);
            }
#pragma GCC unroll 16
            for (int j = 0; j < S; j++) {
                if (Cell::saved_stage(j) < stage) s.saved[j] = load(value(j), row, at);
            }
#pragma GCC unroll 8
            for (int j = 0; j < INNER<Cell>; j++) {
                if (Cell::after_stage(j) < stage) s.after[j] = load((const real *)early(j, b, u), at.count);
            }
            if (Cell::after_stage(h) < stage) s.after[h] = load((const real *)h_new, at.count);
        }
        step_of<stage>(cell, s);

#pragma GCC unroll 8
        for (int j = 0; j < INNER<Cell>; j++) {
            if (last) store(d.c_n, j * d.B + b, at, s.after[j]);
            if (!last && Cell::after_stage(j) == stage) store(early(j, b, u), s.after[j], at.count);
        }
        if (saves || STAGES > 1) {
#pragma GCC unroll 16
            for (int j = 0; j < S; j++) {
                if (Cell::saved_stage(j) == stage) store(value(j), row, at, s.saved[j]);
            }
        }
        if (saves && last) {
#pragma GCC unroll 8
            for (int j = 0; j < INNER<Cell>; j++) {
                if (d.values[S + j].p) store(d.values[S + j], at.row, at, s.after[j]);
            }
        }
#pragma GCC unroll 16
        for (int p = 0; p < PRODUCTS; p++) {
            if (Cell::multiplied_stage(p) == stage) store(value(MULTIPLIED<Cell> + p), row, at, s.multiplied[p]);
        }
        if (Cell::after_stage(h) != stage) return;
        store(h_new, s.after[h], at.count);
        if (!d.Wp.p) store(d.y, at.row, at, s.after[h]);
    }

    // h = Wp m, and zoneout of it
    void project(Index k, const Shares &shares) {
        const Index row = visit.step(k) * d.B, strips = (d.P + PANEL<real> - 1) / PANEL<real>;
        shares.each_tile(Blocks(visit.samples(k), ROWS), strips, [&](Index b, Index M, Index strip) {
            const Index j = strip * PANEL<real>;
            const Index N = vectors(j, d.P);
            Sums<real> sums = {};
            multiply<real>(M, N, d.H, m + b * d.H, d.H, Wp + j * d.H, sums.at);
            for (Index i = 0; i < M; i++) {
                for (Index n = 0; n < N; n++) {
                    const Index u = j + n * lanes;
                    const Place at{row + b + i, -1, b + i, u, d.P - u};
                    V h = load<real>(sums.at + (i * N + n) * lanes);
                    if (d.zoneout.p) {
                        const V h_prev = load(state + ((k & 1) * d.B + b + i) * d.P + u, at.count);
                        const V share = load(d.zoneout, at.row, at);
                        h = share * h_prev + (1 - share) * h;
                    }
                    store(state + ((~k & 1) * d.B + b + i) * d.P + u, h, at.count);
                    store(d.y, at.row, at, h);
                }
            }
        });
    }

    const Layer<real, Cell> &d;
    const Cell cell;
    const bool saves = std::any_of(std::begin(d.values), std::end(d.values), [](const Rows<real> &a) { return a.p; });
    const Visit visit;
    const Index panels, width;
    Scratch<real> W, R, Wp, U, between, bias, state, m;
    const Index ahead;  // steps whose W x is computed at once; 0 means each with its step
    Scratch<real> inputs;
};

// One direction of a layer with this cell. Returns a `Status`.
template <class real, class Cell>
int forward(const Cell &cell, const Layer<real, Cell> &d, int threads, bool watch) {
    try {
        Forward pass(d, cell);
        const Index terms = ROWS_OF_W<Cell> * d.I + ROWS_OF_R<Cell> * d.P + Cell::PRODUCTS * d.H;
        const double work = double(d.B) * d.H * terms;
        return together(threads_for(work, threads), watch, [&](Member me) { pass.run(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}
