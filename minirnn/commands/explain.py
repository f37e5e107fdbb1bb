"""``minirnn explain OP``: what an op or a custom cell computes forward and backward, where, and what it saves."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator

from minirnn import devices
from minirnn.arguments.user_error import user_mistakes
from minirnn.explain.cells import cell_lines, heading
from minirnn.explain.names import explained, op_named, primitives, tensorflow_name
from minirnn.explain.network import Call, Parts, memory_lines, memory_tables, rung_lines
from minirnn.explain.ops import CUDNN, PARAMS, Layer, family_of, formulas
from minirnn.explain.primitives import primitive_lines
from minirnn.machine.terminal import styled
from minirnn.nn.own.file import FORM, cell_in, names_a_file
from minirnn.ops.cudnn_rnn.params import DIRECTIONS, GATES, INPUT_MODES, Network

SIZES = {
    "T": (5, "time steps"),
    "B": (2, "batch"),
    "I": (3, "inputs"),
    "H": (4, "units"),
    "L": (2, "layers"),
    "P": (0, "projection, 0 for none"),
}
"""Letter -> default and meaning."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = "an op by its name here or in TensorFlow, such as block_lstm, LSTMBlockCell or tanh; a custom cell as "
    names += f"{FORM} (default: list all)"
    parser.add_argument("op", metavar="OP", nargs="?", help=names)
    parser.add_argument("--source", action="store_true", help="print the NumPy, CUDA and C++ source as well")
    parser.add_argument("--device", help="device whose kernels and memory are shown (default: the default device)")
    sizes = parser.add_argument_group("for the cudnn_rnn ops: the network whose cell and memory are explained")
    for letter, (value, meaning) in SIZES.items():
        sizes.add_argument(f"-{letter}", type=int, default=value, help=f"{meaning} (default {value})")
    sizes.add_argument("--mode", default="lstm", choices=list(GATES), help="whose cell is explained (default lstm)")
    sizes.add_argument("--direction", default="unidirectional", choices=list(DIRECTIONS))
    sizes.add_argument("--input-mode", default="linear_input", choices=list(INPUT_MODES))
    sizes.add_argument("--dropout", type=float, default=0.0, help="if above 0, masks are also saved")
    sizes.add_argument("--zoneout", action="store_true", help="units keep their old state at random")
    sizes.add_argument("--dtype", default="float32", choices=["float16", "float32", "float64"])


def run(args: argparse.Namespace) -> int:
    """Print the explanation of an op or a custom cell; for a CudnnRNN op also its memory and the rungs that compute
    it.
    """
    if args.op is None:
        print("\n".join(listed()))
        return 0
    if names_a_file(args.op):
        cell = cell_in(args.op)
        with user_mistakes():
            device = args.device and devices.get(args.device).name
        show(cell_lines(cell, args.op, args.source, device))
        return 0
    args.op = op_named(args.op)
    if args.op in primitives():
        show(primitive_lines(args.op, args.source))
        return 0
    family = family_of(args.op)
    tables: dict[str, Parts] = {}
    with user_mistakes():
        device = devices.get(args.device)
        if family in (CUDNN, PARAMS):
            call = call_of(args)
            tables = memory_tables(device, call, args.dtype)
    layer = Layer(args.mode, args.P > 0, args.zoneout)
    lines: list[str] = [*formulas(args.op, args.source, layer, args.device and device.name)]
    if family is CUDNN:
        lines.append(heading("which rung of the ladder computes a layer, forward and backward (docs: cudnn_ladder)"))
        lines += rung_lines(device, call, args.dtype)
    for title, rows in tables.items():
        lines += [heading(f"{title}, on {device}, {args.dtype}"), *memory_lines(rows, args.dtype)]
    show(lines)
    return 0


def show(lines: Iterable[str]) -> None:
    """Print the lines; on a terminal the headings are bold."""
    for line in lines:
        print(styled(line, "bold") if line.startswith("\n== ") else line)


def listed() -> Iterator[str]:
    """All ops: the fused ones with TensorFlow's names, and the primitives."""
    yield "fused ops, one node of the tape each, and their names in TensorFlow"
    yield from (f"  {op:{34}}{tensorflow_name(op)}" for op in explained())
    yield "\nprimitives, of which the fused ops are composed"
    yield textwrap.fill(", ".join(primitives()), initial_indent="  ", subsequent_indent="  ", width=100)


def call_of(args: argparse.Namespace) -> Call:
    """The call of a network whose memory is listed."""
    for name in ("T", "B"):
        if getattr(args, name) < 1:
            raise ValueError(f"-{name} is {getattr(args, name)}\n  expected 1 or more")
    if not 0 <= args.dropout <= 1:
        raise ValueError(f"--dropout is {args.dropout}\n  expected 0 .. 1")
    net = Network(args.mode, args.L, args.H, args.I, args.direction, args.input_mode, args.P, op="explain")
    return Call(net, args.T, args.B, args.dropout > 0, args.zoneout)
