// One cell of a CudnnRNN layer, a unit of a row of a batch, forward and backward. Every rung includes this file.
// Formulas: minirnn/ops/cudnn_rnn/__init__.py. The same lines in NumPy: minirnn/devices/cpu/cudnn_rnn/reference.py.
//
//   gates: lstm i f n o, gru r z n      a: the input part x W' + bW of each      a2: its recurrent part h' R' + bR
//   values: what is kept for the way back, numbers `block` elements apart, or null      value: the same in registers
//   da: the gradients in the columns that they have in memory; column `recurrent(g)` belongs to a2[g]
// Past its length a row keeps its state, its output is 0, and its gradient passes on unchanged.
#pragma once
#include "activation.cuh"

// Whether a row counts at step t. lengths: (B,), or null where all rows count at every step
__device__ inline bool counts(const int *lengths, int t, int row) { return !lengths || t < lengths[row]; }

template <bool RELU>
struct Simple {
    static constexpr int gates = 1, columns = 1, saved = 0;
    static constexpr bool is_gru = false;
    static __device__ int recurrent(int gate) { return gate; }

    // h = f(a + a2)
    static __device__ real step(const real *a_, const real *a2, real, real &, real *, i64) {
        const real a = a_[0] + a2[0];
        return RELU ? (a < 0 ? real(0) : a) : tanh(a);  // NaN stays NaN
    }

    // d: gradient of h. dh becomes what passes by the product with R. Returns what `step` returned.
    static __device__ real grad(real d, real h, const real *, real &, real *da, real &dh) {
        da[0] = RELU ? (h > 0 ? d : real(0)) : d * d_tanh(h);  // relu: derivative 0 at 0
        dh = 0;
        return h;
    }
};

struct Lstm {
    static constexpr int gates = 4, columns = 4, saved = 5;
    static constexpr bool is_gru = false;
    static __device__ int recurrent(int gate) { return gate; }

    // c = f*c' + i*n        h = o*tanh(c)
    static __device__ real step(const real *a, const real *a2, real, real &c_, real *values, i64 block) {
        const real c_prev = c_;
        const real i = sigmoid(a[0] + a2[0]);
        const real f = sigmoid(a[1] + a2[1]);
        const real n = tanh(a[2] + a2[2]);
        const real o = sigmoid(a[3] + a2[3]);
        const real c = f * c_prev + i * n;

        if (values) {
            values[0] = i, values[block] = f, values[2 * block] = n, values[3 * block] = o;
            values[4 * block] = c_prev;
        }
        c_ = c;
        return o * tanh(c);
    }

    static __device__ real grad(real d, real, const real *value, real &dc, real *da, real &dh) {
        const real i = value[0], f = value[1], n = value[2], o = value[3], c_prev = value[4];
        const real tanh_c = tanh(f * c_prev + i * n);

        dc = dc + d * o * d_tanh(tanh_c);
        da[0] = dc * n * d_sigmoid(i);
        da[1] = dc * c_prev * d_sigmoid(f);
        da[2] = dc * i * d_tanh(n);
        da[3] = d * tanh_c * d_sigmoid(o);
        dc = dc * f;
        dh = 0;
        return o * tanh_c;
    }
};

struct Gru {
    static constexpr int gates = 3, columns = 4, saved = 5;
    static constexpr bool is_gru = true;
    static __device__ int recurrent(int gate) { return gate == 2 ? 0 : gate + 1; }  // r z n of q r z n

    // r, z = sigmoid(a + a2)    q = a2_n    n = tanh(a_n + r*q)    h = (1-z)*n + z*h'
    static __device__ real step(const real *a, const real *a2, real h_prev, real &, real *values, i64 block) {
        const real r = sigmoid(a[0] + a2[0]);
        const real z = sigmoid(a[1] + a2[1]);
        const real q = a2[2];
        const real n = tanh(a[2] + r * q);

        if (values) {
            values[0] = r, values[block] = z, values[2 * block] = n, values[3 * block] = q;
            values[4 * block] = h_prev;
        }
        return (1 - z) * n + z * h_prev;
    }

    // Columns q r z n: the first three are the gradient of the recurrent part, the last three that of the input part.
    static __device__ real grad(real d, real, const real *value, real &, real *da, real &dh) {
        const real r = value[0], z = value[1], n = value[2], q = value[3], h_prev = value[4];

        const real da_n = d * (1 - z) * d_tanh(n);
        const real da_z = d * (h_prev - n) * d_sigmoid(z);
        const real da_r = da_n * q * d_sigmoid(r);
        da[0] = da_n * r, da[1] = da_r, da[2] = da_z, da[3] = da_n;
        dh = d * z;
        return (1 - z) * n + z * h_prev;
    }
};

// gru's n is the one gate whose two parts do not just add up: r stands between them.
template <class Cell>
__device__ bool is_apart(int gate) {
    return Cell::is_gru && gate == 2;
}

// The biases of a unit: both of a gate in one number, except where its parts stand apart.
template <class Cell>
struct Biases {
    real sum[Cell::gates], n;  // n: bR_n

    // biases: (2, G*H), bW and bR
    __device__ void load(const real *biases, int H, int unit) {
        const real *bW = biases + unit, *bR = bW + Cell::gates * H;
#pragma unroll
        for (int g = 0; g < Cell::gates; g++) sum[g] = bW[g * H] + (is_apart<Cell>(g) ? real(0) : bR[g * H]);
        n = Cell::is_gru ? bR[2 * H] : real(0);
    }

    __device__ real of_recurrent(int gate) const { return is_apart<Cell>(gate) ? n : real(0); }
};

// The new state h of a cell, and its output y; c goes from the old state to the new one. valid: its row counts.
template <class Cell>
__device__ real cell_step(bool valid, const real *a, const real *a2, real h_prev, real &c, real *values, i64 block,
                          real &y) {
    real c_new = c;
    const real result = Cell::step(a, a2, h_prev, c_new, values, block);
    if (valid) c = c_new;
    y = valid ? result : real(0);
    return valid ? result : h_prev;
}

// What the gradients of a cell need from memory: read early, before it is known what comes from the step after.
struct Saved {
    bool valid;
    real h, dy, value[5];
};

template <class Cell>
__device__ Saved load_saved(bool valid, const real *values, i64 block, const real *y, const real *dy) {
    Saved saved = {valid};
    if (!valid) return saved;
    if (!Cell::saved) saved.h = *y;
    saved.dy = *dy;
#pragma unroll
    for (int k = 0; k < Cell::saved; k++) saved.value[k] = values[k * block];
    return saved;
}

// dh: gradient of h from the step after; becomes what passes by the product with R. Returns what `step` returned, or 0.
template <class Cell>
__device__ real cell_grad(const Saved &saved, real &dh, real &dc, real (&da)[Cell::columns]) {
#pragma unroll
    for (int k = 0; k < Cell::columns; k++) da[k] = 0;
    return saved.valid ? Cell::grad(saved.dy + dh, saved.h, saved.value, dc, da, dh) : real(0);
}

// da: where the gradients of a unit begin in a row of memory, (columns, H)
template <class Cell>
__device__ void store_gradients(real *da, int H, const real (&gradient)[Cell::columns]) {
#pragma unroll
    for (int k = 0; k < Cell::columns; k++) da[(i64)k * H] = gradient[k];
}

// The kernels lstm_NAME, gru_NAME, rnn_tanh_NAME and rnn_relu_NAME: `function` for each cell. PARAMETERS: with their
// types, a macro that `function` is declared with; ARGUMENTS: their names, in parentheses.
#define KERNELS(ATTRIBUTES, NAME, function, PARAMETERS, ARGUMENTS)                                           \
    extern "C" __global__ void ATTRIBUTES lstm_##NAME(PARAMETERS) { function<Lstm> ARGUMENTS; }              \
    extern "C" __global__ void ATTRIBUTES gru_##NAME(PARAMETERS) { function<Gru> ARGUMENTS; }                \
    extern "C" __global__ void ATTRIBUTES rnn_tanh_##NAME(PARAMETERS) { function<Simple<false>> ARGUMENTS; } \
    extern "C" __global__ void ATTRIBUTES rnn_relu_##NAME(PARAMETERS) { function<Simple<true>> ARGUMENTS; }
