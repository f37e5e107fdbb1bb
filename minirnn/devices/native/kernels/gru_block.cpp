// GRUBlockCell: one step and its gradient, the products between the two stages of the cell `cells/gru_block.h`.
//
// w_ru (I+H, 2H) and w_c (I+H, H): the rows of x, then those of h'.
#include "cell.h"
#include "gemm.h"

#include "cells/gru_block.h"

namespace {

template <class real>
struct GruBlockArrays {
    Index B, I, H;
    Rows<const real> x, h_prev;
    const real *w_ru, *w_c, *b_ru, *b_c;
    Rows<real> r, u, c, h;
    // of the gradient
    Rows<const real> d_h;
    Rows<real> d_x, d_h_prev, d_c_bar, d_r_bar_u_bar;
};

// f(b, u, units) for this member's share of the units of all samples.
template <class real, class F>
void each(const GruBlockArrays<real> &d, Member me, F f) {
    const Index vectors = (d.H + LANES<real> - 1) / LANES<real>;
    for (Index v = me.begin(d.B * vectors); v < me.end(d.B * vectors); v++) {
        const Index u = v % vectors * LANES<real>;
        f(v / vectors, u, d.H - u);
    }
}

template <class real>
Vector<real> at(const Rows<real> &a, Index b, Index u, Index count) {
    return load(a.at(b) + u, count);
}

template <class real>
using Cell = GruBlock<Vector<real>, real>;

template <class real>
void forward(const GruBlockArrays<real> &d, real *ru, real *r_h, real *blocks, Member me) {
    const Index B = d.B, I = d.I, H = d.H;
    const Matrix<const real> x{d.x.p, d.x.ld, 1};
    Step<Vector<real>, Cell<real>> s;
    gemm<real>({B, 2 * H, I, x, {d.w_ru, 2 * H, 1}, ru, 2 * H, false}, blocks, me);
    gemm<real>({B, 2 * H, H, {d.h_prev.p, d.h_prev.ld, 1}, {d.w_ru + I * 2 * H, 2 * H, 1}, ru, 2 * H, true}, blocks,
               me);
    me.wait();
    each(d, me, [&](Index b, Index j, Index count) {
        const real *z = ru + b * 2 * H + j;
        s.gates[0] = load(z, count) + load(d.b_ru + j, count);
        s.gates[1] = load(z + H, count) + load(d.b_ru + H + j, count);
        s.before[0] = at(d.h_prev, b, j, count);
        Cell<real>().step(Stage<0>(), s);
        store(d.r.at(b) + j, s.saved[0], count);
        store(d.u.at(b) + j, s.saved[1], count);
        store(r_h + b * H + j, s.multiplied[0], count);
    });
    me.wait();
    gemm<real>({B, H, I, x, {d.w_c, H, 1}, d.c.p, d.c.ld, false}, blocks, me);
    gemm<real>({B, H, H, {r_h, H, 1}, {d.w_c + I * H, H, 1}, d.c.p, d.c.ld, true}, blocks, me);
    me.wait();
    each(d, me, [&](Index b, Index j, Index count) {
        s.gates[2] = load(d.b_c + j, count);
        s.products[0] = at(d.c, b, j, count);  // of x as well
        s.before[0] = at(d.h_prev, b, j, count);
        s.saved[1] = at(d.u, b, j, count);
        Cell<real>().step(Stage<1>(), s);
        store(d.c.at(b) + j, s.saved[2], count);
        store(d.h.at(b) + j, s.after[0], count);
    });
}

template <class real>
void backward(const GruBlockArrays<real> &d, real *d_h_prevr_, real *blocks, Member me) {
    const Index B = d.B, I = d.I, H = d.H;
    Gradient<Vector<real>, Cell<real>> s;
    const auto load_cell = [&](Index b, Index j, Index count) {
        s.saved[0] = at(d.r, b, j, count);
        s.saved[1] = at(d.u, b, j, count);
        s.saved[2] = at(d.c, b, j, count);
        s.before[0] = at(d.h_prev, b, j, count);
        s.d_after[0] = at(d.d_h, b, j, count);
    };
    each(d, me, [&](Index b, Index j, Index count) {
        load_cell(b, j, count);
        Cell<real>().grad(Stage<0>(), s);
        store(d.d_c_bar.at(b) + j, s.d_products[0], count);
        store(d.d_r_bar_u_bar.at(b) + H + j, s.d_gates[1], count);
    });
    me.wait();
    const Matrix<const real> d_c_bar{d.d_c_bar.p, d.d_c_bar.ld, 1};
    gemm<real>({B, I, H, d_c_bar, {d.w_c, 1, H}, d.d_x.p, d.d_x.ld, false}, blocks, me);
    gemm<real>({B, H, H, d_c_bar, {d.w_c + I * H, 1, H}, d_h_prevr_, H, false}, blocks, me);
    me.wait();
    each(d, me, [&](Index b, Index j, Index count) {
        load_cell(b, j, count);
        s.d_multiplied[0] = load(d_h_prevr_ + b * H + j, count);
        Cell<real>().grad(Stage<1>(), s);
        store(d.d_r_bar_u_bar.at(b) + j, s.d_gates[0], count);
        store(d.d_h_prev.at(b) + j, s.d_before[0], count);
    });
    me.wait();
    const Matrix<const real> d_ru{d.d_r_bar_u_bar.p, d.d_r_bar_u_bar.ld, 1};
    gemm<real>({B, I, 2 * H, d_ru, {d.w_ru, 1, 2 * H}, d.d_x.p, d.d_x.ld, true}, blocks, me);
    gemm<real>({B, H, 2 * H, d_ru, {d.w_ru + I * 2 * H, 1, 2 * H}, d.d_h_prev.p, d.d_h_prev.ld, true}, blocks, me);
}

template <class real>
int run(bool back, const GruBlockArrays<real> &d, int threads, bool watch) {
    try {
        const int team = threads_for(double(d.B) * d.H * (d.I + d.H), threads);
        Scratch<real> ru(d.B * 2 * d.H), between(d.B * d.H), blocks(team * GEMM_SCRATCH);
        return together(team, watch, [&](Member me) {
            if (back) {
                backward<real>(d, between, blocks, me);
            } else {
                forward<real>(d, ru, between, blocks, me);
            }
        });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int gru_block_float(int back, const GruBlockArrays<float> *d, int threads, int watch) {
    return run(back, *d, threads, watch);
}
int gru_block_double(int back, const GruBlockArrays<double> *d, int threads, int watch) {
    return run(back, *d, threads, watch);
}
}
