"""Weights on disk: checkpoints that are written completely or not at all, and the weight layouts of other libraries."""

from typing import TYPE_CHECKING

from minirnn.lookup.later import imported_later

if TYPE_CHECKING:
    from minirnn.io.arrays import read_arrays, write_arrays
    from minirnn.io.atomic import atomic_write
    from minirnn.io.checkpoint import load, save
    from minirnn.io.conversion import convert, convert_weights
    from minirnn.io.finder import find_layout
else:
    __getattr__, __dir__ = imported_later(
        __name__,
        {
            **dict.fromkeys(("read_arrays", "write_arrays"), "minirnn.io.arrays"),
            "atomic_write": "minirnn.io.atomic",
            **dict.fromkeys(("load", "save"), "minirnn.io.checkpoint"),
            **dict.fromkeys(("convert", "convert_weights"), "minirnn.io.conversion"),
            "find_layout": "minirnn.io.finder",
            **{room: f"minirnn.io.{room}" for room in ("arrays", "checkpoint", "conversion", "finder", "layouts")},
        },
    )

__all__ = ["atomic_write", "convert", "convert_weights", "find_layout", "load", "read_arrays", "save", "write_arrays"]
