"""checkpoint: less memory for more time. The forward pass keeps only the inputs, and the backward pass computes the
rest again.

The function runs once on the tape. This shows which Tensors older than the call its results depend on: arguments,
parameters and Tensors in its closure. Then that part of the tape is dropped and replaced by one node, `Checkpoint`,
whose parents are these Tensors. Its backward runs the function again and goes back over the new part of the tape, as
far as these same Tensors. In all other respects it is an ordinary node: it is freed, differentiated again, and watched
for changed parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.autograd.trees import leaves_of, mapped
from minirnn.devices.precision import chosen
from minirnn.engine import random
from minirnn.engine.backward import run_backward
from minirnn.engine.outputs import record_many
from minirnn.engine.tape import Op, enable_grad, mode
from minirnn.engine.tensor import Tensor, leaf, next_seq


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = False,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, of which the tape keeps only what went in; the backward pass runs it again.

    A network of n equal parts, each of them in a checkpoint, keeps n inputs and the insides of one part, instead of the
    insides of n parts; it costs one more forward pass, about a third more time (Chen et al. 2016, "Training Deep Nets
    with Sublinear Memory Cost"). This is torch.utils.checkpoint.checkpoint with ``use_reentrant=False``. Raises
    TypeError or ValueError if `function` cannot be called, `use_reentrant` is True, or results live on several devices.

    Parameters
    ----------
    function : callable
        It is called now and in each backward pass, and must compute the same each time. Gradients reach its arguments
        and everything else it uses: the parameters of a module, Tensors of its closure.
    *args, **kwargs
        Its arguments, of any kind.
    use_reentrant : False or None
        torch's older way, True, does not exist here, because it loses gradients of Tensors that are not arguments.
    preserve_rng_state : bool
        Draw the same random numbers again, such as masks of dropout; the stream itself goes on undisturbed. With False
        the second run draws new ones, which is right only for a function that draws none.

    Returns
    -------
    Any
        What `function` returned: Tensors and other values, also in tuples, named tuples, lists and dicts.

    Notes
    -----
    Without recording (`no_grad`), this is a plain call. The backward pass raises RuntimeError if a Tensor that went in
    was changed by `Tensor.assign`, or if the second run gives other shapes or uses other parameters than the first.
    Whatever `function` updates (counters, running means) is updated twice.

    Examples
    --------
    An LSTM over a long time, in 40 stretches. A stretch hands on the state and its part of the loss::

        def stretch(x, state):
            y, state = lstm(x, state)
            return (y ** 2).sum(), state

        loss, state = 0.0, None
        for x in stretches:
            part, state = mr.checkpoint(stretch, x, state)
            loss = loss + part
    """
    if not callable(function):
        raise TypeError(f"checkpoint: function is a {type(function).__name__}\n  expected a callable")
    if use_reentrant is not None and check.flag("checkpoint", "use_reentrant", use_reentrant):
        raise ValueError(
            "checkpoint: use_reentrant is True\n  expected False (the default): gradients also reach parameters"
        )
    check.flag("checkpoint", "preserve_rng_state", preserve_rng_state)
    if not mode.enabled:
        return function(*args, **kwargs)
    stream = random.generator().bit_generator.state if preserve_rng_state else None
    start = next_seq()
    result = function(*args, **kwargs)
    made = _recorded(result, start)
    reached = older_than(start, made)
    if not any(t.requires_grad for t in reached):
        return result
    if len({t.device for t in made}) > 1:
        raise ValueError(
            f"checkpoint: the results live on {' and '.join(sorted({t.device.name for t in made}))}\n"
            "  expected one device; move them after the checkpoint"
        )
    given = (t for t in leaves_of((args, kwargs)) if isinstance(t, Tensor))
    parents = tuple(dict.fromkeys([*given, *reached]))
    node = Checkpoint(lambda: function(*args, **kwargs), stream, [form(t) for t in made])
    outs = record_many(node, made[0].device, [t.array for t in made], parents)
    new = dict(zip(made, outs, strict=True))
    return mapped(lambda value: new.get(value, value) if isinstance(value, Tensor) else value, result)


class Checkpoint(Op):
    """y_0, y_1, ... = function()      dx, for all x that it reached: by running it again and going back over that"""

    def __init__(self, function: Callable[[], Any], stream: Any, forms: list[str]) -> None:
        self.function = function
        self.stream = stream
        self.forms = forms
        self.precision = chosen.precision

    def backward(self, dy: Sequence[Tensor | None], y: Sequence[Tensor], *xs: Tensor) -> list[Tensor | None]:
        again = mode.enabled  # the gradients are to be differentiated again
        start = next_seq()
        with enable_grad(), nullcontext() if self.stream is None else random.replayed(self.stream):
            made = _recorded(self.function(), start)
        forms = [form(t) for t in made]
        if forms != self.forms:
            raise RuntimeError(
                f"checkpoint: when run again, the function returned {shown(forms)}\n"
                f"  expected what it returned in the forward pass: {shown(self.forms)}\n"
                "  likely it has a state, or its settings were changed before the backward pass"
            )
        pairs = [(t, g) for t, g in zip(made, dy, strict=True) if g is not None]
        found = run_backward([t for t, _ in pairs], [g for _, g in pairs], None, again, again, border=start)
        if not {t for t in found if t.seq < start} <= set(xs):
            raise RuntimeError(
                "checkpoint: when run again, the function used Tensors that it did not use in the forward pass\n"
                "  expected the same computation: a function of its arguments and of what it holds, without a state"
            )
        return [g if g is None or again else leaf(x.device, g) for x, g in ((x, found.get(x)) for x in xs)]


def form(t: Tensor) -> str:
    return f"{t.dtype} {t.shape} on {t.device}"


def _recorded(result: Any, start: int) -> list[Tensor]:
    """The Tensors among the results that were computed since `start` and carry gradients, each once."""
    tensors = [t for t in leaves_of(result) if isinstance(t, Tensor)]
    return list(dict.fromkeys(t for t in tensors if t.op is not None and t.seq > start))


def older_than(start: int, made: Iterable[Tensor]) -> list[Tensor]:
    """The Tensors older than `start` that those of `made` were computed from."""
    todo = list(made)
    older: list[Tensor] = []
    seen = set(todo)
    for t in todo:  # the list grows while it is read
        for p in t.parents:
            if p not in seen:
                seen.add(p)
                (todo if p.seq > start else older).append(p)
    return older
