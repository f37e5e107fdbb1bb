// What Python calls: a direction of a layer forward, in float and in double.
#include "forward.h"

#include "gru.h"
#include "lstm.h"
#include "lstm_block.h"
#include "simple.h"

namespace {

template <class real, class Cell>
int run(const Layer<real> &d, int threads, bool watch) {
    try {
        Forward<real, Cell> pass(d);
        const int team = threads_for(double(d.B) * Cell::GATES * d.H * (d.I + d.P), threads);
        return together(team, watch, [&](Member me) { pass.run(me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

template <class real>
int forward(int mode, const Layer<real> &d, int threads, bool watch) {
    switch (mode) {
        case RNN_RELU: return run<real, Simple<real, true>>(d, threads, watch);
        case RNN_TANH: return run<real, Simple<real, false>>(d, threads, watch);
        case LSTM: return run<real, Lstm<real>>(d, threads, watch);
        case GRU: return run<real, Gru<real>>(d, threads, watch);
        default: return run<real, LstmBlock<real>>(d, threads, watch);
    }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int layer_forward_float(int mode, const Layer<float> *d, int threads, int watch) {
    return forward(mode, *d, threads, watch);
}
int layer_forward_double(int mode, const Layer<double> *d, int threads, int watch) {
    return forward(mode, *d, threads, watch);
}
}
