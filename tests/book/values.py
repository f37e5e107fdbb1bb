"""Values that sentences of the book are bound to and that no chapter computes.

Everything is NumPy, without minirnn, but `sliders_keep`, `hessian_cost`, `second_alone` and `largest_layer`. Those of
`docs/on_paper.md` are in `answers.py`.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from docs.playground_weights import draws
from minirnn.devices.counting import Counting
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.sequence.choice import H200
from minirnn.devices.cuda.launch.sequence.layout import layout_of
from minirnn.devices.cuda.launch.sequence.sizes import Sizes
from minirnn.ops.cudnn_rnn.cells import plan_of
from tests.site.playground_reference import numbers

RATES = json.loads((Path(__file__).parents[2] / "docs" / "data" / "lstm_rates.json").read_text(encoding="utf-8"))[
    "rows"
]


def sigmoid(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def rate_of_long_lags() -> float:
    """The learning rate of the stored runs of chapter 7."""
    script = Path(__file__).parents[2] / "scripts" / "evidence" / "long_lags.py"
    return float(script.read_text(encoding="utf-8").partition("\nRATE = ")[2].split()[0])


def steps_to_learn(task: str, network: str, lag: int, rate: float) -> list[int | None]:
    """The steps of the stored runs of chapter 7 with another learning rate, in the order of their seeds."""
    rows = json.loads((Path(__file__).parents[2] / "docs" / "data" / "long_lags.json").read_text(encoding="utf-8"))[
        "rows"
    ]
    wanted = [r for r in rows if (r["task"], r["network"], r["lag"], r.get("rate")) == (task, network, lag, rate)]
    return [row.get("solved") for row in wanted]


def sizes_of_long_lags() -> list[int]:
    """Units, sequences and copied symbols of the large and of the small runs of chapter 7."""
    script = Path(__file__).parents[2] / "scripts" / "evidence" / "long_lags.py"
    line = next(line for line in script.read_text(encoding="utf-8").splitlines() if line.startswith("LARGE, SMALL = "))
    return [int(number) for number in re.findall(r"\b\d+\b", line)]


def runs_that_learn(steps: str) -> int:
    """How many of the runs of a table of chapter 7 learned."""
    return sum(n != "-" for n in steps.split())


def small_runs(name: str) -> list[Any]:
    """The learning rates, or another setting, of the stored runs of chapter 7 with five seeds."""
    path = Path(__file__).parents[2] / "docs" / "data" / "five_seeds.json"
    return sorted({row[name] for row in json.loads(path.read_text(encoding="utf-8"))["rows"]})


def sooner(case: dict[str, Any], one: str, other: str) -> bool:
    """Chapter 7: whether a network learned in fewer steps than another one, for each seed and rate."""
    steps = [
        np.array([float(n.replace("-", "inf")) for n in " ".join(case[name][2:]).split()]) for name in (one, other)
    ]
    return bool((steps[0] < steps[1]).all())


def detours(means: dict[str, float]) -> list[float]:
    """The strengths of the paths of chapter 5 through h."""
    return [means[name] for name in ("forget gate", "input gate", "candidate")]


def rates_near(late: bool, bias: tuple[float, ...], within: float, to: float | None = None) -> bool:
    """Whether the mean measured factors per step are close to a number, by default to sigma(b) + rho / 4."""
    name = "late" if late else "measured"
    for b in bias:
        for size in (0.0, 1.0):
            found = np.mean([row[name] for row in RATES if (row["bias"], row["inputs"]) == (b, size) and name in row])
            wanted = to or sigmoid(b) + 3**-0.5 / 4
            if abs(found / wanted - 1) > within:
                return False
    return True


@cache
def small_states(bias: float, H: int = 512) -> float:
    """By which factor per step a tiny state of an LSTM without inputs grows, between 20 and 60 steps."""
    rng = np.random.default_rng(0)
    R_i, R_f, R_c, R_o = rng.uniform(-1, 1, (4, H, H)) / math.sqrt(H)
    c, norms = 1e-9 * rng.normal(size=H), []
    h = c / 2
    for _ in range(60):
        f, i, o, n = sigmoid(h @ R_f + bias), sigmoid(h @ R_i), sigmoid(h @ R_o), np.tanh(h @ R_c)
        c = f * c + i * n
        h = o * np.tanh(c)
        norms.append(np.linalg.norm(c))
    return float((norms[-1] / norms[19]) ** (1 / 40))


def tied_over_new(f: float, g: float, n: int) -> float:
    """The norm that the same random matrix at every step leaves, relative to that of a new one at each step."""
    tied = sum(math.comb(n, k) ** 2 * f ** (2 * (n - k)) * g ** (2 * k) for k in range(n + 1))
    return math.sqrt(tied / (f * f + g * g) ** n)


def error_at(found: tuple[np.ndarray, dict[int, float]], reach: float) -> float:
    """Chapter 7: the mean error around the first step, after the 50th, at which the reach is larger than a bound."""
    losses, reached = found
    return float(next(losses[step - 25] for step in sorted(reached) if step >= 50 and reached[step] > reach))


def reach_before(found: tuple[np.ndarray, dict[int, float]], error: float) -> float:
    """Chapter 7: the reach when the mean error around a step is first below a bound, after the 100th step."""
    losses, reached = found
    return next(reached[step] for step in sorted(reached) if step >= 100 and losses[step - 25] < error)


@cache
def relu_keeps(identity: bool, H: int = 256, T: int = 20) -> float:
    """What a step of a relu network keeps of a gradient's norm, with R orthogonal or the identity."""
    rng = np.random.default_rng(1)
    R = np.eye(H) if identity else np.linalg.qr(rng.normal(size=(H, H)))[0]
    h, on = np.zeros(H), []
    for x in 0.3 * rng.normal(size=(T, H)):
        h = np.maximum(h @ R + x, 0)
        on.append(h > 0)
    g = rng.normal(size=H)
    back = g
    for slopes in reversed(on):
        back = (back * slopes) @ R.T
    return float((np.linalg.norm(back) / np.linalg.norm(g)) ** (1 / T))


def radius_of_one_of_four(H: int = 200) -> float:
    """The spectral radius of one gate's matrix, if the (4H, H) matrix of all gates has orthogonal columns."""
    all_gates = np.linalg.qr(np.random.default_rng(0).normal(size=(4 * H, H)))[0]
    return float(np.abs(np.linalg.eigvals(all_gates[:H])).max())


def _lstm(scale: float, seed: int, T: int, H: int, I: int = 4, bias: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The Jacobian of c_T with respect to c_1, and the product of the four-path Jacobians."""
    rng = np.random.default_rng(seed)
    W, R = np.split(scale * rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H), [I])
    R_i, R_f, R_c, R_o = np.split(R, 4, axis=1)
    h, c, S = np.zeros(H), np.zeros(H), np.zeros((H, H))
    C, E, four = np.eye(H), S, np.eye(H)
    for t, x in enumerate(rng.normal(size=(T, I))):
        z_i, z_f, z_c, z_o = np.split(x @ W + h @ R, 4)
        i, f, n, o, before, S_before = sigmoid(z_i), sigmoid(z_f + bias), np.tanh(z_c), sigmoid(z_o), c, S
        c = f * c + i * n
        h, S = o * np.tanh(c), np.diag(o * (1 - np.tanh(c) ** 2))
        if t == 0:
            E = S
            continue
        pairs = ((n * i * (1 - i), R_i), (before * f * (1 - f), R_f), (i * (1 - n * n), R_c))
        K = sum(slope[:, None] * matrix.T for slope, matrix in pairs)
        C = np.diag(f) @ C + K @ E
        E = S @ C + (np.tanh(c) * o * (1 - o))[:, None] * R_o.T @ E
        four = (np.diag(f) + K @ S_before) @ four
    return C, four


@cache
def off(scale: float) -> float:
    """How far the product of 19 four-path Jacobians is from the Jacobian, relative, the mean over five networks."""
    both = [_lstm(scale, seed, 20, 16) for seed in range(5)]
    return float(np.mean([np.linalg.norm(four - C) / np.linalg.norm(C) for C, four in both]))


@cache
def rate_of_the_fifth_path() -> float:
    """The relative difference of the rates between 100 and 200 steps with and without the fifth path, torch's sizes."""
    scale = 3**-0.5 * math.sqrt(132 / 128)
    (C, four), (later_C, later_four) = (_lstm(scale, 0, T, 128) for T in (100, 200))
    rates = [(np.linalg.norm(b) / np.linalg.norm(a)) ** 0.01 for a, b in ((C, later_C), (four, later_four))]
    return float(abs(rates[0] / rates[1] - 1))


@cache
def sliders_keep(bias: float) -> float:
    """What the LSTM behind the sliders of chapter 5 keeps of its gradient over 60 steps, at the start."""
    settings = {"cell": "lstm", "radius": 1.0, "forget": bias, "T": 60, "weight": 0, "draw": 0}
    norms = numbers(settings, draws()[0], [])["dc"]
    return float(norms[0] / norms[-1])


@cache
def hessian_cost(T: int = 10, B: int = 16, I: int = 32, H: int = 64) -> float:
    """Chapter 13: the operations of a product with the Hessian of a plain network, per operation of the gradient."""
    rng, device = np.random.default_rng(0), Counting("cpu")
    x, z, v = (mr.tensor(rng.normal(size=shape), device=device) for shape in ((T, B, I), (B, H), (I + H, H)))
    w = mr.tensor(rng.normal(size=(I + H, H)) / np.sqrt(I + H), requires_grad=True, device=device)
    device.reset()
    with device.section("gradient"):
        h = z
        for t in range(T):
            h = mr.tanh(mr.cat([x[t], h], dim=1) @ w)
        (g,) = mr.grad((h**2).sum(), [w], create_graph=True)
    with device.section("product"):
        mr.grad((g * v).sum(), [w])
    gradient, product = (device.total(section).flops for section in ("gradient", "product"))
    return float((gradient + product) / gradient)


def second_alone() -> float:
    """Chapter 7: the error of a network that adds 1/2 to the second marked number, divided by that without memory."""
    x, target, without = mr.data.adding_problem(np.random.default_rng(0), 30, 20_000)
    second = (x[15:, :, 0] * x[15:, :, 1]).sum(axis=0)
    return float(np.mean((second + 0.5 - target[:, 0]) ** 2) / without)


@cache
def largest_layer(cell: str, barrier: bool, chip: Limits = H200) -> int:
    """The most units for which both passes of a layer with one sequence have a layout on a GPU."""

    def fits(H: int) -> bool:
        sizes = Sizes(plan_of(cell), T=2, B=1, H=H, P=H, D=1, itemsize=4)
        return not any(isinstance(layout_of(sizes, chip, backward, barrier), str) for backward in (False, True))

    return next(filter(fits, range(4096, 0, -1)))


def dilated_keeps(d: int, n: int = 40, H: int = 200) -> float:
    """What a linear layer with torch's first weights, whose states read those of d steps ago, keeps of a gradient."""
    rng = np.random.default_rng(0)
    R = rng.uniform(-1, 1, size=(H, H)) / np.sqrt(H)
    states = [mr.tensor(np.zeros((20, H)), requires_grad=True) for _ in range(d)]
    while len(states) <= n:
        states.append(states[-d] @ R)
    arrives = rng.normal(size=(20, H))
    found = mr.grad((states[n] * arrives).sum(), states[0]).numpy()
    return float(np.linalg.norm(found) / np.linalg.norm(arrives))


def jordan_reaches(teacher: bool) -> bool:
    """Whether a gradient goes from the loss of step 3 to the first input of a network that reads its last output."""
    rng = np.random.default_rng(0)
    W, R, V, x, data = rng.normal(size=(5, 3, 3))
    first = mr.tensor(x[:1], requires_grad=True)
    y = mr.tanh(first @ W) @ V
    for t in (1, 2):
        y = mr.tanh(x[t : t + 1] @ W + (0 * y + data[t - 1 : t] if teacher else y) @ R) @ V
    return bool(mr.grad((y**2).sum(), first).numpy().any())


def modrelu_stretches(b: float) -> list[float]:
    """The factors of the function of Arjovsky et al. along a complex number and across it, and |z|."""
    z = np.array([0.6, 1.1])

    def function(z: Any) -> Any:
        norm = (z * z).sum().sqrt()
        return mr.relu(norm + b) * z / norm

    J, along = mr.jacobian(function, mr.tensor(z)).numpy(), z / np.linalg.norm(z)
    across = along[::-1] * [-1, 1]
    assert abs(along @ J @ across) < 1e-12 and abs(across @ J @ along) < 1e-12
    return [float(along @ J @ along), float(across @ J @ across), float(np.linalg.norm(z))]


def ridge(penalty: float = 0.3) -> bool:
    """Whether the equation of the page gives the output matrix with the smallest squared error and penalty."""
    rng = np.random.default_rng(0)
    S, Y = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    rows = np.concatenate([S, math.sqrt(penalty) * np.eye(5)]), np.concatenate([Y, np.zeros((5, 2))])
    return np.allclose(np.linalg.solve(S.T @ S + penalty * np.eye(5), S.T @ Y), np.linalg.lstsq(*rows, rcond=None)[0])


def apart(R: Any, x: Any, *starts: Any) -> float:
    """How far two runs of a tanh network with the same inputs are apart in the end."""
    states = np.array(starts, float)
    for row in x:
        states = np.tanh(row + states @ R)
    return float(np.linalg.norm(states[0] - states[1]))


def reservoir_forgets(radius: float, deviation: float, H: int = 200) -> bool:
    """Whether two runs of a random network with random inputs of this standard deviation approach each other."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(H, H))
    R *= radius / np.abs(np.linalg.eigvals(R)).max()
    return apart(R, deviation * rng.normal(size=(2000, H)), *rng.normal(size=(2, H))) < 1e-9


def same_without_m(T: int = 6) -> bool:
    """Whether an sLSTM's gradients stay the same if none passes through m."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, T, 4)) * np.array([5, 1, 1])[:, None, None]
    found = []
    for detached in (False, True):
        gates = mr.tensor(x, requires_grad=True)
        c, n, m = mr.tensor(np.zeros(4)), mr.tensor(np.zeros(4)), mr.tensor(np.full(4, -1e9))
        for t in range(T):
            z_i, z_f, z_c = gates[0, t], gates[1, t], gates[2, t]
            kept = m - mr.nn.functional.softplus(-z_f)
            m = mr.maximum(kept, z_i)
            m = m.detach() if detached else m
            i, f = mr.exp(z_i - m), mr.exp(kept - m)
            c, n = f * c + i * mr.tanh(z_c), f * n + i
        found.append(mr.grad((mr.sin(c / n)).sum(), gates).numpy())
    return np.allclose(*found, atol=1e-12) and bool(found[0].any())


def series_of_a_step(A: float = -1.7, step: float = 1e-3) -> bool:
    """Whether (a - 1) / A is the step plus the second term of the page, up to the third order."""
    return bool(abs(np.expm1(A * step) / A - step - A * step**2 / 2) < abs(A * A * step**3) / 5)


def settles(b: float, w: float = 3.0) -> float:
    """Where a unit that begins at its lower end settles."""
    h = -1.0
    for _ in range(20_000):
        h = math.tanh(w * h + b)
    return h


def cliff(w: float) -> float:
    """The largest b, by bisection, for which the lower stable state exists."""
    low, high = 0.0, w
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if settles(middle, w) < 0 else (low, middle)
    return low


def uoro(scaled: bool, T: int = 3, H: int = 2) -> tuple[float, float]:
    """How far the mean of s' theta over all signs is from the derivative of h_T, and its variance."""
    rng = np.random.default_rng(0)
    J, D = rng.normal(size=(T, H, H)), 5 * rng.normal(size=(T, H, 4))
    right, pairs = np.zeros((H, 4)), [(np.zeros(H), np.zeros(4))]
    for t in range(T):
        right = J[t] @ right + D[t]
        new = []
        for s, theta in pairs:
            moved = s @ J[t].T
            a = math.sqrt(np.linalg.norm(theta) / np.linalg.norm(moved)) if scaled and t else 1.0
            for nu in itertools.product((-1.0, 1.0), repeat=H):
                step = np.array(nu) @ D[t]
                b = math.sqrt(np.linalg.norm(step) / np.linalg.norm(nu)) if scaled else 1.0
                new.append((a * moved + b * np.array(nu), theta / a + step / b))
        pairs = new
    found = np.array([np.outer(s, theta) for s, theta in pairs])
    return float(np.abs(found.mean(axis=0) - right).max()), float(found.var(axis=0).sum())


def bits_forgotten(f: float, n: int = 1 << 16) -> float:
    """How many bits fewer the products of all n integers with a gate need, if products are rounded to integers."""
    return math.log2(n / len(np.unique(np.rint(f * np.arange(n)))))
