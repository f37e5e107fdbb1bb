// The order of a row of gradients in shared memory: the gates of a unit lie side by side, as many as one store takes.
//
//   real     G = 4                                     G = 3                        G = 1
//   float    units, of each i f n o                    units, of each r z; then q   units
//   double   units, of each i f; units, of each n o    the same                     the same
#pragma once
#include "warp_product.cuh"

// The numbers of one store.
template <int N>
struct alignas(N * sizeof(real)) Piece {
    real number[N];
};

template <int G>
struct Pieces {
    static constexpr int wide = G >= WIDTH ? WIDTH : G == 1 ? 1 : 2;  // gates of the first piece of a unit
    static constexpr int rest = G - wide;                             // and of the second one
    const int H;

    __device__ explicit Pieces(int H) : H(H) {}

    // The unit and the gate of number i of a row.
    __device__ int unit_at(int i) const { return i < wide * H ? i / wide : (i - wide * H) / (rest ? rest : 1); }
    __device__ int gate_at(int i) const { return i < wide * H ? i % wide : wide + (i - wide * H) % (rest ? rest : 1); }

    // Calls store(place, piece) for each piece of a unit. row: its beginning; number(gate): what is to lie there
    template <class Number, class Store>
    __device__ void each(real *row, int unit, Number number, Store store) const {
        Piece<wide> first;
#pragma unroll
        for (int k = 0; k < wide; k++) first.number[k] = number(k);
        store((Piece<wide> *)(row + unit * wide), first);
        if constexpr (rest > 0) {
            Piece<rest> second;
#pragma unroll
            for (int k = 0; k < rest; k++) second.number[k] = number(wide + k);
            store((Piece<rest> *)(row + wide * H + unit * rest), second);
        }
    }
};
