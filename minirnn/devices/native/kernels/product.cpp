// A single matrix product: those of Linear, and of the gradients of its weights.
#include "gemm.h"

namespace {

template <class real>
int run(const Product<real> &p, int threads, bool watch) {
    try {
        const int team = threads_for(double(p.M) * p.N * p.K, threads);
        Scratch<real> blocks(team * GEMM_SCRATCH);
        return together(team, watch, [&](Member me) { gemm<real>(p, blocks, me); });
    } catch (const std::bad_alloc &) {
        return NO_MEMORY;
    }
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int product_float(const Product<float> *p, int threads, int watch) { return run(*p, threads, watch); }
int product_double(const Product<double> *p, int threads, int watch) { return run(*p, threads, watch); }
}
