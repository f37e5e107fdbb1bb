"""CudnnRNN, V2 and V3: a whole network of recurrent layers, and its gradient.

The steps are the page `cells`: lstm, gru, rnn_tanh and rnn_relu, and below each its backward pass. Around a step, for
the layer's input ``x`` and the state ``h_prev`` before the step::

    z_i = x @ W_i^T + bW_i + h_prev @ R_i^T + bR_i              # a gate z of both, and so on for each gate
    x_n = x @ W_n^T + bW_n,  h_n = h_prev @ R_n^T + bR_n        # gru: reset acts on h_n, *after* this product
    h = m @ Wp^T                                                # with a projection of the step's output m

Backward, from the gradients of the gates. For the gru, dx_n goes back through W, and dh_n through R::

    dm = dh @ Wp,  dWp = dh^T @ m                               # with a projection; c is never projected
    dx = [dz_i | dz_f | ..] @ W,  dW = [dz_i | dz_f | ..]^T @ x
    dh_prev += [dz_i | dz_f | ..] @ R,  dR = [dz_i | dz_f | ..]^T @ h_prev
    dbW = dbR = sum of [dz_i | dz_f | ..]                       # dW, .., dbR: summed over T and B

A layer's output concatenates the two directions. It is multiplied by the dropout mask and feeds both directions of the
next layer. Past the length of a sequence, its state stays the same, its output is 0, and there is no gradient. With
zoneout, units keep their old state at random (`zoneout`).

Calling this package calls the op: ``mr.ops.cudnn_rnn(input, ...)`` is `versions.cudnn_rnn`. The three public versions
are in `versions`, and their common code in `calls`. `layers` makes one node of the tape for each layer. The node
and its composition from primitives are in `minirnn.ops.sequence`. The parameter buffer is in `params`, and
the reserve space in `reserve`.

Source: TensorFlow's CudnnRNN ops and cuDNN's documentation; LSTM with projection: Sak et al. 2014; GRU: Cho et al.
2014.
"""

from minirnn.lookup.callable_module import make_callable
from minirnn.ops.cudnn_rnn.versions import cudnn_rnn

__all__ = ["cudnn_rnn"]

make_callable(__name__, cudnn_rnn)
