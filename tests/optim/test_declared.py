"""Constructors of optimizers, made from declared settings, and the settings as attributes.

Tests `minirnn/optim/settings.py`.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import KW_ONLY, InitVar
from typing import Any

import pytest

from minirnn import nn, optim
from minirnn.optim.optimizer import Optimizer, Params
from minirnn.optim.settings import Setting, at_least_zero, setting, share


class Mine(Optimizer):
    """Settings by place and by name."""

    params: InitVar[Params]
    lr: float = setting(at_least_zero, default=0.5)
    keep: float = setting(share, "How much is kept.", default=1)
    _: KW_ONLY
    floor: float = setting(at_least_zero, "The least.", default=0)


class Steadier(Mine):
    """One default changed, one setting fixed, one added by place after one that is given by name."""

    keep: float = setting(share, "How much is kept.", default=0.25)
    floor: float = setting(at_least_zero, default=2, init=False)
    more: float = setting(at_least_zero, "More.", default=3)


def ps() -> list[nn.Parameter]:
    return [nn.Parameter([1.0])]


def test_the_signature_is_what_was_declared() -> None:
    assert str(inspect.signature(Mine)) == (
        "(params: 'Params', lr: 'float' = 0.5, keep: 'float' = 1, *, floor: 'float' = 0) -> None"
    )
    assert list(inspect.signature(Steadier).parameters) == ["params", "lr", "keep", "more"]
    assert next(iter(inspect.signature(Mine.__init__).parameters)) == "self"


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam"])
def test_the_documentation_says_what_each_argument_means(name: str) -> None:
    kind = getattr(optim, name)
    rows = re.findall(r"^(\w+(?:, \w+)*)(?: : .+)?\n    (\S.+)$", kind.__doc__.split("----------\n")[1], re.M)
    told = {argument: meaning for names, meaning in rows for argument in names.split(", ")}
    assert set(inspect.signature(kind).parameters) | {"TypeError", "ValueError"} == set(told)
    assert kind.__doc__.startswith(name) or name == "SGD"


def test_settings_are_given_by_place_and_by_name_and_looked_at() -> None:
    mine = Mine(ps(), 0.25, floor=1)
    assert mine.defaults == {"lr": 0.25, "keep": 1, "floor": 1}
    assert (mine.lr, mine.keep, mine.floor) == (0.25, 1, 1)
    assert Steadier(ps(), 1).defaults == {"lr": 1, "keep": 0.25, "floor": 2, "more": 3}
    with pytest.raises(ValueError, match="Steadier: keep is 2.0\n  expected 0 .. 1"):
        Steadier(ps(), keep=2)
    assert list(Mine._settings) == ["lr", "keep", "floor"]  # those of the other class are separate


def test_an_argument_that_does_not_fit_is_named_with_the_class() -> None:
    sgd: Any = optim.SGD
    for arguments, named, words in (
        ((), {}, "SGD: missing a required argument: 'params'"),
        ((ps(),), {"momentun": 0.9}, "SGD: got an unexpected keyword argument 'momentun'"),
        ((ps(), 1, 0, 0, 0, False, False), {}, "SGD: too many positional arguments"),
        ((ps(), 1), {"lr": 1}, "SGD: multiple values for argument 'lr'"),
    ):
        with pytest.raises(TypeError, match=words):
            sgd(*arguments, **named)
    with pytest.raises(TypeError, match="AdamW: got an unexpected keyword argument 'decoupled_weight_decay'"):
        optim.AdamW(ps(), decoupled_weight_decay=True)  # type: ignore[call-arg]


def test_a_setting_of_the_class_is_the_setting_itself() -> None:
    assert isinstance(optim.Adam.beta2, Setting)
    assert (optim.Adam.beta1.part, optim.Adam.beta2.part, optim.Adam.betas.part) == (0, 1, None)


def test_limits_belong_to_the_settings_and_each_beta_is_written_into_all_groups_or_none() -> None:
    adam = optim.Adam([{"params": ps()}, {"params": ps()}], 0, betas=[0, 0.875], eps=0)  # type: ignore[arg-type]
    assert (adam.betas, adam.lr, adam.eps) == ((0, 0.875), 0, 0)
    adam.beta1 = 0.25
    for beta, words in ((1.0, "betas are 0.25 and 1.0"), (-0.125, "beta2 is -0.125")):
        with pytest.raises(ValueError, match=words):
            adam.beta2 = beta
    assert [group["betas"] for group in adam.param_groups] == [(0.25, 0.875)] * 2
    sgd = optim.SGD([{"params": ps()}, {"params": ps()}], momentum=0.5)
    sgd.param_groups[1]["momentum"] = 0
    with pytest.raises(ValueError, match="nesterov without momentum"):
        sgd.nesterov = True
    assert [group["nesterov"] for group in sgd.param_groups] == [False] * 2
    for rho in (0, 1):
        assert optim.Adadelta(ps(), rho=rho).rho == rho
    for off in (None, False):
        assert optim.Adam(ps(), foreach=off).param_groups[0]["foreach"] is off
