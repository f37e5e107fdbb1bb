"""Programs that run with torch.nn and with minirnn.nn. tests/golden/make_modules.py stores torch's results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Library:
    """The part of torch or minirnn that the programs use."""

    nn: Any
    tensor: Callable[..., Any]  # (array, requires_grad=False)
    numpy: Callable[[Any], np.ndarray]


def wave(*shape: int) -> np.ndarray:
    """Numbers of order 1 that depend on the shape."""
    return np.sin(np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64) + len(shape)).reshape(shape)


def rough(*shape: int) -> np.ndarray:
    """Numbers between -1 and 1 that make a matrix of full rank."""
    return np.sin(np.arange(1.0, 1 + int(np.prod(shape))) ** 2).reshape(shape)


def fill(library: Library, module: Any) -> Any:
    """Give all parameters of a module known values, in float64."""
    module.double()
    module.load_state_dict(
        {
            name: library.tensor(wave(*value.shape) * (1 + k / 10))
            for k, (name, value) in enumerate(module.state_dict().items())
        }
    )
    return module


def deep_net(library: Library) -> Any:
    """Modules in modules, in containers and twice; parameters after modules; buffers of all kinds."""
    nn, tensor = library.nn, library.tensor

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(3, 5)
            self.scale = nn.Parameter(tensor(wave(5)))
            self.register_buffer("mean", tensor(wave(4)))
            self.register_buffer("scratch", tensor(wave(2)), persistent=False)
            self.register_buffer("nothing", None)
            self.shift = nn.Parameter(tensor(wave(6)))

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])
            self.own = nn.Parameter(tensor(wave(7)))
            self.heads = nn.ModuleDict({"b": nn.Linear(2, 3, bias=False), "a": nn.Identity()})
            self.steps = nn.Sequential(OrderedDict(up=nn.Linear(2, 4), flat=nn.Flatten(), down=nn.Linear(4, 2)))
            self.register_buffer("count", tensor(np.array(3)))
            self.tied = self.blocks[0]
            self.register_parameter("absent", None)
            self.heads["b"].weight = nn.Parameter(tensor(wave(3, 2)))
            self.steps.append(nn.Linear(2, 2, bias=False))
            self.blocks.append(Block())
            del self.blocks[1]

    return Net()


def names(library: Library) -> dict[str, list[str]]:
    """The names of a module's members, from each method that lists them."""
    net = deep_net(library)
    applied: list[str] = []
    net.apply(lambda module: applied.append(type(module).__name__))
    return {
        "named_parameters": [name for name, _ in net.named_parameters()],
        "named_parameters_twice": [name for name, _ in net.named_parameters("p", remove_duplicate=False)],
        "named_parameters_own": [name for name, _ in net.named_parameters(recurse=False)],
        "named_buffers": [name for name, _ in net.named_buffers("p")],
        "named_buffers_own": [name for name, _ in net.named_buffers("p", False)],
        "named_modules": [name for name, _ in net.named_modules()],
        "named_modules_twice": [name for name, _ in net.named_modules(prefix="p", remove_duplicate=False)],
        "named_children": [name for name, _ in net.named_children()],
        "state_dict": list(net.state_dict(prefix="p.")),
        "applied": applied,
        "missing": net.load_state_dict({}, strict=False).missing_keys,
        "unexpected": net.load_state_dict({"own": library.tensor(wave(7)), "new": 1}, strict=False).unexpected_keys,
        "sliced": list(net.steps[1:].state_dict()) + list(net.blocks[1:].state_dict()),
        "added": list((net.steps + net.steps[:1]).state_dict()),
    }


def hooks(library: Library) -> tuple[list[str], dict[str, np.ndarray]]:
    """The values that hooks see and change, and their order: lines of text, and numbered arrays."""
    nn, tensor = library.nn, library.tensor
    lines: list[str] = []
    arrays: dict[str, np.ndarray] = {}

    def say(what: str, *values: Any) -> None:
        for value in values:
            for t in value if isinstance(value, (tuple, list)) else (value,):
                if t is None or isinstance(t, (int, str)):
                    what += f" {t}"
                else:
                    arrays[f"a{len(arrays)}"] = library.numpy(t)
                    what += f" a{len(arrays) - 1}"
        lines.append(what)

    class Mix(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = fill(library, nn.Linear(3, 2))

        def forward(self, x: Any, times: Any, y: Any, *, shift: float = 0.0) -> Any:
            say("forward", x, y)
            return self.inner(x) * times + shift, (y * y).sum()

    mix = Mix()
    handles = [
        mix.register_forward_pre_hook(lambda m, a: say("pre 1", a)),
        mix.register_forward_pre_hook(lambda m, a: (a[0] * 2, *a[1:])),
        mix.register_forward_pre_hook(lambda m, a: say("pre first", a), prepend=True),
        mix.register_forward_pre_hook(
            lambda m, a, k: (say("pre kwargs", *k), (a, {"shift": k["shift"] + 1}))[1], with_kwargs=True
        ),
        mix.register_forward_hook(lambda m, a, y: say("post 1", a, y)),
        mix.register_forward_hook(lambda m, a, k, y: (y[0] * 3, y[1]) if k["shift"] == 1.5 else None, with_kwargs=True),
        mix.register_forward_hook(lambda m, a, y: say("post first", y), prepend=True),
        mix.register_full_backward_hook(lambda m, gi, go: say("backward 1", gi, go)),
        mix.register_full_backward_hook(lambda m, gi, go: (gi[0] * 5, None, gi[2])),
        mix.register_full_backward_hook(lambda m, gi, go: say("backward first", gi), prepend=True),
        mix.inner.register_full_backward_hook(lambda m, gi, go: say("inner", gi, go)),
    ]
    x, y = tensor(wave(4, 3), True), tensor(wave(2), True)
    for outputs in ((0, 1), (0,)):
        found = mix(x, 3, y, shift=0.5)
        sum((found[k] * found[k]).sum() for k in outputs).backward()
        say("gradients", x.grad, y.grad, mix.inner.weight.grad)
    plain = tensor(wave(4, 3))
    (mix(plain, 3, y, shift=0.5)[0]).sum().backward()
    for handle in handles[::2]:
        handle.remove()
    (mix(plain, 2, plain, shift=0.0)[0]).sum().backward()
    say("bias", mix.inner.bias.grad)
    for handle in handles:
        handle.remove()
    mix(x, 1, y)
    return lines, arrays
