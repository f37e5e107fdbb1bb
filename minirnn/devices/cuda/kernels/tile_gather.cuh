// A block gathers lines of numbers from other blocks into a tile in shared memory. It may read some of them early,
// continue with other work, and wait for all of them later.
#pragma once
#include "grid.cuh"

// Compile-time constant: -DPIECE=numbers per load, 16 bytes of them if lines are aligned to that, otherwise 1
#define AHEAD 4  // pieces that a thread polls at a time

typedef Words<PIECE> Piece;

// Hides the value of a number from the compiler, so that derived values are not kept in registers.
__device__ inline void compute_anew(int &number) {
#ifndef __CUDASIM__
    asm volatile("" : "+r"(number));
#endif
}

// Lines of `pieces` pieces each, distributed to the threads of the block. from(line, piece) is in device memory,
// to(line, piece) in the tile. They are called again while a thread waits.
struct Gather {
    const int pieces;               // of a line
    const int line, rest;           // the first piece of this thread
    const int lines_on, pieces_on;  // the distance to its next piece
    Piece found[AHEAD];

    __device__ explicit Gather(int pieces)
        : pieces(pieces),
          line(threadIdx.x / pieces),
          rest(threadIdx.x % pieces),
          lines_on(blockDim.x / pieces),
          pieces_on(blockDim.x % pieces) {}

    // Calls use(k, line, piece) for the next AHEAD pieces of this thread that exist, and advances.
    template <class Use>
    __device__ void each(int &at, int &piece, int lines, Use use) const {
        compute_anew(at), compute_anew(piece);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (at < lines) use(k, at, piece);
            at += lines_on, piece += pieces_on;
            if (piece >= pieces) piece -= pieces, at++;
        }
    }

    // Reads the first pieces for the first time.
    template <class From>
    __device__ void begin(int lines, From from) {
        int at = line, piece = rest;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) found[k] = Piece();  // so that no register keeps earlier results
        each(at, piece, lines, [&](int k, int l, int p) { found[k] = look((const Piece *)from(l, p)); });
    }

    // Waits for all pieces, of which `begin` has read the first ones. In each round all of AHEAD pieces that are
    // still missing are read together.
    template <class From, class To>
    __device__ void finish(int lines, u32 step, Watch &watch, From from, To to) {
        int at = line, piece = rest;
        while (at < lines) {
            for (u32 looked = 1; !watch.lost && !complete(); looked++) {
                watch.missed(looked, step);
                int again = at, again_piece = piece;
                each(again, again_piece, lines, [&](int k, int l, int p) {
                    if (!found[k].has(PIECE)) found[k] = look((const Piece *)from(l, p));
                });
            }
            each(at, piece, lines, [&](int k, int l, int p) { *(Piece *)to(l, p) = found[k]; });
            int next = at, next_piece = piece;
            each(next, next_piece, lines, [&](int k, int l, int p) { found[k] = look((const Piece *)from(l, p)); });
        }
    }

    // Whether all pieces of the last read have arrived. A piece beyond the lines is complete: it is unchanged since
    // `begin`, or was waited for before.
    __device__ bool complete() const {
        bool whole = true;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) whole = whole && found[k].has(PIECE);
        return whole;
    }
};
