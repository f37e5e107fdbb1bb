"""Offsets of weights that lie in one buffer are found and compared with ours."""

from __future__ import annotations

from typing import Any

import pytest

from minirnn.bench.cudnn_offsets import PARTS, compared, layouts
from minirnn.ops.cudnn_rnn.params import Network


class Weight:
    def __init__(self, offset: int) -> None:
        self.offset = offset

    def data_ptr(self) -> int:
        return 4096 + 8 * self.offset

    def element_size(self) -> int:
        return 8


class Module:
    """Weights where `net` has them, and `gap` more before each bias."""

    def __init__(self, net: Network, gap: int) -> None:
        self.weights = {}
        for p, regions in enumerate(net.layers):
            for part, region in regions._asdict().items():
                if region:
                    name = f"{PARTS[part]}_l{p // net.D}{'_reverse' if p % net.D else ''}"
                    self.weights[name] = Weight(region.offset + gap * part.startswith("b"))

    def named_parameters(self) -> Any:
        return self.weights.items()


@pytest.mark.parametrize("gap", [0, 4])
def test_a_gap_is_seen(gap: int) -> None:
    net = Network("lstm", 2, 7, 5, "bidirectional", num_proj=3)
    row = compared(Module(net, gap), net)
    assert row["equal"] is (gap == 0)
    assert len(row["cudnn"]) == 2 * 2 * 5
    assert row["cudnn"]["weight_ih_l0"] == 0
    assert row["cudnn"]["bias_hh_l1_reverse"] == row["minirnn"]["bias_hh_l1_reverse"] + gap


def test_the_names_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.LSTM(5, 7, num_layers=2, bidirectional=True, proj_size=3)
    row = compared(module, Network("lstm", 2, 7, 5, "bidirectional", num_proj=3))
    assert set(row["cudnn"]) == set(dict(module.named_parameters()))


def test_without_a_gpu_there_is_nothing_to_say() -> None:
    assert list(layouts("cpu")) == list(layouts("cuda-sim")) == []
