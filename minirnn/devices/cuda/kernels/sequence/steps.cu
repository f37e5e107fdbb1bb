// A layer step by step: the elementwise part of one step, and of its gradient, in a launch for each stage of the cell,
// the struct CELL. The products come between them. The lowest rung of the ladder: any cell, any size, any GPU.
//
//   one thread = PER_THREAD neighboring units of a row (units.cuh): with four units a load takes 16 bytes, and nvcc
//   generates about half the instructions per unit (launch/threads.py)
//   H units, P outputs (H without a projection), B rows of a batch
//   rows of y and dy are `y_stride` elements apart: the directions of a layer lie side by side
#include "sequence/cell.cuh"
#include "units.cuh"

// What a kernel gets for its cell in one step: `cell` has its constants. Arrays are null if the cell does not have them.
//   masks: (MASKS, B, H)                waiting: (.., B, H), values that one stage stores for another
//   products: (PRODUCTS, B, H)          multiplied: PRODUCTS arrays (B, H), `apart` elements from one to the next
//   dc_each: (B, H), a gradient of the first state after the step, or null
// A gradient reads d_multiplied there, and sets d_products.
struct Inside {
    const real *masks, *products, *dc_each;
    real *multiplied, *waiting;
    i64 apart;
    CELL cell;
};

#define STEP int t, int B, int H, int y_stride, const int *lengths

// A: (B, ROWS_OF_W*H), x W' + h' R'; for a cell with separate gates x W', and A2 (B, ROWS_OF_R*H) is h' R'
// bW, bR: (ROWS_OF_W*H,), (ROWS_OF_R*H,)      vectors: (VECTORS, H)      values: (KEPT, B, H)
// h: (B, H), c: (INNER, B, H), go from the states before to those after      y: (B, H), the output
// A2, vectors, values and c are null if the cell has none.
// m: null; or, with a projection, (B, H), its operand: `projected_step` then sets h and y
#define FORWARD                                                                                                       \
    STEP, const real *A, const real *A2, const real *bW, const real *bR, const real *vectors, real *values, real *c_, \
        real *m, real *h_, real *y
template <class Cell, int stage = 0>
__device__ void step(FORWARD, const Inside &in) {
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
        step_of<stage>(in.cell, s);
        keep<Cell>(s, valid, keeps);
#pragma unroll
        for (int j = 0; j < N; j++) kept[j][n] = keeps[j];
#pragma unroll
        for (int j = 0; j < Cell::PRODUCTS; j++)
            if (Cell::multiplied_stage(j) == stage) multiplied_[j][n] = s.multiplied[j];

#pragma unroll
        for (int j = 0; j < S; j++) after[j][n] = s.after[j];
        output[n] = valid ? s.after[INNER<Cell>] : real(0);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
        if (values && kept_stage<Cell>(j) == stage) store(values + j * block + k, kept[j]);
#pragma unroll
    for (int j = 0; j < Cell::PRODUCTS; j++)
        if (Cell::multiplied_stage(j) == stage) store(in.multiplied + j * in.apart + k, multiplied_[j]);
#pragma unroll
    for (int j = 0; j < S; j++)
        if (!LAST && Cell::after_stage(j) == stage) store(in.waiting + j * block + k, after[j]);
    if constexpr (LAST) {
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
}
#define STEP_STAGE(k)                                                                                \
    extern "C" __global__ void cell_step_##k(FORWARD, Inside in) {                                   \
        step<CELL, k>(t, B, H, y_stride, lengths, A, A2, bW, bR, vectors, values, c_, m, h_, y, in); \
    }

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
// y, dy: (B, H); y is read if the gradient reads h
// dm, m: null; or, with a projection, (B, H), the gradient of its operand, and the operand
#define BACKWARD                                                                                             \
    STEP, const real *vectors, const real *values, const real *y, const real *dy, const real *dm, real *dh_, \
        real *dc_, real *da, real *m, real *d_vectors
template <class Cell, int stage = 0>
__device__ void step_grad(BACKWARD, const Inside &in) {
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
    const Units<real> dc_here = load_if(I && valid && in.dc_each, in.dc_each + k);
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
        for (int j = 0; j < I; j++) s.d_after[j] = j == 0 ? dc[0][n] + dc_here[n] : dc[j][n];
        s.d_after[I] = dy_[n] + dh[n];
#pragma unroll
        for (int j = 0; j <= I; j++)
            if (stage > 0) s.d_after[j] = waiting_[j][n];
#pragma unroll
        for (int j = 0; j <= I; j++) waiting_[j][n] = s.d_after[j];
        grad_of<stage>(in.cell, s);

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
#define STEP_GRAD_STAGE(k)                                                                                          \
    extern "C" __global__ void cell_step_grad_##k(BACKWARD, Inside in) {                                            \
        step_grad<CELL, k>(t, B, H, y_stride, lengths, vectors, values, y, dy, dm, dh_, dc_, da, m, d_vectors, in); \
    }
