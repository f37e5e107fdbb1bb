// All steps of a layer with the made-up cell, and their gradient, by the driver of the device `native`.
#include "backward.h"
#include "forward.h"

#include "gated.h"

#pragma GCC visibility push(default)
extern "C" {
int gated_forward(const Layer<double> *d, int threads) {
    return forward(Gated<Vector<double>, double>(), *d, threads, false);
}
int gated_backward(const Layer<double> *d, const Gradients<double> *g, int threads) {
    return backward(Gated<Vector<double>, double>(), *d, *g, threads, false);
}
}
