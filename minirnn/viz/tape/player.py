"""Plays the backward pass one node at a time, with the gradients that arrive at it and that it sends to its inputs."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from typing import Any

import numpy as np

from minirnn.engine.html import STYLE, block
from minirnn.engine.outputs import Cotangents, Output
from minirnn.engine.tensor import Tensor
from minirnn.viz.colors import BLUE, GRAY, ORANGE, PURPLE
from minirnn.viz.picture import Picture, render
from minirnn.viz.tape.graph import kind_of, tape_graph, tape_nodes
from minirnn.viz.tape.walk import after_hooks, check_unchanged, visits

MAX_DRAWN = 60
_players = count(1)
"""Numbers for the players on a page, so that the buttons of each player only control its own frames."""

BUTTON = "border:1px solid currentColor;border-radius:4px;cursor:pointer;padding:2px 10px;margin-right:6px"
Arrived = np.ndarray | dict[str, np.ndarray]
"""A gradient. For an op with several outputs, it is "output k" -> gradient, for outputs that have one."""


@dataclass(frozen=True)
class Frame:
    """One step of the backward pass.

    Attributes
    ----------
    node : Tensor
        The value whose op computes the gradients of this frame.
    name : str
    arrives : numpy.ndarray or dict of str to numpy.ndarray
        The gradient of the loss with respect to this value, summed over all its uses. For a fused op with several
        outputs, a dict: "output k" -> the gradient with respect to that output, if there is one.
    sends : tuple
        (name, array) for each input: the term that this use adds to its gradient.
    collected : tuple
        (name, array) for each input: the sum of all terms so far.
    """

    node: Tensor
    name: str
    arrives: Arrived
    sends: tuple[tuple[str, Arrived], ...] = ()
    collected: tuple[tuple[str, Arrived], ...] = ()

    def __str__(self) -> str:
        parts = self.arrives if isinstance(self.arrives, dict) else {"": self.arrives}
        lines = [f"{self.name}: {_short(a)} arrives{f' at {where}' if where else ''}" for where, a in parts.items()]
        for (name, sent), (_, total) in zip(self.sends, self.collected, strict=True):
            more = "" if _short(sent) == _short(total) else f", which has collected {_short(total)}"
            lines.append(f"    sends {_short(sent)} to {name}{more}")
        return "\n".join(lines)


class TapePlayer:
    """Plays the backward pass of a loss, from the loss to the leaves.

    It makes the same calls as ``loss.backward()``, but changes nothing. No ``grad`` changes, and ``loss.backward()``
    still works. Hooks run, because they may replace gradients (those of `retain_grad` do not run).

    Parameters
    ----------
    loss : Tensor
        A loss of shape ().
    names : dict of str to Tensor, optional
        Names of leaves and values. Others are named after their op and number.

    Attributes
    ----------
    frames : list of Frame
        In the order of the backward pass. ``print(frame)`` describes a frame in words.
    grads : dict of str to numpy.ndarray
        The final gradient of each leaf, which ``backward()`` would add to its ``grad``.
    """

    def __init__(self, loss: Tensor, names: Mapping[str, Tensor] | None = None) -> None:
        changed: dict[Tensor, str] = {}
        nodes = tape_nodes(loss, "TapePlayer", changed)
        if loss.shape != ():
            raise ValueError(f"TapePlayer: loss has shape {loss.shape}\n  expected one number, shape ()")
        if loss.op is None:
            raise ValueError(
                "TapePlayer: nothing was recorded for this loss\n  expected a loss of Tensors with requires_grad=True"
            )
        check_unchanged(nodes, changed, "TapePlayer")
        self.loss = loss
        self.names = dict(names or {})
        self.titles = _titles(nodes, self.names)
        self.frames: list[Frame] = []
        self._sent_to: list[list[Tensor]] = []  # one list per frame, because names need not be unique, but Tensors are
        last: dict[Tensor, Any] = {}
        for node, arrives, sends in visits(loss, nodes):
            if isinstance(node.op, Output):  # an output is a part of its node
                continue
            named = tuple((self.titles[p], _numbers(node, sent)) for p, sent, _ in sends)
            totals = tuple((self.titles[p], _numbers(node, total)) for p, _, total in sends)
            self._sent_to.append([p for p, _, _ in sends])
            self.frames.append(Frame(node, self.titles[node], _numbers(node, arrives), named, totals))
            last.update({p: total for p, _, total in sends if p.op is None})
        self.grads = {self.titles[p]: np.asarray(_numbers(p, after_hooks(p, g))) for p, g in last.items()}

    def _repr_html_(self) -> str:
        """All frames with buttons. For a tape that is too long to draw, only their descriptions."""
        if len(tape_nodes(self.loss)) > MAX_DRAWN:
            return block("\n".join(map(str, self.frames)))
        return animation([(str(frame), render(self.draw(k).figure, "png", 80)) for k, frame in enumerate(self.frames)])

    def draw(self, k: int) -> Picture:
        """Draw frame `k`: the tape, the current node, and the gradients that it sends back along its arrows.

        Parameters
        ----------
        k : int
            0 is the loss.

        Returns
        -------
        Picture
            That of `tape_graph`. ``data["state"]``, (n,): 0 no gradient yet, 1 some gradient, 2 current node, 3 done.
            ``artists``: also "sent 0", ..: the arrows of this frame.
        """
        if not 0 <= k < len(self.frames):
            raise IndexError(f"draw: there is no frame {k}\n  expected 0 .. {len(self.frames) - 1}")
        nodes = tape_nodes(self.loss)
        if len(nodes) > MAX_DRAWN:
            raise ValueError(f"draw: the tape has {len(nodes)} nodes\n  expected at most {MAX_DRAWN}; print the frames")
        picture = tape_graph(self.loss, names=self.names, max_nodes=MAX_DRAWN)
        ax, index = picture.ax, {t: n for n, t in enumerate(nodes)}
        now, targets = self.frames[k], [index[p] for p in self._sent_to[k]]
        state, gradient = np.zeros(len(nodes), dtype=np.int64), {}
        for frame, parents in zip(self.frames[: k + 1], self._sent_to, strict=False):
            state[index[frame.node]], gradient[index[frame.node]] = 3, frame.arrives
            for p, (_, total) in zip(parents, frame.collected, strict=True):
                state[index[p]], gradient[index[p]] = 1, total
        for t in nodes:
            if isinstance(t.op, Output) and state[index[t.parents[0]]] == 3:
                state[index[t]] = 3
        state[index[now.node]] = 2
        looks = {0: (GRAY, "white"), 1: (PURPLE, "white"), 2: (ORANGE, "#FFF3D6"), 3: (BLUE, "white")}
        for n, t in enumerate(nodes):
            text = picture.artists[str(n)]
            edge, face = looks[int(state[n])]
            text.get_bbox_patch().set(edgecolor=edge, facecolor=face, linewidth=2.4 if state[n] == 2 else 1.4)
            text.set_color("black" if state[n] else GRAY)
            text.set_text(self.titles[t] + (f"\n{_in_box(gradient[n])}" if n in gradient else ""))
        boxes = [picture.artists[str(n)] for n in range(len(nodes))]
        source = boxes[index[now.node]]
        for j, target in enumerate(targets):
            bend = 0.25 + 0.3 * targets[:j].count(target)  # two uses of one value are two arrows
            picture.artists[f"sent {j}"] = ax.annotate(
                "", boxes[target].get_position(), source.get_position(), zorder=3,
                arrowprops={"arrowstyle": "-|>", "color": ORANGE, "linewidth": 2, "mutation_scale": 14,
                            "connectionstyle": f"arc3,rad={bend}", "patchA": source.get_bbox_patch(),
                            "patchB": boxes[target].get_bbox_patch()},
            )  # fmt: skip
        ax.set_title(
            f"Going back, step {k + 1} of {len(self.frames)}: {now.name}\n"
            "orange: current node and what it sends back\nblue: done   purple: some gradient   gray: none yet",
            fontsize=10,
        )
        sent = "\n".join(f"sends {_short(g)} to {name}" for name, g in now.sends)
        picture.artists["words"] = ax.text(0.5, 0.0, sent, transform=ax.transAxes, ha="center", va="top", fontsize=9)
        picture.data["state"] = state
        return picture


def _titles(nodes: list[Tensor], names: Mapping[str, Tensor]) -> dict[Tensor, str]:
    """The title of each node: its given name, or its kind and a number, with ``[k]`` for output k of several."""
    called = {t: name for name, t in names.items()}
    counts: Counter[str] = Counter()
    titles: dict[Tensor, str] = {}
    for t in nodes:
        if isinstance(t.op, Output) and t not in called:
            titles[t] = f"{titles[t.parents[0]]}[{t.op.index}]"
            continue
        kind = kind_of(t)
        while t not in titles:
            counts[kind] += t not in called
            title = called[t] if t in called else f"{kind} {counts[kind]}"
            if t in called or title not in names:
                titles[t] = title
    return titles


def _numbers(t: Tensor, g: Any) -> Arrived:
    if isinstance(g, Cotangents):
        return {f"output {k}": np.asarray(t.device.to_numpy(part)) for k, part in sorted(g.items())}
    return np.asarray(t.device.to_numpy(g))


def _short(a: Arrived, precision: int = 4) -> str:
    if isinstance(a, dict):
        return "; ".join(f"{k}: {_short(part, precision)}" for k, part in a.items())
    if a.size <= 4:
        return np.array2string(a, precision=precision, separator=" ", suppress_small=True)
    return f"{str(a.shape).replace(' ', '')}, norm {np.linalg.norm(a.astype(np.float64)):.{precision}g}"


def _in_box(a: Arrived) -> str:
    if isinstance(a, dict):
        return "at " + ",\n".join(a) if len(a) > 1 else "\n".join(map(_in_box, a.values()))
    return _short(a, 2).replace(", ", "\n")


def animation(frames: Sequence[tuple[str, bytes]]) -> str:
    """HTML that shows one of the frames at a time.

    A row of radio buttons selects the frame, so the arrow keys also work. Below each frame there are buttons for the
    previous and the next one. A frame is its description in words and its picture as PNG. It needs no JavaScript.
    """
    name = f"tape-player-{next(_players)}"
    n = len(frames)
    chosen = ",".join(f"#{name}-{k}:checked~div figure:nth-of-type({k + 1})" for k in range(n))
    radios = "".join(
        f'<input type="radio" name="{name}" id="{name}-{k}" aria-label="Step {k + 1} of {n}"{"" if k else " checked"}>'
        for k in range(n)
    )
    figures = "".join(_figure(name, k, n, *frame) for k, frame in enumerate(frames))
    return (
        f'<div id="{name}" style="{STYLE}"><style>#{name} figure{{display:none;margin:0}}'
        f"{chosen}{{display:block!important}}</style>{radios}<div>{figures}</div></div>"
    )


def _figure(name: str, k: int, n: int, words: str, picture: bytes) -> str:
    to = [(k - 1, "back")] if k else []
    to += [(k + 1, "next")] if k + 1 < n else []
    buttons = "".join(f'<label for="{name}-{j}" style="{BUTTON}">{said}</label>' for j, said in to)
    image = base64.b64encode(picture).decode()
    alt = escape(" ".join(words.split()), quote=True)
    return (
        f'<figure><p style="margin:6px 0">{buttons}step {k + 1} of {n}</p>'
        f'<img alt="{alt}" style="max-width:100%;background:white" src="data:image/png;base64,{image}">'
        f'<figcaption><pre style="text-align:left">{escape(words)}</pre></figcaption></figure>'
    )
