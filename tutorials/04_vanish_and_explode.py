"""
4. Why gradients vanish and explode
===================================

*When does the signal die?*

Go back a hundred steps and you multiply a hundred matrices. Multiply a hundred numbers a bit below one, and nothing is
left; a bit above one, and nothing can hold it. Matrices do both at once, each direction its own way.
"""

# %%
# The same network three times, its recurrent matrix scaled so that its largest eigenvalue is 0.7, 1.0 and 1.3:

import numpy as np

import minirnn as mr
from minirnn.viz import gradient_flow, jacobian_spectrum, state_jacobians

T, H = 40, 8
rng = np.random.default_rng(1)
R = rng.normal(size=(H, H))
R /= np.abs(np.linalg.eigvals(R)).max()
x = 0.3 * rng.normal(size=(T, H))


def linear(radius):
    return lambda t, h: h @ (radius * R) + x[t]


def network(radius):
    return lambda t, h: mr.ops.tanh(h @ (radius * R) + x[t])


start = mr.tensor(np.zeros(H))
jacobians = {radius: state_jacobians(linear(radius), start, T) for radius in (0.7, 1.0, 1.3)}
for radius, J in jacobians.items():
    largest = np.linalg.norm(J[0], 2)
    print(f"largest eigenvalue {radius}: after {T} steps at most {largest:.1e} of a gradient is left")

# %%
# Without the nonlinearity the law is plain: :math:`0.7^{40} \approx 6 \cdot 10^{-7}` and :math:`1.3^{40} \approx
# 4 \cdot 10^{4}`. Straight lines on a logarithmic scale:

assert np.linalg.norm(jacobians[0.7][0], 2) < 1e-5 and np.linalg.norm(jacobians[1.3][0], 2) > 1e4
shrinking = jacobian_spectrum(jacobians[0.7], label="h")

# %%
# The band is the spread over directions: the best direction loses a factor of 0.7 a step, the worst far more. Gradients
# do not vanish *evenly*; after a while only one direction is left, whatever the loss asks for.
#
# Now with the tanh. Its slope is at most 1, so it can only shrink what the matrix lets through:

with_tanh = jacobian_spectrum(state_jacobians(network(1.3), start, T), label="h")
print("1.3 with tanh:", f"{np.linalg.norm(state_jacobians(network(1.3), start, T)[0], 2):.1e}")

# %%
# The same matrix that exploded by tens of thousands now loses a gradient instead: the states have moved to where tanh
# is flat. That is no rescue. A flat tanh means units that are stuck near plus or minus one.
#
# In a loss
# ---------
# What arrives at each state, from a loss on the last one:

norms = []
for radius in (0.7, 1.0, 1.3):
    h = mr.tensor(np.zeros((1, H)), requires_grad=True)
    states = [h]
    for t in range(T):
        states.append(network(radius)(t, states[-1]))
    grads = mr.grad((states[-1] ** 2).sum(), states)
    norms.append([np.linalg.norm(g) for g in grads])
flow = gradient_flow(norms, layers=["0.7", "1.0", "1.3"], quantity="gradient norm of h")

# %%
# Clipping
# --------
# Against explosion there is a blunt and good remedy: if the gradient is longer than some limit, shorten it, keeping its
# direction. Against vanishing there is none of the kind: zero times anything is zero. What helps there is another
# *path* for the gradient, one that does not multiply by a matrix at every step. That is the LSTM's idea, and the next
# tutorial.

p = mr.nn.Parameter(np.zeros(2, np.float32))
(p * np.float32([300.0, -400.0])).sum().backward()
before = mr.optim.clip_grad_norm_([p], 5.0)
print(f"norm before {float(before):.0f}, after {np.linalg.norm(p.grad):.0f}, direction {p.grad.numpy() / 5}")

# %%
# Try it
# ------
# Make ``R`` orthogonal (``np.linalg.qr(R)[0]``). What happens to the band at radius 1, without tanh and with it?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex15`` (clipping).
