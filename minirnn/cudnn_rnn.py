"""``mr.cudnn_rnn``, the public name of the objects of early TensorFlow, which `tf_contrib` defines."""

from minirnn.tf_contrib import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, RNNParamsSaveable

__all__ = ["CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh", "RNNParamsSaveable"]
