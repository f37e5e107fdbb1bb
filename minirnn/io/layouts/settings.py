"""Facts that weight arrays do not contain. They come from the passport in a file's metadata, or from the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.check import choice
from minirnn.io.layouts.hub import GRU_KINDS, NetworkWeights
from minirnn.ops.cudnn_rnn.params import DIRECTIONS, GATES, INPUT_MODES

PREFIX = "minirnn."
_CHOICES = {"rnn_mode": tuple(GATES), "direction": tuple(DIRECTIONS), "input_mode": INPUT_MODES, "gru": GRU_KINDS}
_SIZES = {"num_layers": 1, "num_units": 1, "input_size": 1, "num_proj": 0}
_NUMBERS = ("forget_bias", "cell_clip")


@dataclass(frozen=True)
class Settings:
    """Facts about a network; None where nothing is known. Raises ValueError or TypeError if a value is invalid.

    Parameters
    ----------
    rnn_mode, direction, input_mode : str
        The same words as in `minirnn.ops.cudnn_rnn_v3`.
    num_layers, num_units, input_size, num_proj : int
        L, H, I and the width of a projection (0 for none).
    gru : {"reset_after", "reset_before"}
        Where the reset gate acts.
    forget_bias : float
        What TensorFlow's LSTMBlockCell and BlockLSTM add to the forget gate when they run.
    cell_clip : float
        The limit of their cell state; 0 for none.
    """

    rnn_mode: str | None = None
    num_layers: int | None = None
    num_units: int | None = None
    input_size: int | None = None
    direction: str | None = None
    num_proj: int | None = None
    input_mode: str | None = None
    gru: str | None = None
    forget_bias: float | None = None
    cell_clip: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is None:
                continue
            if name in _CHOICES:
                value = choice("convert", name, value, _CHOICES[name])
            elif name in _SIZES:
                value = check.integer("convert", name, value, _SIZES[name])
            else:
                value = check.number("convert", name, value)
            if name == "cell_clip":
                value = max(value, 0.0)  # TensorFlow: 0 and below switch it off
            object.__setattr__(self, name, value)

    def known(self) -> dict[str, Any]:
        """The fields that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def merged(self, other: Settings, here: str, there: str) -> Settings:
        """The settings of both. Raises ValueError where they contradict each other."""
        mine, its = self.known(), other.known()
        for name in mine.keys() & its.keys():
            if mine[name] != its[name]:
                raise ValueError(
                    f"convert: {name} is {mine[name]!r} in {here}\n  but {its[name]!r} in {there}; expected one value"
                )
        return Settings(**mine | its)

    def metadata(self) -> dict[str, str]:
        """The settings as text, for the metadata of a safetensors file."""
        return {PREFIX + name: str(value) for name, value in self.known().items()}


def from_metadata(metadata: Mapping[str, str]) -> Settings:
    """The settings that `Settings.metadata` wrote. Raises ValueError for text that it does not write."""
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(Settings)):
        text = metadata.get(PREFIX + name)
        if text is None:
            continue
        try:
            found[name] = int(text) if name in _SIZES else float(text) if name in _NUMBERS else text
        except ValueError:
            raise ValueError(
                f"convert: the file's metadata has {PREFIX + name} = {text!r}\n  expected a number"
            ) from None
    return Settings(**found)


def facts(weights: NetworkWeights) -> Settings:
    """The settings that follow from the weights."""
    net = weights.network()
    return Settings(
        rnn_mode=net.rnn_mode,
        num_layers=net.L,
        num_units=net.H,
        input_size=net.I,
        direction=net.direction,
        num_proj=net.num_proj,
        gru=weights.gru,
    )


def missing(layout: str, name: str, why: str) -> ValueError:
    """The error for a fact that neither the file nor the user provides."""
    option = name.replace("_", "-")
    return ValueError(
        f"convert: {layout}: {name} is not known\n  expected {name}=... (command line: --{option})\n  {why}"
    )
