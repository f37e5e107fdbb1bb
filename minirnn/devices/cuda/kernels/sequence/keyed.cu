// A layer of a cell with keys: one block = all steps of one sample. The cell is above this file (`launch/sources.py`).
#include "sequence/keyed.cuh"

extern "C" __global__ void keyed_sequence(KeyedLayer<real, CELL> d) { keyed_forward<CELL>(d, blockIdx.x); }

extern "C" __global__ void keyed_sequence_grad(KeyedLayer<real, CELL> d) { keyed_backward<CELL>(d, blockIdx.x); }
