"""The past of a backward pass: what is kept of it, how far back it goes, and a backward pass of the backward pass."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from minirnn.learn.catalog.edited import mistakes, slips
from minirnn.learn.catalog.rnn import SEQUENCE, many_steps, one_step, run, weights
from minirnn.learn.catalog.stages import keep_last, sample_stages
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage, Wrong
from minirnn.learn.formulas import history

# ---- ex34: truncated backpropagation through time


def windows(rng: np.random.Generator, s: Sizes) -> Inputs:
    """Several windows, the last of them cut short by the end."""
    longer = replace(s, T=s.T + 3)
    return {**many_steps(rng, longer), "k": 3 if longer.T % 3 else 4}


def one_window(inputs: Inputs) -> Inputs:
    return {**inputs, "k": len(inputs["x"])}


INSIDE = "t % k > 0"
WINDOW_MISTAKES = mistakes(
    history.truncated_backward,
    ("the windows are counted from the end of the sequence, but they begin at t = 0, k, 2k, ...",
     INSIDE, "(len(x) - t) % k > 0"),
    ("the gradient stops only at t = k, but it must stop at the first step of every window", INSIDE, "t != k"),
    ("the cut is at the last step of each window, where (t + 1) % k == 0, not at its first step",
     INSIDE, "(t + 1) % k > 0"),
    ("the gradient flows back only at the first step of each window, which is where it must stop",
     INSIDE, "t % k == 0"),
    ("dR: the state that comes into a window is taken as zero, but it is only detached",
     "h_prev.T @", f"({INSIDE}) * h_prev.T @"),
    ("the cut is on the wrong side: the first step of a window does not get what step t+1 sends back",
     INSIDE, "t == 0 or (t - 1) % k > 0"),
    ("dh[t] is missing at every step but the last, although the loss reads every h[t]",
     "(dh[t] +", "((t == len(x) - 1) * dh[t] +"),
)  # fmt: skip

# ---- ex29: recomputation


class OutOfMemory(ValueError):
    """Raised if the answer does what the exercise does not allow, such as keeping or computing more."""


class Memory:
    """States of a tanh RNN that an answer may keep, as numbers that refer to them; counts their bytes and the steps."""

    def __init__(self, rng: np.random.Generator, s: Sizes) -> None:
        self.T = s.T * s.T - s.T % 2  # one T is a square, the other is not
        sizes = Sizes(self.T, s.B, s.I, s.H)
        self.W, self.R, self.b = weights(rng, sizes)
        self.x, self.h0 = rng.normal(size=(self.T, s.B, s.I)), rng.normal(size=(s.B, s.H))
        self.dh = rng.normal(size=(self.T, s.B, s.H))
        self.size, self.budget = self.h0.nbytes, 2 * s.T * self.h0.nbytes
        self.states: dict[int, np.ndarray] = {}
        self.number = self.steps = 0

    def start(self) -> int:
        """Forget all states, and keep h0. Steps count on."""
        self.states = {}
        return self.keep(self.h0)

    def keep(self, state: np.ndarray) -> int:
        if (len(self.states) + 1) * self.size > self.budget:
            raise OutOfMemory(
                f"the budget of {self.budget} bytes is full: {len(self.states)} states of {self.size} bytes are kept"
            )
        self.number += 1
        self.states[self.number] = state
        return self.number

    def state(self, s: Any) -> np.ndarray:
        if not isinstance(s, int | np.integer) or int(s) not in self.states:
            raise OutOfMemory(f"there is no state {s!r}: was it given back?")
        return self.states[int(s)]

    def step(self, t: int, s: int) -> int:
        """The state after step t; `s` is the state before it, which is kept."""
        state = self.state(s)
        if self.steps >= 2 * self.T:
            raise OutOfMemory(f"more than {2 * self.T} steps: each may be computed twice, on average")
        if not 0 <= int(t) < self.T:
            raise OutOfMemory(f"there is no step {t}: they count from 0 to {self.T - 1}")
        self.steps += 1
        return self.keep(np.tanh(self.x[int(t)] @ self.W + state @ self.R + self.b))

    def back(self, t: int, s: int, dh: Any = None) -> np.ndarray:
        """The gradient of the state `s` before step t; `dh` is what comes back from step t+1."""
        before = self.state(s)
        if not 0 <= int(t) < self.T:
            raise OutOfMemory(f"there is no step {t}: they count from 0 to {self.T - 1}")
        if int(t) == self.T - 1 and dh is not None:
            raise OutOfMemory("nothing comes back to the last step: its dh is None")
        return self.gradient(t, before, dh)

    def gradient(self, t: int, before: np.ndarray, dh: Any) -> np.ndarray:
        """What `back` computes."""
        h = np.tanh(self.x[int(t)] @ self.W + before @ self.R + self.b)
        total = self.dh[int(t)] + (0.0 if dh is None else np.asarray(dh, float))
        gradient: np.ndarray = (total * (1 - h * h)) @ self.R.T
        return gradient

    def free(self, s: int) -> None:
        """Give a state back."""
        self.state(s)
        del self.states[int(s)]


def little_memory(rng: np.random.Generator, s: Sizes) -> Inputs:
    memory = Memory(rng, s)
    return dict(T=memory.T, budget=memory.budget, size=memory.size, start=memory.start, step=memory.step,
                back=memory.back, free=memory.free)  # fmt: skip


def recompute_with(
    T: int, budget: int, size: int, start: Any, step: Any, back: Any, free: Any, *, shift: Any = 0,
    carried: Any = lambda t, T: True, backwards: bool = True, last: int = 0,
    tail: Any = lambda T: 0,
) -> Any:  # fmt: skip
    """`recompute_backward` with all states in memory, which costs nothing here, or with a planted mistake."""
    order = list(range(T))[::-1] if backwards else list(range(T))
    order = order[tail(T) :]
    memory = start.__self__
    states = run(memory.x, memory.h0, memory.W, memory.R, memory.b)
    dh = None
    for t in order[: len(order) - last]:
        at = min(max(t + (shift(t, T) if callable(shift) else shift), 0), T)
        dh = memory.gradient(t, states[at - 1] if at else memory.h0, dh if carried(t, T) else None)
    return dh


def recompute_backward(T: Any, budget: Any, size: Any, start: Any, step: Any, back: Any, free: Any) -> Any:
    """Computes the expected result. The course's solutions show how to do it within the budget."""
    return recompute_with(T, budget, size, start, step, back, free)


def inside(t: int, T: int) -> bool:
    """Whether step t is not the last one of a segment of sqrt(T) steps."""
    n = int(np.ceil(np.sqrt(T)))
    return (t + 1) % n > 0 and t < T - 1


RECOMPUTE_MISTAKES = tuple(Wrong(says, partial(recompute_with, **wrong)) for says, wrong in (
    ("the last steps are left out, because T is taken for a square (the last segment may be shorter)",
     dict(tail=lambda T: T - int(np.sqrt(T)) ** 2)),
    ("the gradient that back returns is lost between segments: each segment begins with None",
     dict(carried=inside)),
    ("inside a segment, back(t, s, dh) gets the state after step t, but it needs the one before",
     dict(shift=lambda t, T: int(inside(t, T)))),
    ("back(t, s, dh) gets an earlier state than the one before step t, which it needs", dict(shift=-1)),
    ("the last call of back, for step 0, is missing", dict(last=1)),
    ("back(t, s, dh) gets the state after step t, but it needs the one before", dict(shift=1)),
    ("the gradient that back returns is never passed to the next call of back",
     dict(carried=lambda t, T: False)),
    ("the loop goes from the first step to the last, but the backward pass begins at the last", dict(backwards=False)),
))  # fmt: skip

RECOMPUTE_SLIPS = slips(
    ("all states are kept", "the budget of", "n = int(np.ceil(np.sqrt(T)))", "n = T"),
    ("every state is a checkpoint", "the budget of", "n = int(np.ceil(np.sqrt(T)))", "n = 1"),
    ("nothing is given back on the way forward", "the budget of",
     "            if t > first:\n                free(state)\n", ""),
    ("nothing is given back on the way back", "the budget of", "            free(states.pop())",
     "            states.pop()"),
    ("a state is used after it was given back", "was it given back?", "            dh = back(",
     "            free(states[-1])\n            dh = back("),
)  # fmt: skip

DOUBLE_STAGES = sample_stages("the path from dx back to da, dh and h, then through tanh to a", "d_W, d_R, d_b")


def cell_and_direction(rng: np.random.Generator, s: Sizes) -> Inputs:
    return {**one_step(rng, s), "v": rng.normal(size=(s.B, s.I))}


EXERCISES = (
    Exercise(
        "03_rnn/ex34_truncated.py", windows, history.truncated_backward,
        {name: shape for name, shape in SEQUENCE.items() if name != "dh0"},
        wrong=WINDOW_MISTAKES,
        stages=(
            Stage("for one window (k = T)", "the backward pass of ex06, without dh0", change=one_window),
            Stage("for one window and a gradient at the last step", "what goes from step t+1 to t",
                  change=lambda inputs: keep_last("dh")(one_window(inputs))),
            Stage("for several windows", "where the gradient stops: t % k == 0 is the first step of a window"),
        ),
    ),
    Exercise(
        "11_beneath/ex29_recompute.py", little_memory, recompute_backward, {"dh0": "(B, H)"},
        wrong=RECOMPUTE_MISTAKES, slips=RECOMPUTE_SLIPS,
    ),
    Exercise(
        "11_beneath/ex30_double_backward.py", cell_and_direction, history.rnn_cell_double_backward,
        {"d_dh": "(B, H)", "d_x": "(B, I)", "d_h_prev": "(B, H)", "d_W": "(I, H)", "d_R": "(H, H)", "d_b": "(H,)"},
        stages=DOUBLE_STAGES,
    ),
)  # fmt: skip
