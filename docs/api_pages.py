"""The API reference's pages: one list a module, from the module's own ``__all__``."""

from __future__ import annotations

import importlib
import inspect
import shutil
from pathlib import Path

from minirnn.explain.names import explained

# page -> (title, sentence, [(heading, module, names or None for all of __all__)])
PAGES = {
    "tensor": (
        "Tensors and the tape",
        "Recording, the backward pass, and the check of a gradient by differences.",
        [
            (
                "",
                "minirnn",
                ["tensor", "Tensor", "grad", "gradcheck", "no_grad", "enable_grad", "manual_seed"],
            ),
            ("Made from nothing", "minirnn.engine.creation", None),
            ("Random numbers", "minirnn.engine.random_creation", None),
        ],
    ),
    "functions": (
        "Functions of functions",
        "Jacobians, Hessians and products with them, mapping over a batch, recomputation. [Examples](../functions.md).",
        [
            (
                "",
                "minirnn",
                ["jacobian", "hessian", "vjp", "jvp", "hvp", "vmap", "checkpoint"],
            )
        ],
    ),
    "autograd": (
        "Ops of your own",
        "An op with its own backward formula, its kernels, and its proof. [How to write one](../own_op.md).",
        [
            ("", "minirnn.autograd", ["Function", "FunctionCtx", "once_differentiable"]),
            ("Kernels as text", "minirnn.devices", ["CppSource", "CudaSource"]),
            ("Proofs", "minirnn.proof", None),
        ],
    ),
    "ops": (
        "Ops",
        "Every op is a node of the tape; the fused ones have [a page with their formulas](../ops/README.md)."
        " [The errors](../ops/README.md#what-an-op-raises) are the same for all.",
        [
            ("RNN ops", "minirnn.ops", "rnn"),
            ("Losses", "minirnn.ops", "losses"),
            ("Primitives", "minirnn.ops", "primitives"),
        ],
    ),
    "nn": (
        "Modules",
        "Layers, cells and losses, with torch's names where torch has them.",
        [
            ("", "minirnn.nn", None),
            ("Initial values", "minirnn.nn.init", None),
            ("Parameters and gradients together", "minirnn.nn.utils", None),
            ("Sequences of different lengths", "minirnn.nn.utils.rnn", None),
        ],
    ),
    "cells": (
        "Your own cell",
        "One step as a Python function: its backward formulas, layers of it, and [its proof](autograd.md#proofs).",
        [
            (
                "",
                "minirnn",
                [
                    "cell",
                    "product",
                    "unit_mean",
                    "unit_sum",
                    "unit_max",
                    "unit_norm",
                    "unit_softmax",
                    "straight_through",
                    "softplus",
                ],
            ),
            ("What it makes", "minirnn.nn.own.decorator", ["Cell"]),
            ("Layers", "minirnn.nn.own.layer", ["CellLayer"]),
        ],
    ),
    "functional": (
        "Functions of nn",
        "Layers, activations and losses as functions: `import minirnn.nn.functional as F`.",
        [("", "minirnn.nn.functional", None)],
    ),
    "cudnn_rnn": ("CudnnRNN objects", "The objects of early TensorFlow.", [("", "minirnn.cudnn_rnn", None)]),
    "optim": (
        "Optimizers",
        "Steps along the gradient.",
        [("Optimizers and clipping", "minirnn.optim", None), ("Schedules", "minirnn.optim.lr_scheduler", None)],
    ),
    "viz": ("Pictures", "Each function returns a `Picture`; none shows a window.", [("", "minirnn.viz", None)]),
    "data": ("Tasks, text and batches", "What networks are trained on.", [("", "minirnn.data", None)]),
    "io": ("Weights on disk", "Checkpoints and the layouts of other libraries.", [("", "minirnn.io", None)]),
    "devices": (
        "Devices",
        "Arrays in, arrays out. [Write your own](../own_device.md).",
        [("", "minirnn.devices", None)],
    ),
}


def names_of(module_name: str, which: object) -> list[str]:
    module = importlib.import_module(module_name)
    if isinstance(which, list):
        return which
    public = getattr(module, "__all__", None) or [
        n
        for n, value in vars(module).items()
        if not n.startswith("_") and getattr(value, "__module__", None) == module_name
    ]
    names = [n for n in public if not inspect.ismodule(getattr(module, n))]
    primitives = set(importlib.import_module("minirnn.ops.primitives").__all__)
    rnn = set(explained())
    if which == "rnn":
        names = [n for n in names if n in rnn]
    elif which == "losses":
        names = [n for n in names if n not in primitives | rnn]
    elif which == "primitives":
        names = [n for n in names if n in primitives]
    return sorted(names, key=str.lower)


def page(name: str) -> str:
    title, sentence, groups = PAGES[name]
    lines = [f"# {title}", "", sentence, ""]
    for heading, module, which in groups:
        if heading:
            lines += [f"## {heading}", ""]
        lines += ["```{eval-rst}", f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", ""]
        lines += [f"   {n}" for n in names_of(module, which)]
        lines += ["```", ""]
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write the pages that changed, and let the pages of single names be made anew."""
    shutil.rmtree(folder / "generated", ignore_errors=True)
    folder.mkdir(exist_ok=True)
    toc = "\n".join(PAGES)
    index = f"# API reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{toc}\n```\n"
    for name, text in {"index": index, **{name: page(name) for name in PAGES}}.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
