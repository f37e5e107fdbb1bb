"""CudnnRNN."""

from minirnn.callable_module import make_callable
from minirnn.ops.cudnn_rnn.versions import cudnn_rnn

make_callable(__name__, cudnn_rnn)
