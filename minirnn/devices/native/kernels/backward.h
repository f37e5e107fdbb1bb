// The gradient of all steps of one direction of a layer, with any cell.
//
// The steps go from the last one visited to the first. A tile is dh of some samples and units: what comes back through R
// from the step after, and dy; the cell turns it into da, the gradients of its pre-activations, at once. What is summed
// over the steps (dW, dR, dx) are products over all of da at the end.
#pragma once
#include "gemm.h"
#include "shares.h"

template <class real, class Cell>
class Backward {
    using V = Vector<real>;
    static constexpr int lanes = LANES<real>;
    static constexpr bool IS_GRU = Cell::CARRIES;

  public:
    Backward(const Layer<real> &d, const Gradients<real> &g, int threads)
        : d(d),
          g(g),
          cell(d),
          visit(d),
          K(Cell::GATES * d.H),
          S(Cell::DA * d.H),
          gathers(d.lengths && d.reverse),
          R(K * packed_width<real>(d.P)),
          Wp(d.Wp.p ? d.P * packed_width<real>(d.H) : 0),
          dh_all(d.Wp.p ? d.T * d.B * d.P : 0),
          m(d.Wp.p ? d.T * d.B * d.H : 0),
          da_first(gathers ? d.B * S : 0),
          da_sums(d.B * S),
          blocks(threads * GEMM_SCRATCH) {}

    // The steps.
    void run(Member me) {
        // da of a GRU begins with the rows of q, which are the last ones of R.
        pack_columns<real>(d.R, K, d.P, R, me.begin(K), me.end(K), IS_GRU ? 2 * d.H : 0);
        if (d.Wp.p) pack_columns<real>(d.Wp, d.P, d.H, Wp, me.begin(d.P), me.end(d.P));
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            std::memcpy(g.dh0.at(b), g.dh_n.at(b), d.P * sizeof(real));
            if (g.dc0.p) std::memcpy(g.dc0.at(b), g.dc_n.at(b), d.H * sizeof(real));
            std::memset(da_sums + b * S, 0, S * sizeof(real));
        }
        me.wait();
        const Shares shares(me, d, ROWS, K * d.P * Index(sizeof(real)));
        for (Index k = d.T - 1; k >= -1; k--) {
            if (!me.stopped()) step(k, shares);
            shares.wait();
            if (d.Wp.p) {
                if (!me.stopped()) through_projection(k, shares);
                shares.wait();
            }
        }
    }

    // One step alone, and nothing that comes out of a product.
    void cell_alone(Member me) {
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            std::memcpy(g.dc0.at(b), g.dc_n.at(b), d.H * sizeof(real));
            for (Index u = 0; u < d.H; u += lanes) cell.step_grad(g, place(0, b, u), load(g.dy.at(b) + u, d.H - u));
        }
        me.wait();
        peepholes(me);
    }

    // What is summed over the steps.
    void sums(Member me) {
        const Index steps = d.T * d.B;
        const real *da = g.da.p;
        real *own = blocks;
        if (gathers) {
            for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
                std::memcpy(da_first + b * S, g.da.at((d.lengths[b] - 1) * d.B + b), S * sizeof(real));
            }
        }
        if constexpr (Cell::HAS_C && !Cell::PEEPS) {
            if (d.Wp.p)
                each(me, d.H, [&](const Place &at) {
                    const V values = visit.has(at.row / d.B, at.b) ? cell.projected(at) : V{};
                    store(m + at.row * d.H + at.u, values, at.count);
                });
        }
        me.wait();

        const real *da_x = da + (IS_GRU ? d.H : 0);  // rows r z n
        if (g.dW) weights({K, d.I, steps, {da_x, 1, S}, {d.x.p, d.x.ld, 1}, g.dW, d.I, false}, me);
        if (IS_GRU) {
            recurrent(da + d.H, 2 * d.H, g.dR, me);        // r z
            recurrent(da, d.H, g.dR + 2 * d.H * d.P, me);  // q
        } else {
            recurrent(da, K, g.dR, me);
        }
        if (d.Wp.p) gemm<real>({d.P, d.H, steps, {dh_all, 1, d.P}, {m, d.H, 1}, g.dWp, d.H, false}, own, me);
        if (g.dx.p && d.W.p) {
            gemm<real>({steps, d.I, K, {da_x, S, 1}, d.W, g.dx.p, g.dx.ld, g.add_dx}, own, me);
        }
        if (g.dx.p && !d.W.p) {
            each(me, d.H, [&](const Place &at) {
                V sum = g.add_dx ? load(g.dx, at.row, at) : V{};
                for (int gate = 0; gate < Cell::GATES; gate++) {
                    sum += load(da_x + at.row * S + gate * d.H + at.u, at.count);
                }
                store(g.dx, at.row, at, sum);
            });
        }
        biases(me);
    }

  private:
    void step(Index k, const Shares &shares) {
        const Index later = visit.samples(k + 1),
                    now = visit.samples(k);  // none after the last step, none before the first
        const Index strips = (d.P + PANEL<real> - 1) / PANEL<real>;
        const Member &me = shares.me;
        shares.each_tile(Blocks(std::max(later, now), ROWS), strips,
                         [&](Index b, Index M, Index strip) { dh_tile(k, b, strip * PANEL<real>, M, later, now); });
        if (now || k >= 0) {  // nothing flows where there is no sample
            for (Index b = now + me.begin(d.B - now); b < now + me.end(d.B - now); b++) {
                const Index row = visit.step(k) * d.B + b;
                std::memset(g.da.at(row), 0, S * sizeof(real));
                if (d.Wp.p) std::memset(dh_all + row * d.P, 0, d.P * sizeof(real));
            }
        }
    }

    void dh_tile(Index k, Index b, Index j, Index M, Index later, Index now) {
        const Index N = (std::min<Index>(PANEL<real>, d.P - j) + lanes - 1) / lanes;
        Sums<real> sums = {};
        if (later) {
            const real *da = g.da.at(visit.step(k + 1) * d.B + b);
            multiply<real>(M, N, K, da, g.da.ld, R + K * j, sums.at);
        }
        for (Index i = 0; i < M; i++) {
            for (Index n = 0; n < N; n++) {
                const Index u = j + n * lanes, row = visit.step(k) * d.B + b + i;
                V dh = load<real>(sums.at + (i * N + n) * lanes);
                // Added at the end: it may be large beside each of the products' many terms.
                if (Cell::CARRIES || b + i >= later) dh += load(const_cast<const real *>(g.dh0.at(b + i)) + u, d.P - u);
                if (b + i >= now) {
                    store(g.dh0.at(b + i) + u, dh, d.P - u);
                    continue;
                }
                dh += load(g.dy.at(row) + u, d.P - u);
                if (d.Wp.p) {
                    store(dh_all + row * d.P + u, dh, d.P - u);
                } else {
                    cell.step_grad(g, place(k, b + i, u), dh);
                }
            }
        }
        if (!d.Wp.p) add_da(k, b, j, std::min(M, now - b), N);
    }

    // dm = Wp' dh, and the cell
    void through_projection(Index k, const Shares &shares) {
        const Index strips = (d.H + PANEL<real> - 1) / PANEL<real>;
        shares.each_tile(Blocks(visit.samples(k), ROWS), strips, [&](Index b, Index M, Index strip) {
            const Index j = strip * PANEL<real>;
            const Index N = (std::min<Index>(PANEL<real>, d.H - j) + lanes - 1) / lanes;
            Sums<real> sums = {};
            multiply<real>(M, N, d.P, dh_all + (visit.step(k) * d.B + b) * d.P, d.P, Wp + d.P * j, sums.at);
            for (Index i = 0; i < M; i++) {
                for (Index n = 0; n < N; n++) {
                    cell.step_grad(g, place(k, b + i, j + n * lanes), load<real>(sums.at + (i * N + n) * lanes));
                }
            }
            add_da(k, b, j, M, N);
        });
    }

    Place place(Index k, Index b, Index u) const {
        const Index before = b < visit.samples(k - 1) ? visit.step(k - 1) * d.B + b : -1;
        return {visit.step(k) * d.B + b, before, b, u, d.H - u};
    }

    // dR = da h'. h' of a step is y of the step visited before, and h0 where a sample starts.
    void recurrent(const real *da, Index rows, real *dR, Member me) {
        const Index later = d.reverse ? 0 : d.B * S, before = d.reverse ? d.B * d.y.ld : 0;
        const Matrix<const real> h{d.y.p + before, d.y.ld, 1};
        weights({rows, d.P, (d.T - 1) * d.B, {da + later, 1, S}, h, dR, d.P, false}, me);
        const real *first = gathers ? da_first + (da - g.da.p) : da + (d.reverse ? (d.T - 1) * d.B * S : 0);
        weights({rows, d.P, d.B, {first, 1, S}, {d.h0.p, d.h0.ld, 1}, dR, d.P, d.T > 1}, me);
    }

    // A product that is the gradient of a weight; BlockLSTM's are transposed.
    void weights(Product<real> p, Member me) {
        if (g.transposed) {
            const Matrix<const real> A = p.A;
            p.A = {p.B.p, p.B.column, p.B.row};
            p.B = {A.p, A.column, A.row};
            std::swap(p.M, p.N);
            p.C_row = p.N;
        }
        gemm(p, (real *)blocks, me);
    }

    // The gradients of the biases are sums of da over all steps and samples. Those of a tile are added while they are
    // near, into the row of its first sample.
    void add_da(Index k, Index b, Index j, Index M, Index N) {
        if (M <= 0) return;
        for (Index u = j; u < j + N * lanes; u += lanes) {
            for (Index at = u; at < S; at += d.H) {
                const Index count = d.H - u;
                const real *da = g.da.at(visit.step(k) * d.B + b) + at;
                V sum = load(const_cast<const real *>(da_sums + b * S + at), count);
                for (Index i = 0; i < M; i++) sum += load(da + i * g.da.ld, count);
                store(da_sums + b * S + at, sum, count);
            }
        }
    }

    // Those of all tiles: everyone has a stretch of the units.
    void biases(Member me) {
        const Index vectors = (S + lanes - 1) / lanes;
        for (Index v = me.begin(vectors); v < me.end(vectors); v++) {
            const Index u = v * lanes;
            V sum = {};
            for (Index b = 0; b < d.B; b++) sum += load(const_cast<const real *>(da_sums + b * S + u), S - u);
            for (Index i = 0; i < lanes && u + i < S; i++) {
                const real db = sum[i];
                if (IS_GRU) {  // q r z n: bR has the sums of q r z, bW of r z n
                    const Index gate = (u + i) / d.H;
                    if (gate > 0) g.dbW[u + i - d.H] = db;
                    if (gate < 3) g.dbR[gate ? u + i - d.H : u + i + 2 * d.H] = db;
                } else {
                    g.dbW[u + i] = g.dbR[u + i] = db;
                }
            }
        }
        peepholes(me);
    }

    void peepholes(Member me) {
        if constexpr (Cell::PEEPS) {
            const Index vectors = d.wci ? (d.H + lanes - 1) / lanes : 0;
            for (Index v = me.begin(vectors); v < me.end(vectors); v++) {
                cell.peephole_grads(g, v * lanes, [&](auto f) {
                    for (Index k = 0; k < d.T; k++) {
                        for (Index b = 0; b < visit.samples(k); b++) f(place(k, b, v * lanes));
                    }
                });
            }
        }
    }

    // f at every vector of units of every row, in shares.
    template <class F>
    void each(Member me, Index width, F f) const {
        for (Index row = me.begin(d.T * d.B); row < me.end(d.T * d.B) && !me.stopped(); row++) {
            for (Index u = 0; u < width; u += lanes) f(Place{row, -1, row % d.B, u, width - u});
        }
    }

    const Layer<real> &d;
    const Gradients<real> &g;
    const Cell cell;
    const Visit visit;
    const Index K, S;
    const bool gathers;
    Scratch<real> R, Wp, dh_all, m, da_first, da_sums, blocks;
};
