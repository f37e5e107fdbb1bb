"""Linear attention as a recurrent network: Katharopoulos et al. 2020. S maps keys to values, n normalizes."""

from minirnn import cell, dot, exp, where


@cell(states=("S", "n"), output="y", keys=16)
def linear_attention(x_v, k_k, k_q, S, n):
    k = where(k_k > 0, k_k + 1, exp(k_k))  # elu(k_k) + 1
    q = where(k_q > 0, k_q + 1, exp(k_q))
    S = S + x_v * k
    n = n + k
    y = dot(S, q) / (dot(n, q) + 1e-6)
    return S, n, y
