// CudnnRNN, a whole sequence in one launch on tensor cores: what persistent.cu does, with the recurrent weights in
// registers as fragments and the state sent as operands. Data, cells and sums are float32.
// Formulas: minirnn/ops/cudnn_rnn/__init__.py. The plain version that judges this one: cudnn_rnn/steps.cu.
//
//   one block = UNITS units of one direction: G * UNITS rows of R in tiles of 16, gate by gate
//   grid (blocks, D): the directions of a layer run side by side and never wait for each other
// At each step a block gathers the whole state h' as words (grid.cuh), every warp multiplies its pieces of all rows,
// and then one thread = one cell adds up the warps' parts, computes the gates, and sends its part of h.
#include "cudnn_rnn/cell.cuh"
#include "cudnn_rnn/direction.cuh"
#include "cudnn_rnn/gather.cuh"

// Constants of a compilation: those of fragments.cuh, -DUNITS=4|8|16 -DCELL=Lstm|Gru|.. -DKERNEL=its name
constexpr int CELLS = (ROWS * UNITS + THREADS - 1) / THREADS;  // of a thread

// A: (D, T, B, G*H), x W' of all steps        R: (D, G*H, H)        biases: (D, 2, G*H), bW and bR
// h0, h: (D, B, H), first and last state      c: (D, B, H) or null, goes from first to last
// values: (D, T, 5, B, H) or null             y: (T, B, D*H)
// words: (D, T, B, LENGTH), all bits set: the states between steps
#define PARAMETERS                                                                                             \
    int T, int B, int H, const int *lengths, const real *A, const real *R, const real *biases, const real *h0, \
        real *h, real *c_, real *values, real *y, Sent *words, u32 polls, u32 *error

template <class Cell>
__device__ void forward(PARAMETERS) {
    constexpr int G = Cell::gates, EACH = Operand::EACH, TILES = (G * UNITS + 15) / 16;
    // weights that registers don't hold; ROWS states; the warps' parts; h' and c of this block's cells, for all rows
    extern __shared__ Fragment memory[];
    u32 *const states = (u32 *)(memory + Fragments<TILES>::BEYOND);
    float *const parts = (float *)(states + ROWS * PITCH);
    real *const own_h = parts + WARPS * ROWS * Fragments<TILES>::TOTALS, *const own_c = own_h + B * UNITS;
    const Direction direction(T, B, H);
    const int d = direction.d, unit = blockIdx.x * UNITS + threadIdx.x % UNITS;
    const bool has_unit = unit < H;

    A += (i64)d * T * B * G * H, R += (i64)d * G * H * H, biases += d * 2 * G * H;
    h0 += (i64)d * B * H, h += (i64)d * B * H, c_ += c_ ? (i64)d * B * H : 0;
    values += values ? (i64)d * T * 5 * B * H : 0, words += (i64)d * T * B * VECTORS;

    Fragments<TILES> weights(memory);
    weights.load([&](int row, int k) {
        const int u = blockIdx.x * UNITS + row % UNITS;
        return row < G * UNITS && u < H && k < H ? R[((i64)(row / UNITS) * H + u) * H + k] : real(0);
    });
    Biases<Cell> bias = {};
    if (has_unit) bias.load(biases, H, unit);
    clear(states);
    for (int cell = threadIdx.x; cell < B * UNITS; cell += THREADS) {  // the thread that reads them
        const i64 k = (i64)(cell / UNITS) * H + unit;
        own_h[cell] = has_unit ? h0[k] : real(0);
        own_c[cell] = has_unit && c_ ? c_[k] : real(0);
    }
    __syncthreads();

    Watch watch = {error, polls, false};
    for (int step = 0; step < T; step++) {
        const int t = direction.forward(step);
        for (int first = 0; first < B; first += ROWS) {
            const int rows = B - first < ROWS ? B - first : ROWS;
            real a[CELLS][G];  // read early: these do not wait for anybody
#pragma unroll
            for (int n = 0; n < CELLS; n++) {
                const int row = first + (threadIdx.x + n * THREADS) / UNITS;
                const bool has_cell = has_unit && row < first + rows;
#pragma unroll
                for (int g = 0; g < G; g++)
                    a[n][g] = has_cell ? A[((i64)t * B + row) * G * H + g * H + unit] + bias.sum[g] : real(0);
            }

            if (step == 0) {
                for (int k = threadIdx.x; k < rows * LENGTH; k += THREADS) {
                    const real *row = h0 + (i64)(first + k / LENGTH) * H;
                    real x[EACH];
#pragma unroll
                    for (int e = 0; e < EACH; e++) {
                        const int u = k % LENGTH * EACH + e;
                        x[e] = u < H ? row[u] : real(0);
                    }
                    states[k / LENGTH * PITCH + k % LENGTH] = Operand::word(x);
                }
            } else {
                const Sent *sent = words + ((i64)(step - 1) * B + first) * VECTORS;
                gather(states, sent, VECTORS, rows, (H + EACH - 1) / EACH, step, watch);
            }
            if (__syncthreads_or(watch.lost)) return;
            weights.multiply(states, parts);
            __syncthreads();

#pragma unroll
            for (int n = 0; n < CELLS; n++) {
                const int tile_row = (threadIdx.x + n * THREADS) / UNITS, row = first + tile_row;
                if (n * THREADS + warp_number() * 32 >= ROWS * UNITS) continue;  // the whole warp
                const bool has_cell = has_unit && row < first + rows;
                const int own = row * UNITS + threadIdx.x % UNITS;
                real a2[G], c = has_cell ? own_c[own] : real(0), output;
#pragma unroll
                for (int g = 0; g < G; g++)
                    a2[g] = weights.total(parts, tile_row, g * UNITS + threadIdx.x % UNITS) + bias.of_recurrent(g);
                const i64 k = (i64)row * H + unit;
                const bool valid = has_cell && counts(lengths, t, row);
                real *kept = has_cell && values ? values + (i64)t * 5 * B * H + k : nullptr;
                const real h_prev = has_cell ? own_h[own] : real(0);
                const real h_new = cell_step<Cell>(valid, a[n], a2, h_prev, c, kept, (i64)B * H, output);

                const real x[2] = {h_new, __shfl_down_sync(0xffffffffu, h_new, 1)};  // the next unit's
                if (has_cell && unit % EACH == 0 && step + 1 < T)
                    send_word((u32 *)(words + ((i64)step * B + row) * VECTORS) + unit / EACH, Operand::word(x));
                if (!has_cell) continue;
                own_h[own] = h_new, own_c[own] = c;
                y[direction.at(t, row, unit)] = output;
                if (step + 1 == T) h[k] = h_new;
                if (step + 1 == T && c_) c_[k] = c;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) KERNEL(PARAMETERS) {
    forward<CELL>(T, B, H, lengths, A, R, biases, h0, h, c_, values, y, words, polls, error);
}
