"""Backward passes in print, as a person would print them in a paper.

Tests `minirnn/cells/formulas.py`, `minirnn/cells/text.py` and `minirnn/cells/terms.py`.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cell, exp, maximum, product, sigmoid, tanh, where
from minirnn.cells.text import write
from minirnn.cells.trace import Step
from minirnn.nn.own.decorator import Cell
from minirnn.nn.own.file import definition
from tests.cells import published
from tests.cells.with_torch import CELLS, WITH_KEYS, gallery

PRINTED = """
lstm
    dc = c_grad + dh * o * (1 - tanh_c**2)
    dz_i = dc * n * i * (1 - i)
    dz_f = dc * c_prev * f * (1 - f)
    dz_n = dc * i * (1 - n**2)
    dz_o = dh * tanh_c * o * (1 - o)
    dc_prev = dc * f
peephole_lstm
    dz_o = dh * tanh_c * o * (1 - o)
    dc = c_grad + dh * o * (1 - tanh_c**2) + dz_o * wco
    dz_i = dc * n * i * (1 - i)
    dz_n = dc * i * (1 - n**2)
    dz_f = dc * c_prev * f * (1 - f)
    dc_prev = dc * f + dz_i * wci + dz_f * wcf
    dwci = sum of dz_i * c_prev
    dwcf = sum of dz_f * c_prev
    dwco = sum of dz_o * c
coupled_lstm
    dc = c_grad + dh * o * (1 - tanh_c**2)
    dz_f = dc * (c_prev - n) * f * (1 - f)
    dz_n = dc * (1 - f) * (1 - n**2)
    dz_o = dh * tanh_c * o * (1 - o)
    dc_prev = dc * f
gru
    dx_n = dh * (1 - z) * (1 - n**2)
    dz_r = dx_n * h_n * r * (1 - r)
    dz_z = dh * (h_prev - n) * z * (1 - z)
    dh_n = dx_n * r
    dh_prev = dh * z
gru_block
    dz_u = dh * (h_prev - c) * u * (1 - u)
    dx_c = dh * (1 - u) * (1 - c**2)
    drh = dx_c @ U1
    dz_r = drh * h_prev * r * (1 - r)
    dh_prev = drh * r + dh * u
mgu
    dx_n = dh * f * (1 - n**2)
    dfh = dx_n @ U1
    dz_f = (dfh * h_prev + dh * (n - h_prev)) * f * (1 - f)
    dh_prev = dfh * f + dh * (1 - f)
ugrnn
    dz_g = dh * (h_prev - c) * g * (1 - g)
    dz_c = dh * (1 - g) * (1 - c**2)
    dh_prev = dh * g
ligru
    dz_z = dh * (h_prev - a) * z * (1 - z)
    dz_a = dh * (1 - z) * (a > 0)
    dh_prev = dh * z
indrnn
    dx_a = dh * (h > 0)
    dh_prev = dx_a * u
    du = sum of dx_a * h_prev
sru
    dc = c_grad + dh * r
    dx_f = dc * (c_prev - x_n) * f * (1 - f)
    dx_r = dh * (c - x_s) * r * (1 - r)
    dx_n = dc * (1 - f)
    dx_s = dh * (1 - r)
    dc_prev = dc * f + dx_f * vf + dx_r * vr
    dvf = sum of dx_f * c_prev
    dvr = sum of dx_r * c_prev
cornn
    dv = v_grad + dt * dh
    dz_a = dt * dv * (1 - a**2)
    dh_prev = dh - dt * gamma * dv
    dv_prev = dz_a @ U1 + dv * (1 - dt * eps)
lem
    dz_2 = dt * dh * (k - h_prev) * sigmoid_z_2 * (1 - sigmoid_z_2)
    dx_h = dh * d2 * (1 - k**2)
    dh_prev = dh * (1 - d2)
    dc = c_grad + dx_h @ U1
    dz_1 = dt * dc * (n - c_prev) * sigmoid_z_1 * (1 - sigmoid_z_1)
    dz_c = dc * d1 * (1 - n**2)
    dc_prev = dc * (1 - d1)
slstm
    d1 = dh / n
    dc = c_grad + d1 * o
    dn = n_grad - d1 * h
    da_i = (dc * z + dn) * i
    da_f = (dc * c_prev + dn * n_prev) * f
    dm = m_grad - da_i - da_f
    dz_i = dm * where(n_prev > 0, where(kept >= z_i, 0, 1), 1) + da_i
    dm_prev = dm * (n_prev > 0) * (kept >= z_i) + da_f
    dz_f = dm_prev * sigmoid(-z_f)
    dz_z = dc * i * (1 - z**2)
    dz_o = d1 * c * o * (1 - o)
    dc_prev = dc * f
    dn_prev = dn * f
mingru
    dx_z = dh * (n - h_prev) * z * (1 - z)
    dx_n = dh * z * where(x_n >= 0, 1, sigmoid_x_n * (1 - sigmoid_x_n))
    dh_prev = dh * (1 - z)
minlstm
    d1 = dh * h_prev / (f + i)
    d2 = dh * x_n / (f + i)
    d3 = -d2 * I - d1 * F
    dx_f = (d1 + d3) * f * (1 - f)
    dx_i = (d2 + d3) * i * (1 - i)
    dx_n = dh * I
    dh_prev = dh * F
janet
    dz_s = dh * h_prev * f * (1 - f) - dh * tanh_z_n * t1 * (1 - t1)
    dz_n = dh * (1 - t1) * (1 - tanh_z_n**2)
    dh_prev = dh * f
atr
    da_i = dh * x_p * i * (1 - i)
    da_f = dh * h_prev * f * (1 - f)
    dx_p = dh * i + da_i + da_f
    dh_q = da_i - da_f
    dh_prev = dh * f
ran
    dc = c_grad + dh * (1 - h**2)
    dz_i = dc * x_c * i * (1 - i)
    dz_f = dc * c_prev * f * (1 - f)
    dx_c = dc * i
    dc_prev = dc * f
unicornn
    dz = z_grad + dy * s
    dx_v = -dz * s * (1 - t1**2)
    dy_prev = dy - alpha * dz * s + dx_v * w
    dw = sum of dx_v * y_prev
    dc = sum of dt * (dy * z - dz * (t1 + alpha * y_prev)) * sigmoid_c * (1 - sigmoid_c)
    dz_prev = dz
mult_lstm
    dc = c_grad + dh * o * (1 - tanh_c**2)
    dx_i = dc * n * i * (1 - i)
    dx_f = dc * c_prev * f * (1 - f)
    dx_n = dc * i * (1 - n**2)
    dx_o = dh * tanh_c * o * (1 - o)
    dc_prev = dc * f
    dm = dx_o @ U4 + dx_n @ U3 + dx_f @ U2 + dx_i @ U1
    dx_m = dm * h_m
    dh_m = dm * x_m
lru
    dre = re_grad + dy @ U1
    dx_re = dre * gamma
    dim = im_grad - dy @ U2
    dx_im = dim * gamma
    dre_prev = dre * lr + dim * li
    dim_prev = dim * lr - dre * li
    dlr = dre * re_prev + dim * im_prev
    dli = dim * re_prev - dre * im_prev
    dnu = sum of -(dlr * cos_exp_theta + dli * sin_exp_theta - (dre * x_re + dim * x_im) / gamma * r) * r * exp_nu
    dtheta = sum of (dli * r * cos_exp_theta - dlr * r * sin_exp_theta) * exp_theta
    dx_d = dy
rwkv4
    da_d1 = (da * a_prev + db * b_prev) * d1
    da_d2 = (da * x_v + db) * d2
    dp = p_grad - da_d1 - da_d2
    d3 = dy / (e1 * b_prev + e2)
    da_e1 = d3 * (sigmoid_x_r * a_prev - y * b_prev) * e1
    da_e2 = d3 * (sigmoid_x_r * x_v - y) * e2
    dq = -da_e1 - da_e2
    d4 = dq * (p_prev < u + x_k) + da_e2
    dx_k = dp * (p_prev + decay < x_k) + d4 + da_d2
    d5 = d3 * sigmoid_x_r
    dx_v = da * d2 + d5 * e2
    dx_r = d3 * (e1 * a_prev + e2 * x_v) * sigmoid_x_r * (1 - sigmoid_x_r)
    da_prev = da * d1 + d5 * e1
    db_prev = db * d1 - d3 * y * e1
    ddecay = dp * (p_prev + decay >= x_k) + da_d1
    dp_prev = dq * (p_prev >= u + x_k) + da_e1 + ddecay
    dw = sum of -ddecay * exp_w
    du = sum of d4
mlstm
    d1 = dh / maximum(abs(t2), t3)
    d2 = d1 * sigmoid_x_o
    dC = C_grad + d2 * k_q
    d3 = dot(dC, k_k)
    dx_v = d3 * i
    dn = n_grad - sum_u(d1 * h) * sign(t2) * (abs(t2) >= t3) * k_q
    dk_k = dn * i + i * sum_u(dC * x_v)
    dk_q = -sum_u(d1 * h) * sign(t2) * (abs(t2) >= t3) * n + sum_u(d2 * C)
    da_i = (dot(dn, k_k) + sum_u(d3 * x_v)) * i
    da_f = (dot(dn, n_prev) + sum_u(dot(dC, C_prev))) * f
    dm = m_grad - da_i - da_f + sum_u(d1 * h) * t3 * (abs(t2) < t3)
    ds_i = dm * (kept < s_i) + da_i
    dm_prev = dm * (kept >= s_i) + da_f
    ds_f = dm_prev * sigmoid(-s_f)
    dx_o = d1 * t1 * sigmoid_x_o * (1 - sigmoid_x_o)
    dC_prev = dC * f
    dn_prev = dn * f
gla
    dS = S_grad + dy * k_q
    dx_v = dot(dS, k_k)
    dk_k = sum_u(dS * x_v)
    dk_q = sum_u(dy * S)
    dk_a = sum_u(dS * S_prev) * a / 16 * sigmoid(-k_a)
    dS_prev = dS * a
longhorn
    dS = S_grad + dy * k_q
    d1 = dot(dS, k_k)
    dx_x = d1 * eps
    d2 = dS * S_prev
    d3 = (d1 * x_x - dot(d2 * k_k, k_k)) / (1 + beta * t1)
    dx_b = d3 * (1 - eps * t1) * beta * (1 - beta)
    dk_k = -2 * (sum_u(d2 * eps) + sum_u(d3 * eps * beta)) * k_k + sum_u(dS * eps * x_x)
    dk_q = sum_u(dy * S)
    dS_prev = dS * (1 - eps * k_k**2)
rg_lru
    d1 = dh * x_x
    dx_r = -c * (dh * h_prev - d1 * i / t1 * a) * a * softplus_Lambda * r * (1 - r)
    dx_i = d1 * t1 * i * (1 - i)
    dx_x = dh * t1 * i
    dh_prev = dh * a
    dLambda = sum of -c * (dh * h_prev - d1 * i / t1 * a) * a * r * sigmoid(Lambda)
lipschitz
    dh_a = eps * dh
    dz_w = dh_a * (1 - tanh_z_w**2)
    dh_prev = dh
exprnn
    d1 = dh * where(z > 0, 1, -1) * (abs(z) + b > 0)
    dx_a = d1 * sign(z)
    dh_a = dx_a
    db = sum of d1
gru_d
    dx_z = dh * (n - d) * z * (1 - z)
    dx_n = dh * z * (1 - n**2)
    dv3 = dx_n @ U3
    dx_r = dv3 * d * r * (1 - r)
    dd = dv3 * r + dx_z @ U2 + dx_r @ U1 + dh * (1 - z)
    dx_g = -dd * h_prev * t1 * (x_g > 0)
    dh_prev = dd * t1
clockwork
    dz_a = dh * mask_on * (1 - tanh_z_a**2)
    dh_prev = dh * (1 - mask_on)
lmu
    dx_h = dh * (1 - h**2)
    dm = m_grad + dx_h @ U2
    dx_u = dm * B
    dB = sum of dm * u
    dv1 = unit_mean(H * dx_u)
    dm_prev = dm @ U1 + dv1 * em
    dem = sum of dv1 * m_prev
    dh_u = dx_u
    dh_h = dx_h
ode_rnn
    dm2 = dt * dh * (1 - t2**2)
    dv2 = dm2 @ U + dh * (1 - dt)
    dm1 = dt * dv2 * (1 - t1**2)
    dx_a = dm1 + dm2
    dh_prev = dm1 @ U + dv2 * (1 - dt)
"""
PASSES = dict(re.findall(r"^(\w+)\n((?:    .+\n)+)", PRINTED, re.MULTILINE))


@pytest.mark.parametrize("name", PASSES)
def test_a_backward_pass_is_what_a_person_prints(name: str) -> None:
    own = getattr(published, name, None) or gallery(name)
    assert own.backward_formulas().splitlines() == [line.strip() for line in PASSES[name].splitlines()]


@pytest.mark.parametrize("name", PASSES)
def test_every_name_of_the_function_is_in_the_printed_step(name: str) -> None:
    own = getattr(published, name, None) or gallery(name)
    printed = own.forward_formulas()
    code = own.function.__code__
    for variable in set(code.co_varnames) - {"m_before", "new_re", "q2", "_"}:  # other names of a state
        assert re.search(rf"\b{variable}\b", printed), variable


def test_no_printed_formula_has_two_signs_in_a_row() -> None:
    """Of all cells, forward and backward: a - (-b), -(-a * b), a * (-b), 1 - (1 - a), -1 * a."""
    of_files = [cell for cell in vars(published).values() if isinstance(cell, Cell)]
    for own in (*map(gallery, (*CELLS, *WITH_KEYS)), *of_files):
        text = f"{own.forward_formulas()}\n{own.backward_formulas(products=True)}"
        plain = own.latex(products=True).replace(r"\left", "").replace(r"\right", "").replace(r"\odot", "*")
        for line in (*text.splitlines(), *plain.splitlines()):
            assert not re.search(r"[-+*] ?-|[-*] ?\(-|1 - \(1 -|-1 [*]", line), line


def test_functions_without_a_name_are_functions_in_latex() -> None:
    latex = published.rg_lru.latex()
    assert r"a &= e^{-c \, \log(1 + e^{\Lambda}) \odot r}" in latex and "softplus" not in latex


def test_products_with_one_matrix_have_one_gradient() -> None:
    @cell(states="h")
    def mixed(z_a: Any, h: Any) -> Any:
        m = tanh(product(h, "W_m") + z_a)
        n = product(m) - 0.3 * product(m * h, "W_m")
        return tanh(n) + 0.1 * h

    assert list(mixed.step.matrices.items()) == [("W_m", "W_m"), ("product_2", "U2")]
    assert "n = m @ U2^T - 0.3 * v3 @ W_m^T" in mixed.forward_formulas()
    lines = mixed.backward_formulas(products=True).splitlines()
    assert "dv3 = (-0.3 * dn) @ W_m" in lines
    assert "dW_m = dz_a^T @ h_prev - (0.3 * dn)^T @ v3" in lines and "dU2 = dn^T @ m" in lines
    assert r"\delta W_{m} &= \delta z_{a}^\top\, h_{t-1} - \left(0.3 \, \delta n\right)^\top" in mixed.latex(True)
    assert definition(mixed)[1:4:2] == ["m1 = product(h_prev, W_m)", "m2 = product(m)"]


@cell(states=("p", "h"))
def named(z_a: Any, x_b: Any, p: Any, h: Any) -> Any:
    minus = -exp(x_b)
    inverse = 1 / (1 + exp(z_a))
    gap = p - h
    p = maximum(p + minus, z_a - minus)
    h = tanh(h * inverse) - gap * minus + sigmoid(z_a) * (p * inverse) ** 2
    return p, h


def test_a_named_value_is_never_written_out() -> None:
    lines = dict(line.split(" = ") for line in named.forward_formulas().splitlines())
    assert (
        lines["minus"] == "-exp_x_b" and lines["inverse"] == "1 / (1 + exp_z_a)" and lines["gap"] == "p_prev - h_prev"
    )
    assert lines["p"] == "maximum(p_prev + minus, z_a - minus)"
    assert "- gap * minus + " in lines["h"] and "(p * inverse)**2" in lines["h"]
    assert r"\left(p \odot \mathit{inverse}\right)^2" in named.latex()


def test_squares_and_cubes_are_powers() -> None:
    step = Step(lambda z_a, h: (h * z_a**3 - (h + 1) ** 2 * tanh(z_a) * tanh(z_a)) / (1 + z_a**2) ** 2, ("h",))
    [after] = step.after
    text = write(after, {e: n for e, n in step.names.items() if e is not after})
    assert text == "(h_prev * z_a**3 - (h_prev + 1)**2 * tanh(z_a)**2) / (1 + z_a**2)**2"
    assert "* z_a * z_a" in write(after, step.names, "cpp", top=True)


def test_a_condition_with_a_name_keeps_it() -> None:
    @cell("h")
    def masked(z_a: Any, x_b: Any, h: Any) -> Any:
        m = where(x_b > 0, 1.0, 0.0)
        return m * tanh(z_a) + h

    assert "dh * m" in masked.backward_formulas()


def test_the_gradient_of_a_norm_on_the_page_of_own_cells_is_right(rng: np.random.Generator) -> None:
    page = (Path(__file__).parents[2] / "docs" / "own_cell.md").read_text(encoding="utf-8")
    (formula,) = re.findall(r"`dv = (.+?)`", page)
    v, dy = (mr.tensor(rng.normal(size=(3, 7)), requires_grad=True) for _ in range(2))
    y = mr.unit_norm(v)
    std = mr.sqrt(mr.unit_mean((v - mr.unit_mean(v)) ** 2) + 1e-5)
    found = eval(formula, {"unit_mean": mr.unit_mean, "dy": dy, "y": y, "std": std})
    np.testing.assert_allclose(found.detach().numpy(), mr.grad(y, v, dy).numpy(), rtol=1e-9, atol=1e-12)
    assert mr.gradcheck(mr.unit_norm, v)
