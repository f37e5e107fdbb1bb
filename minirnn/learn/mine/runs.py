"""The runs of the milestones: each trains or computes with the learner's own parts, and ends in a picture to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import data, devices, nn, optim, viz
from minirnn.devices.base import Device
from minirnn.engine import random
from minirnn.engine.tensor import Tensor, tensor
from minirnn.learn.course import CourseError, Tree
from minirnn.learn.milestones import Milestone
from minirnn.learn.mine.device import Mine
from minirnn.learn.mine.kernels import MineOnSim
from minirnn.ops import cross_entropy
from minirnn.train.checkpoint import read_text
from minirnn.train.options import Options
from minirnn.train.training import Training
from minirnn.viz.colors import BLUE, GRAY, ORANGE
from minirnn.viz.picture import Picture, new_figure


@dataclass(frozen=True)
class Reached:
    """The outcome of a run in words and as a picture. `well` is true if it agrees with the historical result."""

    well: bool
    words: str
    picture: Picture


def reach(tree: Tree, milestone: Milestone, scale: float = 1.0) -> tuple[Reached, Path]:
    """Do the run and save its picture. `scale` shortens the training.

    Raises
    ------
    CourseError
        If exercises still have to be passed, a part was not computed by the learner's answer, or the run failed.
    """
    missing = milestone.missing(tree)
    if missing:
        raise CourseError(
            f"milestone {milestone.year} needs {', '.join(milestone.needs)}; not passed yet: {', '.join(missing)}\n"
            f"  go on with: minirnn check {missing[0]}"
        )
    kind, run = RUNS[milestone.year]
    device = kind(tree)
    for id in milestone.needs:
        if id not in device.active:
            raise CourseError(f"milestone {milestone.year} needs your {id}, which is {device.standing[id]}")
    import matplotlib

    look: Any = viz.style
    with random.replayed(np.random.Philox(0).state), matplotlib.rc_context(look):
        found = run(device, scale)
    idle = [id for id in milestone.needs if not device.calls[id]]
    if idle:
        raise CourseError(f"milestone {milestone.year}: your {', '.join(idle)} did not compute in it")
    if not found.well:
        raise CourseError(f"milestone {milestone.year}: {found.words}\n  this is not the historical result")
    path = tree.root / milestone.file
    path.parent.mkdir(exist_ok=True)
    viz.save(found.picture, path)
    return found, path


def trained(
    loss_of: Callable[[], Tensor], parameters: list[Any], steps: int, lr: float, enough: float | None = None
) -> list[float]:
    """The losses of at most `steps` steps of Adam, with gradients clipped to the norm 1.

    It stops once the mean of the last 50 losses is below `enough`.
    """
    rule, losses = optim.Adam(parameters, lr=lr), list[float]()
    while len(losses) < steps and not (enough and len(losses) >= 50 and np.mean(losses[-50:]) < enough):
        rule.zero_grad()
        loss = loss_of()
        loss.backward()
        optim.clip_grad_norm_(parameters, 1.0)
        rule.step()
        losses.append(loss.item())
    return losses


def smooth(values: list[float], width: int = 10) -> np.ndarray:
    """Means over `width` neighbors."""
    count = max(1, min(width, len(values)))
    return np.convolve(values, np.ones(count) / count, "valid")


# ---- 1990

SHORT, LONG = 5, 60


def elman(device: Device, scale: float) -> Reached:
    """A tanh RNN sees one bit and then noise, and must output the bit `lag` steps later."""
    rng = np.random.default_rng(0)
    losses, shares = {}, {}
    for lag in (SHORT, LONG):
        net, out = nn.RNN(2, 16, device=device), nn.Linear(16, 2, device=device)

        def batch(lag: int = lag) -> tuple[Tensor, np.ndarray]:
            bits = rng.integers(0, 2, 32)
            x = np.zeros((lag + 1, 32, 2), np.float32)
            x[0, :, 0], x[1:, :, 1] = 2 * bits - 1, rng.standard_normal((lag, 32))
            return tensor(x, device=device), bits

        def loss_of(net: Any = net, out: Any = out, batch: Any = batch) -> Tensor:
            x, bits = batch()
            return cross_entropy(out(net(x)[0][-1]), bits)

        losses[lag] = trained(loss_of, [*net.parameters(), *out.parameters()], round(300 * scale), 0.01)
        x, bits = batch()
        shares[lag] = float((out(net(x)[0][-1]).numpy().argmax(1) == bits).mean())
    ax = new_figure(6, 4).subplots()
    lines: dict[str, Any] = {}
    for lag, color in zip(losses, (BLUE, ORANGE), strict=True):
        (lines[f"lag {lag}"],) = ax.plot(smooth(losses[lag]), color=color, label=f"lag {lag}: {shares[lag]:.0%} right")
    ax.axhline(np.log(2), color=GRAY, linestyle="--", label="guessing")
    ax.set(title="An Elman network remembers one bit", xlabel="training step", ylabel="loss in nats", ylim=(0, None))
    ax.legend()
    words = f"after {SHORT} steps it knows {shares[SHORT]:.0%} of the bits, after {LONG} steps {shares[LONG]:.0%}"
    picture = Picture(ax, lines, {f"lag {lag}": np.array(values) for lag, values in losses.items()})
    return Reached(shares[SHORT] > 0.95 and shares[LONG] < 0.85, words, picture)


# ---- 1997

LAG, SOLVED = 100, 0.02
"""The mean squared error below which the adding problem counts as learned; without memory it is 1/6."""


def adding(device: Device, scale: float) -> Reached:
    """An LSTM adds two numbers of a sequence of 100."""
    rng = np.random.default_rng(0)
    net, out = nn.LSTM(2, 24, forget_bias=1.0, device=device), nn.Linear(24, 1, device=device)
    parameters = [*net.parameters(), *out.parameters()]

    def loss_of() -> Tensor:
        x, target, _ = data.adding_problem(rng, LAG, 32)
        _, (h, _) = net(tensor(x, device=device))
        error = out(h[0]) - tensor(target, device=device)
        return (error * error).mean()

    losses = trained(loss_of, parameters, round(4000 * scale), 0.01, SOLVED)
    ax = new_figure(6, 4).subplots()
    (line,) = ax.plot(smooth(losses), color=BLUE, label="your LSTM")
    ax.axhline(1 / 6, color=GRAY, linestyle="--", label="without memory")
    ax.set(
        title=f"An LSTM adds two of {LAG} numbers", xlabel="training step", ylabel="mean squared error", yscale="log"
    )
    ax.legend()
    error = float(np.mean(losses[-50:]))
    words = f"after {len(losses)} steps its mean squared error is {error:.3f}; without memory it is 0.167"
    return Reached(error < SOLVED, words, Picture(ax, {"loss": line}, {"loss": np.array(losses)}))


# ---- a character model


def characters(device: Device, scale: float) -> Reached:
    """A character model whose cell, embedding, loss, clipping, optimizer and initial weights are the learner's."""
    options = Options(device=device.name, hidden=64, batch=16, length=32, steps=round(250 * scale))
    with standing_in(device):
        training = Training(options, read_text(options)[:300_000])
        training.start()
        while training.step < options.steps:
            training.advance()
        validation = training.validation_loss()
    steps, losses = (np.array([line[name] for line in training.lines[1:]], float) for name in ("step", "loss"))
    ax = new_figure(6, 4).subplots()
    (line,) = ax.plot(steps, losses, color=BLUE, label="your model")
    ax.axhline(training.unigram_entropy, color=GRAY, linestyle="--", label="without memory")
    ax.set(title="A character model, all of it yours", xlabel="training step", ylabel="nats per character")
    ax.legend()
    words = f"its validation loss is {validation:.2f} nats; without memory {training.unigram_entropy:.2f}"
    return Reached(validation < training.unigram_entropy, words, Picture(ax, {"loss": line}, {"loss": losses}))


class standing_in:
    """A context in which `devices.get` finds this device by name, because the options of a run contain only
    the name.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.before = device, devices.registry._made.get(device.name)

    def __enter__(self) -> None:
        devices.registry._made[self.device.name] = self.device

    def __exit__(self, *error: object) -> None:
        if self.before is None:
            del devices.registry._made[self.device.name]
        else:
            devices.registry._made[self.device.name] = self.before


# ---- all steps in one launch


def one_launch(device: Any, scale: float) -> Reached:
    """The learner's CUDA kernel runs all steps of a sequence in one launch, in the simulator."""
    T, I, H = round(40 * scale) + 2, 3, 70
    net = nn.RNN(I, H, device=device)
    x = np.random.default_rng(0).standard_normal((T, 1, I)).astype(np.float32)
    before = device.driver.launches
    y = net(tensor(x, device=device))[0].numpy()[:, 0]
    launches = device.driver.launches - before
    ours = nn.RNN(I, H, device="cpu")
    ours.load_state_dict(net.state_dict())
    difference = float(np.abs(ours(x)[0].numpy()[:, 0] - y).max())
    ax = new_figure(6, 4).subplots()
    mesh = ax.imshow(y.T, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1)
    ax.grid(False)
    ax.set(title=f"h over {T} steps, in one launch of your kernel", xlabel="time step", ylabel="unit")
    words = f"{T} steps of {H} units are one launch; it differs from cpu by {difference:.0e} at most"
    well = difference < 1e-5 and device.calls["ex40"] == 1 and launches < T
    return Reached(well, words, Picture(ax, {"h": mesh}, {"h": y}))


RUNS: dict[int, tuple[Callable[[Tree], Any], Callable[[Any, float], Reached]]] = {
    1990: (Mine, elman),
    1997: (Mine, adding),
    2013: (Mine, characters),
    2016: (MineOnSim, one_launch),
}
"""For each milestone, the device made of the learner's parts, and the computation on it."""
