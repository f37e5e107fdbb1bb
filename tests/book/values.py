"""Values that sentences of the book are bound to and that no chapter computes.

Everything is NumPy, without minirnn, but `sliders_keep` and the answers to what chapters ask readers to try.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from docs.playground_weights import draws
from tests.book.chapters import changed
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


# ---- the answers of `docs/on_paper.md`

ORTHOGONAL = ("R /= np.abs(np.linalg.eigvals(R)).max()", "R = np.linalg.qr(R)[0]")


def slope_check(rtol: float) -> bool:
    """Chapter 2: whether a check with this tolerance lets a slope of tanh pass that is 1 % too large."""
    two = changed("02", upto="# What a lazy check misses")

    class Off(two.Op):  # type: ignore[misc, name-defined]
        def backward(self, dy: Any, y: Any, x: Any) -> Any:
            return (1.01 * dy * (1 - y * y),)

    def off(x: Any) -> Any:
        return two.record(Off(), x.device, x.device.tanh(x.array), (x,))

    return bool(mr.gradcheck(off, [two.x2], rtol=rtol, raise_exception=False))


def terms(radius: float, every: bool) -> list[float]:
    """Chapter 3: the norms of the terms of the gradient of R, with a loss at every step or at the last one."""
    three = changed("03", ("0.9 * np", f"{radius} * np"), upto="# Unrolled over time")
    states, R = [s.numpy() for s in three.states], three.R.numpy()
    carried, norms = np.zeros_like(states[0]), []
    for t in reversed(range(len(states))):
        dz = (2 * states[t] * (every or t == len(states) - 1) + carried) * (1 - states[t] ** 2)
        norms.append(float(np.linalg.norm(states[t - 1].T @ dz)) if t else 0.0)
        carried = dz @ R.T
    return norms[::-1]


def nearly_diagonal(size: float) -> float:
    """Chapter 6: how far both GRUs are apart if a random matrix of this size is added to a diagonal one."""
    six = changed("06", upto="# Both are special cases")
    w = six.w_diagonal.copy()
    w[six.I :] += size * np.random.default_rng(5).normal(size=(six.H, six.H))
    before = mr.ops.gru_block_cell(six.x, six.h, six.w_ru, w, six.b_ru, six.b_c).h.numpy()
    return float(np.abs(before - six.reset_after(six.h, six.w_ru, w, six.b_ru)).max())


def peephole_paths() -> bool:
    """Chapter 5: whether peepholes add the diagonals that the answer names, and no matrix, in one step."""
    rng, H = np.random.default_rng(6), 5
    x, c, h, w = rng.normal(size=(1, 3)), rng.normal(size=H), rng.normal(size=(1, H)), rng.normal(size=(3 + H, 4 * H))
    peepholes, b = rng.normal(size=(3, H)), rng.normal(size=4 * H)

    def step(c: Any, *weights: Any) -> Any:
        return mr.ops.lstm_block_cell(x, c.reshape(1, H), h, w, *weights, b, use_peephole=True, cell_clip=0.0)

    y = {name: value.numpy()[0] for name, value in step(mr.tensor(c), *peepholes)._asdict().items()}
    added_i, added_f = y["ci"] * y["i"] * (1 - y["i"]), c * y["f"] * (1 - y["f"])
    of_c = np.diag(y["f"] + added_i * peepholes[0] + added_f * peepholes[1])
    S = np.diag(y["o"] * (1 - y["co"] ** 2) + y["co"] * y["o"] * (1 - y["o"]) * peepholes[2])
    found = (
        mr.jacobian(lambda c, name=name: getattr(step(c, *peepholes), name)[0], mr.tensor(c)) for name in ("cs", "h")
    )
    return all(np.allclose(J.numpy(), right) for J, right in zip(found, (of_c, S @ of_c), strict=True))


@cache
def slow_to_forget() -> list[float]:
    """Chapter 7: the first and the largest reach of a GRU with the update bias 3, and where its error is a tenth."""
    seven = changed("07", upto="found = {name: train")

    def make() -> Any:
        layer = mr.nn.GRU(2, seven.H)
        bias = layer.bias_ih_l0.numpy().copy()
        bias[seven.H : 2 * seven.H] += 3
        layer.bias_ih_l0.assign(bias)
        return layer

    losses, reached = seven.train(make, steps=450)
    return [reached[0], max(reached.values()), first_below(losses)]


def first_below(losses: np.ndarray) -> int:
    """Chapter 7: the step around which the mean error is first below a tenth of 1/6."""
    return int(np.flatnonzero(losses < 0.1 / 6)[0]) + 25


def freed() -> str:
    """Chapter 8: the error of the second window without `detach()`."""
    without = ("(part.detach() for part in state)", "state")
    try:
        changed("08", without, upto="# %%\n# With windows of 32")
    except RuntimeError as error:
        return str(error)
    return ""


def overlapping(K: int = 8, T: int = 64) -> bool:
    """Chapter 8: whether windows that start K/2 steps early have all pairs up to this distance, and none before."""
    windows = [(max(end - K - K // 2, 0), end - K, end) for end in range(K, T + 1, K)]
    kept = {(t, s) for start, loss, end in windows for s in range(loss, end) for t in range(start, s + 1)}
    near = {(t, s) for s in range(T) for t in range(max(s - K // 2, 0), s + 1)}
    return near <= kept and all(t >= s // K * K - K // 2 for t, s in kept)


def valid_steps() -> bool:
    """Chapter 9: whether a loss on the last valid outputs reaches all valid inputs, and no other ones."""
    nine = changed("09", upto="# Two directions\n")
    x, last = mr.tensor(nine.clean, requires_grad=True), (nine.lengths - 1, np.arange(nine.B))
    form: dict[str, Any] = {"rnn_mode": "lstm", "direction": "bidirectional", "is_training": True}
    y = mr.ops.cudnn_rnn_v3(x, nine.states, nine.states, nine.params, nine.lengths, **form)
    dx = mr.grad((y.output[last] ** 2).sum(), x).numpy()
    return np.array_equal(dx.any(axis=2), ~nine.past)


@cache
def text_model(*changes: tuple[str, str]) -> float:
    """Chapter 10: the validation loss after 300 steps of the chapter with other lines."""
    return float(changed("10", *changes, upto="unigram = ").checked[-1][1])


NO_STATE = ("state and mr.nn.LSTMHidden(*(a.detach() for a in state))", "None")
LOW_LIMIT = ("LIMIT, state = 0.5", "LIMIT, state = 0.05")
DESCENT = ("mr.optim.Adam(model.parameters(), lr=0.008)", "mr.optim.SGD(model.parameters(), lr=1.0)")


@cache
def on_the_candidate() -> float:
    """Chapter 12: the cosine at the first step if the mask is on the candidate alone."""
    masked = """        kept = mask(B, H) if place == "candidate" else 1.0
        cs = y.cs + (kept - 1) * y.i * y.ci
        y = y._replace(cs=cs, h=y.o * mr.tanh(cs))
        c, h = q_c * c"""
    twelve = changed("12", ("        c, h = q_c * c", masked), upto="# What reaches each cell state")
    signal = twelve.gradients("none")[0]
    drawn = np.stack([twelve.gradients("candidate", seed)[0] for seed in range(10)])
    return float(np.mean(drawn @ signal / np.linalg.norm(drawn, axis=1) / np.linalg.norm(signal)))


def curvatures() -> list[float]:
    """Chapter 13: the largest curvature at the start, after ten steps of Adam, and after forty."""
    thirteen = changed("13", upto="curvature, sharpest =")
    optimizer, found = mr.optim.Adam([thirteen.w], lr=0.02), {}
    for step in range(41):
        if step in (0, 10, 40):
            found[step] = thirteen.largest_curvature()[0]
        optimizer.zero_grad()
        thirteen.loss_of(thirteen.w).backward()
        optimizer.step()
    return [found[0], found[10], 10, found[40]]


@cache
def four_shards() -> tuple[bool, bool]:
    """Chapter 21: whether four shards give the same bits on 1, 2 and 4 ranks, and whether eight shards do, too."""
    train, simulate = changed("21", upto="alone, again =").train, mr.parallel.simulate
    runs = [simulate(lambda world: train(world, 4, steps=5), ranks) for ranks in (1, 2, 4)]
    same = all(np.array_equal(history, runs[0][0]) for histories in runs for history in histories)
    eight = simulate(lambda world: train(world, 8, steps=5), 1)
    return same, np.array_equal(eight[0], runs[0][0])


@cache
def diagonal(rho: float) -> tuple[int, float]:
    """Chapter 23: iterations and last error of Newton's method with the diagonals of the Jacobians, at the bias 0."""
    change = ("J, r, e = np.stack(rows, axis=1),", "J, r, e = np.stack(rows, axis=1) * np.eye(2 * H),")
    errors = changed("23", change, upto="ax = Figure(figsize=(8, 3.6)").newton(0.0, rho)
    return len(errors), errors[-1]


@cache
def shares_of_products(B: int) -> tuple[float, float, float]:
    """Chapter 14: the products' shares of operations and bytes, and the bytes of elementwise products per theirs."""
    device = changed("14", ("B, I, H = 16", f"B, I, H = {B}"), upto="# Is it still right").composed
    products = [device.counts[section]["matmul"] for section in ("forward", "backward")]
    totals = [device.total(section) for section in ("forward", "backward")]
    shares = [sum(p[n] for p in products) / sum(getattr(t, n) for t in totals) for n in ("flops", "bytes")]
    return *shares, device.counts["backward"]["multiply"]["bytes"] / products[1]["bytes"]  # type: ignore[return-value]


def bound_by_arithmetic(B: int, H: int = 512, peak: float = 67e12, bandwidth: float = 4.8e12) -> bool:
    """Chapter 19: whether B sequences, one launch per step, do more operations per byte than the edge of the roof."""
    return peak / bandwidth < 8 * B * H**2 / (16 * H**2 + 32 * B * H)


@cache
def orthogonal_edges() -> list[float]:
    """Chapter 22: the edge of chaos without inputs and with both kinds, for orthogonal matrices."""
    uniform = ("rho * np.sqrt(3 / H) * rng.uniform(-1, 1, (H, H))", "rho * np.linalg.qr(rng.normal(size=(H, H)))[0]")
    chapter = changed("22", uniform, upto="# Without inputs the edge")
    return [float(np.interp(1.0, rates, chapter.radii)) for rates in chapter.rates.values()]


def skipped_bias() -> list[int]:
    """Chapter 16: the first and last number of the buffer that the second bias of a GRU with `skip_input` reaches."""
    form: dict[str, Any] = {"rnn_mode": "gru", "input_mode": "skip_input"}
    p = mr.tensor(np.arange(1.0, mr.ops.cudnn_rnn_params_size(1, 5, 5, **form) + 1), requires_grad=True)
    weights, biases = mr.ops.cudnn_rnn_params_to_canonical(1, 5, 5, p, num_params=6, **form)
    assert weights[0].shape == (5, 0)
    (g,) = mr.grad((biases[1] ** 2).sum(), [p])
    places = np.flatnonzero(g.numpy())
    assert np.array_equal(g.numpy()[places], 2 * biases[1].numpy())
    return [int(places[0]), int(places[-1])]


def readings() -> int:
    """Chapter 15: how many readings were tried, none of which fits, if only input matrices are exchanged."""
    fifteen = changed("15")
    first, second, *rest = np.split(fifteen.given["weight_ih_l0"], 4)
    state = fifteen.given | {"weight_ih_l0": np.concatenate([second, first, *rest])}
    said = str(mr.io.find_layout(list(state.values()), fifteen.x, fifteen.right))
    assert said.startswith("none fits")
    return int(said.partition("of ")[2].split()[0])


INPUT_GATE = (("def patient(z_k, z_n", "def patient(z_k, z_i, z_n"), ("(1 - k) * n", "sigmoid(z_i) * n"))
NO_OUTPUT = (("z_o, c, h, *", "c, h, *"), ("    o = sigmoid(z_o)\n", ""), ("h = o * tanh(c)", "h = tanh(c)"))


def two_gates() -> str:
    """Chapter 17: the backward pass of the cell with an input gate."""
    return str(changed("17", *INPUT_GATE, upto="# Nobody wrote").patient.backward_formulas())


def saved_without_output_gate() -> list[str]:
    """Chapter 17: what the cell without its output gate saves."""
    return list(changed("17", *NO_OUTPUT, upto="# Nobody wrote").patient.saved())
