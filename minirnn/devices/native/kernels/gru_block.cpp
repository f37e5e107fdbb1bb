// GRUBlockCell: one step and its gradient. r acts on h' before the product, unlike in CudnnRNN.
//
//     r, u = sigmoid([x h'] w_ru + b_ru)       c = tanh([x r*h'] w_c + b_c)       h = u * h' + (1 - u) * c
//
// w_ru (I+H, 2H) and w_c (I+H, H): the rows of x, then those of h'.
#include "activation.h"
#include "gemm.h"
#include "layer.h"

namespace {

template <class real>
struct GruBlock {
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
void each(const GruBlock<real> &d, Member me, F f) {
    const Index vectors = (d.H + LANES<real> - 1) / LANES<real>;
    for (Index v = me.begin(d.B * vectors); v < me.end(d.B * vectors); v++) {
        const Index u = v % vectors * LANES<real>;
        f(v / vectors, u, d.H - u);
    }
}

template <class real>
Vector<real> at(const Rows<real> &a, Index b, Index u, Index count) {
    return load(const_cast<const real *>(a.at(b)) + u, count);
}

template <class real>
void forward(const GruBlock<real> &d, real *ru, real *r_h, real *blocks, Member me) {
    using V = Vector<real>;
    const Index B = d.B, I = d.I, H = d.H;
    const Matrix<const real> x{d.x.p, d.x.ld, 1};
    gemm<real>({B, 2 * H, I, x, {d.w_ru, 2 * H, 1}, ru, 2 * H, false}, blocks, me);
    gemm<real>({B, 2 * H, H, {d.h_prev.p, d.h_prev.ld, 1}, {d.w_ru + I * 2 * H, 2 * H, 1}, ru, 2 * H, true}, blocks,
               me);
    me.wait();
    each(d, me, [&](Index b, Index j, Index count) {
        const real *z = ru + b * 2 * H + j;
        const V r = sigmoid<real>(load(z, count) + load(d.b_ru + j, count));
        const V u = sigmoid<real>(load(z + H, count) + load(d.b_ru + H + j, count));
        store(d.r.at(b) + j, r, count);
        store(d.u.at(b) + j, u, count);
        store(r_h + b * H + j, r * at(d.h_prev, b, j, count), count);
    });
    me.wait();
    gemm<real>({B, H, I, x, {d.w_c, H, 1}, d.c.p, d.c.ld, false}, blocks, me);
    gemm<real>({B, H, H, {r_h, H, 1}, {d.w_c + I * H, H, 1}, d.c.p, d.c.ld, true}, blocks, me);
    me.wait();
    each(d, me, [&](Index b, Index j, Index count) {
        const V u = at(d.u, b, j, count);
        const V c = tanh_of<real>(at(d.c, b, j, count) + load(d.b_c + j, count));
        store(d.c.at(b) + j, c, count);
        store(d.h.at(b) + j, u * at(d.h_prev, b, j, count) + (real(1) - u) * c, count);
    });
}

template <class real>
void backward(const GruBlock<real> &d, real *d_h_prevr_, real *blocks, Member me) {
    using V = Vector<real>;
    const Index B = d.B, I = d.I, H = d.H;
    each(d, me, [&](Index b, Index j, Index count) {
        const V u = at(d.u, b, j, count), c = at(d.c, b, j, count), d_h = at(d.d_h, b, j, count);
        store(d.d_c_bar.at(b) + j, d_h * (real(1) - u) * (real(1) - c * c), count);
        store(d.d_r_bar_u_bar.at(b) + H + j, d_h * (at(d.h_prev, b, j, count) - c) * u * (real(1) - u), count);
    });
    me.wait();
    const Matrix<const real> d_c_bar{d.d_c_bar.p, d.d_c_bar.ld, 1};
    gemm<real>({B, I, H, d_c_bar, {d.w_c, 1, H}, d.d_x.p, d.d_x.ld, false}, blocks, me);
    gemm<real>({B, H, H, d_c_bar, {d.w_c + I * H, 1, H}, d_h_prevr_, H, false}, blocks, me);
    me.wait();
    each(d, me, [&](Index b, Index j, Index count) {
        const V r = at(d.r, b, j, count), d_h_prevr = load(d_h_prevr_ + b * H + j, count);
        store(d.d_r_bar_u_bar.at(b) + j, d_h_prevr * at(d.h_prev, b, j, count) * r * (real(1) - r), count);
    });
    me.wait();
    const Matrix<const real> d_ru{d.d_r_bar_u_bar.p, d.d_r_bar_u_bar.ld, 1};
    gemm<real>({B, I, 2 * H, d_ru, {d.w_ru, 1, 2 * H}, d.d_x.p, d.d_x.ld, true}, blocks, me);
    gemm<real>({B, H, 2 * H, d_ru, {d.w_ru + I * 2 * H, 1, 2 * H}, d.d_h_prev.p, d.d_h_prev.ld, false}, blocks, me);
    me.wait();
    each(d, me, [&](Index b, Index j, Index count) {
        const V past = load(d_h_prevr_ + b * H + j, count) * at(d.r, b, j, count);
        const V kept = at(d.d_h, b, j, count) * at(d.u, b, j, count);
        store(d.d_h_prev.at(b) + j, at(d.d_h_prev, b, j, count) + past + kept, count);
    });
}

template <class real>
int run(bool back, const GruBlock<real> &d, int threads, bool watch) {
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

int gru_block_float(int back, const GruBlock<float> *d, int threads, int watch) {
    return run(back, *d, threads, watch);
}
int gru_block_double(int back, const GruBlock<double> *d, int threads, int watch) {
    return run(back, *d, threads, watch);
}
}
