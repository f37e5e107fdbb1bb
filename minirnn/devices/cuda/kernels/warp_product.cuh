// Products of a few rows of weights with a few vectors, by one warp: the lanes share a row, and every lane keeps its
// part of the weights in registers while the kernel runs.
//
//   a row is cut into chunks of 32 vectors of 16 bytes, one vector per lane; numbers past its end count as zero
//   the first CHUNKS chunks are in registers, any further ones in shared memory; a row has at least CHUNKS chunks
//   several vectors (rows of a batch) are multiplied at a time: each piece that is read is used for all rows of weights
#pragma once
#include "real.cuh"

// Compile-time constant: -DCHUNKS=1..8
#define WIDTH (16 / (int)sizeof(real))  // elements of a vector

struct alignas(16) Vector {
    real element[WIDTH];
};

__device__ inline int lane_number() { return threadIdx.x % 32; }
__device__ inline int warp_number() { return threadIdx.x / 32; }

// N rows of weights, this lane's part.
template <int N>
struct RowsOfWeights {
    Vector kept[CHUNKS][N];
    Vector *more;  // of this warp, in shared memory: [chunk][row][lane]
    int chunks;    // in all

    // `beyond`: shared memory of the block for chunks that do not fit in registers, if there are more than CHUNKS
    // chunks
    __device__ RowsOfWeights(int chunks = CHUNKS, Vector *beyond = nullptr)
        : more(beyond + warp_number() * (chunks - CHUNKS) * N * 32), chunks(chunks) {}

    // `weight(n, k)` is element k of row n, or 0 past its end
    template <class Source>
    __device__ void load(Source weight) {
#pragma unroll
        for (int chunk = 0; chunk < CHUNKS; chunk++) {
#pragma unroll
            for (int n = 0; n < N; n++) load(kept[chunk][n], weight, chunk, n);
            __syncwarp();  // keeps the compiler from loading all of them at once and running out of registers
        }
        for (int chunk = CHUNKS; chunk < chunks; chunk++)
            for (int n = 0; n < N; n++) load(at(chunk, n), weight, chunk, n);
    }

    template <class Source>
    static __device__ void load(Vector &vector, Source weight, int chunk, int n) {
#pragma unroll
        for (int e = 0; e < WIDTH; e++) vector.element[e] = weight(n, (chunk * 32 + lane_number()) * WIDTH + e);
    }

    __device__ Vector &at(int chunk, int n) const { return more[((chunk - CHUNKS) * N + n) * 32 + lane_number()]; }
};

// Sets `count` vectors in shared memory to zero.
__device__ inline void clear(Vector *vectors, int count) {
    for (int k = threadIdx.x; k < count * WIDTH; k += blockDim.x) ((real *)vectors)[k] = 0;
}

// Adds the products of one chunk of the weights to the sums. vectors: this lane's part of that chunk, `length` apart
template <int N, int PADDED, int V>
__device__ void add_chunk(const Vector (&weights)[N], const Vector *vectors, int length, real (&sum)[V]) {
#pragma unroll
    for (int b = 0; b < V / PADDED; b++) {
        const Vector x = vectors[b * length];
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < WIDTH; e++) sum[b * PADDED + n] += weights[n].element[e] * x.element[e];
    }
}

// Sums of this lane: sum[b * PADDED + n] of row n of the weights times vector b; the vectors lie `length` apart.
// PADDED: N, or more for a power of two; the padding stays 0.
template <int N, int PADDED, int V>
__device__ void multiply(const RowsOfWeights<N> &weights, const Vector *vectors, int length, real (&sum)[V]) {
    const int lane = lane_number();
#pragma unroll
    for (int k = 0; k < V; k++) sum[k] = 0;
#pragma unroll
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        add_chunk<N, PADDED>(weights.kept[chunk], vectors + chunk * 32 + lane, length, sum);
#pragma unroll 1  // registers are scarce
    for (int chunk = CHUNKS; chunk < weights.chunks; chunk++) {
        Vector w[N];
#pragma unroll
        for (int n = 0; n < N; n++) w[n] = weights.at(chunk, n);
        add_chunk<N, PADDED>(w, vectors + chunk * 32 + lane, length, sum);
    }
}

// The sums over all lanes, distributed: lane k returns the total of sum[k / (32 / V)]. Always added in the same order.
// At each of five exchanges a lane keeps half of its sums and gives the others to a partner, until one is left.
template <int V>
__device__ real totals(real (&sum)[V]) {
    const int lane = lane_number();
#pragma unroll
    for (int distance = 16, half = V / 2; distance > 0; distance /= 2, half /= 2) {
        if (half == 0) {
            sum[0] += __shfl_xor_sync(0xffffffffu, sum[0], distance);
            continue;
        }
        const bool upper = lane & distance;
#pragma unroll
        for (int k = 0; k < V / 2; k++) {
            if (k >= half) break;
            const real kept = upper ? sum[k + half] : sum[k];
            const real given = upper ? sum[k] : sum[k + half];
            sum[k] = kept + __shfl_xor_sync(0xffffffffu, given, distance);
        }
    }
    return sum[0];
}
