"""Mistakes in CUDA kernels as people make them: seen in forums and issue threads, written anew. Rows as in `cells`."""

MISTAKES = []


def mistake(exercise, what, says, *changes):
    MISTAKES.append((exercise, what, says, changes))


# First kernels in forums: the index, the guard, the store.
mistake(
    "ex17",
    "block index alone",
    "blend_gradient: race: two writes",
    ("threadIdx.x + blockDim.x * blockIdx.x", "blockIdx.x"),
)
mistake(
    "ex17",
    "gridDim for blockDim",
    "race: two writes of the same value",
    ("blockDim.x * blockIdx.x", "gridDim.x * blockIdx.x"),
)
mistake(
    "ex17",
    "last element left out",
    "dh_prev, du, dc: the last element is never written: a bound is off by one;",
    ("i < N", "i < N - 1"),
)
mistake(
    "ex17",
    "outputs exchanged",
    "dh_prev and dc are exchanged in what is returned",
    ("dh_prev[i] = g * u[i]", "dc[i] = g * u[i]"),
    ("dc[i] = g * (1.0f - u[i])", "dh_prev[i] = g * (1.0f - u[i])"),
)
mistake("ex17", "no guard", "blend_gradient: read past the end of", ("if (i < N) ", ""))
mistake(
    "ex17",
    "off by one",
    "dh_prev: dh: the number before is read, k - 1 for k",
    ("float g = dh[i];", "float g = dh[i > 0 ? i - 1 : 0];"),
)
mistake(
    "ex17",
    "u and its complement",
    "dc: u stands where 1 - u belongs: the gate and 1 minus it are exchanged",
    ("g * (1.0f - u[i])", "g * u[i]"),
)
mistake("ex17", "one output forgotten", "du: it is never written", ("        du[i] = g * (h_prev[i] - c[i]);\n", ""))
mistake(
    "ex17",
    "integer",
    "dh_prev: dh is cut to whole numbers: a variable of type int?",
    ("float g = dh[i];", "int g = dh[i];"),
)
mistake(
    "ex17",
    "only the first block",
    "dh_prev, du, dc: only the first 64 elements are written, those of block 0",
    ("if (i < N)", "if (i < blockDim.x)"),
)

# Tiled products in forums and course repositories.
mistake(
    "ex18",
    "second barrier missing",
    "product: race: read after write",
    ("xs[ty][k] * ws[k][tx];\n        __syncthreads();", "xs[ty][k] * ws[k][tx];"),
)
mistake(
    "ex18",
    "first barrier missing",
    "product: read of shared memory that was never written",
    (": 0.0f;\n        __syncthreads();", ": 0.0f;"),
)
mistake(
    "ex18",
    "last tile left out",
    "y: the last tile, which the numbers do not fill, is left out",
    ("(K + TILE - 1) / TILE", "K / TILE"),
)
mistake(
    "ex18",
    "sum reset in the loop",
    "y: only the last tile of 8 counts: is the sum set to zero for each tile?",
    ("        int kx", "        sum = 0;\n        int kx"),
)
mistake("ex18", "padding not zero", "product: read past the end of", ("(row < M && kx < K) ?", "(row < M) ?"))
mistake(
    "ex18",
    "only the first tile",
    "y: the first tile of 8 is read in every round",
    ("int kx = p * TILE + tx, ky = p * TILE + ty;", "int kx = tx, ky = ty;"),
)
mistake(
    "ex18",
    "stored transposed",
    "y: it is stored column by column: the index must count rows times the",
    ("y[row * N + col] = sum", "y[col * M + row] = sum"),
)
mistake(
    "ex18",
    "row stride N for x",
    "y: x is read with rows of N numbers, not of their own length",
    ("x[row * K + kx]", "x[row * N + kx]"),
)
mistake(
    "ex18",
    "accumulated into y",
    "y: it is added to what was in memory before, with +=; nobody has set that:",
    ("y[row * N + col] = sum", "y[row * N + col] += sum"),
)

# kaldi 3036, arrayfire 625 and 633, miniFE 13: reductions.
mistake("ex19", "no root", "norm: the square root is missing: np.sqrt((x * x).sum(1))", ("sqrtf(part[0])", "part[0]"))
mistake("ex19", "no square", "norm: the factor x is missing", ("row[j] * row[j]", "row[j]"))
mistake(
    "ex19",
    "only the first 128",
    "norm: only the first 128 numbers of a row count",
    ("for (int j = tid; j < H; j += blockDim.x) sum += row[j] * row[j];", "if (tid < H) sum = row[tid] * row[tid];"),
)
mistake(
    "ex19",
    "starts at a quarter",
    "norm: only the shares of the first 64 threads count: does the halving",
    ("blockDim.x / 2", "blockDim.x / 4"),
)
mistake(
    "ex19", "ends at two", "norm: only every other number counts: does the loop end at 2, or do odd", ("s > 0", "s > 1")
)
mistake(
    "ex19", "the first row in all blocks", "norm: the first row of x is read for every row", ("x + blockIdx.x * H", "x")
)
mistake(
    "ex19",
    "every thread stores its own",
    "norm: only the odd numbers count",
    ("sqrtf(part[0])", "sqrtf(part[tid])"),
    ("if (tid == 0)", "if (tid == 1)"),
)
mistake(
    "ex19",
    "sums overlap",
    "norm: numbers are counted several times: each thread must take its own",
    ("j += blockDim.x", "j += 1"),
)

mistake("ex20", "tanh forgotten", "h: tanh is missing: np.tanh(cs)", ("tanhf(cs[b * H + k])", "cs[b * H + k]"))
mistake(
    "ex20",
    "stored transposed",
    "h: it is stored column by column: the index must count rows times the",
    ("h[b * H + k] =", "h[k * B + b] ="),
)
mistake(
    "ex20",
    "tanh of the product",
    "h: o stands inside of tanh; it is multiplied outside",
    ("o[b * H + k] * tanhf(cs[b * H + k])", "tanhf(o[b * H + k] * cs[b * H + k])"),
)
mistake("ex20", "no guard for k", "cell_output: race: two writes of the same value", ("k < H && b < B", "b < B"))
mistake(
    "ex20",
    "stride B",
    "cell_output: read past the end of",
    ("o[b * H + k] * tanhf(cs[b * H + k])", "o[b * H + k] * tanhf(cs[b * B + k])"),
)
