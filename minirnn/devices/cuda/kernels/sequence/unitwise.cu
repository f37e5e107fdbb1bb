// All steps of a direction in one launch, for a cell whose units do not read each other. A thread takes step after step
// of steps.cu for its own units. It reads only what it wrote itself, so no thread waits for another.
//
//   first, by: the first step of the pass, and 1 or -1
//   t (of STEP): the number of steps; the arrays are those of steps.cu, each with all steps and beginning at step 0
#include "sequence/steps.cu"

#define STEPS for (i64 n = first; n >= 0 && n < t; n += by)

extern "C" __global__ void cell_unitwise(int first, int by, FORWARD, Inside in) {
    const i64 block = (i64)B * H, row = (i64)B * y_stride;
    const real *masks = in.masks;
    STEPS {
        in.masks = masks + n * CELL::MASKS * block;
        real *kept = values ? values + n * KEPT<CELL> * block : values;
        const real *gates = A + n * ROWS_OF_W<CELL> * block;
        step<CELL>(n, B, H, y_stride, lengths, gates, A2, bW, bR, vectors, kept, c_, m, h_, y + n * row, in);
    }
}

extern "C" __global__ void cell_unitwise_grad(int first, int by, BACKWARD, Inside in) {
    const i64 block = (i64)B * H, row = (i64)B * y_stride;
    const real *masks = in.masks, *dc_each = in.dc_each;
    STEPS {
        in.masks = masks + n * CELL::MASKS * block;
        in.dc_each = dc_each ? dc_each + n * block : dc_each;
        const real *kept = values + n * KEPT<CELL> * block;
        real *d_gates = da + n * GATES<CELL> * block, *d_own = d_vectors + n * CELL::VECTORS * block;
        const real *outputs = y ? y + n * row : y;
        step_grad<CELL>(n, B, H, y_stride, lengths, vectors, kept, outputs, dy + n * row, dm, dh_, dc_, d_gates, m,
                        d_own, in);
    }
}
