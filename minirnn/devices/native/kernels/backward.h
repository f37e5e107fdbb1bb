// The gradient of all steps of one direction of a layer, with any cell of the form in `cells/form.h`.
//
// The steps go from the last one visited to the first. A tile is dh of some samples and units: the gradient through R
// from the next step, plus dy. The cell converts it to da, the gradients of its pre-activations, at once. The sums
// over the steps (dW, dR, dx) are products over all of da at the end. A cell with inner products has one more pass per
// step for each further stage. The gradients of these products are in da, after those of the gates.
#pragma once
#include "shares.h"
#include "sums.h"

template <class real, class Cell>
class Backward {
    using V = Vector<real>;
    static constexpr int lanes = LANES<real>, STAGES = Cell::D_STAGES, PRODUCTS = Cell::PRODUCTS;
    // Gradients that one stage stores for another.
    static constexpr int WAITING = Cell::STATES + PRODUCTS + Cell::CARRIED;

  public:
    Backward(const Layer<real, Cell> &d, const Gradients<real, Cell> &g, const Cell &cell, int threads)
        : d(d),
          g(g),
          cell(cell),
          visit(d),
          K(ROWS_OF_R<Cell> * d.H),
          width(packed_width<real>(d.H)),
          R(K * packed_width<real>(d.P)),
          Wp(d.Wp.p ? d.P * width : 0),
          U(Cell::MATRICES * d.H * width),
          waiting(STAGES > 1 ? d.B * WAITING * d.H : 0),
          all(d, g, threads) {}

    // The steps.
    void run(Member me) {
        // da begins with the gates of only h', whose rows are the last ones of R.
        if (K) pack_columns<real>(d.R, K, d.P, R, me.begin(K), me.end(K), Cell::OF_H ? Cell::OF_BOTH * d.H : 0);
        if (d.Wp.p) pack_columns<real>(d.Wp, d.P, d.H, Wp, me.begin(d.P), me.end(d.P));
        for (int p = 0; p < Cell::MATRICES; p++) {
            pack_columns<real>(d.U[p], d.H, d.H, U + p * width * d.H, me.begin(d.H), me.end(d.H));
        }
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            std::memcpy(g.dh0.at(b), g.dh_n.at(b), d.P * sizeof(real));
            begin(b);
        }
        me.wait();
        const Shares shares(me, d, ROWS, (K * d.P + PRODUCTS * d.H * d.H) * Index(sizeof(real)));
        for (Index k = d.T - 1; k >= -1; k--) {
            if (!me.stopped()) step(k, shares);
            shares.wait();
            if (d.Wp.p) {
                if (!me.stopped()) through_projection(k, shares);
                shares.wait();
            }
            stages_from<1>(k, shares);
        }
    }

    // The sums over the steps.
    void sums(Member me) { all.compute(me); }

  private:
    void step(Index k, const Shares &shares) {
        const Index later = visit.samples(k + 1),
                    now = visit.samples(k);  // none after the last step, none before the first
        const Index strips = (d.P + PANEL<real> - 1) / PANEL<real>;
        const Member &me = shares.me;
        shares.each_tile(Blocks(std::max(later, now), ROWS), strips,
                         [&](Index b, Index M, Index strip) { dh_tile(k, b, strip * PANEL<real>, M, later, now); });
        if (now || k >= 0) {  // no gradient flows without a sample
            for (Index b = now + me.begin(d.B - now); b < now + me.end(d.B - now); b++) {
                const Index row = visit.step(k) * d.B + b;
                std::memset(g.da.at(row), 0, all.ld * sizeof(real));
                if (d.Wp.p) {
                    std::memset(all.dh_all + row * d.P, 0, d.P * sizeof(real));
                    std::memset(all.m + row * d.H, 0, d.H * sizeof(real));
                }
            }
        }
    }

    void dh_tile(Index k, Index b, Index j, Index M, Index later, Index now) {
        const Index N = vectors(j, d.P);
        Sums<real> sums = {};
        if (later && K) {
            const real *da = g.da.at(visit.step(k + 1) * d.B + b);
            multiply<real>(M, N, K, da, g.da.ld, R + K * j, sums.at);
        }
        for (Index i = 0; i < M; i++) {
            for (Index n = 0; n < N; n++) {
                const Index u = j + n * lanes, row = visit.step(k) * d.B + b + i;
                V dh = load<real>(sums.at + (i * N + n) * lanes);
                // Added at the end: it may be large compared with each of the products' many terms.
                if (Cell::CARRIES || d.zoneout.p || b + i >= later)
                    dh += load(const_cast<const real *>(g.dh0.at(b + i)) + u, d.P - u);
                if (b + i >= now) {
                    store(g.dh0.at(b + i) + u, dh, d.P - u);
                    continue;
                }
                dh += load(g.dy.at(row) + u, d.P - u);
                if (d.Wp.p) {
                    if (d.zoneout.p) dh = past_zoneout(place(k, b + i, u, d.P), dh);
                    store(all.dh_all + row * d.P + u, dh, d.P - u);
                } else {
                    Gradient<V, Cell> s;
                    cell_grad<0>(place(k, b + i, u), dh, s);
                }
            }
        }
        if (!d.Wp.p && STAGES == 1) all.add_da(visit.step(k) * d.B + b, b, j, std::min(M, now - b), N);
    }

    // dm = Wp' dh, and the cell
    void through_projection(Index k, const Shares &shares) {
        const Index strips = (d.H + PANEL<real> - 1) / PANEL<real>;
        shares.each_tile(Blocks(visit.samples(k), ROWS), strips, [&](Index b, Index M, Index strip) {
            const Index j = strip * PANEL<real>;
            const Index N = vectors(j, d.H);
            Sums<real> sums = {};
            multiply<real>(M, N, d.P, all.dh_all + (visit.step(k) * d.B + b) * d.P, d.P, Wp + d.P * j, sums.at);
            for (Index i = 0; i < M; i++) {
                for (Index n = 0; n < N; n++) {
                    Gradient<V, Cell> s;
                    cell_grad<0>(place(k, b + i, j + n * lanes), load<real>(sums.at + (i * N + n) * lanes), s);
                }
            }
            if (STAGES == 1) all.add_da(visit.step(k) * d.B + b, b, j, M, N);
        });
    }

    // The other stages of a step. Each begins with products of the results of the previous one.
    template <int stage>
    void stages_from(Index k, const Shares &shares) {
        if constexpr (stage < STAGES) {
            const Index strips = (d.H + PANEL<real> - 1) / PANEL<real>;
            if (!shares.me.stopped()) {
                shares.each_tile(Blocks(visit.samples(k), ROWS), strips, [&](Index b, Index M, Index strip) {
                    const Index j = strip * PANEL<real>, N = vectors(j, d.H);
                    const real *d_products = g.da.at(visit.step(k) * d.B + b) + all.S;
                    Sums<real> sums[PRODUCTS] = {};
                    for (int p = 0; p < PRODUCTS; p++) {
                        if (Cell::d_products_stage(p) != stage - 1) continue;
                        const int matrix = Cell::matrix_of(p);
                        if (matrix < 0) {
                            reduce(reduction_back(matrix), M, N, d.H, d_products + p * d.H, all.ld, sums[p].at);
                        } else {
                            const real *weights = U + (matrix * width + j) * d.H;
                            multiply<real>(M, N, d.H, d_products + p * d.H, all.ld, weights, sums[p].at);
                        }
                    }
                    for (Index i = 0; i < M; i++) {
                        for (Index n = 0; n < N; n++) {
                            Gradient<V, Cell> s;
#pragma GCC unroll 16
                            for (int p = 0; p < PRODUCTS; p++) {
                                s.d_multiplied[p] = load<real>(sums[p].at + (i * N + n) * lanes);
                            }
                            cell_grad<stage>(place(k, b + i, j + n * lanes), V{}, s);
                        }
                    }
                    if (stage == STAGES - 1) all.add_da(visit.step(k) * d.B + b, b, j, M, N);
                });
            }
            shares.wait();
            stages_from<stage + 1>(k, shares);
        }
    }

    // The vectors of units, up to those of a panel, from unit u of `width` on.
    static Index vectors(Index u, Index width) { return (std::min<Index>(PANEL<real>, width - u) + lanes - 1) / lanes; }

    Place place(Index k, Index b, Index u) const { return place(k, b, u, d.H); }
    Place place(Index k, Index b, Index u, Index width) const {
        const Index before = b < visit.samples(k - 1) ? visit.step(k - 1) * d.B + b : -1;
        return {visit.step(k) * d.B + b, before, b, u, width - u};
    }

    // During the steps, the gradients of the inner states of a sample are in g.dc0.
    void begin(Index b) {
        for (Index row = b; row < INNER<Cell> * d.B; row += d.B) {
            std::memcpy(g.dc0.at(row), g.dc_n.at(row), d.H * sizeof(real));
        }
        all.begin(b);
    }

    // A stage of the cell's gradient, from dh to the gradients of the pre-activations. The part of dh that goes past
    // the product with R stays in g.dh0.
    template <int stage>
    INLINE void cell_grad(const Place &at, V dh, Gradient<V, Cell> &s) {
        constexpr int S = Cell::SAVED, h = LAST<Cell>;
        real *wait = waiting + at.b * WAITING * d.H + at.u;
#pragma GCC unroll 16
        for (int j = 0; j < S; j++) s.saved[j] = load(d.values[j], at.row, at);
#pragma GCC unroll 8
        for (int j = 0; j < INNER<Cell>; j++) {
            if (Cell::READS_BEFORE >> j & 1) s.before[j] = inner_before(j, at);
            if (Cell::READS_AFTER >> j & 1) s.after[j] = load(d.values[S + j], at.row, at);
            if (stage == 0) s.d_after[j] = load(g.dc0, j * d.B + at.b, at);
            if (stage == 0 && j == 0 && g.dc_each.p) s.d_after[j] += load(g.dc_each, at.row, at);
        }
        if (Cell::READS_BEFORE >> h & 1) s.before[h] = at.before < 0 ? load(d.h0, at.b, at) : load(d.y, at.before, at);
        if (reads_h<Cell>) s.after[h] = load(d.y, at.row, at);
#pragma GCC unroll 8
        for (int j = 0; j < Cell::VECTORS; j++) s.vectors[j] = load(d.vectors + j * d.H + at.u, at.count);
#pragma GCC unroll 8
        for (int j = 0; j < Cell::MASKS; j++) s.masks[j] = load(d.masks[j], at.row, at);
        if (stage == 0) s.d_after[h] = dh;
        // Gradients that arrive in one stage and are read in a later one are kept.
#pragma GCC unroll 8
        for (int j = 0; j < Cell::STATES; j++) {
            if (Cell::d_after_stage(j) > 0 && stage == 0) store(wait + j * d.H, s.d_after[j], at.count);
            if (Cell::d_after_stage(j) >= stage && stage > 0)
                s.d_after[j] = load((const real *)wait + j * d.H, at.count);
        }
        wait += Cell::STATES * d.H;
#pragma GCC unroll 16
        for (int p = 0; p < PRODUCTS; p++, wait += d.H) {
            const int first = Cell::d_products_stage(p) + 1, last = Cell::d_multiplied_stage(p);
            if (first == stage && last > stage) store(wait, s.d_multiplied[p], at.count);
            if (first < stage && last >= stage) s.d_multiplied[p] = load((const real *)wait, at.count);
        }
#pragma GCC unroll 16
        for (int j = 0; j < Cell::CARRIED; j++) {
            if (Cell::carried_stage(j) < stage) s.carried[j] = load((const real *)wait + j * d.H, at.count);
        }
        grad_of<stage>(cell, s);

        if (stage == 0 && d.Wp.p) store(all.m + at.row * d.H + at.u, s.after[h], at.count);
        if (Cell::CARRIES && Cell::d_before_stage(h) == stage && !d.Wp.p) store(g.dh0, at.b, at, s.d_before[h]);
#pragma GCC unroll 8
        for (int j = 0; j < INNER<Cell>; j++) {
            if (Cell::d_before_stage(j) == stage) store(g.dc0, j * d.B + at.b, at, s.d_before[j]);
        }
        real *to = g.da.at(at.row) + at.u;
#pragma GCC unroll 16
        for (int gate = 0; gate < GATES<Cell>; gate++) {
            if (Cell::d_gates_stage(gate) != stage) continue;
            store(to + column_of<Cell>(gate) * d.H, s.d_gates[gate], at.count);
        }
#pragma GCC unroll 16
        for (int p = 0; p < PRODUCTS; p++) {
            if (Cell::d_products_stage(p) == stage) store(to + all.S + p * d.H, s.d_products[p], at.count);
        }
#pragma GCC unroll 16
        for (int j = 0; j < Cell::CARRIED; j++) {
            if (Cell::carried_stage(j) == stage) store(wait + j * d.H, s.carried[j], at.count);
        }
        for (int j = 0; j < Cell::VECTORS; j++) {
            if (Cell::d_vectors_stage(j) != stage) continue;
            real *sum = all.vector_sums + (at.b * Cell::VECTORS + j) * d.H + at.u;
            store(sum, load((const real *)sum, at.count) + s.d_vectors[j], at.count);
        }
    }

    INLINE V inner_before(int j, const Place &at) const {
        return at.before < 0 ? load(d.c0, j * d.B + at.b, at) : load(d.values[Cell::SAVED + j], at.before, at);
    }

    // Before the gradient of a projection: the part of dh that the new h gets; the rest, the old one's, stays in g.dh0.
    INLINE V past_zoneout(const Place &at, V dh) {
        const V share = load(d.zoneout, at.row, at);
        store(g.dh0, at.b, at, share * dh);
        return (1 - share) * dh;
    }

    const Layer<real, Cell> &d;
    const Gradients<real, Cell> &g;
    const Cell cell;
    const Visit visit;
    const Index K, width;  // columns of da for R's rows; units, up to a whole vector
    Scratch<real> R, Wp, U, waiting;
    SumsOverSteps<real, Cell> all;
};

// The gradient of one direction of a layer with this cell. Returns a `Status`.
template <class real, class Cell>
int backward(const Cell &cell, const Layer<real, Cell> &d, const Gradients<real, Cell> &g, int threads, bool watch) {
    try {
        Backward pass(d, g, cell, threads);
        const Index terms = ROWS_OF_R<Cell> * d.P + Cell::PRODUCTS * d.H;
        const double a_step = double(d.B) * d.H * (terms ? terms : ROWS_OF_W<Cell> * d.I);
        const int for_steps = threads_for(a_step, threads), for_sums = threads_for(a_step * d.T, threads);
        if (for_steps == for_sums) {
            return together(for_sums, watch, [&](Member me) {
                pass.run(me);
                pass.sums(me);
            });
        }
        const Status status = together(for_steps, watch, [&](Member me) { pass.run(me); });
        return status != DONE ? status : together(for_sums, watch, [&](Member me) { pass.sums(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}
