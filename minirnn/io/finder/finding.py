"""The result of the finder: how well each reading of the arrays fits, and a text that names the right one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from minirnn.io.finder.readings import Reading
from minirnn.io.layouts import LAYOUTS
from minirnn.io.layouts.gates import in_hub_letters
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights


@dataclass(frozen=True, eq=False)
class Trial:
    """One reading of the arrays, and how much its output differs from the given one.

    Attributes
    ----------
    reading : Reading
    arrangement : str
        "time first", "batch first, reverse direction", ...
    error : float
        The largest difference to the output.
    dtype : dtype
        The dtype of the arrays.
    """

    reading: Reading
    arrangement: str
    error: float
    dtype: np.dtype[Any]

    @property
    def layouts(self) -> tuple[str, ...]:
        """Names of the known layouts that store such weights in this way."""
        r = self.reading
        stacked = any(name.endswith("]") for name in r.storage.biases)
        if r.update_is_new or (r.swapped_biases and stacked):
            return ()
        return tuple(
            layout.name
            for layout in LAYOUTS.values()
            if layout.form == r.storage.form
            and r.rnn_mode in layout.gates
            and in_hub_letters(layout.gates[r.rnn_mode]) == r.order
            and r.gru in (None, *layout.gru_kinds)
            and (layout.adds_forget_bias or not r.forget_bias)
        )

    def weights(self) -> NetworkWeights:
        """The weights in the common layout, to convert to any layout. They do not include the direction of time."""
        layer = self.reading.layer()
        layer = LayerWeights(**{name: a.astype(self.dtype) for name, a in layer._asdict().items() if a is not None})
        return NetworkWeights(self.reading.rnn_mode, (layer,), 1, self.reading.gru)

    def __str__(self) -> str:
        r = self.reading
        parts = [r.rnn_mode + (f" ({r.gru})" if r.gru else "")]
        if r.order:
            parts.append(f"gates {', '.join(r.order)}")
        parts.append(r.storage.text)
        biases = list(r.storage.biases)
        if r.gru == "reset_after" and len(biases) == 2:
            bW, bR = reversed(biases) if r.swapped_biases else biases
            parts.append(f"bW is {bW}, bR is {bR}")
        else:
            parts.append(f"bias {' + '.join(biases)}" if biases else "no bias")
        if r.forget_bias:
            parts.append(f"{r.forget_bias:g} is added to the forget gate")
        if r.update_is_new:
            parts.append("z takes the new value")
        parts.append(self.arrangement)
        known = f" [{', '.join(self.layouts)}]" if self.layouts else ""
        return f"{'; '.join(parts)}{known}: error {self.error:.1e}"


@dataclass(frozen=True, eq=False)
class Finding:
    """The answer of `find_layout`; ``str(finding)`` is a text.

    Attributes
    ----------
    status : {"found", "ambiguous", "none"}
    fits : tuple of Trial
        All trials that reproduce the output, best first; exactly one if the status is "found".
    best, runner_up : Trial or None
        The best trial of all, and the best of those that don't fit.
    tried : int
        How many trials there were.
    """

    status: str
    fits: tuple[Trial, ...]
    best: Trial | None
    runner_up: Trial | None
    tried: int

    def __str__(self) -> str:
        if self.tried == 0:
            return (
                "none fits: no cell has weights of these shapes\n"
                "  looked for one layer, one direction: W and R, both in one, or w_ru and w_c; 0, 1 or 2 biases"
            )
        if self.status == "found":
            lines = [f"found, among {self.tried} readings: {self.best}"]
        elif self.status == "ambiguous":
            lines = [f"ambiguous: {len(self.fits)} of {self.tried} readings give this output"]
            lines += [f"  {trial}" for trial in self.fits[:8]] + ["  ..."] * (len(self.fits) > 8)
            lines.append("  a longer input with larger values, and all outputs instead of the last, tell more")
        else:
            lines = [f"none fits, of {self.tried} readings; the best was: {self.best}"]
            lines.append("  another cell (peepholes, projection, layer norm), other initial states, or several layers?")
        if self.runner_up is not None:
            lines.append(f"  runner-up: {self.runner_up}")
        return "\n".join(lines)
