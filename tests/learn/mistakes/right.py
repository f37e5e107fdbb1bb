"""Right answers of ex01 to ex20, written as students write them: the mistakes are replacements in these."""

RIGHT = {}

RIGHT["ex01"] = """import numpy as np
def mul_add_backward(x, w, dy):
    dx = w * dy
    dw = np.sum(x * dy, axis=0)
    db = np.sum(dy, axis=0)
    return dx, dw, db
"""

RIGHT["ex02"] = """def backward(tape, values):
    grad = [0.0 for _ in values]
    grad[-1] = 1.0
    for name, out, inputs in tape[::-1]:
        if name == "mul":
            grad[inputs[0]] += values[inputs[1]] * grad[out]
            grad[inputs[1]] += values[inputs[0]] * grad[out]
        elif name == "add":
            for k in inputs:
                grad[k] += grad[out]
        else:
            y = values[out]
            grad[inputs[0]] += (1 - y * y) * grad[out]
    return grad
"""

RIGHT["ex03"] = """import numpy as np
def numerical_gradient(f, x, eps):
    z = x.copy()
    grad = np.zeros(x.shape)
    it = np.nditer(x, flags=["multi_index"])
    while not it.finished:
        k = it.multi_index
        old = z[k]
        z[k] = old + eps
        up = f(z)
        z[k] = old - eps
        down = f(z)
        z[k] = old
        grad[k] = (up - down) / (2 * eps)
        it.iternext()
    return grad
"""

RIGHT["ex04"] = """import numpy as np
def slopes(f, gradient, x, v, eps):
    up = f(x + eps * v)
    down = f(x - eps * v)
    return (up - down) / (2 * eps), np.sum(gradient * v)
"""

RIGHT["ex05"] = """import numpy as np
def rnn_cell_backward(x, h_prev, W, R, h, dh):
    dtanh = (1 - h ** 2) * dh
    dx = np.dot(dtanh, W.T)
    dW = np.dot(x.T, dtanh)
    dh_prev = np.dot(dtanh, R.T)
    dR = np.dot(h_prev.T, dtanh)
    db = np.sum(dtanh, axis=0)
    return dx, dh_prev, dW, dR, db
"""

RIGHT["ex06"] = """import numpy as np
def rnn_backward(x, h0, W, R, h, dh):
    T, B, I = x.shape
    H = h0.shape[1]
    dx, dW, dR, db = np.zeros((T, B, I)), np.zeros((I, H)), np.zeros((H, H)), np.zeros(H)
    dprev = np.zeros((B, H))
    for t in range(T - 1, -1, -1):
        last = h0 if t == 0 else h[t - 1]
        dnow = dh[t] + dprev
        draw = (1 - h[t] ** 2) * dnow
        dx[t] = draw @ W.T
        dprev = draw @ R.T
        dW += x[t].T @ draw
        dR += last.T @ draw
        db += draw.sum(axis=0)
    return dx, dprev, dW, dR, db
"""

RIGHT["ex07"] = """import numpy as np
def lstm_cell_backward(x, cs_prev, h_prev, w, i, cs, f, o, ci, co, dcs, dh):
    n = x.shape[1]
    do = dh * co
    dc = dcs + dh * o * (1 - co ** 2)
    di = dc * ci
    dg = dc * i
    df = dc * cs_prev
    dcs_prev = dc * f
    ai = i * (1 - i) * di
    ag = (1 - ci ** 2) * dg
    af = f * (1 - f) * df
    ao = o * (1 - o) * do
    da = np.hstack((ai, ag, af, ao))
    inputs = np.hstack((x, h_prev))
    dw = np.dot(inputs.T, da)
    db = np.sum(da, axis=0)
    dinputs = np.dot(da, w.T)
    return dinputs[:, :n], dcs_prev, dinputs[:, n:], dw, db
"""

RIGHT["ex08"] = """import numpy as np
def peephole_cell_backward(x, cs_prev, h_prev, w, wci, wcf, wco, i, cs, f, o, ci, co, dcs, dh):
    n = x.shape[1]
    ao = dh * co * o * (1 - o)
    dc = dcs + dh * o * (1 - co ** 2) + ao * wco
    ai = dc * ci * i * (1 - i)
    ag = dc * i * (1 - ci ** 2)
    af = dc * cs_prev * f * (1 - f)
    dcs_prev = dc * f
    dcs_prev = dcs_prev + ai * wci
    dcs_prev = dcs_prev + af * wcf
    dwci = np.sum(ai * cs_prev, axis=0)
    dwcf = np.sum(af * cs_prev, axis=0)
    dwco = np.sum(ao * cs, axis=0)
    da = np.hstack((ai, ag, af, ao))
    dw = np.hstack((x, h_prev)).T @ da
    back = da @ w.T
    return back[:, :n], dcs_prev, back[:, n:], dw, dwci, dwcf, dwco, da.sum(axis=0)
"""

RIGHT["ex09"] = """import numpy as np
def lstm_backward(x, cs0, h0, w, i, cs, f, o, ci, co, h, dh):
    T, B, n = x.shape
    dx, dw, db = np.zeros(x.shape), np.zeros(w.shape), np.zeros(w.shape[1])
    dhn, dcn = np.zeros(h0.shape), np.zeros(cs0.shape)
    hs = np.concatenate([h0[None], h])
    cells = np.concatenate([cs0[None], cs])
    for t in range(T - 1, -1, -1):
        g = dh[t] + dhn
        do = g * co[t]
        dc = dcn + g * o[t] * (1 - co[t] ** 2)
        di, dg, df = dc * ci[t], dc * i[t], dc * cells[t]
        da = np.hstack([di * i[t] * (1 - i[t]), dg * (1 - ci[t] ** 2), df * f[t] * (1 - f[t]), do * o[t] * (1 - o[t])])
        dw += np.hstack([x[t], hs[t]]).T @ da
        db += da.sum(axis=0)
        back = da @ w.T
        dx[t] = back[:, :n]
        dhn = back[:, n:]
        dcn = dc * f[t]
    return dx, dcn, dhn, dw, db
"""

RIGHT["ex10"] = """import numpy as np
def gru_cell_backward(x, h_prev, w_ru, w_c, r, u, c, d_h):
    n = x.shape[1]
    dc = d_h * (1 - u)
    du = d_h * (h_prev - c)
    dh_prev = d_h * u
    ac = dc * (1 - c ** 2)
    dw_c = np.hstack([x, r * h_prev]).T @ ac
    back_c = ac @ w_c.T
    drh = back_c[:, n:]
    dr = drh * h_prev
    dh_prev = dh_prev + drh * r
    ar = dr * r * (1 - r)
    au = du * u * (1 - u)
    a = np.hstack([ar, au])
    dw_ru = np.hstack([x, h_prev]).T @ a
    back = a @ w_ru.T
    dx = back_c[:, :n] + back[:, :n]
    dh_prev = dh_prev + back[:, n:]
    return dx, dh_prev, dw_ru, dw_c, a.sum(axis=0), ac.sum(axis=0)
"""

RIGHT["ex11"] = """import numpy as np
def gru_reset_after_backward(x, h_prev, W, R, r, z, n, q, dh):
    dz = dh * (h_prev - n)
    dn = dh * (1 - z)
    an = dn * (1 - n ** 2)
    dr = an * q
    dq = an * r
    az = dz * z * (1 - z)
    ar = dr * r * (1 - r)
    a1 = np.hstack([ar, az, an])
    a2 = np.hstack([ar, az, dq])
    dx = a1 @ W
    dh_prev = a2 @ R + z * dh
    return dx, dh_prev, a1.T @ x, a2.T @ h_prev, a1.sum(axis=0), a2.sum(axis=0)
"""

RIGHT["ex12"] = """import numpy as np
def rnn_lengths_backward(x, h0, W, R, h, lengths, dy, dh_n):
    T, B, I = x.shape
    dx, dW, dR, db = np.zeros_like(x), np.zeros_like(W), np.zeros_like(R), np.zeros(R.shape[0])
    g = dh_n
    for t in range(T - 1, -1, -1):
        alive = (t < lengths).reshape(-1, 1)
        last = h[t - 1] if t else h0
        da = np.where(alive, (dy[t] + g) * (1 - h[t] ** 2), 0)
        dx[t] = da @ W.T
        dW += x[t].T @ da
        dR += last.T @ da
        db += da.sum(axis=0)
        g = np.where(alive, da @ R.T, g)
    return dx, g, dW, dR, db
"""

RIGHT["ex13"] = """import numpy as np
def bidirectional_backward(x, W, R, h, dy, rnn_backward):
    H = R.shape[-1]
    start = np.zeros((x.shape[1], H))
    fw = rnn_backward(x, start, W[0], R[0], h[0], dy[..., :H])
    bw = rnn_backward(np.flip(x, 0), start, W[1], R[1], np.flip(h[1], 0), np.flip(dy[..., H:], 0))
    dx = fw[0] + np.flip(bw[0], 0)
    return dx, np.array([fw[2], bw[2]]), np.array([fw[3], bw[3]]), np.array([fw[4], bw[4]])
"""

RIGHT["ex14"] = """import numpy as np
def torch_to_block_cell(weight_ih, weight_hh, bias_ih, bias_hh):
    H = weight_hh.shape[1]
    order = np.r_[0:H, 2 * H:3 * H, H:2 * H, 3 * H:4 * H]
    w = np.vstack([weight_ih[order].T, weight_hh[order].T])
    b = (bias_ih + bias_hh)[order]
    return w, b
"""

RIGHT["ex15"] = """import numpy as np
def clip_by_global_norm(gradients, max_norm):
    total = 0.0
    for g in gradients:
        total += np.sum(g ** 2)
    norm = np.sqrt(total)
    scale = max_norm / norm if norm > max_norm else 1.0
    return [scale * g for g in gradients], norm
"""

RIGHT["ex16"] = """import numpy as np
def adam_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient ** 2
    mt = m / (1 - beta1 ** step)
    vt = v / (1 - beta2 ** step)
    parameter = parameter - lr * mt / (np.sqrt(vt) + eps)
    return parameter, m, v
"""

RIGHT[
    "ex17"
] = """extern "C" __global__ void blend_gradient(int N, const float *dh, const float *h_prev, const float *u,
                                          const float *c, float *dh_prev, float *du, float *dc) {
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < N) {
        float g = dh[i];
        dh_prev[i] = g * u[i];
        du[i] = g * (h_prev[i] - c[i]);
        dc[i] = g * (1.0f - u[i]);
    }
}
"""

RIGHT["ex18"] = """#define TILE 8
extern "C" __global__ void product(int M, int K, int N, const float *x, const float *w, float *y) {
    __shared__ float xs[TILE][TILE], ws[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int p = 0; p < (K + TILE - 1) / TILE; ++p) {
        int kx = p * TILE + tx, ky = p * TILE + ty;
        xs[ty][tx] = (row < M && kx < K) ? x[row * K + kx] : 0.0f;
        ws[ty][tx] = (ky < K && col < N) ? w[ky * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += xs[ty][k] * ws[k][tx];
        __syncthreads();
    }
    if (row < M && col < N) y[row * N + col] = sum;
}
"""

RIGHT["ex19"] = """extern "C" __global__ void row_norms(int H, const float *x, float *norm) {
    __shared__ float part[128];
    int tid = threadIdx.x;
    const float *row = x + blockIdx.x * H;
    float sum = 0;
    for (int j = tid; j < H; j += blockDim.x) sum += row[j] * row[j];
    part[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0) norm[blockIdx.x] = sqrtf(part[0]);
}
"""

RIGHT["ex20"] = """extern "C" __global__ void cell_output(int B, int H, const float *o, const float *cs, float *h) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y * blockDim.y + threadIdx.y;
    if (k < H && b < B) h[b * H + k] = o[b * H + k] * tanhf(cs[b * H + k]);
}
"""
