"""``minirnn explain OP``: what an op computes, forward and backward, where it is written, and what it keeps."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import minirnn
from minirnn import devices, ops
from minirnn.devices.cuda.driver import Limits
from minirnn.devices.cuda.launch.cudnn_rnn.choice import AUTO, H200, RUNGS, VARIABLE, choose
from minirnn.devices.cuda.launch.cudnn_rnn.layout import Sizes
from minirnn.devices.cuda.recordings import VARIABLE as GRAPHS
from minirnn.ops.cudnn_rnn.network import Call, kernel_layout, reserve_layout
from minirnn.ops.cudnn_rnn.params import DIRECTIONS, GATES, INPUT_MODES, Network
from minirnn.user_error import UserError, user_mistakes

ROOT = Path(minirnn.__file__).parent


@dataclass(frozen=True)
class Family:
    """Where the ops of a family are written."""

    formulas: str
    """Module whose docstring explains the formulas."""
    numpy: tuple[tuple[str, str], ...]
    """Module and function of the arithmetic in NumPy, forward and backward."""
    kernels: str
    """Stem of the .cu files."""


_CELL = Family(
    "minirnn.ops.lstm_block.cell",
    (
        ("minirnn.devices.cpu.lstm_block.cell", "lstm_block_cell"),
        ("minirnn.devices.cpu.lstm_block.cell", "lstm_block_cell_grad"),
    ),
    "lstm_block",
)
_SEQUENCE = Family("minirnn.ops.lstm_block.cell", _CELL.numpy, "lstm_block")
_GRU = Family(
    "minirnn.ops.gru_block",
    (("minirnn.devices.cpu.gru_block", "gru_block_cell"), ("minirnn.devices.cpu.gru_block", "gru_block_cell_grad")),
    "gru_block",
)
_CUDNN = Family("minirnn.ops.cudnn_rnn.nodes", (("minirnn.devices.cpu.cudnn_rnn.reference", ""),), "cudnn_rnn")
_PARAMS = Family("minirnn.ops.cudnn_rnn.params", (), "")


def family_of(op: str) -> Family:
    """The family of an op by its name."""
    if op.startswith("cudnn_rnn"):
        return _PARAMS if "params" in op else _CUDNN
    return _GRU if op.startswith("gru") else _SEQUENCE if op.startswith("block_lstm") else _CELL


def explained() -> list[str]:
    """The ops this command knows: all that are not primitives."""
    return sorted(name for name in ops.__all__ if name.startswith(("lstm_", "block_", "gru_", "cudnn_")))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("op", metavar="OP", help=f"one of {', '.join(explained())}")
    parser.add_argument("--source", action="store_true", help="print the NumPy (and CUDA) source as well")
    parser.add_argument("--json", action="store_true", help="print the memory table of a cudnn_rnn op as JSON")
    parser.add_argument("--device", help="whose kernels and memory (default: the default device)")
    sizes = parser.add_argument_group("for the cudnn_rnn ops: the network whose memory is listed")
    for letter, value, meaning in (
        ("T", 5, "time steps"),
        ("B", 2, "batch"),
        ("I", 3, "inputs"),
        ("H", 4, "units"),
        ("L", 2, "layers"),
        ("P", 0, "projection, 0 for none"),
    ):
        sizes.add_argument(f"-{letter}", type=int, default=value, help=f"{meaning} (default {value})")
    sizes.add_argument("--mode", default="lstm", choices=list(GATES))
    sizes.add_argument("--direction", default="unidirectional", choices=list(DIRECTIONS))
    sizes.add_argument("--input-mode", default="linear_input", choices=list(INPUT_MODES))
    sizes.add_argument("--dropout", type=float, default=0.0, help="above 0: masks are kept, too")
    sizes.add_argument("--dtype", default="float32", choices=["float16", "float32", "float64"])


def run(args: argparse.Namespace) -> int:
    if args.op not in explained():
        raise UserError(f"no op is called {args.op!r}\n  expected one of {', '.join(explained())}")
    with user_mistakes():
        device = devices.get(args.device)
        tables = memory_tables(args, device) if family_of(args.op) in (_CUDNN, _PARAMS) else {}
    if args.json:
        if not tables:
            raise UserError(
                f"--json prints the memory of the cudnn_rnn ops; {args.op} keeps its outputs and nothing else"
            )
        print(json.dumps(tables, indent=1))
        return 0
    family = family_of(args.op)
    heading(f"{args.op}: formulas ({where(family.formulas)})")
    print(inspect.getdoc(importlib.import_module(family.formulas)))
    function: Callable[..., Any] = getattr(ops, args.op)
    heading(f"{args.op}: arguments")
    print(f"{args.op}{inspect.signature(function)}\n")
    print(inspect.getdoc(function))
    heading("where it is computed")
    for module, name in family.numpy:
        print(f"NumPy  {where(module, name)}")
    kernels = sorted((ROOT / "devices" / "cuda" / "kernels").glob(f"{family.kernels}*.cu")) if family.kernels else []
    for path in kernels:
        print(f"CUDA   minirnn/{path.relative_to(ROOT)}")
    print("a device without the kernel computes the composition from primitives, in minirnn/ops/")
    if args.source:
        for module, name in family.numpy:
            heading(where(module, name))
            imported = importlib.import_module(module)
            print(inspect.getsource(getattr(imported, name) if name else imported).rstrip())
        for path in kernels:
            heading(f"minirnn/{path.relative_to(ROOT)}")
            print(path.read_text().rstrip())
    if family is _CUDNN:
        heading("which rung of the ladder computes a layer, forward and backward (docs: cudnn_ladder)")
        print_rungs(args, device)
    for title, rows in tables.items():
        heading(f"{title}, on {device}, {args.dtype}")
        print_table(rows)
    return 0


def heading(text: str) -> None:
    print(f"\n== {text}\n")


def where(module: str, name: str = "") -> str:
    """File and line of a module or of one of its functions."""
    imported = importlib.import_module(module)
    path = f"minirnn/{Path(str(imported.__file__)).relative_to(ROOT)}"
    return f"{path}:{inspect.getsourcelines(getattr(imported, name))[1]}  {name}" if name else path


def print_rungs(args: argparse.Namespace, device: Any) -> None:
    """What a CUDA device would choose for the layers of this network, and what a large GPU would."""
    net = Network(args.mode, args.L, args.H, args.I, args.direction, args.input_mode, args.P, op="explain")
    itemsize = max(4, np.dtype(args.dtype).itemsize)  # float16 is computed in float32
    sizes = Sizes(net.rnn_mode, args.T, args.B, net.H, net.P, net.D, itemsize)
    driver = getattr(device, "driver", None)
    if driver is None:
        print(f"{device} has no rungs: one function for each mode")
    else:
        wanted = getattr(device, "cudnn_rnn_rung", None)
        print(f"{device}{f', asked for {wanted}' if wanted else ''}")
        print_choices(sizes, driver.limits, wanted)
    if driver is None or driver.limits.simulated:
        print(f"with {VARIABLE}={AUTO}, on a GPU such as {H200.name} ({H200.multiprocessors} multiprocessors)")
        print_choices(sizes, H200, None)
    print(f"to choose: {VARIABLE}={'|'.join((AUTO, *RUNGS))}, or device.cudnn_rnn_rung = ...")
    print(
        f"the loop of {RUNGS[0]} as one launch, where it comes again: {GRAPHS}=1, or device.recordings.enabled = True"
    )


def print_choices(sizes: Sizes, limits: Limits, wanted: str | None) -> None:
    for name, backward in (("forward", False), ("backward", True)):
        choice = choose(sizes, limits, backward, wanted)
        print(f"  {name:9} {choice.rung:11} {choice.reason}")
        if choice.layout is not None:
            print(f"  {'':21} {choice.layout.describe(sizes.D)}")


def memory_tables(args: argparse.Namespace, device: Any) -> dict[str, list[dict[str, Any]]]:
    """The parameter buffer and the reserve space of a network, part by part."""
    for name in ("T", "B"):
        if getattr(args, name) < 1:
            raise ValueError(f"-{name} is {getattr(args, name)}\n  expected 1 or more")
    if not 0 <= args.dropout <= 1:
        raise ValueError(f"--dropout is {args.dropout}\n  expected 0 .. 1")
    net = Network(args.mode, args.L, args.H, args.I, args.direction, args.input_mode, args.P, op="explain")
    bytes_each = np.dtype(args.dtype).itemsize
    regions = [region for layer in net.layers for region in layer if region is not None]
    params = [
        row(region.name, region.offset, region.shape, bytes_each) for region in sorted(regions, key=lambda r: r.offset)
    ]
    call = Call(net, args.T, args.B, dropping=args.dropout > 0 and net.L > 1)
    reserve = []
    for part in reserve_layout(device, call).values():
        if not part.name.startswith("layer"):
            reserve.append(row(part.name, part.offset, (part.size,), bytes_each))
            continue
        offset = part.offset
        for name, shape in kernel_layout(device, net, args.T, args.B, int(part.name.split()[1])):
            reserve.append(row(f"{part.name}: {name}", offset, shape, bytes_each))
            offset += reserve[-1]["elements"]
    return {"params": params, "reserve_space": reserve}


def row(name: str, offset: int, shape: tuple[int, ...], bytes_each: int) -> dict[str, Any]:
    elements = int(np.prod(shape))
    return {"name": name, "offset": offset, "shape": list(shape), "elements": elements, "bytes": elements * bytes_each}


def print_table(rows: list[dict[str, Any]]) -> None:
    width = max((len(r["name"]) for r in rows), default=0)
    print(f"{'part':{width}}  {'offset':>10}  {'elements':>10}  {'bytes':>12}  shape")
    for r in rows:
        shape = ", ".join(map(str, r["shape"]))
        print(f"{r['name']:{width}}  {r['offset']:>10,}  {r['elements']:>10,}  {r['bytes']:>12,}  ({shape})")
    total = sum(r["elements"] for r in rows)
    print(f"{'in all':{width}}  {'':>10}  {total:>10,}  {sum(r['bytes'] for r in rows):>12,}")
