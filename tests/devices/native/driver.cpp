// Calls every kernel of the device `native` in a process without Python, for the sanitizers: arrays end where they end,
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
    const Index G = mode == 2 ? 4 : mode == 3 ? 3 : 1, S = mode < 2 ? 1 : 4, kept = mode == 2 ? 5 : 4;
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
    if (mode == 2) {
        d.c0 = {array(B * H), H}, d.c_n = {array(B * H), H};
        g.dc_n = {array(B * H), H}, g.dc0 = {array(B * H), H};
    }
    real *values = mode < 2 ? nullptr : array(T * B * kept * H);
    for (Index k = 0; values && k < kept; k++) d.values[k] = {values + k * H, kept * H};
    demand(forward(mode, d, threads) == 0, "forward");
    g.dy = {array(T * B * P), P}, g.dh_n = {array(B * P), P}, g.dh0 = {array(B * P), P};
    g.da = {array(T * B * S * H), S * H}, g.dx = {array(T * B * I), I};
    g.dW = skip ? nullptr : array(G * H * I), g.dR = array(G * H * P), g.dWp = projected ? array(P * H) : nullptr;
    g.dbW = array(G * H), g.dbR = array(G * H);
    demand(backward(mode, d, g, threads) == 0, "backward");
    double sum = 0;
    for (Index k = 0; k < T * B * P; k++) sum += d.y.p[k];
    for (Index k = 0; k < T * B * I; k++) sum += g.dx.p[k];
    for (Index k = 0; k < G * H * P; k++) sum += g.dR[k];
    for (Index k = 0; k < G * H; k++) sum += g.dbW[k] + g.dbR[k];
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
    const Index sizes[][4] = {{1, 1, 1, 1},  {5, 1, 3, 7},   {4, 2, 9, 15},
                              {3, 7, 5, 17}, {6, 13, 4, 33}, {2, 40, 20, 66}};
    for (auto &s : sizes) {
        for (int mode = 0; mode < 4; mode++) {
            for (int kind = 0; kind < 4; kind++) {
                sum += layer<real>(mode, s[0], s[1], s[2], s[3], s[3], kind & 1, kind & 2, kind & 2, threads);
            }
        }
        const Index P = std::max<Index>(1, s[3] / 2);
        if (P != s[3]) sum += layer<real>(2, s[0], s[1], s[2], s[3], P, false, true, true, threads);
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
            [=] { demand(layer<float>(2, 4, 40, 64, 96, 96, false, false, false, 3) != 0, "callers"); });
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
