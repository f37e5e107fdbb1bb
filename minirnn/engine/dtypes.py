"""torch's names of the dtypes: ``mr.float32`` and relatives are NumPy's dtypes, which a Tensor has in `dtype`."""

import numpy as np

__all__ = ["bool", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8"]

float16 = np.dtype("float16")
float32 = np.dtype("float32")
float64 = np.dtype("float64")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
bool = np.dtype("bool")
