"""L-BFGS: steps along a direction that takes the curvature of the last steps into account."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import InitVar
from functools import partial
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine.tape import enable_grad, no_grad
from minirnn.engine.tensor import Tensor
from minirnn.nn.utils.vectors import parameters_to_vector, vector_to_parameters
from minirnn.ops.primitives import concat, stack
from minirnn.optim.line_search import Point, strong_wolfe
from minirnn.optim.optimizer import Optimizer, Params
from minirnn.optim.settings import at_least_zero, setting


def _count(optimizer: str, name: str, value: Any) -> int | None:
    return None if value is None else check.integer(optimizer, name, value, 1)


def _search(optimizer: str, name: str, value: Any) -> str | None:
    return None if value is None else check.choice(optimizer, name, value, ("strong_wolfe",)) or value


class LBFGS(Optimizer):
    """L-BFGS (Nocedal 1980): ``step(closure)`` goes up to `max_iter` times along ``d = -H g`` of all parameters as one.

    ::

        y = g - g', s = t * d                      # of the last `history_size` steps with y . s > 1e-10
        q = -g;            for the last to the first:  a = s . q / (y . s);  q = q - a * y
        d = q * (y . s) / (y . y);  first to last:     d = d + s * (a - y . d / (y . s))
        p = p + t * d      # t = lr (first min(1, 1 / sum |g|) * lr), or what the line search finds from there on
    """

    params: InitVar[Params]
    lr: float = setting(at_least_zero, default=1)
    max_iter: int = setting(_count, "The largest number of iterations in one step.", default=20)
    max_eval: int | None = setting(
        _count,
        "The largest number of calls of the closure in one step, by default 1.25 times `max_iter`.",
        default=None,
    )
    tolerance_grad: float = setting(at_least_zero, "A step ends where no gradient is larger than this.", default=1e-7)
    tolerance_change: float = setting(
        at_least_zero, "It also ends where parameters or loss change by no more than this.", default=1e-9
    )
    history_size: int = setting(_count, "The number of pairs y and s that are remembered.", default=100)
    line_search_fn: str | None = setting(_search, 'None, or "strong_wolfe".', default=None)

    _remembered = {
        name: name for name in ("func_evals", "n_iter", "d", "t", "old_dirs", "old_stps", "H_diag", "prev_flat_grad")
    }
    _one_vector = True

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """The only group. Raises ValueError for a second one: all parameters are one vector."""
        if self.param_groups:
            raise ValueError("LBFGS: got a second group of parameters\n  expected one: all parameters are one vector")
        super().add_param_group(param_group)
        group = self.param_groups[0]
        if group["max_eval"] is None:
            group["max_eval"] = group["max_iter"] * 5 // 4

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Iterate. `closure` computes the loss and its gradients again. Returns its first result."""
        if not callable(closure):
            raise TypeError(f"LBFGS: closure is {shown(closure)}\n  expected a function that computes the loss again")
        with no_grad():
            return self._iterated(closure)

    def _iterated(self, closure: Callable[[], Any]) -> Any:
        group, memory = self.param_groups[0], self.state[self.param_groups[0]["params"][0]]
        with enable_grad():
            first_loss = closure()
        loss, g, evals = float(first_loss), self._gradient(), 1
        memory["func_evals"] = memory.get("func_evals", 0) + 1
        if _largest(g) <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            memory["n_iter"] = memory.get("n_iter", 0) + 1
            d = _direction(g, memory, group["history_size"])
            memory["prev_flat_grad"], before = g, loss
            t = group["lr"] * (min(1.0, 1 / abs(g).sum().item()) if memory["n_iter"] == 1 else 1)
            memory["d"], memory["t"] = d, t
            slope = float((g * d).sum())
            if slope > -group["tolerance_change"]:
                break
            x, calls = parameters_to_vector(group["params"]), 0
            if group["line_search_fn"] is not None:
                start = Point(0, loss, g, slope)
                found, calls = strong_wolfe(partial(self._at, closure, x, d), t, start, _largest(d))
                t, loss, g = found.t, found.loss, found.gradient
                memory["t"] = t
                vector_to_parameters(x + t * d, group["params"])
            elif iteration < group["max_iter"]:
                found, calls = self._at(closure, x, d, t), 1
                loss, g = found.loss, found.gradient
            else:
                vector_to_parameters(x + t * d, group["params"])
            evals += calls
            memory["func_evals"] += calls
            moved = _largest(d * t) > group["tolerance_change"]
            moved = moved and abs(loss - before) >= group["tolerance_change"]
            if evals >= group["max_eval"] or _largest(g) <= group["tolerance_grad"] or not moved:
                break
        self.steps_done += 1
        return first_loss

    def _at(self, closure: Callable[[], Any], x: Tensor, d: Tensor, t: float) -> Point:
        vector_to_parameters(x + t * d, self.param_groups[0]["params"])
        with enable_grad():
            loss = float(closure())
        g = self._gradient()
        return Point(t, loss, g, float((g * d).sum()))

    def _gradient(self) -> Tensor:
        """The gradients of all parameters as one vector, with 0 for missing ones."""
        given = [(p * 0 if p.grad is None else p.grad.detach()).reshape(-1) for p in self.param_groups[0]["params"]]
        return concat(given, 0)


def _largest(v: Tensor) -> float:
    return float(abs(v).max()) if v.size else 0.0


def _direction(g: Tensor, memory: dict[str, Any], most: int) -> Tensor:
    """Compute -H g from the pairs (y, s) of earlier steps, to which the last step's is added."""
    if memory["n_iter"] == 1:
        return -g
    y, s = g - memory["prev_flat_grad"], memory["d"] * memory["t"]
    ys = float((y * s).sum())
    if ys > 1e-10:
        for name, new in (("old_dirs", y), ("old_stps", s)):
            old = list(memory[name])[-most + 1 :] if name in memory and most > 1 else []
            memory[name] = stack([*old, new], 0)
        memory["H_diag"] = ys / float((y * y).sum())
    pairs = list(zip(memory.get("old_dirs", ()), memory.get("old_stps", ()), strict=True))
    q, shares = -g, []
    for y, s in reversed(pairs):
        a = (s * q).sum() / (y * s).sum()
        shares.append(a)
        q = q - a * y
    d = q * memory.get("H_diag", 1.0)
    for (y, s), a in zip(pairs, reversed(shares), strict=True):
        d = d + s * (a - (y * d).sum() / (y * s).sum())
    return d
