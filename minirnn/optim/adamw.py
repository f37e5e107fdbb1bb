"""AdamW: Adam whose weight decay shrinks the parameters themselves."""

from __future__ import annotations

from typing import Any

from minirnn.arguments import check
from minirnn.optim.adam import Adam
from minirnn.optim.settings import at_least_zero, setting


def is_decoupled(optimizer: str, name: str, value: Any) -> bool:
    """Always True."""
    if not check.flag(optimizer, name, value):
        raise ValueError(f"{optimizer}: {name} is False\n  expected True; without it, it is Adam")
    return True


class AdamW(Adam):
    """AdamW (Loshchilov & Hutter 2019): `Adam` with decoupled weight decay, 0.01 by default.

    ::

        p = p - lr * weight_decay * p                                 # instead of g = grad + weight_decay * p
        the rest as in Adam

    The decay does not pass through m and v, so each number shrinks by the same factor.
    """

    weight_decay: float = setting(
        at_least_zero, "How much each parameter is shrunk per step, times `lr`; 0 or more.", default=0.01
    )
    decoupled_weight_decay: bool = setting(is_decoupled, default=True, init=False)
