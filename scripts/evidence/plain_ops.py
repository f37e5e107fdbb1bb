"""Measures ops that are not recurrent next to torch: one thread, float32, forward and backward.

    python scripts/evidence/plain_ops.py                      # all cases, into docs/data/cpu/plain_ops.json
    python scripts/evidence/plain_ops.py --only gelu softmax  # these, and the stored rows of the others stay

Both libraries get the same arrays, in one process and in turns. A time is the smallest processor time of all turns,
because other programs can only increase it. The last line counts how many cases are within 2 and 5 times torch's time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _library in ("OMP", "OPENBLAS", "MKL"):  # threads that wait for each other also count as time
    os.environ[f"{_library}_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402

import minirnn as mr  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))
import rows  # noqa: E402

OUT = Path(__file__).parents[2] / "docs" / "data" / "cpu" / "plain_ops.json"
B, H, C, V = 64, 256, 100, 5000  # rows, width, classes, vocabulary
SECONDS = 0.02
"""The minimum duration of a turn of one library."""
Make = Callable[[Any], Callable[[], Any]]
"""A function that gets `mr` or `torch` and returns the work to be timed."""

CASES: dict[str, Make] = {}


def array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def leaf(lib: Any, *shape: int, seed: int = 0) -> Any:
    return lib.tensor(array(*shape, seed=seed), requires_grad=True)


def both_ways(lib: Any, call: Callable[..., Any], *xs: Any) -> Callable[[], Any]:
    """Forward and backward with a fixed gradient of the result."""
    g = lib.tensor(array(*call(*xs).shape, seed=9))

    def work() -> Any:
        for x in xs:
            x.grad = None
        call(*xs).backward(g)

    return work


def functional(name: str, call: Callable[[Any, Any], Callable[..., Any]], *shapes: tuple[int, ...]) -> None:
    """A case of a function of Tensors: ``call(lib, F)`` gives the function."""

    def make(lib: Any) -> Callable[[], Any]:
        return both_ways(lib, call(lib, lib.nn.functional), *[leaf(lib, *s, seed=k) for k, s in enumerate(shapes)])

    CASES[name] = make


X = (B, H)
for activation in ("relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "elu", "leaky_relu", "logsigmoid", "glu"):
    functional(activation, lambda lib, F, name=activation: getattr(F, name), X)
functional("softmax", lambda lib, F: lambda x: F.softmax(x, dim=-1), X)
functional("log_softmax", lambda lib, F: lambda x: F.log_softmax(x, dim=-1), X)
functional("logsumexp", lambda lib, F: lambda x: lib.logsumexp(x, 1), X)
functional("layer_norm", lambda lib, F: lambda x, w, b: F.layer_norm(x, (H,), w, b), X, (H,), (H,))
functional("rms_norm", lambda lib, F: lambda x, w: F.rms_norm(x, (H,), w), X, (H,))
functional("normalize", lambda lib, F: F.normalize, X)
functional("norm of rows", lambda lib, F: lambda x: x.norm(dim=1), X)
functional("linear", lambda lib, F: F.linear, X, (H, H), (H,))
functional("batched matmul", lambda lib, F: lambda a, b: a @ b, (8, 32, 64), (8, 64, 32))
functional("add a row", lambda lib, F: lambda a, b: a + b, X, (H,))
functional("concat and split", lambda lib, F: lambda a, b: lib.concat([a, b], 1).split(H, 1)[1], X, X)
functional("slice", lambda lib, F: lambda x: x[:, 10:200], X)
functional("mean and var", lambda lib, F: lambda x: x.mean(1) + x.var(1), X)
functional("max of rows", lambda lib, F: lambda x: x.max(dim=1).values, X)
functional(
    "attention",
    lambda lib, F: lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
    *[(2, 4, 32, 32)] * 3,
)


def case(make: Make) -> Make:
    CASES[make.__name__.replace("_", " ").strip()] = make
    return make


def places(lib: Any, high: int, *shape: int) -> Any:
    return lib.tensor(np.random.default_rng(3).integers(0, high, shape))


@case
def gather(lib: Any) -> Callable[[], Any]:
    index = places(lib, H, B, 32)
    return both_ways(lib, lambda x: x.gather(1, index), leaf(lib, *X))


@case
def scatter_add(lib: Any) -> Callable[[], Any]:
    index = places(lib, H, *X)
    return both_ways(lib, lambda x, y: lib.scatter_add(x, 1, index, y), leaf(lib, *X), leaf(lib, *X, seed=1))


@case
def index_of_rows(lib: Any) -> Callable[[], Any]:
    index = places(lib, V, 256)
    return both_ways(lib, lambda x: x[index], leaf(lib, V, 64))


@case
def embedding(lib: Any) -> Callable[[], Any]:
    index = places(lib, V, 16, B)
    return both_ways(lib, lambda w: lib.nn.functional.embedding(index, w), leaf(lib, V, 64))


def loss(name: str, target: Callable[[Any], Any], prepare: Callable[[np.ndarray], np.ndarray] = lambda a: a) -> None:
    def make(lib: Any) -> Callable[[], Any]:
        y = target(lib)
        x = lib.tensor(prepare(array(*X)), requires_grad=True)

        def work() -> None:
            x.grad = None
            getattr(lib.nn.functional, name)(x, y).backward()

        return work

    CASES[name] = make


def sigmoid(a: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-a))).astype(np.float32)


for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
    loss(name, lambda lib: lib.tensor(array(*X, seed=1)))
loss("binary_cross_entropy", lambda lib: lib.tensor(sigmoid(array(*X, seed=1))), sigmoid)
loss("binary_cross_entropy_with_logits", lambda lib: lib.tensor(sigmoid(array(*X, seed=1))))
loss("cross_entropy", lambda lib: places(lib, H, B))


@case
def ctc_loss(lib: Any) -> Callable[[], Any]:
    T, N, S = 50, 16, 15
    logp = leaf(lib, T, N, 30)
    targets = lib.tensor(np.random.default_rng(0).integers(1, 30, (N, S)))
    lengths = [lib.tensor(np.full(N, n)) for n in (T, S)]

    def work() -> None:
        logp.grad = None
        F = lib.nn.functional
        F.ctc_loss(F.log_softmax(logp, dim=2), targets, *lengths).backward()

    return work


def parameters(lib: Any) -> list[Any]:
    found = [leaf(lib, *s, seed=k) for k, s in enumerate([(H, H), (H,)] * 4)]
    for p in found:
        p.grad = lib.tensor(array(*p.shape, seed=7))
    return found


@case
def clip_grad_norm_(lib: Any) -> Callable[[], Any]:
    found = parameters(lib)
    return lambda: lib.nn.utils.clip_grad_norm_(found, 1.0)


@case
def SGD_with_momentum(lib: Any) -> Callable[[], Any]:
    return lib.optim.SGD(parameters(lib), 1e-6, momentum=0.9).step


@case
def Adam(lib: Any) -> Callable[[], Any]:
    return lib.optim.Adam(parameters(lib), 1e-6).step


@case
def small_MLP(lib: Any) -> Callable[[], Any]:
    """A step of training."""
    nn = lib.nn
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    x, y = lib.tensor(array(32, 20)), places(lib, 10, 32)
    optimizer = lib.optim.SGD(model.parameters(), 1e-4)

    def work() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return work


@case
def DataLoader(lib: Any) -> Callable[[], Any]:
    """A shuffled epoch of 2048 samples in batches of 32."""
    data = lib.data if lib is mr else lib.utils.data
    loader = data.DataLoader(
        data.TensorDataset(lib.tensor(array(2048, 20)), places(lib, 10, 2048)), batch_size=32, shuffle=True
    )

    def work() -> None:
        for _ in loader:
            pass

    return work


@case
def vmap(lib: Any) -> Callable[[], Any]:
    """The same two layers for each sample of a batch."""
    w, v = leaf(lib, H, 32), leaf(lib, 32, 10)
    over_a_batch = (lib if lib is mr else lib.func).vmap(lambda x: (x @ w).tanh() @ v)
    x = leaf(lib, *X)
    return both_ways(lib, over_a_batch, x)


def cell(lib: Any, T: int = 100, rows: int = 32, width: int = 128) -> Callable[[], Any]:
    """An LSTM in plain Tensor operations, T steps."""
    w, u, b = (leaf(lib, *s) for s in ((width, 4 * width), (width, 4 * width), (4 * width,)))
    xs = lib.tensor(0.1 * array(T, rows, width))
    first = lib.tensor(np.zeros((rows, width), np.float32))
    scale = 0.05

    def work() -> None:
        w.grad = u.grad = b.grad = None
        h = c = first
        for t in range(T):
            z = xs[t] @ (w * scale) + h @ (u * scale) + b
            i, f, g, o = z.chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        (h * h).sum().backward()

    return work


CASES["LSTM cell of Tensor operations"] = cell


def smallest(works: list[Callable[[], Any]], turns: int) -> list[float]:
    """The smallest time of each, in turns."""
    counts = []
    for work in works:
        work()
        start = time.process_time()
        work()
        counts.append(max(1, int(SECONDS / max(time.process_time() - start, 1e-6))))
    best = [float("inf")] * len(works)
    for _ in range(turns):
        for k, (work, count) in enumerate(zip(works, counts, strict=True)):
            start = time.process_time()
            for _ in range(count):
                work()
            best[k] = min(best[k], (time.process_time() - start) / count)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="CASE")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FILE")
    args = parser.parse_args()
    torch.set_num_threads(1)
    mr.use_device(args.device)
    found = {row["case"]: row for row in rows.stored(args.out)}
    for name, make in CASES.items():
        if not args.only or any(word in name for word in args.only):
            ours, theirs = smallest([make(mr), make(torch)], args.turns)
            times = {"minirnn": round(1e6 * ours, 2), "torch": round(1e6 * theirs, 2)}
            found[name] = {"case": name, "device": args.device, "microseconds": times, **rows.origin()}
            rows.store(args.out, list(found.values()), lambda row: row["case"], "scripts/evidence/plain_ops.py")
            print(f"{name:36} {1e6 * ours:10.1f} us {1e6 * theirs:10.1f} us {ours / theirs:7.2f}", flush=True)
    ratios = [row["microseconds"]["minirnn"] / row["microseconds"]["torch"] for row in found.values()]
    print(f"{len(ratios)} cases: {sum(r <= 2 for r in ratios)} within 2, {sum(r <= 5 for r in ratios)} within 5")


if __name__ == "__main__":
    main()
