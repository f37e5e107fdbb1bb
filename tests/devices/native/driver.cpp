// Calls every kernel of the device `native` in a process without Python, for the sanitizers: arrays have exact sizes,
// sizes leave vectors half empty, several teams compute at once, and a child does after a fork.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "backward.h"
#include "forward.h"
#include "keyed.h"
#include "made_cells.h"  // the headers of the cells, each in a namespace
#include "step.h"

extern "C" {
int product_float(const Product<float> *, int, int);
int product_double(const Product<double> *, int, int);
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

// A layer of a cell, forward and backward; the sum of y and of the gradients.
template <class real, class Cell>
double layer(Index T, Index B, Index I, Index H, Index P, bool skip, bool reverse, bool ragged, bool zoneout,
             int threads) {
    Arrays<real> array;
    constexpr Index S = GATES<Cell>, GX = ROWS_OF_W<Cell>, GH = ROWS_OF_R<Cell>, inner = INNER<Cell>;
    if (skip) I = H;
    std::vector<Index> lengths(B);
    for (Index b = 0; b < B; b++) lengths[b] = std::max<Index>(1, T - b);
    const double scale = 0.5 / std::sqrt(double(H));
    Layer<real, Cell> d = {};
    d.T = T, d.B = B, d.I = I, d.H = H, d.P = P, d.reverse = reverse;
    d.lengths = ragged ? lengths.data() : nullptr;
    if (!skip) d.W = {array(GX * H * I, scale), I, 1};
    d.R = {array(GH * H * P, scale), P, 1};
    if (P != H) d.Wp = {array(P * H, scale), H, 1};
    d.bW = array(GX * H), d.bR = array(GH * H);
    if (Cell::VECTORS) d.vectors = array(Cell::VECTORS * H);
    d.x = {array(T * B * I), I}, d.h0 = {array(B * P), P};
    d.y = {array(T * B * P), P}, d.h_n = {array(B * P), P};
    if (zoneout) d.zoneout = {array(T * B * P), P};
    for (int k = 0; k < Cell::MATRICES; k++) d.U[k] = {array(H * H, scale), H, 1};
    for (int k = 0; k < Cell::MASKS; k++) d.masks[k] = {array(T * B * H), H};
    Gradients<real, Cell> g = {};
    if (inner) {
        d.c0 = {array(inner * B * H), H}, d.c_n = {array(inner * B * H), H};
        g.dc_n = {array(inner * B * H), H}, g.dc0 = {array(inner * B * H), H};
        g.dc_each = {array(T * B * H), H};
    }
    const Index kept = MULTIPLIED<Cell> + Cell::PRODUCTS;
    real *values = array(T * B * kept * H);
    for (Index k = 0; k < kept; k++) d.values[k] = {values + k * H, kept * H};
    const Cell cell{};
    demand(forward(cell, d, threads, false) == DONE, "forward");
    const Index ld = (S + Cell::PRODUCTS) * H;
    g.dy = {array(T * B * P), P}, g.dh_n = {array(B * P), P}, g.dh0 = {array(B * P), P};
    g.da = {array(T * B * ld), ld}, g.dx = {array(T * B * I), I};
    if (!skip) g.dW = {array(GX * H * I), 1, GX * H};  // like a transposed weight
    g.dR = {array(GH * H * P), P, 1}, g.dWp = P != H ? array(P * H) : nullptr;
    g.dbW = array(GX * H), g.dbR = array(GH * H), g.dvectors = array(Cell::VECTORS * H);
    for (int k = 0; k < Cell::MATRICES; k++) g.dU[k] = array(H * H);
    demand(backward(cell, d, g, threads, false) == DONE, "backward");
    double sum = 0;
    for (Index k = 0; k < Cell::VECTORS * H; k++) sum += g.dvectors[k];
    for (Index k = 0; k < T * B * P; k++) sum += d.y.p[k];
    for (Index k = 0; k < T * B * I; k++) sum += g.dx.p[k];
    for (Index k = 0; k < GH * H * P; k++) sum += g.dR.p[k];
    for (Index k = 0; k < GX * H; k++) sum += g.dbW[k];
    for (Index k = 0; k < GH * H; k++) sum += g.dbR[k];
    for (int k = 0; k < Cell::MATRICES; k++) sum += g.dU[k][H * H - 1];
    return sum;
}

// A step of a cell and its gradient; the sum of the state and of the gradients.
template <class real, class Cell>
double one_step(Index B, Index H, int threads) {
    Arrays<real> array;
    constexpr Index S = GATES<Cell>, V = Cell::VECTORS;
    OneStep<real, Cell> d = {};
    d.B = B, d.H = H, d.vectors = array(V * H);
    d.gates = {array(B * S * H), S * H}, d.d_gates = {array(B * S * H), S * H}, d.d_vectors = {array(B * V * H), V * H};
    for (int k = 0; k < Cell::STATES; k++) {
        for (Rows<real> *a : {&d.before[k], &d.after[k], &d.d_before[k]}) *a = {array(B * H), H};
        d.d_after[k] = {array(B * H), H};
    }
    for (int k = 0; k < Cell::SAVED; k++) d.values[k] = {array(B * H), H};
    for (int k = 0; k < Cell::MASKS; k++) d.masks[k] = {array(B * H), H};
    for (int k = 0; k < Cell::MATRICES; k++) d.U[k] = {array(H * H, 0.1), H, 1};
    for (bool back : {false, true}) demand(step(Cell{}, d, back, threads, false) == DONE, "step");
    double sum = 0;
    for (Index k = 0; k < B * H; k++) sum += d.after[LAST<Cell>].p[k] + d.d_before[0].p[k];
    for (Index k = 0; k < B * S * H; k++) sum += d.d_gates.p[k];
    for (Index k = 0; k < B * V * H; k++) sum += d.d_vectors.p[k];
    return sum;
}

// A layer of a cell with keys, forward and backward; the sum of y and of the gradients of gates.
template <class real, template <class, class> class Made>
double with_keys(Index T, Index B, Index H, bool ragged, int threads) {
    using Cell = Made<Vector<real>, real>;
    Arrays<real> array;
    std::vector<Index> lengths(B);
    for (Index b = 0; b < B; b++) lengths[b] = std::max<Index>(1, T - b);
    KeyedLayer<real, Cell> d = {};
    d.T = T, d.B = B, d.H = H, d.slots = T;
    d.lengths = ragged ? lengths.data() : nullptr;
    Index width = 0;
    for (int i = 0; i < Cell::GATES; i++) width += Cell::gate_width(i, H);
    d.gates = array(T * B * width), d.d_gates = array(T * B * width);
    for (int i = 0; i < Cell::STATES; i++) {
        const Index n = Cell::state_width(i, H);
        d.first[i] = array(B * n), d.states[i] = array(T * B * n), d.last[i] = array(B * n);
        d.d_last[i] = array(B * n), d.carry[i] = array(2 * B * n), d.d_first[i] = array(B * n);
    }
    for (int i = 0; i < Cell::LEARNED; i++) {
        const Index n = i < Cell::D_LEARNED ? Cell::learned_width(i, H) : H * Cell::N;  // those after it are matrices
        d.learned[i] = array(n);
        if (i < Cell::D_LEARNED) d.d_learned[i] = array(B * n);
    }
    for (int i = 0; i < Cell::SAVED; i++) d.saved[i] = array(T * B * Cell::saved_width(i, H));
    d.y = array(T * B * H), d.dy = array(T * B * H), d.keys = array(B * Cell::VECTORS * Cell::N);
    demand(keyed(d, keyed_forward<Cell, real>, threads, false) == DONE, "forward, with keys");
    demand(keyed(d, keyed_backward<Cell, real>, threads, false) == DONE, "backward, with keys");
    double sum = 0;
    for (Index k = 0; k < T * B * H; k++) sum += d.y[k];
    for (Index k = 0; k < T * B * width; k++) sum += d.d_gates[k];
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

template <class real, template <class, class> class Made>
double a_cell(const Index (&s)[4], bool skips, int threads) {
    using Cell = Made<Vector<real>, real>;
    double sum = one_step<real, Cell>(s[1], s[3], threads);
    for (int kind = 0; kind < 4; kind++) {
        sum += layer<real, Cell>(s[0], s[1], s[2], s[3], s[3], skips && (kind & 1), kind & 2, kind & 2, false, threads);
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
        sum += a_cell<real, lstm::OwnCell>(s, true, threads);
        sum += a_cell<real, three_stages::OwnCell>(s, false, threads);
        if constexpr (sizeof(real) == 4) {  // others in one type, because compiling a cell takes seconds
            sum += a_cell<real, gru::OwnCell>(s, true, threads);
            sum += a_cell<real, rnn_tanh::OwnCell>(s, true, threads);
            sum += a_cell<real, lstm_block_peephole::OwnCell>(s, false, threads);
        }
        for (bool ragged : {false, true}) {
            sum += with_keys<real, deltanet::OwnCell>(s[0], s[1], s[3], ragged, threads);
            if constexpr (sizeof(real) == 4) {
                sum += with_keys<real, mlstm::OwnCell>(s[0], s[1], s[3], ragged, threads);
                sum += with_keys<real, s6::OwnCell>(s[0], s[1], s[3], ragged, threads);
            }
        }
        const Index P = std::max<Index>(1, s[3] / 2);
        using Projected = lstm_zoned_c::OwnCell<Vector<real>, real>;
        for (bool zoneout : {false, true}) {
            if (P == s[3]) continue;
            sum += layer<real, Projected>(s[0], s[1], s[2], s[3], P, false, true, true, zoneout, threads);
        }
        sum += multiplied<real>(s[1] * 5, s[3] * 9, s[2] * 11, threads);
    }
    return sum + multiplied<real>(70, 600, 250, threads);
}

int main() {
    const double alone = everything<float>(1), wide = everything<double>(1);
    demand(std::isfinite(alone) && std::isfinite(wide), "a sum that is not finite");
    demand(everything<float>(3) == alone && everything<double>(3) == wide, "three threads");
    using Lstm = lstm::OwnCell<Vector<float>, float>;
    std::vector<std::thread> callers;
    for (int k = 0; k < 3; k++) {
        callers.emplace_back(
            [=] { demand(layer<float, Lstm>(4, 40, 64, 96, 96, false, false, false, false, 3) != 0, "callers"); });
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
