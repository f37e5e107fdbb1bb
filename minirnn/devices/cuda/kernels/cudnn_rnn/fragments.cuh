// Products of the weights of a block with rows of a batch, on tensor cores. The weights stay in registers, as fragments,
// for as long as the kernel runs.
//
//   rows of weights come in tiles of 16; rows of the batch lie in shared memory, as words (operands.cuh)
//   a row is cut into pieces of 16 words; a warp has PIECES pieces of every row, so each word of the batch is read once
//   what the warps have summed up lies side by side in shared memory, and whoever needs a total adds these parts
#pragma once
#include "cudnn_rnn/operands.cuh"

// Constants of a compilation: -DOPERAND=Float16|Tf32|Tf32x3 -DWARPS -DPIECES -DROWS=8|16|32|64, rows of the batch at a time
typedef OPERAND Operand;
constexpr int LENGTH = WARPS * PIECES * 16;  // words of a row
constexpr int PITCH = LENGTH + 4;            // from row to row: so eight rows lie in different banks
constexpr int VECTOR = 4, VECTORS = LENGTH / VECTOR;  // words of 16 bytes; of a row

__device__ inline int lane_number() { return threadIdx.x % 32; }
__device__ inline int warp_number() { return threadIdx.x / 32; }

// TILES times 16 rows of weights, this lane's part of this warp's pieces.
template <int TILES>
struct Fragments {
    static constexpr int TOTALS = TILES * 16 + 4;                  // from row to row of the parts
    static constexpr int TOGETHER = TILES == 1 && ROWS >= 32 ? 4 : ROWS >= 16 ? 2 : 1;  // groups of 8 rows
    u32 kept[TILES][PIECES][2][4];                                 // of each piece two fragments

    // `weight(row, k)` is number k of a row, or 0 beyond its end
    template <class Source>
    __device__ void load(Source weight) {
        const int lane = lane_number();
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int piece = 0; piece < PIECES; piece++)
#pragma unroll
                for (int k = 0; k < 8; k++) {
                    const int row = tile * 16 + lane / 4 + k % 2 * 8;
                    const int word = (warp_number() * PIECES + piece) * 16 + k / 2 * 4 + lane % 4;
                    float x[Operand::EACH];
#pragma unroll
                    for (int e = 0; e < Operand::EACH; e++) x[e] = weight(row, word * Operand::EACH + e);
                    kept[tile][piece][k / 4][k % 4] = Operand::word(x);
                }
    }

    // vectors: [ROWS][PITCH] words      parts: [WARPS][ROWS][TOTALS], of which this warp fills its own
    __device__ void multiply(const u32 *vectors, float *parts) const {
        const int lane = lane_number();
        const u32 *mine = vectors + lane % 8 * PITCH + warp_number() * PIECES * 16 + lane / 8 * VECTOR;
        parts += (warp_number() * ROWS + lane % 4 * 2) * TOTALS + lane / 4;
#pragma unroll 1
        for (int first = 0; first < ROWS; first += 8 * TOGETHER, mine += 8 * TOGETHER * PITCH) {
            float sum[TILES][TOGETHER][4] = {};
#pragma unroll
            for (int piece = 0; piece < PIECES; piece++) {
#pragma unroll
                for (int n = 0; n < TOGETHER; n++) {
                    u32 words[4];
                    load_matrices<4>(words, mine + n * 8 * PITCH + piece * 16);
#pragma unroll
                    for (int half = 0; half < 2; half++) {
                        const u32 two[2] = {words[2 * half], words[2 * half + 1]};
                        typename Operand::Right right(two);
#pragma unroll
                        for (int tile = 0; tile < TILES; tile++) {
                            typename Operand::Left left(kept[tile][piece][half]);
                            Operand::add(sum[tile][n], left, right);
                        }
                    }
                }
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
