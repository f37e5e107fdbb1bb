"""Module: the base class of layers, with hooks, saving and loading, train and eval modes, and moving."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from reprlib import recursive_repr
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from minirnn import devices
from minirnn.arguments import check
from minirnn.arguments.host_array import float_dtype, is_dtype
from minirnn.arguments.messages import shown
from minirnn.devices.base import Device
from minirnn.engine import html
from minirnn.engine.hooks import RemovableHandle
from minirnn.engine.tensor import Tensor, as_tensor, leaf
from minirnn.engine.values import Values
from minirnn.nn.hooks import Hook, Hooks, call_with_hooks
from minirnn.nn.loading import check_names, check_values
from minirnn.nn.module_members import Members


class IncompatibleKeys(NamedTuple):
    """What `Module.load_state_dict` returns: names without a value, and names without a parameter or buffer."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Module(Members):
    """Base class of layers and of everything else that has parameters.

    A subclass assigns `Parameter` and `Module` objects to its attributes and defines ``forward``. They are found in the
    attributes, and inside lists, tuples and dicts. Their names are the paths to them::

        class Net(nn.Module):
            def __init__(self):
                self.layers = [nn.Linear(3, 5), nn.Linear(5, 2)]

        [name for name, _ in Net().named_parameters()]
        # ['layers.0.weight', 'layers.0.bias', 'layers.1.weight', 'layers.1.bias']

    An attribute that is a plain Tensor is a constant, which is not trained, saved or moved. `register_buffer` makes it
    a buffer, which is saved and moved. You can replace a parameter only with a Parameter or None.

    You can copy modules (``copy.deepcopy``) and pickle them, for example for worker processes. Only open pickles that
    you trust. For files, use `minirnn.io.checkpoint`.

    Attributes
    ----------
    training : bool
        Whether `Dropout` drops; set by `train` and `eval`.
    """

    training: bool = True
    _hooks: Hooks | None = None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of ``module(...)``. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward()\n  expected a subclass that does")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._hooks is None:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, self._hooks, args, kwargs)

    # ---- hooks

    def _add_hook(self, kind: str, hook: Hook, prepend: bool) -> RemovableHandle:
        hooks = Hooks() if self._hooks is None else self._hooks
        handle = hooks.add(kind, hook, prepend)
        self._hooks = hooks
        return handle

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args)`` before each `forward`. A result that is not None replaces the arguments.

        With `with_kwargs`, the call is ``hook(module, args, kwargs)``, which returns None or both as a pair. `prepend`
        puts it before the other hooks. The handle's ``remove()`` removes it. Raises TypeError if `hook` cannot be
        called.
        """
        return self._add_hook("forward_pre", Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call ``hook(module, args, output)`` after each `forward`. A result that is not None replaces the output.

        With `with_kwargs`, the call is ``hook(module, args, kwargs, output)``. The rest is the same as for
        `register_forward_pre_hook`.
        """
        return self._add_hook("forward", Hook(hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are complete.

        `grad_input` is a tuple like the positional arguments, None where there is no gradient. A result that is not
        None replaces it. The outputs must be a Tensor or a tuple of Tensors. In a pair such as an LSTM's
        ``(output, (h_n, c_n))``, hooks only get the gradient of ``output``, as in torch. The handle's ``remove()``
        removes the hook.
        """
        return self._add_hook("full_backward", Hook(hook), prepend)

    # ---- saving and loading

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> dict[str, Any]:
        """Copies of all values by name, with `prefix` in front, for `minirnn.io.checkpoint.save` and `load_state_dict`.

        These are parameters and saved buffers in torch's order: a module's own, then those of the modules inside. The
        values are arrays that also have the methods of Tensors. With `keep_vars` they are the Parameters and Tensors
        themselves.
        """
        saved = {name: value for name, value, is_saved in self._walk(prefix) if is_saved}
        return dict(saved) if keep_vars else {name: Values.of(value) for name, value in saved.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Set the values of all parameters and saved buffers by name. On an error nothing is changed.

        Raises TypeError if `state_dict` is not a mapping, or a value is not of a floating dtype, and ValueError if a
        shape or, if `strict`, a name does not fit. The message lists all of them and the likely cause.

        Parameters
        ----------
        state_dict : mapping of str to array_like
            Arrays or Tensors (also torch's) of the right shapes and any floating dtype. The parameters keep their
            dtype.
        strict : bool
            Whether missing and unexpected names are an error. A wrong shape always is.

        Returns
        -------
        missing_keys, unexpected_keys : list of str
            A named tuple of the names without a value and the names without a parameter. Both are empty if `strict`.
        """
        own = self.state_dict(keep_vars=True)
        missing, unexpected = check_names(type(self).__name__, list(own), state_dict, strict)
        values = check_values({name: t for name, t in own.items() if name in state_dict}, state_dict)
        for name, value in values.items():
            own[name].assign(value)
        return IncompatibleKeys(missing, unexpected)

    # ---- switches

    def train(self, mode: bool = True) -> Self:
        """Switch this module and all modules inside to training (or, with False, to evaluation); returns itself.

        Raises TypeError if `mode` is neither True nor False.
        """
        check.flag("Module.train", "mode", mode)
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Freeze all parameters (with False) or let gradients into them again; returns itself."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear all gradients. ``grad`` becomes None or, without `set_to_none`, zeros if there is one."""
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else leaf(p.device, p.device.full(p.shape, 0, p.dtype))

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn(module)`` for all modules inside and then this one, for example to set initial values; returns
        itself.

        Raises TypeError if `fn` cannot be called.
        """
        if not callable(fn):
            raise TypeError(f"Module.apply: fn is a {type(fn).__name__}\n  expected a function that takes a module")
        self._apply(fn, ())
        return self

    def _apply(self, fn: Callable[[Module], Any], above: tuple[Module, ...]) -> None:
        for child in self.children():
            if child is not self and child not in above:  # a child may have an attribute for its parent
                child._apply(fn, (*above, self))
        fn(self)

    # ---- moving

    def to(self, *args: Any, device: str | Device | None = None, dtype: Any = None, non_blocking: bool = False) -> Self:
        """Move parameters and buffers to a device, convert them to a floating dtype, or both, in place; returns itself.

        The forms are ``to(device)``, ``to(dtype)``, ``to(device, dtype)`` and ``to(tensor)``, which has both. Buffers
        of integer dtypes keep their dtype. Parameters stay the same objects, so optimizers stay valid, and their state
        is moved as well. `non_blocking` is accepted and ignored. Raises TypeError if nothing is given, the same thing
        is given twice, or a dtype is not floating, and ValueError or DeviceUnavailable if there is no such device, or
        it cannot work here.
        """
        place, kind = destination(args, device, dtype)
        for parameter in self.parameters():
            parameter.move(place, kind)
        known: dict[Tensor, Tensor] = {}  # a buffer that two modules share stays shared
        for module in self.modules():
            for name in module._buffer_names:
                buffer = vars(module)[name]
                if buffer is not None:
                    if buffer not in known:
                        known[buffer] = as_tensor(buffer, place, kind if buffer.dtype.kind == "f" else None)
                    setattr(module, name, known[buffer])
        return self

    def cpu(self) -> Self:
        """``to("cpu")``."""
        return self.to("cpu")

    def cuda(self) -> Self:
        """``to("cuda")``."""
        return self.to("cuda")

    def half(self) -> Self:
        """``to(np.float16)``."""
        return self.to(np.float16)

    def double(self) -> Self:
        """``to(np.float64)``."""
        return self.to(np.float64)

    def float(self) -> Self:
        """``to(np.float32)``."""
        return self.to(np.float32)

    # ---- printing

    _in_repr: ClassVar[tuple[str, ...]] = ()
    """The attributes that ``repr`` shows, in a class that `nn.options` completes."""

    def extra_repr(self) -> str:
        """The settings shown between the parentheses of ``repr``."""
        said = {name: getattr(self, name) for name in self._in_repr}
        return ", ".join(f"{name}={value!r}" for name, value in said.items() if (name, value) != ("inplace", False))

    @recursive_repr("(...)")
    def __repr__(self) -> str:
        lines = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self._named_inside()]
        head = self.extra_repr().splitlines()
        if not lines and len(head) < 2:
            return f"{self.__class__.__name__}({''.join(head)})"
        return "\n  ".join([f"{self.__class__.__name__}(", *head, *lines]) + "\n)"

    def _repr_html_(self) -> str:
        rows = [(name, p._repr_html_()) for name, p in self.named_parameters()]
        total = sum(p.size for _, p in self.named_parameters())
        return html.block(repr(self)) + html.table([*rows, ("total", f"{total:,} numbers")])


def destination(args: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Device | None, np.dtype[Any] | None]:
    """The device and the floating dtype that the arguments of `Module.to` name. None means no change.

    Raises TypeError if nothing is given, the same thing is given twice, or a dtype is not floating, and ValueError or
    DeviceUnavailable if there is no such device, or it cannot work here.
    """
    for value in args:
        a_dtype = is_dtype(value)
        if (a_dtype and dtype is not None) or (not a_dtype and device is not None):
            raise TypeError(
                f"Module.to: got {shown(value)} and another {'dtype' if a_dtype else 'device'}\n  expected one"
            )
        if isinstance(value, Tensor):
            if dtype is not None:
                raise TypeError("Module.to: got a Tensor and a dtype\n  expected one of them: a Tensor has its dtype")
            device, dtype = value.device, value.dtype
        elif a_dtype:
            dtype = value
        else:
            device = value
    if device is None and dtype is None:
        raise TypeError(
            "Module.to: got nothing\n  expected a device such as 'cpu', a dtype such as np.float64, or both"
        )
    kind = None if dtype is None else float_dtype("Module.to", dtype)
    return None if device is None else devices.get(device), kind
