"""Between arrays and a loss: broadcasting, exponentials that do not overflow, cross-entropy, a table of vectors."""

import numpy as np


def unbroadcast(dy, shapes):
    gradients = []
    for shape in shapes:
        # Axes that broadcasting put in front disappear. Axes that it stretched from 1 stay, summed over their uses.
        leading = tuple(range(dy.ndim - len(shape)))
        stretched = tuple(k for k, n in enumerate(shape) if n == 1)
        gradients.append(dy.sum(leading).sum(stretched, keepdims=True))
    return gradients


def stable(z, a):
    small = np.exp(-np.abs(z))
    s = np.where(z >= 0, 1, small) / (1 + small)
    # log1p keeps the digits of `small` that 1 + small would lose.
    log_s = np.minimum(z, 0) - np.log1p(small)
    largest = a.max(axis=1)
    lse = largest + np.log(np.exp(a - largest[:, None]).sum(axis=1))
    return s, log_s, lse


def cross_entropy_backward(logits, targets, dloss):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    p = np.exp(log_p)
    onehot = np.eye(logits.shape[1])[targets]
    loss = -(onehot * log_p).sum() / len(logits)
    # The loss is a mean over the rows, so each row gets its share of dloss.
    dmean = dloss / len(logits)
    dlogits = dmean * p - dmean * onehot
    return loss, dlogits


def embedding_backward(ids, dy, V):
    dw = np.zeros((V, dy.shape[-1]))
    # A row that was looked up several times gets every contribution. dw[ids] += dy would keep only the last one.
    np.add.at(dw, ids, dy)
    return dw
