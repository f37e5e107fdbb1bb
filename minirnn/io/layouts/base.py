"""The base class of layouts: how one library stores the weights of a recurrent network, and what it cannot hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from minirnn.io.layouts.gates import CUDNN_GATES, reorder
from minirnn.io.layouts.hub import NetworkWeights
from minirnn.io.layouts.settings import Settings, missing

Arrays = Mapping[str, np.ndarray]


class Layout(ABC):
    """One library's way to store weights. Subclasses define what they can hold and how to read and write it.

    Attributes
    ----------
    name : str
        The name that users write: ``"torch.nn"``.
    gates : dict of str to str
        rnn_mode -> gate order, in the letters of the library. It cannot store modes that are missing here.
    gru_kinds : tuple of str
        The kinds of GRU that it has.
    form : str
        The form of its matrices, for the finder: units are "rows" or "columns"; "fused" is [W | R]' in one array,
        "split" the same with the gates r and z in one array and n in another. Empty for any other form.
    projection, peepholes, clip, adds_forget_bias : bool
        Whether it has these features, and whether the cell adds a number to the forget gate when it runs.
    one_bias : bool
        Whether it stores the sum of the two biases.
    """

    name: ClassVar[str]
    gates: ClassVar[dict[str, str]]
    gru_kinds: ClassVar[tuple[str, ...]] = ("reset_after",)
    form: ClassVar[str] = ""
    projection: ClassVar[bool] = False
    peepholes: ClassVar[bool] = False
    clip: ClassVar[bool] = False
    adds_forget_bias: ClassVar[bool] = False
    one_bias: ClassVar[bool] = False

    @abstractmethod
    def own(self, arrays: Arrays) -> dict[str, str]:
        """The names of the arrays that belong to this layout, and the folder (or module) that each is in."""

    def claims(self, arrays: Arrays) -> bool:
        """Whether the names and ranks of some arrays look like those of this layout."""
        return bool(self.own(arrays))

    @abstractmethod
    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        """The weights in minirnn's common layout. Raises ValueError if the arrays do not fit this layout."""

    @abstractmethod
    def write(self, weights: NetworkWeights, settings: Settings) -> tuple[dict[str, np.ndarray], Settings]:
        """The arrays, and the settings needed to read them. The caller has called `check_holds` before."""

    def to_hub(self, rnn_mode: str, stacked: np.ndarray) -> np.ndarray:
        """Gates along the first axis, from the order of this layout to that of the hub."""
        return reorder(stacked, self.gates[rnn_mode], CUDNN_GATES[rnn_mode])

    def from_hub(self, rnn_mode: str, stacked: np.ndarray) -> np.ndarray:
        """Gates along the first axis, from the order of the hub to that of this layout."""
        return reorder(stacked, CUDNN_GATES[rnn_mode], self.gates[rnn_mode])

    def full_name(self, rnn_mode: str) -> str:
        """Name and gate order: ``"torch.nn/ifgo"``."""
        return f"{self.name}/{self.gates[rnn_mode]}" if self.gates[rnn_mode] else self.name

    def check_holds(self, weights: NetworkWeights) -> None:
        """Raise ValueError, saying why, if these weights have something that this layout has no place for."""
        if weights.rnn_mode not in self.gates:
            raise ValueError(
                f"convert: {self.name} holds {', '.join(self.gates)}\n  got {weights}, expected one of those\n"
                "  another kind of network computes something else, whatever its weights"
            )
        if weights.gru is not None and weights.gru not in self.gru_kinds:
            raise ValueError(
                f"convert: got a GRU of the kind {weights.gru}\n"
                f"  expected the kind of {self.name}, {self.gru_kinds[0]}\n"
                "  in general no weights make them equal: R (r * h) mixes units that r has scaled,"
                " r * (R h) scales the mixture"
            )
        if weights.network().num_proj and not self.projection:
            raise ValueError(
                f"convert: got {weights}, with a projection of h\n  {self.name} has none, expected weights without\n"
                "  multiplying it into R and the next W would change the width of the outputs"
            )
        if weights.has_peephole and not self.peepholes:
            raise ValueError(
                f"convert: got peephole weights that are not zero\n  {self.name} has none, expected weights without\n"
                "  its gates never see the cell state; if the cell ran without peepholes, leave wci, wcf, wco out"
            )
        if weights.cell_clip and not self.clip:
            raise ValueError(
                f"convert: the network was run with cell_clip {weights.cell_clip:g}\n"
                f"  {self.name} has none, expected 0\n"
                "  if the cell state never reached it, pass cell_clip=0 (command line: --cell-clip 0)"
            )


def mode_of(layout: str, GH: int, H: int, settings: Settings) -> str:
    """The rnn_mode that has GH / H gates."""
    modes = {1: None, 3: "gru", 4: "lstm"}
    if not H or GH % H or GH // H not in modes:
        raise ValueError(
            f"convert: {layout}: {GH} gate rows for {H} units\n  expected 1, 3 or 4 times as many: rnn, gru, lstm"
        )
    mode = modes[GH // H]
    if mode is None:
        mode = settings.rnn_mode
        if mode not in ("rnn_tanh", "rnn_relu"):
            raise missing(layout, "rnn_mode", "one gate: rnn_tanh and rnn_relu have the same arrays")
    return mode
