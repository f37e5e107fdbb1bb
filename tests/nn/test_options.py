"""A class with declared options has a constructor, attributes, and the arguments of its function."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.nn.options import WithOptions, calls, option


def doubled(module: str, name: str, value: Any, times: int) -> Any:
    if value < 0:
        raise ValueError(f"{module}: {name} is {value}")
    return value * times


def scaled(x: mr.Tensor, factor: float, shift: Any) -> mr.Tensor:
    return x * factor if shift is None else x * factor + shift


@calls(scaled)
class Scaled(WithOptions):
    factor: float = option(1.0, doubled, 2)
    old: Any = option(0, doubled, 0, stored=False)
    shift: Any = option(None, buffer=True)

    def forward(self, x: Any) -> Any:
        return self._call(x)


def test_options_are_read_kept_and_handed_on() -> None:
    module = Scaled(3.0, shift=mr.tensor([1.0]))
    assert (module.factor, module(mr.tensor([2.0])).item()) == (6.0, 13.0)
    assert repr(Scaled(3.0)) == "Scaled(factor=6.0, shift=None)"
    assert list(module.state_dict()) == ["shift"] and not hasattr(module, "old") and not hasattr(Scaled, "factor")
    assert Scaled() != Scaled()  # compared by identity, as all modules are
    with pytest.raises(ValueError, match="Scaled: old is -1"):
        Scaled(old=-1)
    module.factor = 1.0
    assert module(mr.tensor([2.0])).item() == 3.0
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert twin(mr.tensor([2.0])).item() == 3.0


def test_a_subclass_may_have_a_constructor_and_annotations_of_its_own() -> None:
    class Mine(nn.CrossEntropyLoss):
        factor: float = 2.0

        def __init__(self, factor: float) -> None:
            super().__init__(np.ones(3), reduction="sum")
            self.factor = factor

    module = Mine(4.0)
    assert module.factor == 4.0 and list(module.state_dict()) == ["weight"]
    assert module(np.zeros((2, 3)), [0, 1]).item() == pytest.approx(2 * np.log(3))
    with pytest.raises(TypeError, match="it is a buffer"):
        module.weight = np.ones(3)
