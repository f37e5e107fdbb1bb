"""``python -m tests.verified``: `minirnn verify` with one more way, the values that TensorFlow and torch computed.

It has the options of `minirnn verify`. The tables of the documentation are made by it. A device that is only imitated
gets its own name in the table.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from minirnn.arguments.user_error import UserError
from minirnn.commands import verify
from minirnn.devices.base import DeviceUnavailable
from minirnn.proof.cases import all_comparisons
from minirnn.proof.proof import described
from minirnn.proof.table import Comparison
from tests.proof import stored

GOLDEN = Path(__file__).parent / "golden"
STAND_IN = "stand-in GPU"
"""The name that the GPU of ``scripts/with_stand_in_gpu.sh`` reports."""
IMITATED = "no GPU: the real PyCUDA on a stand-in that imitates NVIDIA's driver and cuBLAS with the simulator"


def every_comparison(devices: Mapping[str, str | None], golden: Path = GOLDEN) -> list[Comparison]:
    """The comparisons with stored values, and those of `minirnn verify`; an imitated GPU is ``cuda (stand-in)``."""
    listed = [*stored.comparisons(devices, golden), *all_comparisons(devices)]
    labels = labels_of(devices)
    return [replace(one, cell=replace(one.cell, device=labels[one.cell.device])) for one in listed]


def labels_of(devices: Mapping[str, str | None]) -> dict[str, str]:
    """Maps a device to its name in the table."""
    found = described(devices)
    return {name: f"{name} (stand-in)" if text == STAND_IN else name for name, text in found.items()}


def main(arguments: Sequence[str], golden: Path = GOLDEN) -> int:
    parser = argparse.ArgumentParser("python -m tests.verified", description=__doc__)
    verify.add_arguments(parser)
    args = parser.parse_args(arguments)
    devices = verify.chosen_devices(args.device)
    labels, texts = labels_of(devices), described(devices)
    named = {labels[name]: IMITATED if text == STAND_IN else text for name, text in texts.items()}
    return verify.answer(args, every_comparison(devices, golden), named)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (UserError, DeviceUnavailable) as error:
        sys.exit(f"tests.verified: {error}")
