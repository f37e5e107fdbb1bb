// Activations, and their derivatives from the *output*: what a backward pass has at hand.
#pragma once
#include "real.cuh"

// 1 / (1 + exp(-z)) by tanh: no overflow, exactly 0 and 1 at saturation.
__device__ inline acc sigmoid(acc z) { return acc(0.5) * tanh(acc(0.5) * z) + acc(0.5); }

__device__ inline acc d_sigmoid(acc y) { return y * (1 - y); }  // y = sigmoid(z)
__device__ inline acc d_tanh(acc y) { return 1 - y * y; }       // y = tanh(z)
