// Calls every kernel of the device `native` in a process without Python, for the sanitizers: arrays have exact sizes,
// sizes leave vectors half empty, several teams compute at once, and a child does after a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "gemm.h"
#include "layer.h"

extern "C" {
int layer_forward_float(int, const Layer<float> *, int, int);
int layer_forward_double(int, const Layer<double> *, int, int);
int layer_backward_float(int, const Layer<float> *, const Gradients<float> *, int, int);
int layer_backward_double(int, const Layer<double> *, const Gradients<double> *, int, int);
int lstm_cell_grad_float(const Layer<float> *, const Gradients<float> *, int, int);
int lstm_cell_grad_double(const Layer<double> *, const Gradients<double> *, int, int);
int gru_block_float(int, const void *, int, int);
int gru_block_double(int, const void *, int, int);
int product_float(const Product<float> *, int, int);
int product_double(const Product<double> *, int, int);
}
static int forward(int mode, const Layer<float> &d, int threads) { return layer_forward_float(mode, &d, threads, 0); }
static int forward(int mode, const Layer<double> &d, int threads) { return layer_forward_double(mode, &d, threads, 0); }
static int backward(int mode, const Layer<float> &d, const Gradients<float> &g, int threads) {
    return layer_backward_float(mode, &d, &g, threads, 0);
}
static int backward(int mode, const Layer<double> &d, const Gradients<double> &g, int threads) {
    return layer_backward_double(mode, &d, &g, threads, 0);
}
static int cell_grad(const Layer<float> &d, const Gradients<float> &g, int threads) {
    return lstm_cell_grad_float(&d, &g, threads, 0);
}
static int cell_grad(const Layer<double> &d, const Gradients<double> &g, int threads) {
    return lstm_cell_grad_double(&d, &g, threads, 0);
}
static int gru_block(bool back, const void *d, bool is_float, int threads) {
    return is_float ? gru_block_float(back, d, threads, 0) : gru_block_double(back, d, threads, 0);
}
static int product(const Product<float> &p, int threads) { return product_float(&p, threads, 0); }
static int product(const Product<double> &p, int threads) { return product_double(&p, threads, 0); }

// Memory of exactly this size, so that the first number past the end is noticed.
template <class real>
struct Array {
    std::unique_ptr<real[]> p;
    Array(Index size, double scale) : p(new real[size]) {
        for (Index k = 0; k < size; k++) p[k] = real(scale * std::sin(1.0 + 0.7 * double(k)));
    }
};

template <class real>
struct Arrays {
    std::vector<Array<real>> made;
    real *operator()(Index size, double scale = 1) {
        made.emplace_back(size, scale);
        return made.back().p.get();
    }
};

static void demand(bool right, const char *what) {
    if (right) return;
    std::fprintf(stderr, "wrong: %s\n", what);
    std::exit(1);
}

// One layer forward and backward; the sum of y and of all gradients.
template <class real>
double layer(int mode, Index T, Index B, Index I, Index H, Index P, bool skip, bool reverse, bool ragged, int threads) {
    Arrays<real> array;
    const bool block = mode == LSTM_BLOCK, has_c = mode == LSTM || block;
    const Index G = has_c ? 4 : mode == GRU ? 3 : 1, S = mode < LSTM ? 1 : 4, kept = block ? 6 : has_c ? 5 : 4;
    if (skip) I = H;
    std::vector<Index> lengths(B);
    for (Index b = 0; b < B; b++) lengths[b] = std::max<Index>(1, T - b);
    const double scale = 0.5 / std::sqrt(double(H));
    const bool projected = P != H;
    Layer<real> d = {};
    d.T = T, d.B = B, d.I = I, d.H = H, d.P = P, d.reverse = reverse;
    d.lengths = ragged ? lengths.data() : nullptr;
    d.clip = std::numeric_limits<double>::infinity();
    if (!skip) d.W = {array(G * H * I, scale), I, 1};
    d.R = {array(G * H * P, scale), P, 1};
    if (projected) d.Wp = {array(P * H, scale), H, 1};
    d.bW = array(G * H), d.bR = array(G * H);
    d.x = {array(T * B * I), I}, d.h0 = {array(B * P), P};
    d.y = {array(T * B * P), P}, d.h_n = {array(B * P), P};
    Gradients<real> g = {};
    if (has_c) {
        d.c0 = {array(B * H), H}, d.c_n = {array(B * H), H};
        g.dc_n = {array(B * H), H}, g.dc0 = {array(B * H), H};
    }
    if (block) {
        d.clip = 0.7;
        d.vectors = array(3 * H), g.dvectors = array(3 * H);
        g.dc_each = {array(T * B * H), H};
        g.transposed = 1;
    }
    real *values = mode < LSTM ? nullptr : array(T * B * kept * H);
    for (Index k = 0; values && k < kept; k++) d.values[k] = {values + k * H, kept * H};
    demand(forward(mode, d, threads) == 0, "forward");
    g.dy = {array(T * B * P), P}, g.dh_n = {array(B * P), P}, g.dh0 = {array(B * P), P};
    g.da = {array(T * B * S * H), S * H}, g.dx = {array(T * B * I), I};
    g.dW = skip ? nullptr : array(G * H * I), g.dR = array(G * H * P), g.dWp = projected ? array(P * H) : nullptr;
    g.dbW = array(G * H), g.dbR = array(G * H);
    demand(backward(mode, d, g, threads) == 0, "backward");
    double sum = 0;
    if (block) {
        for (Index k = 0; k < 3 * H; k++) sum += g.dvectors[k];
        demand(cell_grad(d, g, threads) == 0, "the gradient of a cell");
        for (Index k = 0; k < B * S * H; k++) sum += g.da.p[k];
    }
    for (Index k = 0; k < T * B * P; k++) sum += d.y.p[k];
    for (Index k = 0; k < T * B * I; k++) sum += g.dx.p[k];
    for (Index k = 0; k < G * H * P; k++) sum += g.dR[k];
    for (Index k = 0; k < G * H; k++) sum += g.dbW[k] + g.dbR[k];
    return sum;
}

template <class real>
struct GruBlock {  // that of gru_block.cpp
    Index B, I, H;
    Rows<const real> x, h_prev;
    const real *w_ru, *w_c, *b_ru, *b_c;
    Rows<real> r, u, c, h;
    Rows<const real> d_h;
    Rows<real> d_x, d_h_prev, d_c_bar, d_r_bar_u_bar;
};

// GRUBlockCell forward and backward; the sum of h and of the gradients.
template <class real>
double gru_cell(Index B, Index I, Index H, int threads) {
    Arrays<real> array;
    GruBlock<real> d = {};
    d.B = B, d.I = I, d.H = H;
    d.x = {array(B * I), I}, d.h_prev = {array(B * H), H}, d.d_h = {array(B * H), H};
    d.w_ru = array((I + H) * 2 * H, 0.1), d.w_c = array((I + H) * H, 0.1), d.b_ru = array(2 * H), d.b_c = array(H);
    for (Rows<real> *a : {&d.r, &d.u, &d.c, &d.h, &d.d_h_prev, &d.d_c_bar}) *a = {array(B * H), H};
    d.d_x = {array(B * I), I}, d.d_r_bar_u_bar = {array(B * 2 * H), 2 * H};
    for (bool back : {false, true}) demand(gru_block(back, &d, sizeof(real) == 4, threads) == 0, "gru_block");
    double sum = 0;
    for (Index k = 0; k < B * H; k++) sum += d.h.p[k] + d.d_h_prev.p[k] + d.d_c_bar.p[k];
    for (Index k = 0; k < B * I; k++) sum += d.d_x.p[k];
    return sum;
}

template <class real>
double multiplied(Index M, Index N, Index K, int threads) {
    Arrays<real> array;
    double sum = 0;
    for (bool transposed : {false, true}) {
        Product<real> p{M, N, K, {array(M * K), K, 1}, {array(K * N), N, 1}, array(M * N), N, 0};
        if (transposed) p.A = {p.A.p, 1, M}, p.B = {p.B.p, 1, K};
        demand(product(p, threads) == 0, "product");
        for (Index k = 0; k < M * N; k++) sum += p.C[k];
    }
    return sum;
}

template <class real>
double everything(int threads) {
    double sum = 0;
    const Index sizes[][4] = {
        {1, 1, 1, 1},   {5, 1, 3, 7},    {4, 2, 9, 15},  {3, 7, 5, 17},
        {6, 13, 4, 33}, {2, 40, 20, 66}, {3, 36, 20, 66}};  // 36 samples: three threads divide the samples
    for (auto &s : sizes) {
        for (int mode = 0; mode < 4; mode++) {
            for (int kind = 0; kind < 4; kind++) {
                sum += layer<real>(mode, s[0], s[1], s[2], s[3], s[3], kind & 1, kind & 2, kind & 2, threads);
            }
        }
        sum += layer<real>(LSTM_BLOCK, s[0], s[1], s[2], s[3], s[3], false, false, false, threads);
        sum += gru_cell<real>(s[1], s[2], s[3], threads);
        const Index P = std::max<Index>(1, s[3] / 2);
        if (P != s[3]) sum += layer<real>(LSTM, s[0], s[1], s[2], s[3], P, false, true, true, threads);
        sum += multiplied<real>(s[1] * 5, s[3] * 9, s[2] * 11, threads);
    }
    return sum + multiplied<real>(70, 600, 250, threads);
}

int main() {
    const double alone = everything<float>(1), wide = everything<double>(1);
    demand(std::isfinite(alone) && std::isfinite(wide), "a sum that is not finite");
    demand(everything<float>(3) == alone && everything<double>(3) == wide, "three threads");
    std::vector<std::thread> callers;
    for (int k = 0; k < 3; k++) {
        callers.emplace_back(
            [=] { demand(layer<float>(LSTM, 4, 40, 64, 96, 96, false, false, false, 3) != 0, "callers"); });
    }
    for (std::thread &caller : callers) caller.join();
#if !defined(__SANITIZE_THREAD__)  // which does not let a child start threads
    if (fork() == 0) _exit(everything<float>(3) == alone ? 0 : 1);
    int status = 1;
    wait(&status);
    demand(status == 0, "a child");
#endif
    std::puts("right");
}
