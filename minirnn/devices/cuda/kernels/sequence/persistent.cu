// A whole sequence of a layer in one launch: the recurrent weights stay on the chip, blocks exchange the state. The cell
// is the struct CELL. The plain version to check this one against: sequence/steps.cu.
//
//   one warp = UNITS units: their rows of R, one per gate, or one of `parts` parts of these rows, spread over the lanes
//   one block = some units of one direction, for the rows of one group of the batch  grid (columns * groups, D)
// At each step a block gathers the whole state h' as messages from all blocks of its direction, some rows of the batch
// at a time, a tile; multiplies; and sends its own units' part of h. While it multiplies, the next tile is being
// loaded. The directions of a layer, and the groups of a batch, run side by side and never wait for each other. Each
// group's blocks together hold all weights, and gather only their own rows: with G groups, 1/G of the numbers are
// moved.
#include "sequence/cell.cuh"
#include "sequence/direction.cuh"
#include "tile_gather.cuh"
#include "warp_product.cuh"

// Compile-time constants: -DCHUNKS -DPIECE (warp_product.cuh, tile_gather.cuh) -DROWS=1|2|4|8, of a tile
// -DTHREADS=the most per block
#define UNITS 2

// The rows of a tile that are multiplied at a time.
constexpr int PASS = ROWS < WIDTH ? ROWS : WIDTH;

// A: (D, T, B, ROWS_OF_W*H), x W' of all steps      R: (D, ROWS_OF_R*H, H)      biases: of a direction bW, then bR
// h0, h: (D, B, H), first and last state            c: (D, INNER, B, H) or null, goes from first to last
// values: (D, T, KEPT, B, H) or null                y: (T, B, D*H)
// batch: rows of a group, the last one may have fewer
// states: (D, T-1, B, H), all h between two steps as messages, all bits set
#define PARAMETERS                                                                                             \
    int T, int B, int H, int chunks, int parts, int batch, const int *lengths, const real *A, const real *R,   \
        const real *biases, const real *h0, real *h, real *c_, real *values, real *y, real *states, u32 polls, \
        u32 *error
template <class Cell>
__device__ void forward(PARAMETERS, Own<Cell> of_cell) {
    static_assert(Cell::STAGES == 1 && Cell::OF_BOTH + Cell::OF_H <= 4, "other cells run step by step");
    constexpr int GW = ROWS_OF_W<Cell>, G = ROWS_OF_R<Cell>, I = INNER<Cell>, N = UNITS * G,
                  PADDED = G == 3 ? 4 * UNITS : N;
    constexpr int EACH = 32 / (PASS * PADDED);  // lanes that hold the same total
    extern __shared__ Vector memory[];          // a tile, shares of products, the weights that registers don't hold
    const Direction direction(T, B, H);
    const int d = direction.d, lane = lane_number(), part = warp_number() % parts, group = warp_number() / parts;
    const int columns = gridDim.x / ((B + batch - 1) / batch);  // blocks of a group
    const int begin_row = blockIdx.x / columns * batch, end_row = min(B, begin_row + batch);
    const int units = blockDim.x / 32 / parts * UNITS, first_unit = blockIdx.x % columns * units;  // of the block
    const int length = chunks * parts * 32;  // of a state, in vectors
    const int stride = units * G + N;        // of a row of shares

    real *state = (real *)memory;                     // [row][unit]
    real *shares = (real *)(memory + ROWS * length);  // [part][row][unit of the block][gate]
    RowsOfWeights<N> weights(chunks, (Vector *)shares + (parts * ROWS * stride + WIDTH - 1) / WIDTH);
    weights.load([&](int n, int i) {  // row n: gate n % G of unit n / G
        const int u = first_unit + group * UNITS + n / G, k = part * chunks * 32 * WIDTH + i;
        return u < H && k < H ? R[((i64)(d * G + n % G) * H + u) * H + k] : real(0);
    });
    // Each thread has one cell of each tile.
    const int own = threadIdx.x % units, tile_row = threadIdx.x / units, unit = first_unit + own;
    const bool has_unit = unit < H && tile_row < ROWS;
    Biases<Cell> bias = {};
    if (has_unit) bias.load(biases + (i64)d * (GW + G) * H, H, unit);
    clear(memory, ROWS * length);
    __syncthreads();

    Watch watch = {error, polls, false};
    Gather gather(H / PIECE);
    for (int step = 0; step < T; step++) {
        const int t = direction.forward(step);
        for (int first = begin_row; first < end_row; first += ROWS) {
            const int row = first + tile_row, rows = min(ROWS, end_row - first);
            const bool has_cell = has_unit && row < end_row;
            const i64 k = ((i64)d * B + row) * H + unit;
            Step<real, Cell> s;
            real a[GW];  // read early, because these depend on no other block
#pragma unroll
            for (int j = 0; j < I; j++)
                s.before[j] = has_cell ? c_[(i64)(d * I + j) * B * H + row * H + unit] : real(0);
#pragma unroll
            for (int g = 0; g < GW; g++)
                a[g] = has_cell ? A[((i64)(d * T + t) * B + row) * GW * H + g * H + unit] + bias.sum[g] : real(0);

            if (step > 0) {
                const real *from = states + ((i64)(d * (T - 1) + step - 1) * B + first) * H;
                gather.finish(
                    rows, step, watch, [&](int b, int piece) { return from + (i64)b * H + piece * PIECE; },
                    [&](int b, int piece) { return state + b * length * WIDTH + piece * PIECE; });
            } else {
#pragma unroll 1
                for (int u = threadIdx.x; u < H; u += blockDim.x)
#pragma unroll 1
                    for (int b = 0; b < rows; b++) state[b * length * WIDTH + u] = h0[((i64)d * B + first + b) * H + u];
            }
            if (__syncthreads_or(watch.lost)) return;
            s.before[I] = has_cell ? state[tile_row * length * WIDTH + unit] : real(0);

            // The next tile: of this step, or the first one of the next.
            const bool last = first + ROWS >= end_row;
            const int step_next = step + last, first_next = last ? begin_row : first + ROWS;
            const auto begin = [&] {
                const real *from = states + ((i64)(d * (T - 1) + step_next - 1) * B + first_next) * H;
                if (0 < step_next && step_next < T) {
                    gather.begin(min(ROWS, end_row - first_next),
                                 [&](int b, int piece) { return from + (i64)b * H + piece * PIECE; });
                }
            };
            if (batch > ROWS) begin();

#pragma unroll 1
            for (int pass = 0; pass < rows; pass += PASS) {
                real sum[PASS * PADDED];
                multiply<N, PADDED>(weights, memory + pass * length + part * chunks * 32, length, sum);
                const real share = totals(sum);
                const int b = pass + lane / EACH / PADDED, n = lane / EACH % PADDED;
                if (lane % EACH == 0 && n < N) shares[(part * ROWS + b) * stride + group * N + n] = share;
            }
            __syncthreads();

            if (has_cell) {
                real a2[G];
#pragma unroll
                for (int g = 0; g < G; g++) a2[g] = bias.of_recurrent(g);
#pragma unroll 1
                for (int p = 0; p < parts; p++)
#pragma unroll
                    for (int g = 0; g < G; g++) a2[g] += shares[(p * ROWS + tile_row) * stride + own * G + g];
                const bool valid = counts(lengths, t, row);
                join_gates<Cell>(a, a2, s.gates);
                of_cell.read(s, direction, t, row, unit);
                of_cell.cell.step(s);
                // First send the data that the other blocks wait for.
                const real h_new = valid ? s.after[I] : s.before[I];
                if (step + 1 < T) send(states + ((i64)(d * (T - 1) + step) * B + row) * H + unit, h_new);
                else h[k] = h_new;
                y[direction.at(t, row, unit)] = valid ? s.after[I] : real(0);
#pragma unroll
                for (int j = 0; j < I; j++)
                    if (valid) c_[(i64)(d * I + j) * B * H + row * H + unit] = s.after[j];
                if (values) {
                    real kept[KEPT<Cell> + 1];
                    keep<Cell>(s, valid, kept);
#pragma unroll
                    for (int n = 0; n < KEPT<Cell>; n++)
                        values[(((i64)(d * T + t) * KEPT<Cell> + n) * B + row) * H + unit] = kept[n];
                }
            }
            if (batch <= ROWS) begin();  // it waits for this tile
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) cell_persistent(PARAMETERS, Own<CELL> of_cell) {
    forward<CELL>(T, B, H, chunks, parts, batch, lengths, A, R, biases, h0, h, c_, values, y, states, polls, error,
                  of_cell);
}
