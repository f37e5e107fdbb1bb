"""torch.nn.LSTM, GRU and RNN (and minirnn.nn's): rows are units, two biases, gates as in cuDNN.

    weight_ih_l{l} = W (G*H, in)   weight_hh_l{l} = R (G*H, P)   weight_hr_l{l} = Wp (P, H)
    bias_ih_l{l} = bW (G*H,)       bias_hh_l{l} = bR (G*H,)      ..._reverse for the second direction

Gates: lstm i, f, g, o; gru r, z, n. The arrays are those of the hub, unchanged. The cells (LSTMCell, ...) have the same
names without _l0.
"""

from __future__ import annotations

import re

import numpy as np

from minirnn.io.layouts.base import Arrays, Layout, mode_of
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights
from minirnn.io.layouts.settings import Settings

NAMES = {"weight_ih": "W", "weight_hh": "R", "weight_hr": "Wp", "bias_ih": "bW", "bias_hh": "bR"}
KEY = re.compile(rf"(.*?)({'|'.join(NAMES)})(?:_l(\d+)(_reverse)?)?")


class TorchNN(Layout):
    name = "torch.nn"
    gates = {"lstm": "ifgo", "gru": "rzn", "rnn_tanh": "", "rnn_relu": ""}
    form = "rows"
    projection = True

    def own(self, arrays: Arrays) -> dict[str, str]:
        return {key: match[1] for key in arrays if (match := KEY.fullmatch(key))}

    def read(self, arrays: Arrays, settings: Settings) -> NetworkWeights:
        found: dict[tuple[int, int], dict[str, np.ndarray]] = {}
        prefixes = sorted(set(self.own(arrays).values()))
        if len(prefixes) != 1:
            raise ValueError(
                f"convert: torch.nn: arrays of {', '.join(map(repr, prefixes)) or 'no module'}\n"
                "  expected one module with weight_ih_l0, weight_hh_l0, ...\n"
                "  choose one of several with prefix=... (command line: --prefix)"
            )
        for key, array in arrays.items():
            match = KEY.fullmatch(key)
            if match:
                _, what, layer, reverse = match.groups()
                found.setdefault((int(layer or 0), int(bool(reverse))), {})[NAMES[what]] = array
        D = 1 + max(d for _, d in found)
        places = [(p // D, p % D) for p in range(len(found))]
        for l, d in places:
            have = found.get((l, d), {})
            lacking = [name for name, part in NAMES.items() if part in ("W", "R") and part not in have]
            if lacking or ("bW" in have) != ("bR" in have):
                lacking = lacking or [name for name, part in NAMES.items() if part in ("bW", "bR") and part not in have]
                raise ValueError(
                    f"convert: torch.nn: there is no {lacking[0]}_l{l}{'_reverse' * d}\n"
                    "  expected weight_ih, weight_hh and both or no biases for every layer and direction"
                )
        layers = tuple(LayerWeights(**found[place]) for place in places)
        rnn_mode = self._mode(layers[0], settings)
        return NetworkWeights(rnn_mode, layers, D, "reset_after" if rnn_mode == "gru" else None)

    def _mode(self, first: LayerWeights, settings: Settings) -> str:
        """The rnn_mode, which follows from the number of gates except for the two activations of RNN."""
        if first.R.ndim != 2 or (first.Wp is not None and first.Wp.ndim != 2):
            raise ValueError(f"convert: torch.nn: weight_hh_l0 has shape {first.R.shape}\n  expected (G*H, P)")
        H = first.R.shape[1] if first.Wp is None else first.Wp.shape[1]
        return mode_of(self.name, first.R.shape[0], H, settings)

    def write(self, weights: NetworkWeights, settings: Settings) -> tuple[dict[str, np.ndarray], Settings]:
        arrays = {}
        for p, layer in enumerate(weights.layers):
            l, d = divmod(p, weights.directions)
            for name, part in NAMES.items():
                array = getattr(layer, part)
                if array is not None:
                    arrays[f"{name}_l{l}{'_reverse' * d}"] = array
        return arrays, Settings()
