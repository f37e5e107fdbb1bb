// CudnnRNN step by step: the elementwise part of one step of a layer, and of its gradient, in one launch each. The
// products come between them. The lowest rung of the ladder: any size, any GPU. Float16 arrives as float32.
//
//   H units, P outputs (H without a projection), B rows of a batch
//   rows of y and dy are `y_stride` elements apart: the directions of a layer lie side by side
#include "cudnn_rnn/cell.cuh"
#include "units.cuh"

// The plain kernel: one step of an LSTM.      one thread = one unit of one row; neighboring threads, neighboring units
//   a: (B, 4*H), x W' + h' R' of the gates i f n o      bW, bR: (4*H,)      values: (5, B, H), saved, or null
//   c, h: (B, H), go from the states before to those after      y: (B, H), the output
extern "C" __global__ void lstm_step_plain(int t, int B, int H, int y_stride, const int *lengths, const real *a,
                                           const real *bW, const real *bR, real *values, real *c, real *h, real *y) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const int unit = blockIdx.y * blockDim.x + threadIdx.x;
    if (row >= B || unit >= H) return;  // the last blocks reach beyond the edges

    const i64 k = (i64)row * H + unit;                // of this thread in (B, H)
    const real *gates = a + (i64)row * 4 * H + unit;  // of this thread in (B, 4*H), H apart
    const real i = sigmoid(gates[0 * H] + bW[0 * H + unit] + bR[0 * H + unit]);
    const real f = sigmoid(gates[1 * H] + bW[1 * H + unit] + bR[1 * H + unit]);
    const real n = tanh(gates[2 * H] + bW[2 * H + unit] + bR[2 * H + unit]);
    const real o = sigmoid(gates[3 * H] + bW[3 * H + unit] + bR[3 * H + unit]);
    const real c_prev = c[k];
    const real c_new = f * c_prev + i * n;
    const real h_new = o * tanh(c_new);

    const i64 next = (i64)B * H;  // from one kept value to the next
    if (values) {
        values[0 * next + k] = i, values[1 * next + k] = f, values[2 * next + k] = n, values[3 * next + k] = o;
        values[4 * next + k] = c_prev;
    }
    const bool valid = counts(lengths, t, row);  // past its length a row keeps its state, and its output is 0
    if (valid) c[k] = c_new, h[k] = h_new;
    y[(i64)row * y_stride + unit] = valid ? h_new : real(0);
}

// The same for every cell, and for PER_THREAD neighboring units per thread (units.cuh). The reason: a thread of the
// plain kernel needs a load for every 4 bytes. With four units a load takes 16 bytes, and nvcc generates 126
// instructions per unit instead of 224 (docs/cuda.md). The plain kernel remains for rows that are not whole multiples
// of 16 bytes, and to check this one: both give the same bits.

// Further arguments of custom cells for one step; null if the cell does not have them.
//   masks: (MASKS, B, H)                waiting: (.., B, H), values that one stage stores for another
//   products: (PRODUCTS, B, H)          multiplied: PRODUCTS arrays (B, H), `apart` elements from one to the next
// A gradient reads d_multiplied there, and sets d_products.
struct Inside {
    const real *masks, *products;
    real *multiplied, *waiting;
    i64 apart;
};

// A compile-time constant: without it masks are ignored, and a kernel needs fewer registers.

#define STEP int t, int B, int H, int y_stride, const int *lengths

// A: (B, ROWS_OF_W*H), x W' + h' R'; for a cell with separate gates x W', and A2 (B, ROWS_OF_R*H) is h' R'
// bW, bR: (ROWS_OF_W*H,), (ROWS_OF_R*H,)      vectors: (VECTORS, H), or null
// values: (KEPT, B, H) or null, with zoneout one more if the gradient reads h
// h: (B, H), c: (INNER, B, H) or null, go from the states before to those after      y: (B, H), the output
// m: null; or, with a projection, (B, H), its operand: `projected_step` then sets h and y
#define FORWARD                                                                                                       \
    STEP, const real *A, const real *A2, const real *bW, const real *bR, const real *vectors, real *values, real *c_, \
        real *m, real *h_, real *y
template <class Cell, int stage = 0>
__device__ void step(FORWARD, Inside in = {}) {
    constexpr int GW = ROWS_OF_W<Cell>, GR = ROWS_OF_R<Cell>, S = Cell::STATES, N = KEPT<Cell>;
    constexpr bool LAST = stage == Cell::STAGES - 1;
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H;
    Units<real> A_[GW + 1], A2_[GR + 1], bW_[GW + 1], bR_[GR + 1];
#pragma unroll
    for (int g = 0; g < GW; g++) A_[g] = load(A + ((i64)row * GW + g) * H + unit), bW_[g] = load(bW + g * H + unit);
#pragma unroll
    for (int g = 0; g < GR; g++)
        A2_[g] = load_if(APART<Cell>, A2 + ((i64)row * GR + g) * H + unit), bR_[g] = load(bR + g * H + unit);
    const bool valid = counts(lengths, t, row);
    Units<real> before[S], after[S], kept[N + 1], output;
#pragma unroll
    for (int j = 0; j < INNER<Cell>; j++) before[j] = load(c_ + j * block + k);
    // No other cell reads it. Most cells read h' only in the product with R; with a projection, h has another width.
    before[INNER<Cell>] = load_if(!m && (Cell::CARRIES), h_ + k);
    Units<real> vectors_[Cell::VECTORS + 1];
#pragma unroll
    for (int j = 0; j < Cell::VECTORS; j++) vectors_[j] = load(vectors + j * H + unit);
    Units<real> masks_[Cell::MASKS + 1], products_[Cell::PRODUCTS + 1], multiplied_[Cell::PRODUCTS + 1];
#pragma unroll
    for (int j = 0; j < Cell::MASKS; j++) masks_[j] = load(in.masks + j * block + k);
#pragma unroll
    for (int j = 0; j < Cell::PRODUCTS; j++)
        if (Cell::multiplied_stage(j) == stage - 1) products_[j] = load(in.products + j * block + k);
    // The values that earlier stages have set. New states are buffered, because those before the step are still read.
#pragma unroll
    for (int j = 0; j < Cell::SAVED; j++)
        if (Cell::saved_stage(j) < stage) kept[j] = load(values + j * block + k);
#pragma unroll
    for (int j = 0; j < S; j++)
        if (Cell::after_stage(j) < stage) after[j] = load(in.waiting + j * block + k);

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Step<real, Cell> s;
#pragma unroll
        for (int j = 0; j < Cell::MASKS; j++) s.masks[j] = masks_[j][n];
#pragma unroll
        for (int j = 0; j < Cell::PRODUCTS; j++)
            if (Cell::multiplied_stage(j) == stage - 1) s.products[j] = products_[j][n];
#pragma unroll
        for (int j = 0; j < Cell::SAVED; j++)
            if (Cell::saved_stage(j) < stage) s.saved[j] = kept[j][n];
#pragma unroll
        for (int j = 0; j < S; j++)
            if (Cell::after_stage(j) < stage) s.after[j] = after[j][n];
#pragma unroll
        for (int j = 0; j < Cell::VECTORS; j++) s.vectors[j] = vectors_[j][n];
        real a[GW + 1], a2[GR + 1], keeps[N + 1];
#pragma unroll
        for (int g = 0; g < GW; g++) a[g] = A_[g][n] + bW_[g][n];
#pragma unroll
        for (int g = 0; g < GR; g++) {
            a2[g] = bR_[g][n];
            if (APART<Cell>) (g < Cell::OF_BOTH ? a[g] : a2[g]) += A2_[g][n];
        }
        join_gates<Cell>(a, a2, s.gates);
#pragma unroll
        for (int j = 0; j < S; j++) s.before[j] = before[j][n];
        step_of<stage>(Cell(), s);
        keep<Cell>(s, keeps);
        keeps[N] = s.after[INNER<Cell>];
#pragma unroll
        for (int j = 0; j <= N; j++) kept[j][n] = keeps[j];
#pragma unroll
        for (int j = 0; j < Cell::PRODUCTS; j++)
            if (Cell::multiplied_stage(j) == stage) multiplied_[j][n] = s.multiplied[j];

#pragma unroll
        for (int j = 0; j < S; j++) after[j][n] = s.after[j];
        output[n] = valid ? s.after[INNER<Cell>] : real(0);
    }
#pragma unroll
    for (int j = 0; j < N + READS_H<Cell>; j++)
        if (values && j < N && kept_stage<Cell>(j) == stage) store(values + j * block + k, kept[j]);
#pragma unroll
    for (int j = 0; j < Cell::PRODUCTS; j++)
        if (Cell::multiplied_stage(j) == stage) store(in.multiplied + j * in.apart + k, multiplied_[j]);
#pragma unroll
    for (int j = 0; j < S; j++)
        if (!LAST && Cell::after_stage(j) == stage) store(in.waiting + j * block + k, after[j]);
    if (!LAST) return;
#pragma unroll
    for (int j = 0; j < INNER<Cell>; j++)
        if (valid) store(c_ + j * block + k, after[j]);
    if (m) {
        store(m + k, output);
        return;
    }
    if (valid) store(h_ + k, after[INNER<Cell>]);
    store(y + (i64)row * y_stride + unit, output);
}
#ifdef CELL
#define STEP_STAGE(k)                                                                                                 \
    extern "C" __global__ void cell_step_##k(FORWARD, Inside in) {                                                    \
        step<CELL<real, real>, k>(t, B, H, y_stride, lengths, A, A2, bW, bR, vectors, values, c_, m, h_, y, \
                                  in);                                                                                \
    }
#endif

// Gradients that arrive in one stage and are read in a later one: d_after, d_multiplied, carried. The stages in which
// they are stored and last read.
template <class Cell>
constexpr int WAITING = Cell::STATES + Cell::PRODUCTS + Cell::CARRIED;
template <class Cell>
CELL_FN constexpr int waits_from(int j) {
    const int p = j - Cell::STATES, c = p - Cell::PRODUCTS;
    return p < 0 ? 0 : c < 0 ? Cell::d_products_stage(p) + 1 : Cell::carried_stage(c);
}
template <class Cell>
CELL_FN constexpr int waits_until(int j) {
    const int p = j - Cell::STATES, c = p - Cell::PRODUCTS;
    return p < 0 ? Cell::d_after_stage(j) : c < 0 ? Cell::d_multiplied_stage(p) : Cell::D_STAGES - 1;
}

// dh: (B, H), dc: (INNER, B, H) or null, go from gradients of the states after to the parts that bypass the products
// da: (B, GATES*H)      vectors: (VECTORS, H), d_vectors: (VECTORS, B, H), of each row, or null
// y, dy: (B, H); y is read if the gradient reads h and there is no zoneout
// dm, m: null; or, with a projection, (B, H), the gradient of its operand, and the operand
#define BACKWARD                                                                                             \
    STEP, const real *vectors, const real *values, const real *y, const real *dy, const real *dm, real *dh_, \
        real *dc_, real *da, real *m, real *d_vectors
template <class Cell, int stage = 0>
__device__ void step_grad(BACKWARD, Inside in = {}) {
    constexpr int G = GATES<Cell>, I = INNER<Cell>, N = KEPT<Cell>;
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= H) return;
    const i64 k = (i64)row * H + unit, block = (i64)B * H, at = (i64)row * y_stride + unit;
    const bool valid = counts(lengths, t, row);
    Units<real> kept[N + 1], da_[G], dc[I + 1], output;
#pragma unroll
    for (int j = 0; j < N; j++) kept[j] = load_if(valid, values + j * block + k);
    if (READS_H<Cell>) kept[N] = load_if(valid, y + at);
    const Units<real> dy_ = load_if(valid, dm ? dm + k : dy + at);
#pragma unroll
    for (int j = 0; j < I; j++) dc[j] = load(dc_ + j * block + k);
    Units<real> dh = load_if(!dm, dh_ + k);  // dm: `projected_step_grad` has added dh
    Units<real> vectors_[Cell::VECTORS + 1], d_vectors_[Cell::VECTORS + 1];
#pragma unroll
    for (int j = 0; j < Cell::VECTORS; j++) vectors_[j] = load(vectors + j * H + unit);
    constexpr int P = Cell::PRODUCTS;
    Units<real> masks_[Cell::MASKS + 1], d_multiplied_[P + 1], d_products_[P + 1], waiting_[WAITING<Cell>];
#pragma unroll
    for (int j = 0; j < Cell::MASKS; j++) masks_[j] = load(in.masks + j * block + k);
#pragma unroll
    for (int j = 0; j < P; j++)
        if (Cell::d_products_stage(j) == stage - 1) d_multiplied_[j] = load(in.products + j * block + k);
#pragma unroll
    for (int j = 0; j < WAITING<Cell>; j++)
        if (waits_from<Cell>(j) < stage && stage <= waits_until<Cell>(j))
            waiting_[j] = load(in.waiting + j * block + k);

#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        Gradient<real, Cell> s;
#pragma unroll
        for (int j = 0; j < Cell::VECTORS; j++) s.vectors[j] = vectors_[j][n];
#pragma unroll
        for (int j = 0; j < Cell::MASKS; j++) s.masks[j] = masks_[j][n];
#pragma unroll
        for (int j = 0; j < P; j++)
            s.d_multiplied[j] = Cell::d_products_stage(j) == stage - 1 ? d_multiplied_[j][n] : waiting_[I + 1 + j][n];
#pragma unroll
        for (int j = 0; j < Cell::CARRIED; j++) s.carried[j] = waiting_[I + 1 + P + j][n];
        real keeps[N + 1], columns[G];
#pragma unroll
        for (int j = 0; j <= N; j++) keeps[j] = kept[j][n];
        take<Cell>(keeps, s);
        if (READS_H<Cell>) s.after[I] = keeps[N];
#pragma unroll
        for (int j = 0; j < I; j++) s.d_after[j] = dc[j][n];
        s.d_after[I] = dy_[n] + dh[n];
#pragma unroll
        for (int j = 0; j <= I; j++)
            if (stage > 0) s.d_after[j] = waiting_[j][n];
#pragma unroll
        for (int j = 0; j <= I; j++) waiting_[j][n] = s.d_after[j];
        grad_of<stage>(Cell(), s);

        to_columns<Cell>(s, columns);
#pragma unroll
        for (int j = 0; j < G; j++) da_[j][n] = valid ? columns[j] : real(0);
#pragma unroll
        for (int j = 0; j < I; j++) dc[j][n] = s.d_before[j];
#pragma unroll
        for (int j = 0; j < Cell::VECTORS; j++) d_vectors_[j][n] = valid ? s.d_vectors[j] : real(0);
#pragma unroll
        for (int j = 0; j < P; j++) d_products_[j][n] = valid ? s.d_products[j] : real(0);
#pragma unroll
        for (int j = 0; j < P; j++) waiting_[I + 1 + j][n] = s.d_multiplied[j];
#pragma unroll
        for (int j = 0; j < Cell::CARRIED; j++) waiting_[I + 1 + P + j][n] = s.carried[j];
        dh[n] = s.d_before[I], output[n] = valid ? s.after[I] : real(0);
    }
#pragma unroll
    for (int j = 0; j < G; j++)
        if (Cell::d_gates_stage(gate_of<Cell>(j)) == stage) store(da + ((i64)row * G + j) * H + unit, da_[j]);
#pragma unroll
    for (int j = 0; j < Cell::VECTORS; j++)
        if (Cell::d_vectors_stage(j) == stage) store(d_vectors + j * block + k, d_vectors_[j]);
#pragma unroll
    for (int j = 0; j < P; j++)
        if (Cell::d_products_stage(j) == stage) store(in.multiplied + j * in.apart + k, d_products_[j]);
#pragma unroll
    for (int j = 0; j < WAITING<Cell>; j++)
        if (waits_from<Cell>(j) == stage && stage < waits_until<Cell>(j))
            store(in.waiting + j * block + k, waiting_[j]);
    if (m && stage == 0) store(m + k, output);
    if (valid && !dm && Cell::d_before_stage(I) == stage) store(dh_ + k, dh);
#pragma unroll
    for (int j = 0; j < I; j++)
        if (valid && Cell::d_before_stage(j) == stage) store(dc_ + j * block + k, dc[j]);
}
#ifdef CELL
#define STEP_GRAD_STAGE(k)                                                                                      \
    extern "C" __global__ void cell_step_grad_##k(BACKWARD, Inside in) {                                        \
        step_grad<CELL<real, real>, k>(t, B, H, y_stride, lengths, vectors, values, y, dy, dm, dh_, dc_, da, m, \
                                       d_vectors, in);                                                \
    }
#endif

// After a projection: h = m Wp' if the row is active        projected: (B, P)
extern "C" __global__ void projected_step(int t, int B, int P, int y_stride, const int *lengths, const real *projected,
                                          real *h_, real *y) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    const Units<real> h = load_if(valid, projected + k);  // zeros if the row is not active
    if (valid) store(h_ + k, h);
    store(y + (i64)row * y_stride + unit, h);
}

// Before the product with Wp: d = dy + dh: (B, P); dh becomes 0, because nothing bypasses the product
extern "C" __global__ void projected_step_grad(int t, int B, int P, int y_stride, const int *lengths, const real *dy,
                                               real *dh_, real *to_d) {
    const int row = cell_row(), unit = first_unit();
    if (row >= B || unit >= P) return;
    const i64 k = (i64)row * P + unit;
    const bool valid = counts(lengths, t, row);
    const Units<real> dy_ = load_if(valid, dy + (i64)row * y_stride + unit);
    Units<real> dh = load_if(valid, dh_ + k), d;
#pragma unroll
    for (int n = 0; n < PER_THREAD; n++) {
        d[n] = dy_[n] + dh[n];
        dh[n] = 0;
    }
    store(to_d + k, d);
    if (valid) store(dh_ + k, dh);
}

// y = x if a row is active, otherwise 0, so that NaN in the padding does not spread
//   x, y: (T*B, n)        one thread = one unit of one row of one step
extern "C" __global__ void without_padding(int rows, int B, int n, const int *lengths, const real *x, real *y) {
    const int row = cell_row(), unit = cell_unit();
    if (row >= rows || unit >= n) return;
    const i64 k = (i64)row * n + unit;
    y[k] = counts(lengths, row / B, row % B) ? x[k] : real(0);
}
