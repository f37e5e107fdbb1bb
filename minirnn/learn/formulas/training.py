"""Around the gradients: other libraries' layouts, clipping, Adam."""

import numpy as np


def torch_to_block_cell(weight_ih, weight_hh, bias_ih, bias_hh):
    i, f, g, o = np.split(np.concatenate([weight_ih, weight_hh], axis=1), 4)
    w = np.concatenate([i, g, f, o]).T
    i, f, g, o = np.split(bias_ih + bias_hh, 4)
    b = np.concatenate([i, g, f, o])
    return w, b


def clip_by_global_norm(gradients, max_norm):
    norm = np.sqrt(sum(np.sum(g * g) for g in gradients))
    # One factor for all keeps the direction of the step and changes only its norm.
    scale = min(1.0, max_norm / norm)
    clipped = [g * scale for g in gradients]
    return clipped, norm


def adam_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient * gradient
    # m and v began at zero, and without this correction the first steps would be too short.
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    parameter = parameter - lr * m_hat / (np.sqrt(v_hat) + eps)
    return parameter, m, v
