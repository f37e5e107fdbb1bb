"""Look inside the recurrent layers of any model: how far gradients reach, and which gates block them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.engine.backward import grad
from minirnn.engine.tape import no_grad
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.microscope import GATE, opened
from minirnn.nn.module import Module
from minirnn.nn.stack import Stack
from minirnn.viz.colors import BLUE, GREEN, ORANGE, PURPLE, RED
from minirnn.viz.layers import inside_of, read_by, steps_of
from minirnn.viz.picture import Picture, new_figure, whole_steps

CLOSED = 0.1
"""A gate below this value is called closed."""


def look_inside(model: Any, x: Any) -> Picture:
    """Draw how far gradients reach back in each recurrent layer of a model, and how much of them each gate blocks.

    The function runs the model once, in evaluation, and finds every `nn.LSTM`, `nn.GRU`, `nn.RNN` and layer of a custom
    cell in it, at any depth. For each layer and direction, a gradient of ones arrives at the last output that it
    computes. The upper axes show the norm of the gradient of its memory at each earlier step. The lower axes show, for
    each gate, the share of the arriving gradient that the gate's own slope blocks: 0 if all its values are where the
    slope is largest, 1 if all are saturated.

    Parameters
    ----------
    model : Module
        A recurrent layer or any model with some.
    x : Tensor, array_like or tuple
        What the model is called with; a tuple holds several arguments.

    Returns
    -------
    Picture
        ``ax``: (2,), or (1,) if no layer has gates. ``data``: for each layer and direction ("encoder.1 reverse"), the
        norms by the number of steps before the last, (T,); for each gate of it ("encoder.1 reverse: f"), the mean
        value, the share of values below 0.1, and the blocked share, (3,).
    """
    if not isinstance(model, Module):
        raise TypeError(f"look_inside: model is a {type(model).__name__}\n  expected a Module")
    data: dict[str, np.ndarray] = {}
    for name, layer, read in layers_of(model, x):
        one = opened(layer, "look_inside")
        xs = steps_of("look_inside", one, read)
        for p in range(one.L * one.D):
            title = f"{name}.{p // one.D}{' reverse' if p % one.D else ''}"
            leaves = [step.detach().requires_grad_() for step in read_by(one, p, xs)]
            values = inside_of(one, p, leaves)
            loss = values[-1].output.sum()
            wanted = [v.states[one.memory] for v in values] + [v.gates[n] for v in values for n in one.gates]
            found = [g.numpy() for g in grad(loss, wanted)]
            memory, of_gates = found[: len(values)], found[len(values) :]
            data[title] = np.array([np.linalg.norm(g) for g in memory[::-1]])
            for k, n in enumerate(one.gates):
                gate, arriving = np.stack([v.gates[n].numpy() for v in values]), of_gates[k :: len(one.gates)]
                data[f"{title}: {n}"] = blocked(gate, np.stack(arriving), one.limits[n] == GATE)
    return drawn(data)


def layers_of(model: Module, x: Any) -> list[tuple[str, Any, Any]]:
    """Name, layer and input of each recurrent layer that runs, in the order in which they run."""
    seen: dict[int, tuple[str, Any, Any]] = {}
    modules = list(model.named_modules())
    handles = []
    for name, module in modules:
        if isinstance(module, Stack):

            def note(m: Any, args: tuple[Any, ...], name: str = name) -> None:
                seen.setdefault(id(m), (name or type(m).__name__, m, args[0]))

            handles.append(module.register_forward_pre_hook(note))
    modes = [(module, vars(module).get("training")) for _, module in modules]
    try:
        model.eval()
        with no_grad():
            model(*x) if type(x) is tuple else model(x)  # a PackedSequence is one argument
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes:
            vars(module).pop("training", None)
            vars(module).update({} if mode is None else {"training": mode})
    if not seen:
        raise ValueError(
            f"look_inside: no recurrent layer of this {type(model).__name__} runs\n"
            "  expected an nn.LSTM, nn.GRU, nn.RNN or a layer of a custom cell in it"
        )
    found = []
    for name, layer, read in seen.values():
        if not isinstance(read, (Tensor, np.ndarray)):
            raise TypeError(
                f"look_inside: {name} reads a {type(read).__name__}\n  expected a Tensor; give the model a padded batch"
            )
        read = as_tensor(read)
        batch_axis = 0 if layer.batch_first else 1
        found.append((name, layer, read if read.ndim != 2 else read.unsqueeze(batch_axis)))
    return found


def blocked(values: np.ndarray, arriving: np.ndarray, gate: bool) -> np.ndarray:
    """Mean value, share of closed values, and the share of the arriving gradient that the slope blocks, (3,)."""
    slope = 4 * values * (1 - values) if gate else 1 - values**2  # relative to the largest slope
    total = np.linalg.norm(arriving)
    passed = np.linalg.norm(arriving * slope) / total if total else 1.0
    return np.array([values.mean(), (values < CLOSED).mean() if gate else 0.0, 1 - passed])


def drawn(data: dict[str, np.ndarray]) -> Picture:
    """The picture of the numbers of all layers."""
    gates = {name: row for name, row in data.items() if ": " in name}
    norms = {name: row for name, row in data.items() if name not in gates}
    figure = new_figure(8, 3.4 + 0.5 * bool(gates) + 0.24 * len(gates))
    grid = figure.subplots(
        1 + bool(gates), 1, squeeze=False, height_ratios=[3.0, 0.3 * len(gates) + 0.5][: 1 + bool(gates)]
    )
    upper, colors = grid[0, 0], (BLUE, ORANGE, GREEN, RED, PURPLE)
    artists: dict[str, Any] = {}
    looks = {name: (colors[k % 5], "-" if k < 5 else "--") for k, name in enumerate(norms)}
    for name, row in norms.items():
        color, dashes = looks[name]
        (artists[name],) = upper.semilogy(np.where(row > 0, row, np.nan), dashes, color=color, label=name)
    upper.set(
        title="How far gradients reach", xlabel="steps before the last one", ylabel="gradient norm\nof the memory"
    )
    whole_steps(upper)
    upper.legend(frameon=False, fontsize="small")
    if gates:
        lower = grid[1, 0]
        artists["blocked"] = lower.barh(
            list(gates), [row[2] for row in gates.values()], color=[looks[n.rpartition(": ")[0]][0] for n in gates]
        )
        lower.invert_yaxis()
        lower.set(xlim=(0, 1), title="Which gates block", xlabel="share of the gate's gradient that its slope blocks")
        lower.tick_params(axis="y", labelsize="small")
    return Picture(grid[:, 0], artists, data)
