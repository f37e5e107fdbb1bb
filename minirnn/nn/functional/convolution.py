"""conv1d: a convolution along the last axis."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.engine.operands import device_of
from minirnn.engine.tensor import Tensor
from minirnn.nn.functional.arguments import of_one_dtype, widened
from minirnn.nn.functional.padding import pad
from minirnn.ops.primitives import stack


def one_of(op: str, name: str, value: Any, low: int) -> int:
    """The number for the only axis, from an integer or a tuple with one integer."""
    return check.integer(op, name, value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value, low)


def around(op: str, padding: Any, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """The numbers of elements to add before and after a sequence, for the `padding` of conv1d."""
    if not isinstance(padding, str):
        n = one_of(op, "padding", padding, 0)
        return n, n
    check.choice(op, "padding", padding, ("valid", "same"))
    if padding == "same" and stride != 1:
        raise ValueError(f"{op}: padding 'same' with stride {stride}\n  expected stride 1")
    n = dilation * (kernel - 1) if padding == "same" else 0
    return n // 2, n - n // 2


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """``y[b, o, l] = bias[o] + sum over c, k of weight[o, c, k] * x[b, c, l * stride + k * dilation]``.

    This is ``torch.nn.functional.conv1d``. `x` is `input` with zeros around it. With `groups` G, the channels form G
    blocks, and block g of the outputs only depends on block g of the inputs.

    Parameters
    ----------
    input : (B, C, L) or (C, L)
    weight : (O, C / groups, K)
    bias : (O,), optional
    stride, dilation : int
    padding : int, "valid" or "same"
        The number of zeros on each side. "valid" means none, and "same" as many as keep the length.
    groups : int

    Returns
    -------
    Tensor (B, O, (L + padding - dilation * (K - 1) - 1) // stride + 1), with the total `padding` of both sides
    """
    place = device_of(input, weight, bias)
    x, dtype = widened("conv1d", input, place)
    w = of_one_dtype("conv1d", "weight", weight, x, dtype).astype(x.dtype)
    G, step, gap = (
        check.integer("conv1d", "groups", groups, 1),
        *(one_of("conv1d", name, value, 1) for name, value in (("stride", stride), ("dilation", dilation))),
    )
    if x.ndim not in (2, 3) or w.ndim != 3 or x.shape[-2] != w.shape[1] * G or w.shape[0] % G:
        raise ValueError(
            f"conv1d: input has shape {x.shape}, weight {w.shape}, groups is {G}\n"
            "  expected (B, C, L) or (C, L), and (O, C / groups, K) with O a multiple of groups"
        )
    batched, (O, _, K) = x.ndim == 3, w.shape
    before, after = around("conv1d", padding, K, step, gap)
    x = pad(x if batched else x.unsqueeze(0), (before, after)) if before or after or not batched else x
    B, C, L = x.shape
    n = (L - gap * (K - 1) - 1) // step + 1
    if n < 1 or K < 1:
        raise ValueError(
            f"conv1d: the padded input is {L} long\n  expected {gap * (K - 1) + 1} or more for this kernel"
        )
    places = [x[:, :, k * gap : k * gap + (n - 1) * step + 1 : step] for k in range(K)]
    columns = stack(places, 2).reshape(B, G, C // G * K, n)
    y = (w.reshape(G, O // G, C // G * K) @ columns).reshape(B, O, n)
    if bias is not None:
        b = of_one_dtype("conv1d", "bias", bias, x, dtype).astype(x.dtype)
        if b.shape != (O,):
            raise ValueError(f"conv1d: bias has shape {b.shape}\n  expected ({O},)")
        y = y + b.reshape(O, 1)
    return (y if batched else y.squeeze(0)).astype(dtype)
