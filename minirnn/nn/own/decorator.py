"""`cell`: a decorator that makes a recurrent cell from a Python function of one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from minirnn.arguments import check
from minirnn.arguments.messages import meant, shown
from minirnn.cells.cell import Formulas
from minirnn.cells.expr import CellError
from minirnn.nn.own.keyed import KeyedCellLayer
from minirnn.nn.own.layer import CellLayer
from minirnn.proof.own import prove_cell
from minirnn.proof.proof import Proof


class Cell(Formulas):
    """A recurrent cell: one step as a Python function, its backward formulas, and its layers. `cell` creates it."""

    def layer(self, input_size: int, hidden_size: int, *args: Any, **kwargs: Any) -> CellLayer:
        """A layer of this cell, as `minirnn.nn.own.layer.CellLayer` describes it: ``y, states = layer(x)``.

        Constants of the cell can have other values in a layer: ``layer(3, 5, dt=0.01)``.
        """
        constants = {n: kwargs.pop(n) for n in self.step.constants if n in kwargs}
        own = self.with_constants(**constants) if constants else self
        kind = CellLayer if self.step.keys is None else KeyedCellLayer
        known = [n for n in signature(CellLayer).parameters if n != "cell"]
        for n in sorted(kwargs.keys() - {*known}):
            likely = meant(n, (*known, *self.step.constants))
            raise TypeError(
                f"{self.__name__}.layer: no option or constant is called {n!r}\n"
                f"  expected {', '.join(known[3:])}, or a constant of the cell{likely}"
            )
        return kind(own, input_size, hidden_size, *args, **kwargs)

    def verify(self, devices: Sequence[str] | None = None, seed: int = 0) -> Proof:
        """Test the cell in the way that minirnn tests its own ops. Raises ValueError if there is no such device.

        Parameters
        ----------
        devices : names, optional
            Default: all that are available.
        seed : int
            Seed of the random numbers.

        Returns
        -------
        Proof
            It is true if nothing failed. Printed, it is a table like that of ``minirnn verify``: finite differences,
            the composition on the tape in each dtype, second order, the simulator's check mode.
        """
        if self.step.keys is not None:  # a layer in both directions, as for other cells
            layer = self.layer(2, 5, bidirectional=True, dtype="float64")
            return layer.verify(devices, seed)
        return prove_cell(self, devices, seed)


def cell(
    states: Sequence[str], *, output: str | None = None, keys: int | None = None
) -> Callable[[Callable[..., Any]], Cell]:
    """A decorator that makes a `Cell` from a function of one step.

    Raises CellError if the function is not a valid step. The message names the line and says what to write instead.

    Parameters
    ----------
    states : sequence of str
        Names of the parameters that are states. The function returns the new ones in this order.
    output : str, optional
        The output of the layer at every step. Default: the last state. A name that is not a state is one more value
        that the function returns after the states.
    keys : int, optional
        N: the step may use matrices (H, N), such as the state of linear attention, and vectors of keys (N,). Its gates
        read x alone: ``x_NAME`` (H,), ``k_NAME`` (N,), ``s_NAME``, one number per sample. Operators broadcast, so
        ``x_v * k_k`` is an outer product, and ``dot(S, k_q)`` sums over keys. The shapes of states are found.

    Notes
    -----
    The names of the function's parameters define their roles (:mod:`minirnn.cells.trace`): gates ``z_NAME`` of
    ``x W + h R + b``, ``x_NAME`` of x alone, ``h_NAME`` of h alone; states; masks ``mask_NAME``; after a ``*`` learned
    vectors (H,), and constants if they have a default. Use `product` for further products, each with its
    own matrix or with one that its name shares: ``product(v, "U")``.
    """
    if callable(states):
        raise CellError("cell: got a function\n  expected @cell(states=('h',)) above it: the names of its states")
    names = (states,) if isinstance(states, str) else states
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(n, str) for n in names):
        raise CellError(f"cell: states is {shown(states)}\n  expected names of parameters, such as ('c', 'h')")
    if output is not None and not isinstance(output, str):
        raise CellError(
            f"cell: output is {shown(output)}\n  expected the name of the value that a layer outputs, or None"
        )
    if keys is not None and (not check.is_integer(keys) or not 1 <= keys < 2**31):
        raise CellError(f"cell: keys is {shown(keys)}\n  expected the number of keys of a matrix, such as 16, or None")
    return lambda function: Cell(
        function.__func__ if isinstance(function, staticmethod) else function, names, output, keys
    )
