"""``minirnn doctor``: what is installed, which devices work, and one command to try next."""

from __future__ import annotations

import argparse
import json

from minirnn.machine import doctor


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the report. The exit status is 0 if the device `cpu` works, else 1."""
    report = doctor.examine()
    print(json.dumps(report, indent=2) if args.json else doctor.render(report))
    return 0 if report["devices"]["cpu"] is None else 1
