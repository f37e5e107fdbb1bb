// The CUDA C++ device language for the host's C++ compiler. It is included before every
// .cu file that the simulator compiles.
//
// One simulated thread is one fiber of the runtime library (sim/runtime). Four words are unchanged here and are
// rewritten afterwards, in the preprocessed text: __global__, __shared__, __device__, __constant__.
#pragma once
// The special functions of C++17 (Bessel, elliptic integrals ...) would be half of the text that is compiled for a
// kernel. CUDA has none of them in std. The first header of the library decides; the others come after.
#include <type_traits>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define __CUDASIM__ 1
#ifndef __CUDACC__
#define __CUDACC__ 1
#endif

#define __host__
#define __forceinline__ inline
#define __noinline__  // only a hint, and libstdc++ uses the word inside of __attribute__(())
#define __launch_bounds__(most, ...) __attribute__((cusim_most_threads(most)))  // the rewriter reads and drops it
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define __managed__
#ifndef __clang__
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#endif

#define CUSIM_API extern "C" __attribute__((visibility("default")))
#define CUSIM_INLINE inline __attribute__((always_inline))
// GCC loses no_sanitize when it inlines, so in check mode the simulator's own code is not inlined.
#ifdef CUSIM_CHECK
#define CUSIM_OWN __attribute__((noinline, no_sanitize("thread")))
#define CUSIM_CALLER __builtin_return_address(0)
#else
#define CUSIM_OWN CUSIM_INLINE
#define CUSIM_CALLER nullptr
#endif

// clang-format off
#include "cusim_agreed.h"
#include "cusim_vectors.h"
#include "cusim_threads.h"
#include "cusim_atomics.h"
#include "cusim_math.h"
#include "cusim_kernels.h"
#ifdef CUSIM_CHECK
#include "cusim_copies.h"
#endif
// clang-format on
