"""ex41  Capstone: a character model, all of it yours.

An LSTM reads letters one by one and predicts the next. Here is the text, in a language of echoes:

    bda-bda.cab-cab.aad-aad.ddb-ddb.        (as whole numbers below V, in an order that you do not know)

The first three letters of a word are random, 2 bits each, and a model that remembers them knows the next three.
Without memory a model needs 1.5 bits per letter, with memory 0.75. Yours passes below 0.9 bits on a text it has not
seen. A model learns to remember from gradients that travel back over several steps, and only if these gradients are
right.

Write two functions. You have written the pieces of the first (ex25, ex09, ex24) and of the second (ex35, ex15, ex16):
copy them here, and put them together.

    z[t] = W[ids[t]] + h[t-1] @ R + b           (B, 4H): the gates i, ci, f, o, as in ex09; a row of W for each letter
    cs[t], h[t] as in ex09, both zero before the first step
    logits[t] = h[t] @ U + c                    (B, V)
    loss = sum over t of weights[t] * the mean over the batch of -log softmax(logits[t])[ids[t+1]]

    ids (T+1, B)    weights (T,)    W (V, 4H)    R (H, 4H)    b (4H,)    U (H, V)    c (V,)

flow[t] is the norm (the root of the sum of squares) of the whole gradient (B, H) that arrives at h[t].
When you have passed, `minirnn show ex41 --diff` draws how far back a single letter's gradient flows through your model.
"""

import numpy as np  # noqa: F401


def loss_and_gradients(W, R, b, U, c, ids, weights):
    """Return loss, dW, dR, db, dU, dc, flow (T,)."""
    raise NotImplementedError("ex41")


def train(text, V, rng):
    """text (N,) whole numbers below V; rng is a NumPy generator. Return W, R, b, U, c; H <= 64, within a minute."""
    raise NotImplementedError("ex41")
