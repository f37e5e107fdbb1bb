// What Python calls: a direction of a layer forward and backward, in float and in double.
#include "backward.h"
#include "forward.h"
#include "gru.h"
#include "lstm.h"
#include "lstm_block.h"
#include "simple.h"

namespace {

enum Mode { RNN_RELU, RNN_TANH, LSTM, GRU, LSTM_BLOCK };

template <class real, class Cell>
int run_forward(const Layer<real> &d, int threads, bool watch) {
    try {
        Forward<real, Cell> pass(d);
        const int team = threads_for(double(d.B) * Cell::GATES * d.H * (d.I + d.P), threads);
        return together(team, watch, [&](Member me) { pass.run(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

template <class real, class Cell>
int run_backward(const Layer<real> &d, const Gradients<real> &g, int threads, bool watch) {
    try {
        Backward<real, Cell> pass(d, g, threads);
        const double a_step = double(d.B) * Cell::GATES * d.H * d.P;
        const int for_steps = threads_for(a_step, threads), for_sums = threads_for(a_step * d.T, threads);
        if (for_steps == for_sums) {
            return together(for_sums, watch, [&](Member me) {
                pass.run(me);
                pass.sums(me);
            });
        }
        const Status status = together(for_steps, watch, [&](Member me) { pass.run(me); });
        return status != DONE ? status : together(for_sums, watch, [&](Member me) { pass.sums(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

template <class real>
int run_cell_grad(const Layer<real> &d, const Gradients<real> &g, int threads, bool watch) {
    try {
        Backward<real, LstmBlock<real>> pass(d, g, 0);
        return together(threads_for(8. * d.B * d.H, threads), watch, [&](Member me) { pass.cell_alone(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

template <class real>
int forward(int mode, const Layer<real> &d, int threads, bool watch) {
    switch (mode) {
        case RNN_RELU: return run_forward<real, Simple<real, true>>(d, threads, watch);
        case RNN_TANH: return run_forward<real, Simple<real, false>>(d, threads, watch);
        case LSTM: return run_forward<real, Lstm<real>>(d, threads, watch);
        case GRU: return run_forward<real, Gru<real>>(d, threads, watch);
        default: return run_forward<real, LstmBlock<real>>(d, threads, watch);
    }
}

template <class real>
int backward(int mode, const Layer<real> &d, const Gradients<real> &g, int threads, bool watch) {
    switch (mode) {
        case RNN_RELU: return run_backward<real, Simple<real, true>>(d, g, threads, watch);
        case RNN_TANH: return run_backward<real, Simple<real, false>>(d, g, threads, watch);
        case LSTM: return run_backward<real, Lstm<real>>(d, g, threads, watch);
        case GRU: return run_backward<real, Gru<real>>(d, g, threads, watch);
        default: return run_backward<real, LstmBlock<real>>(d, g, threads, watch);
    }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// The sizes for which this library was compiled.
int native_about(int which) {
    const int known[] = {VECTOR_BYTES, GATE_ROWS, ROWS, COLUMNS};
    return known[which];
}

int layer_forward_float(int mode, const Layer<float> *d, int threads, int watch) {
    return forward(mode, *d, threads, watch);
}
int layer_forward_double(int mode, const Layer<double> *d, int threads, int watch) {
    return forward(mode, *d, threads, watch);
}
int layer_backward_float(int mode, const Layer<float> *d, const Gradients<float> *g, int threads, int watch) {
    return backward(mode, *d, *g, threads, watch);
}
int layer_backward_double(int mode, const Layer<double> *d, const Gradients<double> *g, int threads, int watch) {
    return backward(mode, *d, *g, threads, watch);
}
int lstm_cell_grad_float(const Layer<float> *d, const Gradients<float> *g, int threads, int watch) {
    return run_cell_grad(*d, *g, threads, watch);
}
int lstm_cell_grad_double(const Layer<double> *d, const Gradients<double> *g, int threads, int watch) {
    return run_cell_grad(*d, *g, threads, watch);
}
}
