// A block of a kernel on tensor cores gathers rows of words that other blocks send (grid.cuh), as operands.
#pragma once
#include "cudnn_rnn/fragments.cuh"
#include "grid.cuh"

typedef Words<VECTOR> Sent;

#define AHEAD 4  // vectors that a thread looks at before it waits for the first

// vectors: [ROWS][PITCH] words, of which the first `rows` rows are filled      sent: the first row; `stride` vectors to
// the next one      count: words of a row, the others count as 0      step: what `error` says if one stays away
__device__ inline void gather(u32 *vectors, const Sent *sent, i64 stride, int rows, int count, u32 step, Watch &watch) {
    for (int first = threadIdx.x; first < rows * VECTORS; first += AHEAD * THREADS) {
        Sent found[AHEAD];
#pragma unroll
        for (int n = 0; n < AHEAD; n++) {
            const int vector = first + n * THREADS;
            if (vector < rows * VECTORS) found[n] = look(sent + vector / VECTORS * stride + vector % VECTORS);
        }
#pragma unroll
        for (int n = 0; n < AHEAD; n++) {
            const int vector = first + n * THREADS, row = vector / VECTORS, k = vector % VECTORS;
            if (vector >= rows * VECTORS) continue;
            const int sent_here = count - k * VECTOR;
            await(sent + row * stride + k, found[n], sent_here, step, watch);
#pragma unroll
            for (int e = 0; e < VECTOR; e++)
                if (e >= sent_here) found[n].word[e] = 0;
            *(Sent *)(vectors + row * PITCH + k * VECTOR) = found[n];
        }
    }
}
