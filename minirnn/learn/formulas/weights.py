"""Weights before and during training: cuDNN's buffer, initial values, RMSprop."""

import numpy as np


def unpack(params, I, H):
    shapes = ((4 * H, I), (4 * H, H), (4 * H, H), (4 * H, H), (2, 4 * H), (2, 4 * H))
    parts, start = [], 0
    # All matrices of all layers, then all biases of all layers.
    for shape in shapes:
        size = shape[0] * shape[1]
        parts.append(params[start : start + size].reshape(shape))
        start += size
    W0, R0, W1, R1, b0, b1 = parts
    return W0, R0, W1, R1, b0, b1


def initialize(uniform, normal):
    I, H = len(uniform), normal.shape[1]
    limit = np.sqrt(6 / (I + H))
    W = limit * (2 * uniform - 1)
    blocks = []
    for a in normal:
        q, r = np.linalg.qr(a)
        # QR may choose any sign for a column. Without this the blocks would not be uniformly distributed.
        blocks.append(q * np.sign(np.diag(r)))
    R = np.concatenate(blocks, axis=1)
    b = np.zeros(4 * H)
    b[2 * H : 3 * H] = 1  # f: remember, until training says otherwise
    return W, R, b


def rmsprop_step(parameter, gradient, v, buffer, lr, alpha, eps, momentum):
    v = alpha * v + (1 - alpha) * gradient * gradient
    buffer = momentum * buffer + gradient / (np.sqrt(v) + eps)
    parameter = parameter - lr * buffer
    return parameter, v, buffer
