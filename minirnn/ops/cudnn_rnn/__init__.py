"""CudnnRNN, V2 and V3: a whole network of recurrent layers, and its gradient.

``x`` is a layer's input at step t, ``h', c'`` the state before the step, W' means W transposed; s = sigmoid::

    rnn_tanh             h = tanh(x W' + bW + h' R' + bR)
    rnn_relu             h = max(x W' + bW + h' R' + bR, 0)

    lstm                 a_g = x W_g' + bW_g + h' R_g' + bR_g                     # for each gate g = i, f, n, o
                         i = s(a_i)   f = s(a_f)   n = tanh(a_n)   o = s(a_o)
                         c = f * c' + i * n
                         m = o * tanh(c)
                         h = m Wp' with a projection, else m                      # c is never projected

    gru                  r = s(x W_r' + bW_r + h' R_r' + bR_r)
                         z = s(x W_z' + bW_z + h' R_z' + bR_z)
                         q = h' R_n' + bR_n                                       # reset acts *after* this product
                         n = tanh(x W_n' + bW_n + r * q)
                         h = (1 - z) * n + z * h'                                 # z = 1 keeps the old state

Backward through one step, for the gradient dh of h (from the output at t and from the step that used h) and dc of c, of
which c_grad arrives from the step that used c; da and da2 are the gradients of the pre-activations on the input and on
the recurrent side::

    rnn_tanh             da = da2 = dh * (1 - h^2)
    rnn_relu             da = da2 = dh * [h > 0]                                  # 0 at 0

    lstm                 dm = dh Wp with a projection, else dh                    # and dWp = (dh)' m
                         dc = c_grad + dm * o * (1 - tanh(c)^2)
                         da_i = dc * n * i * (1 - i)
                         da_f = dc * c' * f * (1 - f)
                         da_n = dc * i * (1 - n^2)
                         da_o = dm * tanh(c) * o * (1 - o)
                         da2 = da
                         gradient of c' = dc * f

    gru                  da_n = dh * (1 - z) * (1 - n^2)
                         da_z = dh * (h' - n) * z * (1 - z)
                         da_r = da_n * q * r * (1 - r)
                         da2 = [da_r | da_z | da_n * r]

    all                  gradient of h' = da2 R                                   # gru: + dh * z
                         dx = da W   dW = (da)' x   dR = (da2)' h'                # dW, ..., dbR: summed over T and B
                         dbW = da    dbR = da2

A layer's output concatenates the two directions. It is multiplied by the dropout mask and feeds both directions of the
next layer. Past the length of a sequence, its state stays the same, its output is 0, and there is no gradient. With
zoneout, units keep their old state at random. The two lines of zoneout, which follow every cell, are in `zoneout`.

Calling this package calls the op: ``mr.ops.cudnn_rnn(input, ...)`` is `versions.cudnn_rnn`. The three public versions
are in `versions`, and their common code in `calls`. `layers` has the nodes of the tape, one for each layer, and
`compose` their composition from primitives. The parameter buffer is in `params` and `unpack`, and the reserve space in
`reserve`. The arithmetic of a layer is in `devices/cpu/cudnn_rnn/layer.py`.

Source: TensorFlow's CudnnRNN ops and cuDNN's documentation; LSTM with projection: Sak et al. 2014; GRU: Cho et al.
2014.
"""

from minirnn.callable_module import make_callable
from minirnn.ops.cudnn_rnn.versions import cudnn_rnn

__all__ = ["cudnn_rnn"]

make_callable(__name__, cudnn_rnn)
