"""AdamW: Adam whose weight decay shrinks the parameters themselves."""

from __future__ import annotations

from minirnn import check
from minirnn.optim.adam import Adam
from minirnn.optim.optimizer import Params


class AdamW(Adam):
    """AdamW (Loshchilov & Hutter 2019): `Adam` with decoupled weight decay, 0.01 by default.

    ::

        p = p - lr * weight_decay * p                                 # instead of g = grad + weight_decay * p
        the rest as in Adam

    The decay thus does not pass through m and v: each number shrinks by the same share.

    Parameters
    ----------
    params, lr, betas, eps, weight_decay, amsgrad, maximize
        As for `Adam`.
    foreach, capturable, differentiable, fused
        As torch has them; only their defaults, None and False.

    Raises
    ------
    TypeError, ValueError
        A parameter or a setting is none.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def checked(self, group: object) -> dict[str, object]:
        found = super().checked(group)  # type: ignore[arg-type]
        check.flag("AdamW", "decoupled_weight_decay", found.setdefault("decoupled_weight_decay", True))
        if not found["decoupled_weight_decay"]:
            raise ValueError("AdamW: decoupled_weight_decay is False\n  expected True; without it, it is Adam")
        return found
