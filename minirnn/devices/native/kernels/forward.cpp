// The functions that Python calls: a direction of a layer forward, in float and in double.
#include "forward.h"

#include "modes.h"

#pragma GCC visibility push(default)
extern "C" {

int layer_forward_float(int mode, const Layer<float> *d, int threads, int watch) {
    return with_cell(mode, *d, [=](auto cell) { return forward(cell, *d, threads, watch); });
}
int layer_forward_double(int mode, const Layer<double> *d, int threads, int watch) {
    return with_cell(mode, *d, [=](auto cell) { return forward(cell, *d, threads, watch); });
}
}
