"""A training run: one step, the validation loss, saving to a checkpoint and restoring.

`Training` holds everything that determines the next steps. `save` writes all of it, so an interrupted run continues
with the same values, to the last bit, as an uninterrupted one (on the same machine, with the same NumPy and number of
threads, because another order of summation rounds differently).
"""

from __future__ import annotations

import hashlib
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import __version__, data, optim
from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.engine import random
from minirnn.io import checkpoint
from minirnn.nn.own.file import definition
from minirnn.nn.own.layer import CellLayer
from minirnn.ops import cross_entropy
from minirnn.parallel import World
from minirnn.train.checkpoint import KIND
from minirnn.train.model import CharModel, State, blanked, detached, gradient_norms
from minirnn.train.options import Options
from minirnn.train.schedule import Schedule, optimizer_of
from minirnn.train.shards import Shards

COLUMNS = ("step", "loss", "gradient_norm", "validation_loss")
"""The columns of metrics.jsonl."""
LOG_EVERY, VALIDATE_EVERY = 10, 100
"""In steps. They do not depend on options such as --steps, so a longer run repeats a shorter one."""
VALIDATION_BATCHES = 20
CLIP = 1.0
"""The largest norm of the gradient; a longer one is scaled down."""


class Diverged(UserError):
    """The loss, a gradient or a parameter is not finite: the run cannot go on."""


class Training:
    """A new run; `restore` brings it to the point where a checkpoint was written.

    Attributes
    ----------
    step : int
        Steps done.
    lines : list of dict
        The lines of metrics.jsonl: `COLUMNS`, None where there is no value.
    first_norms : ndarray
        `gradient_norms` before the first step.
    world : World
        The ranks that share its batches; rank 0 computes metrics and validation.
    """

    def __init__(self, options: Options, text: str) -> None:
        self.options = options
        self.text_hash = hash_of(text)
        self.size = len(text)
        self.vocabulary = data.CharVocabulary.from_text(text)
        ids = self.vocabulary.encode(text)
        V, T, B = len(self.vocabulary), options.length, options.batch
        self.unigram_entropy = data.unigram_entropy(ids, V)
        train_ids, self.validation_ids = data.train_validation_split(ids)
        if len(train_ids) < B * T + 1:
            raise UserError(
                f"--batch {B} times --length {T} needs a longer text: {B * T + 1} characters to train on, got "
                f"{len(train_ids)} (of {len(ids)}; one tenth is kept for validation); choose smaller ones"
            )
        self.batches = data.CharBatches(train_ids, T, B)
        self.validation = self.validation_batches(B, T)

        mr.manual_seed(options.seed)
        o = options
        self.model = CharModel(o, V)
        self.optimizer = optimizer_of(o.optimizer, self.model.parameters(), o.lr)
        self.schedule = Schedule(o.schedule, self.optimizer, o.lr, o.warmup, o.schedule_steps or o.steps)
        self.state: State = self.model.zero_state(B)
        self.step = 0
        self.losses: list[float] = []  # those of the steps after the last line
        self.lines: list[dict[str, float | None]] = []
        self.first_norms = np.zeros((0, 0))
        self.world = World()
        self.shards: Shards | None = None  # until `share`

    # ---- work

    def share(self, world: World) -> None:
        """From now on compute batches in shards together with the other ranks, if the options ask for it."""
        if self.options.shards:
            self.world, self.shards = world, Shards(self.model, self.loss, self.options, world)
            self.shards.take_state([t.numpy() for t in self.state], self.options.device)

    def start(self) -> None:
        """Measure the gradient norms before the first step."""
        self.first_norms = self.gradient_norms()
        self.add_line(None, None)

    def stopping(self, wish: bool) -> bool:
        """Whether to stop: at once if alone and asked to; several ranks all stop after the same next step."""
        if self.shards is None or self.world.size == 1:
            return wish
        self.shards.parallel.stop = wish
        return self.shards.parallel.stopping

    def advance(self) -> None:
        """Do one step, and make a line of metrics if one is due.

        Raises Diverged if the loss or the gradient is not finite. It is a UserError.
        """
        if self.options.shards and self.shards is None:
            self.share(self.world)
        if self.batches.at_start or self.model.bidirectional:  # the reverse direction does not know later characters
            self.forget()
        x, y = next(self.batches)
        with np.errstate(all="ignore"):  # an overflow shows in the loss and in the norm of the gradient
            self.optimizer.zero_grad()
            value = self.backward(x, y) if self.shards is None else self.shards.backward(x, y, self.step)
            norm = optim.clip_grad_norm_(self.optimizer.parameters, CLIP).item()
            if not (math.isfinite(value) and math.isfinite(norm)):
                raise Diverged(self.diverged(f"the loss is {value}, the norm of its gradient {norm}"))
            self.optimizer.step()
        self.schedule.step()
        self.step += 1
        self.losses.append(value)
        if self.step % LOG_EVERY == 0:
            if self.world.rank == 0:
                self.add_line(sum(self.losses) / len(self.losses), norm)
            self.losses = []

    def forget(self) -> None:
        """Start all streams of text again."""
        if self.shards is None:
            self.state = self.model.zero_state(self.options.batch)
        else:
            self.shards.forget()

    def backward(self, x: np.ndarray, y: np.ndarray) -> float:
        """Put the gradient of the mean loss of the batch (T, B) into ``p.grad``; return the loss."""
        loss, state, _ = self.loss(x, y, self.state, random.generator())
        loss.backward()
        self.state = detached(state)
        return loss.item()

    def loss(
        self, x: np.ndarray, y: np.ndarray, state: State, rng: np.random.Generator
    ) -> tuple[mr.Tensor, State, int]:
        """The mean loss of a batch, over the characters y or over blanks in x that `rng` draws; the state after it;
        and the number of characters in the mean.
        """
        if not self.model.bidirectional:
            scores, state = self.model(x, state)
            return cross_entropy(scores, y), state, y.size
        given, where = blanked(x, len(self.vocabulary), rng)
        scores, state = self.model(given, state)
        return cross_entropy(scores[where], x[where]), state, len(where[0])

    def add_line(self, loss: float | None, norm: float | None) -> None:
        """Add a line to the metrics, every `VALIDATE_EVERY` steps with a validation loss."""
        validation = self.validation_loss() if self.step % VALIDATE_EVERY == 0 else None
        if validation is not None and not math.isfinite(validation):
            raise Diverged(self.diverged(f"the validation loss is {validation}"))
        self.lines.append(dict(zip(COLUMNS, (self.step, loss, norm, validation), strict=True)))

    def validation_batches(self, B: int, T: int) -> data.CharBatches:
        """The validation text in batches (T, B), or smaller ones if it is short."""
        T = min(T, len(self.validation_ids) - 1)
        return data.CharBatches(self.validation_ids, T, min(B, (len(self.validation_ids) - 1) // T))

    def validation_loss(self) -> float:
        """Mean loss over the first `VALIDATION_BATCHES` batches of the validation text, in nats per character."""
        losses: list[float] = []
        zero = state = self.model.zero_state(self.validation.B)
        rng = np.random.Generator(np.random.Philox(0))  # the same blanks every time
        self.model.eval()
        with mr.no_grad(), np.errstate(all="ignore"):
            for x, y in self.validation.one_pass():
                if len(losses) == VALIDATION_BATCHES:
                    break
                loss, state, _ = self.loss(x, y, zero if self.model.bidirectional else state, rng)
                losses.append(loss.item())
        self.model.train()
        return sum(losses) / len(losses)

    @property
    def loss_at(self) -> int:
        """The step whose loss `gradient_norms` uses: the last one, or with two directions one in the middle."""
        T = self.validation.T
        return T // 2 if self.model.bidirectional else T - 1

    def gradient_norms(self) -> np.ndarray:
        """How the gradient of the loss at `loss_at` flows to all steps, over the first batch of the validation text."""
        x, y = self.validation.batch(0)
        if not self.model.bidirectional:
            return gradient_norms(self.model, x, y[-1])
        given = x.copy()
        given[self.loss_at] = len(self.vocabulary)
        return gradient_norms(self.model, given, x[self.loss_at], self.loss_at)

    def model_on_cpu(self) -> CharModel:
        """A copy of the present model without dropout, on the device where single steps cost least, for analysis."""
        return deepcopy(self.model).to("cpu").eval()

    def diverged(self, what: str) -> str:
        return f"training stopped after {self.step} steps: {what}; --lr {self.options.lr} is likely too large"

    # ---- to a checkpoint and back

    def save(self, path: Path) -> None:
        """Write the whole run or nothing. Raises UserError if the parameters are not finite or the disk is full.

        All ranks call it: states of the shards are collected, and rank 0 writes.
        """
        states = tuple(t.numpy() for t in self.state) if self.shards is None else self.shards.whole_state()
        if self.world.rank:
            return
        parameters = self.model.state_dict()
        if not all(np.isfinite(value).all() for value in parameters.values()):
            raise Diverged(self.diverged("a parameter is not finite"))
        optimizer = self.optimizer.state_dict()
        columns = {name: [line[name] for line in self.lines] for name in COLUMNS}
        arrays = {
            **{f"model.{name}": value for name, value in parameters.items()},
            **{f"optimizer.{name}": value for name, value in optimizer.items() if isinstance(value, np.ndarray)},
            **{f"state.{name}": a for name, a in zip(self.model.state_names, states, strict=True)},
            **{f"metrics.{name}": np.array(values, np.float64) for name, values in columns.items()},  # None: NaN
            "losses": np.array(self.losses, np.float64),
            "first_norms": self.first_norms,
        }
        metadata = {
            "kind": KIND,
            "minirnn": __version__,
            "options": self.options.to_json(),
            "step": self.step,
            "optimizer": {name: value for name, value in optimizer.items() if not isinstance(value, np.ndarray)},
            "schedule": self.schedule.state_dict(),
            "position": self.batches.state(),
            "random": random_state(),
            "vocabulary": self.vocabulary.to_json(),
            "text_sha256": self.text_hash,
        }
        if isinstance(self.model.recurrent, CellLayer):
            metadata["cell"] = definition(self.model.recurrent.cell)
        with user_mistakes():  # the folder went away, the disk is full
            checkpoint.save(path, arrays, metadata)

    def restore(self, arrays: dict[str, np.ndarray], metadata: dict[str, Any]) -> None:
        """Return to the point of the run at which `save` was called."""
        part: dict[str, dict[str, np.ndarray]] = {"model": {}, "optimizer": {}, "state": {}, "metrics": {}}
        for key, value in arrays.items():
            first, _, rest = key.partition(".")
            if first in part:
                part[first][rest] = value
        self.model.load_state_dict(part["model"])
        self.optimizer.load_state_dict({**metadata["optimizer"], **part["optimizer"]})
        self.schedule.load_state_dict(metadata["schedule"])
        self.state = tuple(
            mr.tensor(part["state"][name], device=self.options.device) for name in self.model.state_names
        )
        self.batches.restore(metadata["position"])
        rows = zip(*(part["metrics"][name].tolist() for name in COLUMNS), strict=True)
        self.lines = [{k: None if math.isnan(v) else v for k, v in zip(COLUMNS, row, strict=True)} for row in rows]
        for line in self.lines:
            line["step"] = int(line["step"] or 0)
        self.losses = arrays["losses"].tolist()
        self.first_norms = arrays["first_norms"]
        self.step = metadata["step"]
        set_random_state(metadata["random"])


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def random_state() -> dict[str, Any]:
    """The state of the public random stream, as JSON types."""
    state: Any = random.generator().bit_generator.state
    return {
        **state,
        "state": {name: value.tolist() for name, value in state["state"].items()},
        "buffer": state["buffer"].tolist(),
    }


def set_random_state(saved: dict[str, Any]) -> None:
    """The reverse of `random_state`."""
    random.generator().bit_generator.state = {
        **saved,
        "state": {name: np.array(value, np.uint64) for name, value in saved["state"].items()},
        "buffer": np.array(saved["buffer"], np.uint64),
    }
