"""GRUBlockCell: one step of a GRU as one node, with its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minirnn.devices.base import Device
from minirnn.engine.tensor import Tensor
from minirnn.nn import init, states
from minirnn.nn.initial import Factory, redraw_glorot, size
from minirnn.nn.loading import refuse_other_gru
from minirnn.nn.module import IncompatibleKeys, Module
from minirnn.ops.gru_block.cell import GRUBlockCellOutput, gru_block_cell


class GRUBlockCell(Module):
    """One GRU step whose reset gate acts before the matrix product: `minirnn.ops.gru_block_cell`.

    The number of units comes first, as in TensorFlow: ``GRUBlockCell(num_units, input_size)``. Modules with names from
    torch, such as `GRU`, take ``(input_size, hidden_size)``.

    Parameters
    ----------
    num_units : int
        H, torch's hidden_size.
    input_size : int
        I.
    device, dtype
        Device and dtype (default float32) of the parameters.

    Attributes
    ----------
    w_ru : Parameter, (I+H, 2H)
        Columns r, u. `glorot_uniform`.
    w_c : Parameter, (I+H, H)
        `glorot_uniform`.
    b_ru : Parameter, (2H,)
        Ones. At the start most of the state is kept, and gradients reach far back.
    b_c : Parameter, (H,)
        Zeros. All four start as in TensorFlow's GRUBlockCellV2.
    """

    def __init__(
        self,
        num_units: int,
        input_size: int,
        device: str | Device | None = None,
        dtype: Any = None,
        *,
        name: str | None = None,
    ) -> None:
        H = self.num_units = size("GRUBlockCell", "num_units", num_units)
        I = self.input_size = size("GRUBlockCell", "input_size", input_size)
        make = Factory(device, dtype)
        self.w_ru = make.glorot_uniform((I + H, 2 * H))
        self.w_c = make.glorot_uniform((I + H, H))
        self.b_ru = make.full((2 * H,), 1.0)
        self.b_c = make.full((H,), 0.0)

    def reset_parameters(self) -> None:
        """Draw new initial values, as the constructor does."""
        redraw_glorot(self.w_ru, self.w_c)
        init.ones_(self.b_ru)
        init.zeros_(self.b_c)

    def forward(self, inputs: Any, state: Any = None) -> tuple[Tensor, Tensor]:
        """Compute one step, with the interface of TensorFlow's cells.

        Parameters
        ----------
        inputs : (B, I)
        state : (B, H), optional
            The state before the step; zeros by default.

        Returns
        -------
        output, state : (B, H)
            For a GRU both are h.
        """
        h = self.gates(inputs, state).h
        return h, h

    def gates(self, inputs: Any, state: Any = None) -> GRUBlockCellOutput:
        """The same as `forward`, but returns all outputs of the op: ``r, u, c, h``."""
        x = states.inputs("GRUBlockCell", inputs, "B I", self.input_size, self.num_units, self.w_c)
        h_prev = states.state("GRUBlockCell", "state", state, x.shape[0], self.num_units, x)
        return gru_block_cell(x, h_prev, self.w_ru, self.w_c, self.b_ru, self.b_c)

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """`Module.load_state_dict`. Raises ValueError for weights of a GRU that resets after the product."""
        refuse_other_gru("GRUBlockCell", state_dict, "before")
        return super().load_state_dict(state_dict, strict)

    def extra_repr(self) -> str:
        return f"num_units={self.num_units}, input_size={self.input_size}"
