"""The values of the answers of `docs/on_paper.md`: each function does what a chapter asks its readers to try."""

from functools import cache
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.parallel.costs import ring
from tests.book.chapters import changed, run
from tests.book.test_equations import TUTORIALS

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


OWN = (  # in half of the batches the decoder is given its own symbols
    "        scores, _, _ = model(source, before)",
    "        if k % 2:\n            before = np.concatenate([before[:1], alone(model, source)[:-1]])\n"
    "        scores, _, _ = model(source, before)",
)


@cache
def own_symbols() -> dict[tuple[str, str], float]:
    """Chapter 11: the share of right symbols, by model and kind of symbols, if half of the batches have its own."""
    source = TUTORIALS["11_attention"].read_text(encoding="utf-8")
    definition = "def alone(" + source.partition("def alone(")[2].partition("\n\n\nsource,")[0]
    early = ("def trained(attention", definition + "\n\n\ndef trained(attention")
    return {key: float(share.mean()) for key, share in changed("11", early, OWN).result.items()}


def only_warps_wait() -> tuple[bool, bool]:
    """Chapter 18: whether `__syncwarp()` leaves a race among 64 threads, and among 32."""
    eighteen = changed("18", upto="# What happens if only half")
    source = eighteen.turn_around.replace("BARRIER", "__syncwarp();")
    among_64 = eighteen.run(source, eighteen.y, name="turn_around")
    among_32 = eighteen.run(source.replace("63 -", "31 -"), eighteen.y, block=(32,), name="turn_around")
    return among_64 != "no complaint", among_32 != "no complaint"


def ranks_until_messages_are_slower() -> list[int]:
    """Chapter 20: the first number of ranks whose messages take longer, for batches of a tenth, one and ten."""
    twenty = run("20")
    messages = {P: ring(P, twenty.total, twenty.network) for P in range(2, 5000)}
    return [
        next(P for P, seconds in messages.items() if seconds > share * twenty.seconds / P) for share in (0.1, 1, 10)
    ]


def softmax_passes(a: list[float], arriving: list[float]) -> float:
    """Chapter 11: the norm of the gradient of the scores, by the Jacobian of softmax."""
    return float(np.linalg.norm(np.array(arriving) @ (np.diag(a) - np.outer(a, a)), 2).round(12))
