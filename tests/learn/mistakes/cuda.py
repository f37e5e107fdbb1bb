"""Mistakes in CUDA kernels as people make them: seen in forums and issue threads, written anew. Rows as in `python`."""

MISTAKES = []


def mistake(exercise, what, says, *changes):
    MISTAKES.append((exercise, what, says, changes))


# First kernels in forums: the index, the guard, the store.
mistake("ex17", "block index alone", "", ("threadIdx.x + blockDim.x * blockIdx.x", "blockIdx.x"))
mistake("ex17", "gridDim for blockDim", "", ("blockDim.x * blockIdx.x", "gridDim.x * blockIdx.x"))
mistake("ex17", "last element left out", "", ("i < N", "i < N - 1"))
mistake(
    "ex17",
    "outputs exchanged",
    "",
    ("dh_prev[i] = g * u[i]", "dc[i] = g * u[i]"),
    ("dc[i] = g * (1.0f - u[i])", "dh_prev[i] = g * (1.0f - u[i])"),
)
mistake("ex17", "no guard", "", ("if (i < N) ", ""))
mistake("ex17", "off by one", "", ("float g = dh[i];", "float g = dh[i > 0 ? i - 1 : 0];"))
mistake("ex17", "u and its complement", "", ("g * (1.0f - u[i])", "g * u[i]"))
mistake("ex17", "one output forgotten", "", ("        du[i] = g * (h_prev[i] - c[i]);\n", ""))
mistake("ex17", "integer", "", ("float g = dh[i];", "int g = dh[i];"))
mistake("ex17", "only the first block", "", ("if (i < N)", "if (i < blockDim.x)"))

# Tiled products in forums and course repositories.
mistake(
    "ex18", "second barrier missing", "", ("xs[ty][k] * ws[k][tx];\n        __syncthreads();", "xs[ty][k] * ws[k][tx];")
)
mistake("ex18", "first barrier missing", "", (": 0.0f;\n        __syncthreads();", ": 0.0f;"))
mistake("ex18", "last tile left out", "", ("(K + TILE - 1) / TILE", "K / TILE"))
mistake("ex18", "sum reset in the loop", "", ("        int kx", "        sum = 0;\n        int kx"))
mistake("ex18", "padding not zero", "", ("(row < M && kx < K) ?", "(row < M) ?"))
mistake("ex18", "only the first tile", "", ("int kx = p * TILE + tx, ky = p * TILE + ty;", "int kx = tx, ky = ty;"))
mistake("ex18", "stored transposed", "", ("y[row * N + col] = sum", "y[col * M + row] = sum"))
mistake("ex18", "row stride N for x", "", ("x[row * K + kx]", "x[row * N + kx]"))
mistake("ex18", "accumulated into y", "", ("y[row * N + col] = sum", "y[row * N + col] += sum"))

# kaldi 3036, arrayfire 625 and 633, miniFE 13: reductions.
mistake("ex19", "no root", "", ("sqrtf(part[0])", "part[0]"))
mistake("ex19", "no square", "", ("row[j] * row[j]", "row[j]"))
mistake(
    "ex19",
    "only the first 128",
    "",
    ("for (int j = tid; j < H; j += blockDim.x) sum += row[j] * row[j];", "if (tid < H) sum = row[tid] * row[tid];"),
)
mistake("ex19", "starts at a quarter", "", ("blockDim.x / 2", "blockDim.x / 4"))
mistake("ex19", "ends at two", "", ("s > 0", "s > 1"))
mistake("ex19", "the first row in all blocks", "", ("x + blockIdx.x * H", "x"))
mistake(
    "ex19",
    "every thread stores its own",
    "",
    ("sqrtf(part[0])", "sqrtf(part[tid])"),
    ("if (tid == 0)", "if (tid == 1)"),
)
mistake("ex19", "sums overlap", "", ("j += blockDim.x", "j += 1"))

mistake("ex20", "tanh forgotten", "", ("tanhf(cs[b * H + k])", "cs[b * H + k]"))
mistake("ex20", "stored transposed", "", ("h[b * H + k] =", "h[k * B + b] ="))
mistake(
    "ex20", "tanh of the product", "", ("o[b * H + k] * tanhf(cs[b * H + k])", "tanhf(o[b * H + k] * cs[b * H + k])")
)
mistake("ex20", "no guard for k", "", ("k < H && b < B", "b < B"))
mistake("ex20", "stride B", "", ("o[b * H + k] * tanhf(cs[b * H + k])", "o[b * H + k] * tanhf(cs[b * B + k])"))
