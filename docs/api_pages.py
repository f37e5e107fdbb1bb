"""The API reference's pages: one list a module, from the module's own ``__all__``."""

from __future__ import annotations

import importlib
import inspect
import shutil
from pathlib import Path

from minirnn.explain.names import explained

PAGES: dict[str, tuple[str, str, dict[str, str]]] = {
    "tensor": (
        "Tensors and the tape",
        "Recording, the backward pass, and the check of a gradient by differences.",
        {
            "": "minirnn tensor Tensor grad gradcheck no_grad enable_grad manual_seed",
            "Made from nothing": "minirnn.engine.creation",
            "Random numbers": "minirnn.engine.random_creation",
        },
    ),
    "functions": (
        "Functions of functions",
        "Jacobians, Hessians and products with them, mapping over a batch, recomputation. [Examples](../functions.md).",
        {"": "minirnn jacobian hessian vjp jvp hvp vmap checkpoint"},
    ),
    "autograd": (
        "Ops of your own",
        "An op with its own backward formula, its kernels, and its proof. [How to write one](../own_op.md).",
        {
            "": "minirnn.autograd Function FunctionCtx once_differentiable",
            "Kernels as text": "minirnn.devices CppSource CudaSource",
            "Proofs": "minirnn.proof",
        },
    ),
    "ops": (
        "Ops",
        "Every op is a node of the tape; the fused ones have [a page with their formulas](../ops/README.md)."
        " [The errors](../ops/README.md#what-an-op-raises) are the same for all.",
        dict.fromkeys(("RNN ops", "Losses", "Primitives"), "minirnn.ops"),
    ),
    "nn": (
        "Modules",
        "Layers, cells and losses, with torch's names where torch has them.",
        {
            "": "minirnn.nn",
            "Initial values": "minirnn.nn.init",
            "Parameters and gradients together": "minirnn.nn.utils",
            "Sequences of different lengths": "minirnn.nn.utils.rnn",
        },
    ),
    "cells": (
        "Your own cell",
        "One step as a Python function: its backward formulas, layers of it, and [its proof](autograd.md#proofs).",
        {
            "": "minirnn cell product unit_mean unit_sum unit_max unit_norm unit_softmax straight_through softplus",
            "What it makes": "minirnn.nn.own.decorator Cell",
            "Layers": "minirnn.nn.own.layer CellLayer",
        },
    ),
    "functional": (
        "Functions of nn",
        "Layers, activations and losses as functions: `import minirnn.nn.functional as F`.",
        {"": "minirnn.nn.functional"},
    ),
    "cudnn_rnn": ("CudnnRNN objects", "The objects of early TensorFlow.", {"": "minirnn.cudnn_rnn"}),
    "optim": (
        "Optimizers",
        "Steps along the gradient.",
        {"Optimizers and clipping": "minirnn.optim", "Schedules": "minirnn.optim.lr_scheduler"},
    ),
    "viz": ("Pictures", "Each function returns a `Picture`; none shows a window.", {"": "minirnn.viz"}),
    "data": ("Tasks, text and batches", "What networks are trained on.", {"": "minirnn.data"}),
    "io": ("Weights on disk", "Checkpoints and the layouts of other libraries.", {"": "minirnn.io"}),
    "devices": ("Devices", "Arrays in, arrays out. [Write your own](../own_device.md).", {"": "minirnn.devices"}),
}
"""Maps a page to its title, a sentence, and a module for each heading, with the names of the module that it shows, or
none for all.
"""


def names_of(module_name: str, heading: str) -> list[str]:
    """The public names of a module; those of `minirnn.ops` that belong below a heading."""
    module = importlib.import_module(module_name)
    names = {n for n in module.__all__ if not inspect.ismodule(getattr(module, n))}
    if module_name == "minirnn.ops":
        primitives, rnn = set(importlib.import_module("minirnn.ops.primitives").__all__), set(explained())
        names &= {"RNN ops": rnn, "Losses": names - primitives - rnn, "Primitives": primitives}[heading]
    return sorted(names, key=str.lower)


def page(name: str) -> str:
    title, sentence, groups = PAGES[name]
    lines = [f"# {title}", "", sentence, ""]
    for heading, shown in groups.items():
        module, *names = shown.split()
        if heading:
            lines += [f"## {heading}", ""]
        lines += ["```{eval-rst}", f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: generated", ""]
        lines += [f"   {n}" for n in names or names_of(module, heading)]
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
