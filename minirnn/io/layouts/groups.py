"""Names of the arrays of libraries that store single layers: one group of arrays for each layer and direction.

They are written as

    kernel, ...                              one layer, one direction
    layer_0/kernel, ...                      several layers
    layer_0/forward/kernel, layer_0/backward/kernel, ...

Reading takes these and whatever else has one folder per layer, such as
``bidirectional_1/backward_lstm_1/lstm_cell/kernel:0``. Folders in natural order (2 before 10) are the layers;
``forward``/``fw`` and ``backward``/``bw`` in a name tell the direction.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from minirnn.io.layouts.base import Arrays, Layout
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights
from minirnn.io.layouts.settings import Settings

_BACKWARD = re.compile(r"(?<![a-z])(backward|bw|reverse)(?![a-z])")
_FORWARD = re.compile(r"(?<![a-z])(forward|fw)(?![a-z])")

Group = dict[str, np.ndarray]


def prefix(layer: int, direction: int, layers: int, directions: int) -> str:
    """The prefix of the names of one group."""
    if layers == directions == 1:
        return ""
    return f"layer_{layer}/" + ("" if directions == 1 else ("forward/", "backward/")[direction])


def leaf(key: str) -> tuple[str, str]:
    """The folder and the name in a key: ``lstm/cell/kernel:0`` has ``lstm/cell/`` and ``kernel``."""
    key = key.removesuffix(":0")
    at = max(key.rfind("/"), key.rfind(".")) + 1
    return key[:at], key[at:]


def place(key: str, names: Mapping[str, str]) -> tuple[str, str] | None:
    """The folder of an array and the name that `names` gives it; None if it isn't listed.

    The keys of `names` may include a folder: ``gates/kernel``.
    """
    folder, name = leaf(key)
    parent, last = leaf(folder[:-1])
    for before, candidate in ((parent, f"{last}/{name}"), (folder, name)):
        if candidate in names:
            return before, names[candidate]
    return None


def natural(text: str) -> list[Any]:
    """A sort key under which layer_2 comes before layer_10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]


class GroupedLayout(Layout):
    """A layout whose arrays form groups, one for each layer and direction.

    Attributes
    ----------
    names : dict of str to str
        The names of arrays in files -> what `read` calls them.
    """

    names: ClassVar[dict[str, str]]

    @abstractmethod
    def is_layer(self, group: Group) -> bool:
        """Whether a group is a recurrent layer of this layout, not a Dense layer for example."""

    def collect(self, arrays: Arrays) -> dict[str, Group]:
        """The arrays of each folder that is a layer."""
        found: dict[str, Group] = {}
        for key, array in arrays.items():
            placed = place(key, self.names)
            if placed is not None:
                folder, name = placed
                found.setdefault(folder, {})[name] = array
        found = {folder: group for folder, group in found.items() if self.is_layer(group)}
        return dict(sorted(found.items(), key=lambda item: natural(item[0])))

    def own(self, arrays: Arrays) -> dict[str, str]:
        layers = self.collect(arrays)
        places = ((key, place(key, self.names)) for key in arrays)
        return {key: placed[0] for key, placed in places if placed is not None and placed[0] in layers}

    def layers(self, arrays: Arrays) -> tuple[list[Group], int]:
        """The groups in the order of the hub, l*D + d, and D.

        Raises ValueError if there are no groups, or a direction is missing somewhere.
        """
        found = self.collect(arrays)
        if not found:
            raise ValueError(
                f"convert: {self.name}: got {', '.join(arrays)}\n  expected arrays named {', '.join(self.names)}"
            )
        backward = {_plain(folder): group for folder, group in found.items() if _BACKWARD.search(folder)}
        if not backward:
            return list(found.values()), 1
        forward = {_plain(folder): group for folder, group in found.items() if not _BACKWARD.search(folder)}
        if sorted(forward) != sorted(backward):
            raise ValueError(
                f"convert: {self.name}: forward and backward don't pair up: {', '.join(map(repr, found))}\n"
                "  expected both directions of every layer, named alike but for forward and backward"
            )
        return [group for folder in forward for group in (forward[folder], backward[folder])], 2

    def write(self, weights: NetworkWeights, settings: Settings) -> tuple[dict[str, np.ndarray], Settings]:
        D, beside = weights.directions, self.beside(weights, settings)
        arrays: dict[str, np.ndarray] = {}
        for p, layer in enumerate(weights.layers):
            before = prefix(*divmod(p, D), len(weights.layers) // D, D)
            arrays |= {before + name: a for name, a in self.write_layer(weights, layer, beside).items()}
        return arrays, beside

    def beside(self, weights: NetworkWeights, settings: Settings) -> Settings:
        """The settings needed to read the arrays of `weights`."""
        return Settings()

    def write_layer(self, weights: NetworkWeights, layer: LayerWeights, beside: Settings) -> Group:
        """The arrays of one layer and direction."""
        raise NotImplementedError


def _plain(folder: str) -> str:
    return _FORWARD.sub("*", _BACKWARD.sub("*", folder))
