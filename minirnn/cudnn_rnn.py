"""The public name of the objects of early TensorFlow, ``mr.cudnn_rnn``; they live in `tf_contrib`."""

from minirnn.tf_contrib import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, RNNParamsSaveable

__all__ = ["CudnnGRU", "CudnnLSTM", "CudnnRNNRelu", "CudnnRNNTanh", "RNNParamsSaveable"]
