"""The tanh RNN: one step, many steps, ragged lengths, two directions."""

import numpy as np


def rnn_cell_backward(x, h_prev, W, R, h, dh):
    da = dh * (1 - h * h)
    dx = da @ W.T
    dh_prev = da @ R.T
    dW = x.T @ da
    dR = h_prev.T @ da
    db = da.sum(0)
    return dx, dh_prev, dW, dR, db


def rnn_backward(x, h0, W, R, h, dh):
    dx = np.zeros_like(x)
    dW = np.zeros_like(W)
    dR = np.zeros_like(R)
    db = np.zeros(R.shape[0])
    dh_next = np.zeros_like(h0)
    for t in reversed(range(len(x))):
        h_prev = h[t - 1] if t > 0 else h0
        # h[t] is used twice: by the loss, and by step t+1.
        dh_t = dh[t] + dh_next
        da = dh_t * (1 - h[t] * h[t])
        dx[t] = da @ W.T
        dh_next = da @ R.T
        dW += x[t].T @ da
        dR += h_prev.T @ da
        db += da.sum(0)
    dh0 = dh_next
    return dx, dh0, dW, dR, db


def rnn_lengths_backward(x, h0, W, R, h, lengths, dy, dh_n):
    dx = np.zeros_like(x)
    dW = np.zeros_like(W)
    dR = np.zeros_like(R)
    db = np.zeros(R.shape[0])
    dh_next = dh_n
    for t in reversed(range(len(x))):
        h_prev = h[t - 1] if t > 0 else h0
        m = (t < lengths)[:, None].astype(float)
        # After its end a sample's state is carried along unchanged, and so is its gradient.
        dh_t = m * dy[t] + dh_next
        da = m * dh_t * (1 - h[t] * h[t])
        dx[t] = da @ W.T
        dh_next = da @ R.T + (1 - m) * dh_t
        dW += x[t].T @ da
        dR += h_prev.T @ da
        db += da.sum(0)
    dh0 = dh_next
    return dx, dh0, dW, dR, db


def bidirectional_backward(x, W, R, h, dy, rnn_backward):
    H = R.shape[1]
    h0 = np.zeros_like(h[0, 0])
    one = rnn_backward(x, h0, W[0], R[0], h[0], dy[:, :, :H])
    # The second direction reads from the end, so everything with a time axis is reversed, in both ways.
    two = rnn_backward(x[::-1], h0, W[1], R[1], h[1, ::-1], dy[::-1, :, H:])
    dx = one[0] + two[0][::-1]
    dW = np.stack([one[2], two[2]])
    dR = np.stack([one[3], two[3]])
    db = np.stack([one[4], two[4]])
    return dx, dW, dR, db
