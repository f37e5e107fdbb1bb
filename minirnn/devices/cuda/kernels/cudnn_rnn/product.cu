// c = a b + beta c in float32 on tensor cores, three products of TF32 for one (operands.cuh): for the products over all
// steps of a layer. The library's TF32 products, called three times, would not do: their sums over all of K are made by
// the tensor cores, which drop digits. Here these make sums of 16 products, and float32 additions the rest.
//
//   a: (M, K), b: (K, N), c: (M, N); rows of c are c_ld numbers apart, lines of a and b (what lies together) a_ld, b_ld
//   one block = ROWS x COLUMNS numbers of c, one warp = 64 x 32 of them
//   K goes by in pieces of 16; two are on their way into shared memory while one is multiplied
#include "async.cuh"
#include "cudnn_rnn/operands.cuh"

// Constants of a compilation: -DA_ALONG_K=1|0, -DB_ALONG_K=1|0, whether a row of a, a column of b, lies together
// -DPIECE=4|1: numbers that one copy moves; 4 only where all lines begin at addresses that 16 divides, and are as long
constexpr int ROWS = 128, COLUMNS = 64, DEPTH = 16, STAGES = 3, THREADS = 128;
constexpr int TILES = 4;        // of a warp: 4 x 16 rows, 4 x 8 columns
constexpr int AT_ONCE = PIECE;  // copies whose addresses are known at a time: those of single numbers are too many

// DEPTH numbers of COUNT rows of a, or of COUNT columns of b, in shared memory.
template <int COUNT, bool ALONG_K>
struct Tile {
    static constexpr int LENGTH = ALONG_K ? DEPTH : COUNT, LINES = ALONG_K ? COUNT : DEPTH;
    static constexpr int PITCH = LENGTH + (ALONG_K ? 4 : 8);  // so that what a warp reads lies in 32 banks
    static constexpr int SIZE = LINES * PITCH;

    // Where number k of a row (or column) is, in lines `pitch` apart.
    static __device__ i64 at(int row, int k, i64 pitch) { return ALONG_K ? row * pitch + k : k * pitch + row; }

    // Begins to copy the numbers from k0 on of the rows from `first` on; zeros beyond the matrix, of `rows` rows.
    static __device__ void copy(float *tile, const float *matrix, i64 ld, int first, int rows, int k0, int K) {
#pragma unroll AT_ONCE
        for (int n = 0; n < LENGTH * LINES / PIECE / THREADS; n++) {
            const int piece = threadIdx.x + n * THREADS;
            const int within = piece % (LENGTH / PIECE) * PIECE, line = piece / (LENGTH / PIECE);
            const int row = ALONG_K ? line : within, k = ALONG_K ? within : line;
            float *const to = tile + at(row, k, PITCH);
            if (first + row < rows && k0 + k < K) {
                copy_async<4 * PIECE>(to, matrix + at(first + row, k0 + k, ld));
                continue;
            }
#pragma unroll
            for (int e = 0; e < PIECE; e++) to[e] = 0;
        }
    }

    static __device__ u32 word(const float *tile, int row, int k) { return Tf32x3::word(tile + at(row, k, PITCH)); }
};

extern "C" __global__ void __launch_bounds__(THREADS)
    product(int M, int N, int K, const float *a, i64 a_ld, const float *b, i64 b_ld, float *c, i64 c_ld, float beta) {
    typedef Tile<ROWS, A_ALONG_K> A;
    typedef Tile<COLUMNS, B_ALONG_K> B;
    struct alignas(16) Stage {
        float a[A::SIZE], b[B::SIZE];
    };
    __shared__ Stage stages[STAGES];
    const int first_row = blockIdx.x * ROWS, first_column = blockIdx.y * COLUMNS;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = warp / 2 * 64 + lane / 4, column = warp % 2 * 32 + lane / 4, depth = lane % 4;
    const int pieces = (K + DEPTH - 1) / DEPTH;
    float sum[TILES][TILES][4] = {};

    auto begin = [&](int piece) {
        Stage &stage = stages[piece % STAGES];
        if (piece < pieces) {
            A::copy(stage.a, a, a_ld, first_row, M, piece * DEPTH, K);
            B::copy(stage.b, b, b_ld, first_column, N, piece * DEPTH, K);
        }
        copy_commit();
    };
    for (int piece = 0; piece < STAGES - 1; piece++) begin(piece);
    for (int piece = 0; piece < pieces; piece++) {
        copy_wait<STAGES - 2>();
        __syncthreads();  // everybody's copies are there, and nobody reads the piece before any more
        begin(piece + STAGES - 1);
        const Stage &stage = stages[piece % STAGES];
        Tf32x3::Left left[TILES][2];
#pragma unroll
        for (int m = 0; m < TILES; m++)
#pragma unroll
            for (int half = 0; half < 2; half++) {
                u32 word[4];
#pragma unroll
                for (int j = 0; j < 4; j++)
                    word[j] = A::word(stage.a, row + m * 16 + j % 2 * 8, depth + half * 8 + j / 2 * 4);
                left[m][half] = Tf32x3::left(word, HALF_A_PLACE);
            }
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            Tf32x3::Right right[2];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const u32 word = B::word(stage.b, column + n * 8, depth + half * 8);
                const u32 next = B::word(stage.b, column + n * 8, depth + half * 8 + 4);
                right[half] = Tf32x3::right(word, next, HALF_A_PLACE);
            }
#pragma unroll
            for (int m = 0; m < TILES; m++) Tf32x3::add(sum[m][n], left[m], right, HALF_A_PLACE);
        }
    }

#pragma unroll
    for (int m = 0; m < TILES; m++)
#pragma unroll
        for (int n = 0; n < TILES; n++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                const int i = first_row + row + m * 16 + j / 2 * 8;
                const int k = first_column + warp % 2 * 32 + n * 8 + depth * 2 + j % 2;
                if (i >= M || k >= N) continue;
                float *const to = c + i * c_ld + k;
                *to = sum[m][n][j] + (beta != 0 ? beta * *to : 0.0f);
            }
}
