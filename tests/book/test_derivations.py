"""Numbers that `docs/derivations.md` states in words and in a table. Tests `docs/`."""

import math
import re

import numpy as np

from tests.book.test_equations import ROOT

TEXT = " ".join((ROOT / "docs" / "derivations.md").read_text(encoding="utf-8").split())


def factor(deviation: float) -> float:
    """What the norm of a gradient keeps at a step where pre-activations are normally distributed."""
    z, weights = np.polynomial.hermite_e.hermegauss(80)
    return math.sqrt((weights * (1 - np.tanh(deviation * z) ** 2) ** 2).sum() / weights.sum())


def test_what_tanh_takes_from_a_norm_per_step() -> None:
    small, large, many = re.findall(r"factor of about ([\d.]+) per step. With 1 it keeps ([\d.]+).*?(\d+) steps", TEXT)[
        0
    ]
    assert float(small) == round(factor(0.3), 2) and float(large) == round(factor(1.0), 2)
    assert many == "40" and f"{factor(1.0) ** 40:.0e}" == "2e-07" and r"$2 \cdot 10^{-7}$" in TEXT


def test_singular_values_of_a_random_matrix_lie_between_zero_and_two() -> None:
    values = np.linalg.svd(np.random.default_rng(0).normal(size=(400, 400)) / 20, compute_uv=False)
    assert 1.9 < values[0] < 2.1 and values[-1] < 0.02


def test_the_smallest_cosine_of_clipping_by_value_is_approached() -> None:
    row = np.ones(100_000)
    row[0] = 1e9
    clipped = np.minimum(row, 1)
    cosine = row @ clipped / np.linalg.norm(row) / np.linalg.norm(clipped)
    assert f"{cosine:.3f}" == "0.003" and "cosine is then 0.003" in TEXT


def test_the_table_of_levels_follows_from_the_equation() -> None:
    rows = re.findall(r"\| (\d+)[^|]*\| (\d+) \| (\d+) \|", TEXT)
    assert len(rows) == 6
    for k, kept, passes in ((int(a), int(b), int(c)) for a, b, c in rows):
        assert kept == (4096 if k == 0 else round((k + 1) * 4096 ** (1 / (k + 1)))) and passes == k + 1
    assert math.comb(24 + 3, 24) < 4096 <= math.comb(24 + 4, 24)


def test_a_step_forward_finds_the_exponents_of_a_step_back() -> None:
    rng = np.random.default_rng(0)
    H, T = 4, 20_000
    R, h = 1.5 * rng.normal(size=(H, H)) / math.sqrt(H), np.zeros(H)
    jacobians = []
    for x in 0.3 * rng.normal(size=(T, H)):
        h = np.tanh(x + h @ R)
        jacobians.append((1 - h * h)[:, None] * R.T)
    assert "has `J` in place of `J.T`" in TEXT
    found = []
    for order in ([J.T for J in jacobians[::-1]], jacobians):
        Q, total = np.eye(H), np.zeros(H)
        for J in order:
            Q, U = np.linalg.qr(J @ Q)
            total += np.log(np.abs(np.diag(U)))
        found.append(total / T)
    assert np.allclose(*found, atol=1e-3) and np.ptp(found[0]) > 0.5
