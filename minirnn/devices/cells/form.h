// The form of a cell, and what a driver passes to it. The drivers (all steps of a layer in C++, one step in CUDA) take
// everything that they need to know about a cell from this form, so a new cell needs only one more header.
//
// A cell is a struct `template <class V, class real>`. V is a number (CUDA) or a vector of numbers, of neighboring
// units (C++); `real` is the type of one number. It states
//
//   OF_BOTH, OF_X, OF_H   how many gates have the pre-activation W x + R h' + biases, how many W x + bias alone, and how
//                         many R h' + bias alone. The rows of W are the gates of the first two kinds, those of R the
//                         gates of the first and the last
//   STATES                how many states; the last one is h: the output, and what R multiplies
//   SAVED                 how many values a step saves for its gradient
//   VECTORS               how many learned vectors (H,) it reads
//   READS_BEFORE          which states before the step the gradient reads: bit k for state k
//   READS_AFTER           which states after the step it reads
//   CARRIES               whether the step reads h' itself, so that a part of dh goes past the product with R
//
// and has two functions, each of which gets one struct:
//
//   step(Step &)          reads gates, before, vectors                     sets saved, after
//   grad(Gradient &)      reads saved, before, after, vectors, d_after     sets d_gates, d_before, d_vectors
//
// Gates come in the order OF_BOTH, OF_X, OF_H. d_before of h is what goes past R. `grad` of a cell that may be
// projected also sets `after` of h, which is the value that was projected.
//
// It also states, for products inside the step and for masks
//
//   PRODUCTS              how many products with its own matrix (H, H), or means over its units, are inside the step
//   MATRICES              how many of them have a matrix
//   MASKS                 how many mask values per step and unit it gets: `masks`, read by both functions
//   CARRIED               how many gradients one stage computes and a later one reads
//   STAGES, D_STAGES      into how many stages the products cut the step and the gradient
//
// A cell with several stages has step(Stage<0>, Step &), step(Stage<1>, Step &), .. and grad(Stage<0>, Gradient &), ...
// A stage of the step sets `multiplied`, the next one reads `products`; a stage of the gradient sets `d_products`,
// later ones read `d_multiplied`. A stage finds what the ones before it set in `saved` and `after`, and in `carried`.
//
// Functions give the stages: saved_stage(k), after_stage(k), multiplied_stage(k), d_gates_stage(k), d_before_stage(k),
// d_vectors_stage(k), d_products_stage(k) and carried_stage(k) are the stages which set the k-th of them;
// gate_stage(k), d_after_stage(k) and d_multiplied_stage(k) are the last ones that read it; matrix_of(k) is the number
// of the matrix of a product, or a Reduction.
//
// CELL_FN declares a function of a cell. sigmoid, tanh, relu and clip are functions of the language; `? :` selects.
#pragma once

template <class Cell>
constexpr int GATES = Cell::OF_BOTH + Cell::OF_X + Cell::OF_H;
template <class Cell>
constexpr int ROWS_OF_W = Cell::OF_BOTH + Cell::OF_X;
template <class Cell>
constexpr int ROWS_OF_R = Cell::OF_BOTH + Cell::OF_H;

// The gradients of the gates lie in memory in the order OF_H, OF_BOTH, OF_X: those of R's rows first, those of W's
// last.
template <class Cell>
CELL_FN constexpr int column_of(int gate) {
    return gate < ROWS_OF_W<Cell> ? gate + Cell::OF_H : gate - ROWS_OF_W<Cell>;
}

// Every array has at least one element.
template <class V, class Cell>
struct Step {
    V gates[GATES<Cell>], before[Cell::STATES], after[Cell::STATES], vectors[Cell::VECTORS + 1];
    V saved[Cell::SAVED + 1], masks[Cell::MASKS + 1], multiplied[Cell::PRODUCTS + 1], products[Cell::PRODUCTS + 1];
};

template <class V, class Cell>
struct Gradient {
    V saved[Cell::SAVED + 1], before[Cell::STATES], after[Cell::STATES], vectors[Cell::VECTORS + 1];
    V d_after[Cell::STATES], d_before[Cell::STATES], d_gates[GATES<Cell>], d_vectors[Cell::VECTORS + 1];
    V masks[Cell::MASKS + 1], carried[Cell::CARRIED + 1];
    V d_products[Cell::PRODUCTS + 1], d_multiplied[Cell::PRODUCTS + 1];
};

// Functions of all units of a sample, in place of a product. UNIT_TIES counts the units that have the largest value, and
// UNIT_EXP_SUM is the sum of exp(v - largest). The gradient of such a result goes back as its mean or its sum.
enum Reduction { UNIT_EXP_SUM = -6, UNIT_TIES, UNIT_MAX, UNIT_VAR, UNIT_SUM, UNIT_MEAN };
CELL_FN constexpr int reduction_back(int matrix) {
    return matrix == UNIT_MEAN || matrix == UNIT_VAR ? UNIT_MEAN : UNIT_SUM;
}

template <int>
struct Stage {};

template <int stage, class Cell, class V>
CELL_FN void step_of(const Cell &cell, Step<V, Cell> &s) {
    if constexpr (Cell::STAGES == 1) {
        cell.step(s);
    } else {
        cell.step(Stage<stage>(), s);
    }
}

template <int stage, class Cell, class V>
CELL_FN void grad_of(const Cell &cell, Gradient<V, Cell> &s) {
    if constexpr (Cell::D_STAGES == 1) {
        cell.grad(s);
    } else {
        cell.grad(Stage<stage>(), s);
    }
}
