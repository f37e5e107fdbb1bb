"""The recurrent form of retention, without its rotation and norm: Sun et al. 2023. The matrix decays by gamma."""

from minirnn import cell, dot


@cell(states="S", output="y", keys=16)
def retnet(x_v, k_k, k_q, S, *, gamma=0.96875):
    S = gamma * S + x_v * k_k
    y = dot(S, k_q)
    return S, y
