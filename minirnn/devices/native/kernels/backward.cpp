// What Python calls: the gradient of a direction of a layer, and of one LSTM cell, in float and in double.
#include "backward.h"

#include "gru.h"
#include "lstm.h"
#include "lstm_block.h"
#include "simple.h"

namespace {

template <class real, class Cell>
int run(const Layer<real> &d, const Gradients<real> &g, int threads, bool watch) {
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
int backward(int mode, const Layer<real> &d, const Gradients<real> &g, int threads, bool watch) {
    switch (mode) {
        case RNN_RELU: return run<real, Simple<real, true>>(d, g, threads, watch);
        case RNN_TANH: return run<real, Simple<real, false>>(d, g, threads, watch);
        case LSTM: return run<real, Lstm<real>>(d, g, threads, watch);
        case GRU: return run<real, Gru<real>>(d, g, threads, watch);
        default: return run<real, LstmBlock<real>>(d, g, threads, watch);
    }
}

template <class real>
int cell_grad(const Layer<real> &d, const Gradients<real> &g, int threads, bool watch) {
    try {
        Backward<real, LstmBlock<real>> pass(d, g, 0);
        return together(threads_for(8. * d.B * d.H, threads), watch, [&](Member me) { pass.cell_alone(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int layer_backward_float(int mode, const Layer<float> *d, const Gradients<float> *g, int threads, int watch) {
    return backward(mode, *d, *g, threads, watch);
}
int layer_backward_double(int mode, const Layer<double> *d, const Gradients<double> *g, int threads, int watch) {
    return backward(mode, *d, *g, threads, watch);
}
int lstm_cell_grad_float(const Layer<float> *d, const Gradients<float> *g, int threads, int watch) {
    return cell_grad(*d, *g, threads, watch);
}
int lstm_cell_grad_double(const Layer<double> *d, const Gradients<double> *g, int threads, int watch) {
    return cell_grad(*d, *g, threads, watch);
}
}
