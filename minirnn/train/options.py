"""The options of ``minirnn train``: their defaults, their limits, and which may differ when a run is resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from minirnn.arguments.user_error import UserError, user_mistakes
from minirnn.nn.own.file import cell_in, names_a_file
from minirnn.nn.own.layer import can_project

CELLS = ("lstm", "gru", "rnn")
"""The cells of minirnn."""
REGULARIZATION = ("variational", "input_dropout", "weight_dropout", "zoneout")
"""The regularization options of layers of minirnn; layers of custom cells have masks instead of zoneout."""
LARGEST_LAYER = 4096
"""The largest number of units. The weights of such an LSTM and the state of Adam take a gigabyte."""


@dataclass(frozen=True)
class Options:
    """Everything that determines the results of a run; the checkpoint holds it."""

    cell: str = "lstm"
    """One of `CELLS`, or the place of a custom cell: ``FILE.py:name``."""
    device: str = "cpu"
    text: str | None = None
    """The path of the text; None means `minirnn.data.python_source_text`."""
    steps: int = 1200
    seed: int = 0
    hidden: int = 256
    layers: int = 1
    projection: int = 0
    dropout: float = 0.0
    input_dropout: float = 0.0
    variational: bool = False
    weight_dropout: float = 0.0
    zoneout: float = 0.0
    bidirectional: bool = False
    batch: int = 32
    length: int = 64
    lr: float = 0.004
    optimizer: str = "adam"
    schedule: str = "constant"
    warmup: int = 0
    schedule_steps: int | None = None
    """The step at which the schedule ends; None means the `steps` that the run began with."""
    shards: int = 0
    """The number of parts of a batch, which several ranks may share; 0 computes it as a whole."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


NAMES = tuple(field.name for field in fields(Options))
MAY_CHANGE = ("steps", "text")
"""The options that may differ when a run is resumed. The text may have moved; its hash is compared. The file of a
custom cell may also have moved; what the cell computes is compared."""


def of_new_run(given: dict[str, Any]) -> Options:
    """The options of a new run. Raises UserError if they contradict each other."""
    options = Options(**given)
    if names_a_file(options.cell):
        check_own_cell(options)
    elif options.projection and options.cell != "lstm":
        raise UserError(f"--projection is for --cell lstm; a {options.cell} has none")
    if options.projection >= options.hidden:
        raise UserError(f"--projection {options.projection} must be smaller than the {options.hidden} units")
    if options.variational and not options.dropout + options.input_dropout:
        raise UserError("--variational changes --dropout and --input-dropout; give one of them")
    length = options.schedule_steps or options.steps
    if options.schedule == "constant" and options.schedule_steps is not None:
        raise UserError("--schedule-steps needs a --schedule")
    if options.schedule != "constant":
        if options.warmup >= length:
            raise UserError(f"--warmup {options.warmup} leaves none of the {length} steps of --schedule")
        return replace(options, schedule_steps=length)  # so that a larger --steps later does not stretch it
    return options


def check_own_cell(options: Options) -> None:
    """Raise UserError unless the custom cell exists and its layers can have these options."""
    cell = cell_in(options.cell)
    name = cell.__name__
    if options.zoneout:
        raise UserError(
            f"--zoneout is for {', '.join(CELLS)}; the custom cell {name} has none: "
            "use a parameter mask_NAME of its function"
        )
    if options.projection and not can_project(cell):
        raise UserError(f"--projection: the step of {name} reads its output itself, so it cannot be projected")
    unknown = [n for n, rate in cell.step.masked.items() if rate is None]
    if unknown:
        raise UserError(
            f"--cell: the mask {unknown[0]!r} of {name} has no rate; write {unknown[0]}=0.9 in its function"
        )
    with user_mistakes():
        cell.layer(2, 3, weight_dropout=options.weight_dropout)


def resumed(saved: dict[str, Any], chosen: dict[str, Any], step: int) -> Options:
    """The options of a resumed run: the saved ones, except for `MAY_CHANGE`.

    Raises UserError if an option contradicts the saved run, or asks for fewer steps than it has done.
    """
    for name, value in chosen.items():
        moved = name == "cell" and names_a_file(value) and names_a_file(saved[name])
        if name not in MAY_CHANGE and not moved and value != saved[name]:
            option = f"--{name.replace('_', '-')}"
            raise UserError(
                f"{option} {value} contradicts the run to resume, which has {saved[name]}\n"
                f"leave {option} out to continue it, or start a new run in another --out"
            )
    options = Options(**(saved | chosen))
    if options.steps < step:
        raise UserError(f"--steps {options.steps} is less than the {step} steps that the run to resume has done")
    return options
