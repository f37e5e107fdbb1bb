"""The cases of all ops of minirnn, for `minirnn verify` and for the tests."""

from __future__ import annotations

from collections.abc import Mapping

from minirnn.proof.cases import block, canonical, cudnn, functional, primitives, rungs
from minirnn.proof.table import Comparison
from minirnn.proof.ways import comparisons


def all_comparisons(devices: Mapping[str, str | None]) -> list[Comparison]:
    """All comparisons of the table. `devices` maps a name to None, or to the reason why it does not work here."""
    listed: list[Comparison] = []
    for module in (block, cudnn, canonical, primitives, functional):
        listed += comparisons(module.cases(), devices)
    return [*listed, *rungs.comparisons(devices)]
