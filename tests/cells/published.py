"""Published cells that the gallery lacks, written from their papers."""

from typing import Any

from minirnn import (
    abs,
    cell,
    cos,
    dot,
    exp,
    maximum,
    product,
    relu,
    sigmoid,
    sin,
    softplus,
    sqrt,
    tanh,
    unit_mean,
    where,
)


@cell(states="h")
def mingru(x_z: Any, x_n: Any, h: Any) -> Any:
    """Feng et al. 2024, with the g of their log-space version."""
    z = sigmoid(x_z)
    n = where(x_n >= 0, x_n + 0.5, sigmoid(x_n))
    h = (1 - z) * h + z * n
    return h


@cell(states="h")
def minlstm(x_f: Any, x_i: Any, x_n: Any, h: Any) -> Any:
    """Feng et al. 2024."""
    f, i = sigmoid(x_f), sigmoid(x_i)
    F = f / (f + i)
    I = i / (f + i)  # noqa: E741
    h = F * h + I * x_n
    return h


@cell(states="h")
def janet(z_s: Any, z_n: Any, h: Any, *, beta: float = 1.0) -> Any:
    """Van der Westhuizen and Lasenby 2018."""
    f = sigmoid(z_s)
    h = f * h + (1 - sigmoid(z_s - beta)) * tanh(z_n)
    return h


@cell(states="h")
def atr(x_p: Any, h_q: Any, h: Any) -> Any:
    """Zhang et al. 2018."""
    i = sigmoid(x_p + h_q)
    f = sigmoid(x_p - h_q)
    h = i * x_p + f * h
    return h


@cell(states=("c", "h"))
def ran(x_c: Any, z_i: Any, z_f: Any, c: Any, h: Any) -> Any:
    """Lee, Levy and Zettlemoyer 2017."""
    i, f = sigmoid(z_i), sigmoid(z_f)
    c = i * x_c + f * c
    h = tanh(c)
    return c, h


@cell(states=("z", "y"))
def unicornn(x_v: Any, z: Any, y: Any, *, w: Any, c: Any, dt: float = 0.1, alpha: float = 0.9) -> Any:
    """Rusch and Mishra 2021."""
    s = dt * sigmoid(c)
    z = z - s * (tanh(w * y + x_v) + alpha * y)
    y = y + s * z
    return z, y


@cell(states=("c", "h"))
def mult_lstm(x_m: Any, h_m: Any, x_i: Any, x_f: Any, x_n: Any, x_o: Any, c: Any, h: Any) -> Any:
    """Krause et al. 2016."""
    m = x_m * h_m
    i = sigmoid(x_i + product(m))
    f = sigmoid(x_f + product(m))
    n = tanh(x_n + product(m))
    o = sigmoid(x_o + product(m))
    c = f * c + i * n
    h = o * tanh(c)
    return c, h


@cell(states=("re", "im"), output="y")
def lru(x_re: Any, x_im: Any, x_d: Any, re: Any, im: Any, *, nu: Any, theta: Any) -> Any:
    """Orvieto et al. 2023: a complex diagonal, by its real and imaginary parts."""
    r = exp(-exp(nu))
    lr, li = r * cos(exp(theta)), r * sin(exp(theta))
    gamma = sqrt(1 - r * r)
    new_re = lr * re - li * im + gamma * x_re
    im = lr * im + li * re + gamma * x_im
    re = new_re
    y = product(re) - product(im) + x_d
    return re, im, y


@cell(states=("a", "b", "p"), output="y")
def rwkv4(x_k: Any, x_v: Any, x_r: Any, a: Any, b: Any, p: Any, *, w: Any, u: Any) -> Any:
    """The time mixing of Peng et al. 2023."""
    q = maximum(p, u + x_k)
    e1, e2 = exp(p - q), exp(u + x_k - q)
    y = sigmoid(x_r) * (e1 * a + e2 * x_v) / (e1 * b + e2)
    decay = -exp(w)
    q2 = maximum(p + decay, x_k)
    d1, d2 = exp(p + decay - q2), exp(x_k - q2)
    a = d1 * a + d2 * x_v
    b = d1 * b + d2
    p = q2
    return a, b, p, y


@cell(states="h")
def lipschitz(h_a: Any, z_w: Any, h: Any, *, eps: float = 0.03) -> Any:
    """Erichson et al. 2021."""
    h = h + eps * (h_a + tanh(z_w))
    return h


@cell(states="h")
def exprnn(x_a: Any, h_a: Any, h: Any, *, b: Any) -> Any:
    """Lezcano-Casado and Martinez-Rubio 2019, with modReLU."""
    z = x_a + h_a
    h = where(z > 0, relu(abs(z) + b), -relu(abs(z) + b))
    return h


@cell(states="h")
def gru_d(x_g: Any, x_r: Any, x_z: Any, x_n: Any, h: Any) -> Any:
    """Che et al. 2018: h decays before the gates read it."""
    d = exp(-relu(x_g)) * h
    r = sigmoid(x_r + product(d))
    z = sigmoid(x_z + product(d))
    n = tanh(x_n + product(r * d))
    h = (1 - z) * d + z * n
    return h


@cell(states="h")
def clockwork(z_a: Any, mask_on: Any, h: Any) -> Any:
    """Koutnik et al. 2014."""
    h = mask_on * tanh(z_a) + (1 - mask_on) * h
    return h


@cell(states=("m", "h"))
def lmu(x_u: Any, h_u: Any, x_h: Any, h_h: Any, m: Any, h: Any, *, em: Any, B: Any, H: float = 8.0) -> Any:
    """Voelker et al. 2019, with a memory of order H."""
    u = x_u + h_u + H * unit_mean(em * m)
    m = product(m) + B * u
    h = tanh(x_h + h_h + product(m))
    return m, h


@cell(states="h")
def ode_rnn(x_a: Any, h: Any, *, dt: float = 0.5) -> Any:
    """Rubanova et al. 2019, with two steps of Euler's method."""
    for _ in range(2):
        h = h + dt * (tanh(x_a + product(h, "U")) - h)
    return h


@cell(states="h")
def rg_lru(x_r: Any, x_i: Any, x_x: Any, h: Any, *, Lambda: Any, c: float = 8.0) -> Any:
    """De et al. 2024, the recurrence of Griffin."""
    r = sigmoid(x_r)
    i = sigmoid(x_i)
    a = exp(-c * softplus(Lambda) * r)
    h = a * h + sqrt(1 - a**2) * (i * x_x)
    return h


@cell(states="S", output="y", keys=4)
def gla(x_v: Any, k_k: Any, k_q: Any, k_a: Any, S: Any) -> Any:
    """Gated linear attention: Yang et al. 2024. The root of the gate is ``sigmoid(k_a) ** (1 / 16)``."""
    a = exp(-softplus(-k_a) / 16)
    S = a * S + x_v * k_k
    y = dot(S, k_q)
    return S, y


@cell(states="S", output="y", keys=4)
def longhorn(x_x: Any, x_b: Any, k_k: Any, k_q: Any, S: Any) -> Any:
    """Liu et al. 2024."""
    beta = sigmoid(x_b)
    eps = beta / (1 + beta * dot(k_k, k_k))
    S = (1 - eps * k_k**2) * S + eps * x_x * k_k
    y = dot(S, k_q)
    return S, y
