"""The statements of the chapters 22 and 23, checked in them, as in `test_claims.py`. Tests `tutorials/`."""

from math import comb
from types import SimpleNamespace

import numpy as np
import pytest

import minirnn as mr

pytestmark = pytest.mark.slow


# ---- 22. Products of random Jacobians


def test_22_the_disc_moves_with_the_bias_and_its_edge_is_the_rate(chapter: SimpleNamespace) -> None:
    for b, found in chapter.rightmost.items():
        assert abs(found - (1 / (1 + np.exp(-b)) + 1 / np.sqrt(3) / 4)) < 0.015
    assert chapter.rightmost[1.0] < 1 < chapter.rightmost[2.0]
    found = chapter.found  # of the last bias
    assert (np.abs(found) < 1e-9).sum() == chapter.H  # H zeros
    others = np.sort_complex(found[np.abs(found) > 1e-9])
    expected = np.sort_complex(1 / (1 + np.exp(-2.0)) + np.linalg.eigvals(chapter.R_c) / 4)
    assert np.allclose(others, expected, atol=1e-6)


def test_22_amplitudes_add_for_the_same_matrix_and_squares_for_new_ones(chapter: SimpleNamespace) -> None:
    f, g = chapter.f, chapter.g
    assert np.allclose(chapter.same, chapter.same_formula, rtol=0.15)
    assert np.allclose(chapter.new, (f**2 + g**2) ** (chapter.steps / 2), rtol=0.15)
    assert chapter.same[40] > 200 * chapter.new[40] and chapter.new[40] < 3 * f**40
    shares = {
        n: sum((comb(n, k) * f ** (n - k) * g**k) ** 2 for k in range(n + 1)) ** 0.5 / (f + g) ** n for n in (40, 640)
    }
    assert np.isclose(shares[40], chapter.same_formula[40] / (f + g) ** 40) and abs(shares[40] - 1 / 3) < 0.02
    assert abs(shares[640] / shares[40] - 16**-0.25) < 0.005  # it falls like n^(-1/4)
    late = np.array(chapter.same_formula)[-2:]
    assert abs(late[1] / late[0] - (f + g)) < 0.01
    norm = np.linalg.norm(f * np.eye(512) + g * np.random.default_rng(1).normal(size=(512, 512)) / np.sqrt(512), 2)
    assert f + g < norm < f + 2 * g


def test_22_inputs_move_the_edge_of_chaos_to_larger_radii(chapter: SimpleNamespace) -> None:
    a, b, c = chapter.edges.values()
    assert abs(a - 1) < 0.05 and abs(b - 1.4) < 0.05 and abs(c - 1.86) < 0.05
    for s, rates in chapter.rates.items():
        formula = [chapter.tanh_formula(rho, s) for rho in chapter.radii]
        assert np.allclose(rates, formula, rtol=0.08 if s else 0.15)
    assert chapter.rates[0.0][-1] < 1.5 < chapter.radii[-1]  # the rate is far smaller than the radius


def test_22_initial_values_in_a_table(chapter: SimpleNamespace) -> None:
    rho = {name: row[0] for name, row in chapter.table.items()}
    expected = [1 / np.sqrt(3), 0.5, np.sqrt(2 * 128 / (32 + 5 * 128)), 1, np.sqrt(2)]
    assert np.allclose(list(rho.values()), expected, rtol=0.02)
    critical = [row[2] for row in chapter.table.values()]
    assert np.allclose(critical, [1.78, 1.95, 1.70, 1.10, 0.60], atol=0.03)
    assert all(abs(row[1] / row[0] - 1) < 0.15 for row in chapter.table.values())


def test_22_chrono_needs_its_input_bias_and_an_untrained_gru_stays_below_one(chapter: SimpleNamespace) -> None:
    assert all(rate < 1 for rate in chapter.both.values())
    assert 1 / (1 + np.exp(-2.0)) + 1 / np.sqrt(48) > 1
    rng, H = np.random.default_rng(2), 64
    weights = rng.uniform(-1, 1, (4, H, H)) / np.sqrt(H)
    for b, both in ((b, both) for b in (0.0, 2.0, 5.0) for both in (True, False)):  # an LSTM at zero states

        def lstm(state: mr.Tensor, b: float = b, b_i: float = -b * both) -> mr.Tensor:
            z_i, z_f, z_n, z_o = (state[H:] @ R for R in weights)
            c = mr.sigmoid(z_f + b) * state[:H] + mr.sigmoid(z_i + b_i) * mr.tanh(z_n)
            return mr.cat([c, mr.sigmoid(z_o) * mr.tanh(c)])

        found = np.linalg.eigvals(mr.jacobian(lstm, mr.tensor(np.zeros(2 * H))).numpy()).real.max()
        f, edge = 1 / (1 + np.exp(-b)), np.linalg.eigvals(weights[2]).real.max()
        assert np.isclose(found, f + (1 - f if both else 0.5) * edge / 2) and (not both or found < 1)
        assert np.isclose(chapter.both[b], f + (1 - f) / np.sqrt(3) / 2) and abs(edge - 1 / np.sqrt(3)) < 0.15
    R = rng.uniform(-1, 1, (3 * H, H)) / np.sqrt(H)
    for b in (-1.0, 0.0, 2.0, 5.0):  # the Jacobian of torch's GRU at zero states, from the tape
        bias = np.concatenate([np.zeros(H), np.full(H, b), np.zeros(H)])

        def step(h: mr.Tensor, bias: np.ndarray = bias) -> mr.Tensor:
            r_u, n = mr.sigmoid((h @ R.T + bias)[: 2 * H]), h @ R[2 * H :].T
            return r_u[H:] * h + (1 - r_u[H:]) * mr.tanh(r_u[:H] * n)

        found = np.linalg.eigvals(mr.jacobian(step, mr.tensor(np.zeros(H))).numpy())
        u = 1 / (1 + np.exp(-b))
        assert np.isclose(found.real.max(), u + (1 - u) * np.linalg.eigvals(R[2 * H :]).real.max() / 2)
        assert found.real.max() < 1


def test_22_above_the_critical_bias_growth_ends_by_itself() -> None:
    """An LSTM in NumPy, torch's initial values, forget bias 3: a tangent vector through 600 steps."""
    rng, H = np.random.default_rng(3), 128
    R = [rng.uniform(-1, 1, (H, H)) / np.sqrt(H) for _ in range(4)]
    c, h = np.zeros(H), np.zeros(H)
    x = 0.5 * rng.normal(size=(600, 4, H))
    dc, dh, logs = rng.normal(size=H), np.zeros(H), []
    for t in range(600):
        z, dz = [h @ R[k] + x[t, k] + 3 * (k == 1) for k in range(4)], [dh @ R[k] for k in range(4)]
        i, f, o = (1 / (1 + np.exp(-z[k])) for k in (0, 1, 3))
        n = np.tanh(z[2])
        dc = f * dc + c * f * (1 - f) * dz[1] + n * i * (1 - i) * dz[0] + i * (1 - n * n) * dz[2]
        c = f * c + i * n
        h, dh = o * np.tanh(c), np.tanh(c) * o * (1 - o) * dz[3] + o * (1 - np.tanh(c) ** 2) * dc
        norm = np.sqrt(dc @ dc + dh @ dh)
        dc, dh = dc / norm, dh / norm
        logs.append(np.log(norm))
    early, late = np.exp(np.mean(logs[10:60])), np.exp(np.mean(logs[300:]))
    assert early > 1.01 and 0.995 < late < 1.012 and np.sqrt(np.mean(c**2)) > 1


# ---- 23. Linear recurrences


def test_23_the_backward_pass_is_the_scan_from_the_end(chapter: SimpleNamespace) -> None:
    assert chapter.rounds == 10 and np.abs(chapter.h - chapter.loop(chapter.a, chapter.b)).max() < 1e-12
    assert chapter.worst < 1e-12
    again, rounds = chapter.scan(chapter.a[:37], chapter.b[:37])
    assert rounds == 6 and np.allclose(again, chapter.h[:37])


def test_23_mingru_is_a_scan_and_s6_is_a_gate(chapter: SimpleNamespace) -> None:
    assert chapter.mingru_error < 1e-6
    assert "dh_prev = dh * (1 - z)" in chapter.mingru.backward_formulas()
    assert np.allclose(chapter.by_loop, chapter.by_convolution)
    z = np.linspace(-5, 5, 11)
    assert np.allclose(np.exp(-np.log1p(np.exp(z))), 1 - 1 / (1 + np.exp(-z)))


def test_23_deltanet_replaces_and_linear_attention_adds(chapter: SimpleNamespace) -> None:
    errors = {name: np.linalg.norm(got - chapter.second) for name, got in chapter.read.items()}
    assert errors["DeltaNet"] < 1e-12 and np.isclose(errors["linear attention"], np.linalg.norm(chapter.first))
    for beta in (0.0, 0.7, 2.0):
        assert np.isclose(np.linalg.norm(np.eye(8) - beta * np.outer(chapter.key, chapter.key), 2), 1)


def test_23_costs_of_a_scan_and_of_attention(chapter: SimpleNamespace) -> None:
    costs = chapter.costs(4096)
    assert costs["diagonal, scan"][1] == 12 and costs["LSTM"][1] == 4096
    assert chapter.costs(8192)["softmax attention"][2] == 4 * costs["softmax attention"][2]
    assert costs["softmax attention"][3] > 100 * costs["linear attention"][3]


def test_23_iteration_k_makes_the_first_k_steps_exact(chapter: SimpleNamespace) -> None:
    rng, T = np.random.default_rng(5), 12  # one unit far above the rate 1, where Newton is slow
    x, s, right = rng.normal(size=T), np.zeros(T), [0.0]
    for t in range(T):
        right.append(np.tanh(3 * right[-1] + x[t]))
    for k in range(1, T + 1):
        before = np.concatenate([[0.0], s[:-1]])
        after = np.tanh(3 * before + x)
        e = 0.0
        r, slope = after - s, 3 * (1 - after**2)
        for t in range(T):
            e = slope[t] * e + r[t]
            s[t] += e
        assert np.allclose(s[:k], right[1 : k + 1])
