// Products of the weights of a block with rows of a batch, on tensor cores. The weights stay on the chip, as fragments,
// for as long as the kernel runs.
//
//   rows of weights come in tiles of 16; rows of the batch lie in shared memory, as words (operands.cuh)
//   a row is cut into pieces of 16 words; a warp has PIECES pieces of every row, so each word of the batch is read
//   once. The weights of the first KEPT pieces lie in registers, any further ones in shared memory
//   what the warps have summed up lies side by side in shared memory, and whoever needs a total adds these parts
#pragma once
#include "cudnn_rnn/operands.cuh"

// Constants of a compilation: -DOPERAND=Float16|Tf32|Tf32x3 -DWARPS -DPIECES -DKEPT -DROWS=8|16|32|64, rows of the
// batch at a time
typedef OPERAND Operand;
constexpr int THREADS = 32 * WARPS;
constexpr int LENGTH = WARPS * PIECES * 16;           // words of a row
constexpr int PITCH = LENGTH + 4;                     // from row to row: so eight rows lie in different banks
constexpr int VECTOR = 4, VECTORS = LENGTH / VECTOR;  // words of 16 bytes; of a row

__device__ inline int lane_number() { return threadIdx.x % 32; }
__device__ inline int warp_number() { return threadIdx.x / 32; }

struct alignas(16) Fragment {  // of 16 rows and 8 words, this lane's part
    u32 word[4];
};

// Zeros, and in the gap behind the first row what operands are rounded with.
__device__ inline void clear(u32 *vectors) {
    for (int k = threadIdx.x; k < ROWS * PITCH; k += THREADS) vectors[k] = k == LENGTH ? HALF_A_PLACE : 0;
}

// TILES times 16 rows of weights, this lane's part of this warp's pieces.
template <int TILES>
struct Fragments {
    static constexpr int TOTALS = TILES * 16 + 4;                            // from row to row of the parts
    static constexpr int BEYOND = WARPS * (PIECES - KEPT) * TILES * 2 * 32;  // fragments in shared memory, of all lanes
    static constexpr int TOGETHER = ROWS >= 32 && TILES == 1 ? 4 : ROWS >= 16 && TILES <= 2 ? 2 : 1;  // times 8 rows
    typedef float Sums[TILES][TOGETHER][4];

    Fragment kept[KEPT][2][TILES];  // of each piece two
    Fragment *more;                 // of this lane: [piece][2][TILES], 32 apart

    __device__ Fragments(Fragment *beyond)
        : more(beyond + warp_number() * (PIECES - KEPT) * TILES * 2 * 32 + lane_number()) {}

    // `weight(row, k)` is number k of a row, or 0 beyond its end
    template <class Source>
    __device__ void load(Source weight) {
#pragma unroll
        for (int piece = 0; piece < KEPT; piece++)
#pragma unroll
            for (int n = 0; n < 2 * TILES; n++) kept[piece][n / TILES][n % TILES] = fragment(weight, piece, n);
        for (int piece = KEPT; piece < PIECES; piece++)
            for (int n = 0; n < 2 * TILES; n++) at(piece, n) = fragment(weight, piece, n);
    }

    __device__ Fragment &at(int piece, int n) const { return more[((piece - KEPT) * 2 * TILES + n) * 32]; }

    template <class Source>
    static __device__ Fragment fragment(Source weight, int piece, int n) {
        const int lane = lane_number();
        Fragment found;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int row = n % TILES * 16 + lane / 4 + k % 2 * 8;
            const int word = (warp_number() * PIECES + piece) * 16 + n / TILES * 8 + k / 2 * 4 + lane % 4;
            float x[Operand::EACH];
#pragma unroll
            for (int e = 0; e < Operand::EACH; e++) x[e] = weight(row, word * Operand::EACH + e);
            found.word[k] = Operand::word(x);
        }
        return found;
    }

    // Adds what one piece gives. words: where this lane reads that piece of the first of 8 * TOGETHER rows
    static __device__ void add_piece(const Fragment (&weights)[2][TILES], const u32 *words, u32 half_place, Sums &sum) {
        u32 found[TOGETHER][4];
#pragma unroll
        for (int n = 0; n < TOGETHER; n++) load_matrices<4>(found[n], words + n * 8 * PITCH);
        Operand::Right right[TOGETHER][2];
#pragma unroll
        for (int n = 0; n < TOGETHER; n++)
#pragma unroll
            for (int half = 0; half < 2; half++)
                right[n][half] = Operand::right(found[n][2 * half], found[n][2 * half + 1], half_place);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const Operand::Left left[2] = {Operand::left(weights[0][tile].word, half_place),
                                           Operand::left(weights[1][tile].word, half_place)};
#pragma unroll
            for (int n = 0; n < TOGETHER; n++) Operand::add(sum[tile][n], left, right[n], half_place);
        }
    }

    // vectors: [ROWS][PITCH] words, of `clear`      parts: [WARPS][ROWS][TOTALS], of which this warp fills its own
    __device__ void multiply(const u32 *vectors, float *parts) const {
        const int lane = lane_number();
        const u32 *words = vectors + lane % 8 * PITCH + warp_number() * PIECES * 16 + lane / 8 * VECTOR;
        parts += (warp_number() * ROWS + lane % 4 * 2) * TOTALS + lane / 4;
#pragma unroll 1
        for (int first = 0; first < ROWS; first += 8 * TOGETHER, words += 8 * TOGETHER * PITCH) {
            const u32 half_place = half_a_place(vectors + LENGTH);  // each time anew
            Sums sum = {};
#pragma unroll
            for (int piece = 0; piece < KEPT; piece++) add_piece(kept[piece], words + piece * 16, half_place, sum);
#pragma unroll 1
            for (int piece = KEPT; piece < PIECES; piece++) {
                Fragment weights[2][TILES];
#pragma unroll
                for (int n = 0; n < 2 * TILES; n++) weights[n / TILES][n % TILES] = at(piece, n);
                add_piece(weights, words + piece * 16, half_place, sum);
            }
#pragma unroll
            for (int tile = 0; tile < TILES; tile++)
#pragma unroll
                for (int n = 0; n < TOGETHER; n++)
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        parts[(first + n * 8 + k % 2) * TOTALS + tile * 16 + k / 2 * 8] = sum[tile][n][k];
        }
    }

    // The sum over all warps for a row of the batch and a row of weights. Always added in the same order.
    static __device__ float total(const float *parts, int batch_row, int weight_row) {
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < WARPS; warp++) sum += parts[(warp * ROWS + batch_row) * TOTALS + weight_row];
        return sum;
    }
};
