"""Weight layouts: how torch, Keras, TensorFlow, cuDNN and ONNX store the weights of a recurrent network.

Each layout is read into and written from one form, the hub (`hub.py`); there is one short file per library.
"""

from minirnn.io.layouts.hub import LayerWeights, NetworkWeights
from minirnn.io.layouts.registry import LAYOUTS
from minirnn.io.layouts.settings import Settings

__all__ = ["LAYOUTS", "LayerWeights", "NetworkWeights", "Settings"]
