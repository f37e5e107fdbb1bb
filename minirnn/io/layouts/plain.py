"""One layer with weights as the hub has them, run in plain NumPy, formula by formula."""

from __future__ import annotations

import numpy as np

from minirnn.io.layouts.hub import LayerWeights


def run_layer(
    rnn_mode: str, gru: str | None, layer: LayerWeights, x: np.ndarray, h: np.ndarray, c: np.ndarray
) -> np.ndarray:
    """The outputs (T, B, H) for x (T, B, I), h and c (B, H), without projection and peepholes."""
    GH, H = layer.R.shape
    none = np.zeros(GH, layer.W.dtype)
    bW, bR = (none if b is None else b for b in (layer.bW, layer.bR))
    Z = x @ layer.W.T + bW  # (T, B, G*H), the inputs of all steps at once
    y = np.empty((*x.shape[:2], H), Z.dtype)
    for t, z in enumerate(Z):
        if rnn_mode == "lstm":
            i, f, n, o = np.split(z + h @ layer.R.T + bR, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
            h = sigmoid(o) * np.tanh(c)
        elif rnn_mode == "gru" and gru == "reset_after":
            q = h @ layer.R.T + bR  # (B, 3H)
            r, u = np.split(sigmoid(z[:, : 2 * H] + q[:, : 2 * H]), 2, axis=1)
            n = np.tanh(z[:, 2 * H :] + r * q[:, 2 * H :])
            h = (1 - u) * n + u * h
        elif rnn_mode == "gru":
            r, u = np.split(sigmoid(z[:, : 2 * H] + h @ layer.R[: 2 * H].T + bR[: 2 * H]), 2, axis=1)
            n = np.tanh(z[:, 2 * H :] + (r * h) @ layer.R[2 * H :].T + bR[2 * H :])
            h = (1 - u) * n + u * h
        else:
            a = z + h @ layer.R.T + bR
            h = np.tanh(a) if rnn_mode == "rnn_tanh" else np.maximum(a, 0)
        y[t] = h
    return y


def sigmoid(z: np.ndarray) -> np.ndarray:
    return 0.5 + 0.5 * np.tanh(0.5 * z)  # does not overflow
