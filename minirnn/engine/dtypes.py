"""torch's names for the dtypes. ``mr.float32`` and the others are NumPy's dtypes, as in `Tensor.dtype`."""

import numpy as np

__all__ = ["bool", "double", "float16", "float32", "float64", "half", "int8", "int16", "int32", "int64", "long"]
__all__ += ["short", "uint8"]  # without float and int, because `from minirnn import *` must not replace Python's types

float16 = np.dtype("float16")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
bool = np.dtype("bool")
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
