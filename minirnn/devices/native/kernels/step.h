// One step of a cell and its gradient, without the products with W and R, with any cell of the form in `cells/form.h`.
//
// Threads share the vectors of units of all samples. Between two stages is a product of (B, H) with its matrix.
#pragma once
#include "cell.h"
#include "gemm.h"

// The arrays, (B, H) each. Missing ones are null.
template <class real, class Cell>
struct OneStep {
    Index B, H;
    const real *vectors;    // (VECTORS, H)
    const real *constants;  // of the cell
    Rows<real> gates;       // (B, GATES*H)
    Rows<real> before[Cell::STATES], after[Cell::STATES], values[Cell::SAVED + 1];
    Rows<real> masks[Cell::MASKS + 1];
    Matrix<const real> U[Cell::MATRICES + 1];  // (H, H)
    // of the gradient
    Rows<real> d_after[Cell::STATES], d_gates, d_before[Cell::STATES];
    Rows<real> d_vectors;  // of each sample, (B, VECTORS*H)
};

template <class real, class Cell>
class StepPass {
    using V = Vector<real>;
    static constexpr int lanes = LANES<real>, PRODUCTS = Cell::PRODUCTS;
    // Between stages: the operands of products, their results, and gradients that a later stage reads.
    static constexpr int BETWEEN = 2 * PRODUCTS + Cell::CARRIED;

  public:
    StepPass(const OneStep<real, Cell> &d, const Cell &cell, int threads)
        : d(d), cell(cell), between(d.B * BETWEEN * d.H), blocks(Cell::MATRICES ? threads * GEMM_SCRATCH : 0) {}

    template <int stage = 0>
    void forward(Member me) {
        if constexpr (stage < Cell::STAGES) {
            for (int p = 0; p < PRODUCTS && stage > 0; p++) {
                if (Cell::multiplied_stage(p) == stage - 1) product(p, me, false);
            }
            me.wait();
            each(me, [&](Index b, Index u) {
                Step<V, Cell> s;
                load_rows<Cell::STATES>(s.before, d.before, b, u);
                load_inputs(s, b, u);
                for (int k = 0; k < GATES<Cell>; k++) s.gates[k] = get(d.gates, b, k * d.H + u, u);
                for (int k = 0; k < Cell::SAVED; k++) {
                    if (Cell::saved_stage(k) < stage) s.saved[k] = get(d.values[k], b, u, u);
                }
                for (int k = 0; k < Cell::STATES; k++) {
                    if (Cell::after_stage(k) < stage) s.after[k] = get(d.after[k], b, u, u);
                }
                for (int p = 0; p < PRODUCTS; p++) {
                    if (Cell::multiplied_stage(p) < stage) s.products[p] = get(result(p), b, u, u);
                }
                step_of<stage>(cell, s);
                for (int k = 0; k < Cell::SAVED; k++) {
                    if (Cell::saved_stage(k) == stage) put(d.values[k], b, u, u, s.saved[k]);
                }
                for (int k = 0; k < Cell::STATES; k++) {
                    if (Cell::after_stage(k) == stage) put(d.after[k], b, u, u, s.after[k]);
                }
                for (int p = 0; p < PRODUCTS; p++) {
                    if (Cell::multiplied_stage(p) == stage) put(operand(p), b, u, u, s.multiplied[p]);
                }
            });
            me.wait();
            forward<stage + 1>(me);
        }
    }

    template <int stage = 0>
    void backward(Member me) {
        if constexpr (stage < Cell::D_STAGES) {
            for (int p = 0; p < PRODUCTS && stage > 0; p++) {
                if (Cell::d_products_stage(p) == stage - 1) product(p, me, true);
            }
            me.wait();
            each(me, [&](Index b, Index u) {
                Gradient<V, Cell> s;
                for (int k = 0; k < Cell::STATES; k++) {
                    if (Cell::READS_BEFORE >> k & 1) s.before[k] = get(d.before[k], b, u, u);
                    if (Cell::READS_AFTER >> k & 1) s.after[k] = get(d.after[k], b, u, u);
                }
                load_rows<Cell::STATES>(s.d_after, d.d_after, b, u);
                load_rows<Cell::SAVED>(s.saved, d.values, b, u);
                load_inputs(s, b, u);
                for (int p = 0; p < PRODUCTS; p++) {
                    if (Cell::d_products_stage(p) < stage) s.d_multiplied[p] = get(result(p), b, u, u);
                }
                for (int k = 0; k < Cell::CARRIED; k++) {
                    if (Cell::carried_stage(k) < stage) s.carried[k] = get(carried(k), b, u, u);
                }
                grad_of<stage>(cell, s);
                for (int k = 0; k < GATES<Cell>; k++) {
                    if (Cell::d_gates_stage(k) == stage) put(d.d_gates, b, k * d.H + u, u, s.d_gates[k]);
                }
                for (int k = 0; k < Cell::STATES; k++) {
                    if (Cell::d_before_stage(k) == stage) put(d.d_before[k], b, u, u, s.d_before[k]);
                }
                for (int k = 0; k < Cell::VECTORS; k++) {
                    if (Cell::d_vectors_stage(k) == stage) put(d.d_vectors, b, k * d.H + u, u, s.d_vectors[k]);
                }
                for (int p = 0; p < PRODUCTS; p++) {
                    if (Cell::d_products_stage(p) == stage) put(operand(p), b, u, u, s.d_products[p]);
                }
                for (int k = 0; k < Cell::CARRIED; k++) {
                    if (Cell::carried_stage(k) == stage) put(carried(k), b, u, u, s.carried[k]);
                }
            });
            me.wait();
            backward<stage + 1>(me);
        }
    }

  private:
    // f(sample, unit) for this member's share of the vectors of units.
    template <class F>
    INLINE void each(Member me, F f) const {
        const Index vectors = (d.H + lanes - 1) / lanes, end = me.end(d.B * vectors);
        Index v = me.begin(d.B * vectors), b = v / vectors, u = v % vectors * lanes;
        for (; v < end; v++, u += lanes) {
            if (u >= d.H) u = 0, b++;
            f(b, u);
        }
    }

    // The vector at `column`, which belongs to the units from u on.
    INLINE V get(const Rows<real> &a, Index b, Index column, Index u) const {
        return load((const real *)a.at(b) + column, d.H - u);
    }
    INLINE void put(const Rows<real> &a, Index b, Index column, Index u, V v) const {
        store(a.at(b) + column, v, d.H - u);
    }
    template <int count>
    INLINE void load_rows(V *to, const Rows<real> *from, Index b, Index u) const {
        for (int k = 0; k < count; k++) to[k] = get(from[k], b, u, u);
    }
    template <class S>
    INLINE void load_inputs(S &s, Index b, Index u) const {
        load_rows<Cell::MASKS>(s.masks, d.masks, b, u);
        for (int k = 0; k < Cell::VECTORS; k++) s.vectors[k] = load(d.vectors + k * d.H + u, d.H - u);
    }

    Rows<real> array(int k) { return {between + k * d.H, BETWEEN * d.H}; }
    Rows<real> operand(int p) { return array(p); }
    Rows<real> result(int p) { return array(PRODUCTS + p); }
    Rows<real> carried(int k) { return array(2 * PRODUCTS + k); }

    // result = operand @ U.T, backward operand @ U; or a function of all units.
    void product(int p, Member me, bool back) {
        const Rows<real> from = operand(p), to = result(p);
        const int matrix = Cell::matrix_of(p);
        if (matrix >= 0) {
            Matrix<const real> by = d.U[matrix];
            if (!back) std::swap(by.row, by.column);
            gemm<real>({d.B, d.H, d.H, {from.p, from.ld, 1}, by, to.p, to.ld, false}, blocks, me);
            return;
        }
        for (Index b = me.begin(d.B); b < me.end(d.B); b++) {
            Sums<real> found;
            reduce<real>(back ? reduction_back(matrix) : matrix, 1, 1, d.H, from.at(b), from.ld, found.at);
            for (Index u = 0; u < d.H; u += lanes) put(to, b, u, u, load<real>(found.at));
        }
    }

    const OneStep<real, Cell> &d;
    const Cell cell;
    Scratch<real> between, blocks;
};

// The step, or with `back` its gradient. Returns a `Status`.
template <class real, class Cell>
int step(const Cell &cell, const OneStep<real, Cell> &d, bool back, int threads, bool watch) {
    try {
        const int team = threads_for(double(d.B) * d.H * (8 + Cell::MATRICES * d.H), threads);
        StepPass pass(d, cell, team);
        return together(team, watch,
                        [&](Member me) { back ? pass.template backward<>(me) : pass.template forward<>(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}
