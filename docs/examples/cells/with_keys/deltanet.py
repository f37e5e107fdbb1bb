"""DeltaNet: Schlag et al. 2021, Yang et al. 2024. The matrix learns from e, the error of its answer."""

from minirnn import cell, dot, sigmoid


@cell(states="S", output="y", keys=16)
def deltanet(x_v, k_k, k_q, s_b, S):
    beta = sigmoid(s_b)
    e = x_v - dot(S, k_k)
    S = S + beta * e * k_k
    y = dot(S, k_q)
    return S, y
