// The functions that Python calls: the gradient of a direction of a layer, and of one LSTM cell, in float and in
// double.
#include "backward.h"

#include "modes.h"

namespace {

template <class real>
int cell_grad(const Layer<real> &d, const Gradients<real> &g, int threads, bool watch) {
    try {
        Backward pass(d, g, lstm_block(d), 0);
        return together(threads_for(8. * d.B * d.H, threads), watch, [&](Member me) { pass.cell_alone(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int layer_backward_float(int mode, const Layer<float> *d, const Gradients<float> *g, int threads, int watch) {
    return with_cell(mode, *d, [=](auto cell) { return backward(cell, *d, *g, threads, watch); });
}
int layer_backward_double(int mode, const Layer<double> *d, const Gradients<double> *g, int threads, int watch) {
    return with_cell(mode, *d, [=](auto cell) { return backward(cell, *d, *g, threads, watch); });
}
int lstm_cell_grad_float(const Layer<float> *d, const Gradients<float> *g, int threads, int watch) {
    return cell_grad(*d, *g, threads, watch);
}
int lstm_cell_grad_double(const Layer<double> *d, const Gradients<double> *g, int threads, int watch) {
    return cell_grad(*d, *g, threads, watch);
}
}
