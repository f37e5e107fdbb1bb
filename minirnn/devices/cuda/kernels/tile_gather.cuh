// How a block gathers lines of numbers, which other blocks send, into a tile in shared memory. It may look at some of
// them early, do something else, and wait for all of them later.
#pragma once
#include "grid.cuh"

// Constant of a compilation: -DPIECE=numbers of a load, 16 bytes of them where lines are aligned to that, else 1
#define AHEAD 4  // pieces that a thread looks at at a time

typedef Words<PIECE> Piece;

// Hides from the compiler what a number is, so that what follows from it is not kept in registers all the time.
__device__ inline void compute_anew(int &number) {
#ifndef __CUDASIM__
    asm volatile("" : "+r"(number));
#endif
}

// Lines of `pieces` pieces each, dealt out to the threads of the block. from(line, piece): where in device memory;
// to(line, piece): where in the tile. They are asked once more when somebody waits.
struct Gather {
    const int pieces;               // of a line
    const int line, rest;           // where this thread begins
    const int lines_on, pieces_on;  // how far it is to its next piece
    Piece found[AHEAD];

    __device__ explicit Gather(int pieces)
        : pieces(pieces),
          line(threadIdx.x / pieces),
          rest(threadIdx.x % pieces),
          lines_on(blockDim.x / pieces),
          pieces_on(blockDim.x % pieces) {}

    // Calls use(k, line, piece) for the next AHEAD pieces of this thread, as far as there are lines, and goes on.
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

    // The first look at the first pieces.
    template <class From>
    __device__ void begin(int lines, From from) {
        int at = line, piece = rest;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) found[k] = Piece();  // so that no register keeps what was found before
        each(at, piece, lines, [&](int k, int l, int p) { found[k] = look((const Piece *)from(l, p)); });
    }

    // Waits for all pieces, of which `begin` has looked at the first ones. In each turn all of AHEAD pieces that are
    // still missing are looked at, so that the looks travel together.
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

    // Whether all pieces that were looked at last have arrived. One that is beyond the lines is whole: it is as `begin`
    // left it, or was awaited before.
    __device__ bool complete() const {
        bool whole = true;
#pragma unroll
        for (int k = 0; k < AHEAD; k++) whole = whole && found[k].has(PIECE);
        return whole;
    }
};
