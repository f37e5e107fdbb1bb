// The sums over the steps: gradients of weights, biases, vectors and x, from those of the pre-activations of all
// steps and samples (da).
#pragma once
#include "gemm.h"
#include "layer.h"

template <class real, class Cell>
class SumsOverSteps {
    using V = Vector<real>;
    static constexpr int lanes = LANES<real>, PRODUCTS = Cell::PRODUCTS;

  public:
    const Index S, ld;          // the columns of da: those of gates, and all
    Scratch<real> dh_all, m;    // of a projection: the gradients of its results, and its operand
    Scratch<real> vector_sums;  // of each sample, (B, VECTORS, H)

    SumsOverSteps(const Layer<real, Cell> &d, const Gradients<real, Cell> &g, int threads)
        : S(GATES<Cell> * d.H),
          ld((GATES<Cell> + Cell::PRODUCTS) * d.H),
          dh_all(d.Wp.p ? d.T * d.B * d.P : 0),
          m(d.Wp.p ? d.T * d.B * d.H : 0),
          vector_sums(d.B * Cell::VECTORS * d.H),
          d(d),
          g(g),
          gathers(d.lengths && d.reverse),
          da_first(gathers ? d.B * S : 0),
          da_sums(d.B * S),
          blocks(threads * GEMM_SCRATCH) {}

    // Before the first step, of one sample.
    void begin(Index b) {
        std::memset(da_sums + b * S, 0, S * sizeof(real));
        std::memset(vector_sums + b * Cell::VECTORS * d.H, 0, Cell::VECTORS * d.H * sizeof(real));
    }

    // The gradients of the biases are sums of da over all steps and samples. Those of a tile are added while they are
    // cached, into the row of its first sample, b; its rows of da begin at `row`.
    void add_da(Index row, Index b, Index j, Index M, Index N) {
        if (M <= 0) return;
        for (Index u = j; u < j + N * lanes; u += lanes) {
            for (Index at = u; at < S; at += d.H) {
                const Index count = d.H - u;
                const real *da = g.da.at(row) + at;
                V sum = load(da_sums + b * S + at, count);
                for (Index i = 0; i < M; i++) sum += load(da + i * g.da.ld, count);
                store(da_sums + b * S + at, sum, count);
            }
        }
    }

    // After the last step.
    void compute(Member me) {
        const Index steps = d.T * d.B;
        const real *da = g.da.p;
        real *own = blocks;
        if (gathers) {
            for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
                std::memcpy(da_first + b * S, g.da.at((d.lengths[b] - 1) * d.B + b), S * sizeof(real));
            }
        }
        me.wait();

        const Index H = d.H, of_h = Cell::OF_H * H, both = Cell::OF_BOTH * H, of_W = ROWS_OF_W<Cell> * H;
        const real *da_x = da + of_h;  // the columns of W's rows
        if (g.dW.p) weights({of_W, d.I, steps, {da_x, 1, ld}, {d.x.p, d.x.ld, 1}}, g.dW, me);
        if (both) recurrent(da + of_h, both, g.dR, me);
        if (of_h) recurrent(da, of_h, {g.dR.p + both * g.dR.row, g.dR.row, g.dR.column}, me);
        if (d.Wp.p) gemm<real>({d.P, d.H, steps, {dh_all, 1, d.P}, {m, d.H, 1}, g.dWp, d.H, false}, own, me);
        for (int p = 0; p < PRODUCTS; p++) {
            const int matrix = Cell::matrix_of(p);
            if (matrix < 0) continue;
            bool shared = false;  // with an earlier product
            for (int q = 0; q < p; q++) shared |= Cell::matrix_of(q) == matrix;
            const Rows<real> multiplied = d.values[MULTIPLIED<Cell> + p];
            const Matrix<const real> d_products{da + S + p * H, 1, ld}, by{multiplied.p, multiplied.ld, 1};
            gemm<real>({H, H, steps, d_products, by, g.dU[matrix], H, shared}, own, me);
        }
        if (g.dx.p && d.W.p) {
            gemm<real>({steps, d.I, of_W, {da_x, ld, 1}, d.W, g.dx.p, g.dx.ld, g.add_dx}, own, me);
        }
        if (g.dx.p && !d.W.p) {
            each(me, d.H, [&](const Place &at) {
                V sum = g.add_dx ? load(g.dx, at.row, at) : V{};
                for (int gate = 0; gate < ROWS_OF_W<Cell>; gate++) {
                    sum += load(da_x + at.row * ld + gate * d.H + at.u, at.count);
                }
                store(g.dx, at.row, at, sum);
            });
        }
        if (g.dbW) biases(me);
        each_column(me, Cell::VECTORS * d.H, vector_sums, [&](Index at, real sum) { g.dvectors[at] = sum; });
    }

  private:
    // dR = da h'. h' of a step is y of the step visited before, and h0 where a sample starts.
    void recurrent(const real *da, Index rows, Matrix<real> dR, Member me) {
        const Index later = d.reverse ? 0 : d.B * ld, before = d.reverse ? d.B * d.y.ld : 0;
        const Matrix<const real> h{d.y.p + before, d.y.ld, 1};
        weights({rows, d.P, (d.T - 1) * d.B, {da + later, 1, ld}, h}, dR, me);
        const real *first = gathers ? da_first + (da - g.da.p) : da + (d.reverse ? (d.T - 1) * d.B * ld : 0);
        weights({rows, d.P, d.B, {first, 1, gathers ? S : ld}, {d.h0.p, d.h0.ld, 1}}, dR, me, d.T > 1);
    }

    // A product that is the gradient of a weight.
    void weights(Product<real> p, Matrix<real> to, Member me, bool add = false) {
        p.C = to.p, p.C_row = to.row, p.add = add;
        if (to.column != 1) {  // the same, transposed
            const Matrix<const real> A = p.A;
            p.A = {p.B.p, p.B.column, p.B.row};
            p.B = {A.p, A.column, A.row};
            std::swap(p.M, p.N);
            p.C_row = to.column;
        }
        gemm(p, (real *)blocks, me);
    }

    // The sums over all tiles.
    void biases(Member me) {
        const Index of_h = Cell::OF_H * d.H, both = Cell::OF_BOTH * d.H;
        each_column(me, S, da_sums, [&](Index at, real sum) {
            if (at >= of_h) g.dbW[at - of_h] = sum;
            if (at < of_h && !g.dbR) g.dbW[at + ROWS_OF_W<Cell> * d.H] = sum;  // one bias for each gate
            if (at < of_h + both && g.dbR) g.dbR[at < of_h ? at + both : at - of_h] = sum;
        });
    }

    // f(column, its sum over the samples), for `all` (B, width): each member has a range of the columns.
    template <class F>
    void each_column(Member me, Index width, const real *all, F f) const {
        const Index vectors = (width + lanes - 1) / lanes;
        for (Index v = me.begin(vectors); v < me.end(vectors); v++) {
            const Index u = v * lanes;
            V sum = {};
            for (Index b = 0; b < d.B; b++) sum += load(all + b * width + u, width - u);
            for (Index i = 0; i < lanes && u + i < width; i++) f(u + i, sum[i]);
        }
    }

    // f at every vector of units of every row, shared by the members.
    template <class F>
    void each(Member me, Index width, F f) const {
        for (Index row = me.begin(d.T * d.B); row < me.end(d.T * d.B) && !me.stopped(); row++) {
            for (Index u = 0; u < width; u += lanes) f(Place{row, -1, row % d.B, u, width - u});
        }
    }

    const Layer<real, Cell> &d;
    const Gradients<real, Cell> &g;
    const bool gathers;
    Scratch<real> da_first, da_sums, blocks;
};
