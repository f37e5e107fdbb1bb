"""All layouts by name, and the detection of the layout of some arrays."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from minirnn.arguments.messages import shown
from minirnn.io.layouts.base import Arrays, Layout
from minirnn.io.layouts.cudnn import Canonical, CudnnParams
from minirnn.io.layouts.keras import Keras
from minirnn.io.layouts.onnx import ONNX
from minirnn.io.layouts.tf_cells import BasicRNNCell, BlockLSTMV2, LSTMBlockCell
from minirnn.io.layouts.tf_gru_cell import GRUBlockCell
from minirnn.io.layouts.torch_nn import TorchNN

LAYOUTS: Mapping[str, Layout] = {
    layout.name: layout
    for layout in (
        TorchNN(),
        Keras(),
        LSTMBlockCell(),
        BlockLSTMV2(),
        GRUBlockCell(),
        BasicRNNCell(),
        CudnnParams(),
        Canonical(),
        ONNX(),
    )
}


def find(name: str) -> Layout:
    """The layout called `name`; a gate order may follow, as in ``"keras/ifco"``.

    Raises ValueError if there is no such layout, or it has another gate order, and TypeError if `name` is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"convert: a layout is called {shown(name)}\n  expected one of {', '.join(LAYOUTS)}")
    base, slash, order = name.partition("/")
    layout = LAYOUTS.get(base)
    if layout is None:
        near = get_close_matches(base[:40].lower(), LAYOUTS, 1, 0.4)
        raise ValueError(
            f"convert: no layout is called {shown(name)}\n  expected one of {', '.join(LAYOUTS)}"
            + (f"\n  likely {near[0]!r} is meant" if near else "")
        )
    if slash and order not in layout.gates.values():
        orders = ", ".join(sorted({f"{base}/{gates}" for gates in layout.gates.values() if gates}))
        raise ValueError(f"convert: {base} has no gate order {order!r}\n  expected {orders or base}")
    return layout


def guess(arrays: Arrays) -> Layout:
    """The only layout that names and ranks of the arrays fit.

    Raises ValueError if none or several do. The message lists them.
    """
    fitting = [layout for layout in LAYOUTS.values() if layout.claims(arrays)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(list(arrays)[:6]) + (", ..." if len(arrays) > 6 else "")
    if fitting:
        raise ValueError(
            f"convert: the arrays {names} may be {' or '.join(layout.name for layout in fitting)}\n"
            "  expected names and shapes of one layout; say which with source=... (command line: --from)"
        )
    raise ValueError(
        f"convert: the arrays {names or '(none)'} look like no known layout\n"
        f"  expected one of {', '.join(LAYOUTS)}; say which with source=... (command line: --from)\n"
        "  names and order unknown? minirnn.io.find_layout tries them against an input and its output (--find)"
    )
