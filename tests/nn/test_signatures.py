"""Parameters and defaults are torch's, as stored in tests/golden/signatures; ours come after them, by keyword.

Tests `minirnn/nn`.
"""

import inspect
import json
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from minirnn import nn
from tests.each import each

STORED = json.loads((Path(__file__).parents[1] / "golden" / "signatures" / "nn.json").read_text(encoding="utf-8"))
LAYER = dict(bias=True, batch_first=False, dropout=0.0, bidirectional=False)
PLACE = dict(device=None, dtype=None)
OTHERS: dict[str, Any] = {  # whose signatures torch has only in its documentation
    "RNN": dict(num_layers=1, nonlinearity="tanh", **LAYER, **PLACE),
    "GRU": dict(num_layers=1, **LAYER, **PLACE),
    "LSTM": dict(num_layers=1, **LAYER, proj_size=0, **PLACE),
    "functional.cosine_similarity": dict(dim=1, eps=1e-8),
    "functional.gelu": dict(approximate="none"),
    "functional.linear": dict(bias=None),
    "functional.one_hot": dict(num_classes=-1),
    "functional.scaled_dot_product_attention": dict(
        attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
    ),
    "functional.softplus": dict(beta=1.0, threshold=20.0),
}
NOT_HERE = {
    "Hardtanh": {"min_value", "max_value"},
    "utils.rnn.PackedSequence": None,
}  # deprecated; a named tuple
OURS = {"Parameter": {"device", "dtype"}}  # by position as well
REQUIRED_HERE = {"Parameter": {"data"}}


def parameters(name: str) -> list[inspect.Parameter]:
    function = reduce(getattr, name.split("."), nn)
    torchs = {ours: theirs for theirs, ours in getattr(function, "torch_names", {}).items()}  # those that an op accepts
    return [p.replace(name=torchs.get(p.name, p.name)) for p in inspect.signature(function).parameters.values()]


@each("name", [name for name in STORED if NOT_HERE.get(name, ()) is not None])
def test_parameters_and_defaults_are_torchs(name: str) -> None:
    theirs = [(n, default) for n, default in STORED[name] if n not in NOT_HERE.get(name, ())]
    found = parameters(name)
    names = {n for n, _ in theirs}
    more = [p for p in found if p.name not in names and p.name not in OURS.get(name, ())]
    assert all(p.kind is p.KEYWORD_ONLY for p in more)
    for p, (n, default) in zip([p for p in found if p.name in names], theirs, strict=True):
        assert p.name == n
        if n not in REQUIRED_HERE.get(name, ()):
            assert (p.default if p.default is not p.empty else "required") == default, n


@pytest.mark.parametrize("name", OTHERS)
def test_documented_defaults_are_torchs(name: str) -> None:
    found = {p.name: p.default for p in parameters(name) if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY}
    assert list(found.items()) == list(OTHERS[name].items())
