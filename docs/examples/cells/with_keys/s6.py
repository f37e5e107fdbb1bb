"""S6, the selective state space of Mamba: Gu and Dao 2023. A is learned, and x selects the step dt, k_B and k_C."""

from minirnn import cell, dot, exp, softplus


@cell(states="S", output="y", keys=16)
def s6(x_x, x_dt, k_B, k_C, S, *, A_log: "H, N", skip):  # noqa: F821
    dt = softplus(x_dt)
    A = -exp(A_log)
    S = exp(dt * A) * S + dt * x_x * k_B
    y = dot(S, k_C) + skip * x_x
    return S, y
