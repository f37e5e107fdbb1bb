import numpy as np


def sigmoid(z):
    return 0.5 * (1 + np.tanh(0.5 * z))


def loss_and_gradients(W, R, b, U, c, ids, weights):
    T, B, H = len(ids) - 1, ids.shape[1], len(R)
    gates, cs, h = np.zeros((T, 4, B, H)), np.zeros((T + 1, B, H)), np.zeros((T + 1, B, H))
    for t in range(T):  # the states before step t are cs[t] and h[t]
        zi, zc, zf, zo = np.split(W[ids[t]] + h[t] @ R + b, 4, axis=1)
        gates[t] = sigmoid(zi), np.tanh(zc), sigmoid(zf), sigmoid(zo)
        cs[t + 1] = gates[t, 0] * gates[t, 1] + gates[t, 2] * cs[t]
        h[t + 1] = gates[t, 3] * np.tanh(cs[t + 1])
    logits = h[1:] @ U + c
    shifted = logits - logits.max(axis=2, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
    onehot = np.eye(len(c))[ids[1:]]
    share = (weights / B)[:, None, None]
    loss = -(share * onehot * log_p).sum()

    p = np.exp(log_p)
    dlogits = share * p - share * onehot
    dU = np.einsum("tbh,tbv->hv", h[1:], dlogits)
    dc = dlogits.sum((0, 1))
    flow, steps = np.zeros(T), np.zeros((T, B, 4 * H))
    dz, dcs, f = np.zeros((B, 4 * H)), np.zeros((B, H)), np.zeros((B, H))
    for t in reversed(range(T)):
        f_next = f
        i, ci, f, o = gates[t]
        co = np.tanh(cs[t + 1])
        # dz and dcs are still those of step t+1, so this is what that step sends back.
        dh = dlogits[t] @ U.T + dz @ R.T
        dcs = dcs * f_next + dh * o * (1 - co * co)
        dzi = dcs * ci * i * (1 - i)
        dzc = dcs * i * (1 - ci * ci)
        dzf = dcs * cs[t] * f * (1 - f)
        dzo = dh * co * o * (1 - o)
        dz = np.concatenate([dzi, dzc, dzf, dzo], axis=1)
        flow[t], steps[t] = np.sqrt((dh * dh).sum()), dz
    dR = np.einsum("tbh,tbg->hg", h[:-1], steps)
    db = steps.sum((0, 1))
    # Each step adds to the rows of its letters. The product with the one-hot letters does that.
    dW = np.einsum("tbv,tbg->vg", np.eye(len(W))[ids[:-1]], steps)
    return loss, dW, dR, db, dU, dc, flow


def train(text, V, rng):
    H, T, B, updates, lr = 32, 24, 32, 500, 0.01
    limit = np.sqrt(6 / (V + H))
    parameters = [
        rng.uniform(-limit, limit, size=(V, 4 * H)),
        np.concatenate([np.linalg.qr(rng.normal(size=(H, H)))[0] for _ in range(4)], axis=1),
        np.repeat([0.0, 0.0, 1.0, 0.0], H),
        rng.normal(size=(H, V)) / np.sqrt(H),
        np.zeros(V),
    ]
    m, v = [0 * a for a in parameters], [0 * a for a in parameters]
    for update in range(1, updates + 1):
        start = rng.integers(0, len(text) - T, size=B)
        ids = text[start + np.arange(T + 1)[:, None]]
        _, *gradients, _ = loss_and_gradients(*parameters, ids, np.full(T, 1 / T))
        norm = np.sqrt(sum((g * g).sum() for g in gradients))
        rate = lr * (1 - update / (updates + 1))
        for k, g in enumerate(gradients):
            g = g * min(1.0, 1.0 / norm)
            m[k] = 0.9 * m[k] + 0.1 * g
            v[k] = 0.99 * v[k] + 0.01 * g * g
            m_hat, v_hat = m[k] / (1 - 0.9**update), v[k] / (1 - 0.99**update)
            parameters[k] = parameters[k] - rate * m_hat / (np.sqrt(v_hat) + 1e-8)
    return tuple(parameters)
