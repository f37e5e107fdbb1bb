"""``minirnn doctor``: what is installed, which devices work, and one command to try next."""

from __future__ import annotations

import argparse

from minirnn.machine import doctor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(args: argparse.Namespace) -> int:
    """Print the report. The exit status is 0 if the device `cpu` works, else 1."""
    devices = doctor.examine_devices()
    print(doctor.report(devices))
    return 0 if devices["cpu"] is None else 1
