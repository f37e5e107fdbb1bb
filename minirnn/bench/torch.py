"""torch's recurrent layers, which ``minirnn bench --check`` times beside ours where torch is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any


def torch_calls(name: str, T: int, B: int, I: int, H: int, dtype: str) -> dict[tuple[str, str], Callable[[], Any]]:
    """The same passes by torch.nn.LSTM and GRU on the GPU or the CPU; nothing where torch is missing."""
    try:
        import torch
    except ImportError:
        return {}
    if name not in ("cpu", "cuda") or (name == "cuda" and not torch.cuda.is_available()):
        return {}
    kind = getattr(torch, dtype)
    if name == "cpu" and dtype == "float16":
        return {}
    calls: dict[tuple[str, str], Callable[[], Any]] = {
        ("wait", ""): torch.cuda.synchronize if name == "cuda" else lambda: None
    }
    for op, make in (("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU)):
        draw = partial(torch.randn, device=name, dtype=kind)
        module = make(I, H).to(name, kind)
        x, h, c, dy = draw(T, B, I), draw(1, B, H), draw(1, B, H), draw(T, B, H)
        state: Sequence[Any] = [h, c] if op == "lstm" else [h]

        def run(module: Any = module, x: Any = x, state: Any = state) -> Any:
            return module(x, tuple(state) if len(state) == 2 else state[0])[0]

        def forward(run: Any = run) -> Any:
            with torch.no_grad():
                return run()

        def both(run: Any = run, x: Any = x, state: Any = state, module: Any = module, dy: Any = dy) -> Any:
            inputs = [t.requires_grad_(True) for t in (x, *state)]
            return torch.autograd.grad(run(), [*inputs, *module.parameters()], dy)

        calls |= {(op, "forward"): forward, (op, "forward+backward"): both}
    return calls


@contextmanager
def torch_rounding(tf32: bool) -> Iterator[None]:
    """Inside the block torch may round float32 operands to TF32, or may not."""
    try:
        import torch
    except ImportError:
        yield
        return
    products: Any = torch.backends.cuda.matmul
    layers: Any = getattr(torch.backends.cudnn, "rnn", None)
    name, value = "fp32_precision", "tf32" if tf32 else "ieee"
    settings: list[tuple[Any, Any]] = [(products, value), (layers, value)]
    if not hasattr(layers, name):  # before torch 2.9
        name, settings = "allow_tf32", [(products, tf32), (torch.backends.cudnn, tf32)]
    before = [(owner, getattr(owner, name)) for owner, _ in settings]
    try:
        for owner, value in settings:
            setattr(owner, name, value)
        yield
    finally:
        for owner, value in before:
            setattr(owner, name, value)
