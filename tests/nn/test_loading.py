"""The messages of load_state_dict if names or shapes do not fit: a likely cause, but only if it is one."""

from typing import Any

import numpy as np
import pytest

from minirnn import nn


def message(module: nn.Module, state: Any) -> str:
    """The message for a state that does not fit; the module does not change."""
    before = module.state_dict()
    with pytest.raises(ValueError) as caught:
        module.load_state_dict(state)
    for name, value in module.state_dict().items():
        np.testing.assert_array_equal(value, before[name])
    return str(caught.value)


@pytest.mark.parametrize(
    ("got", "cause"),
    [
        ((5, 3), "likely transposed"),
        ((5, 4), "likely saved from a model of another size"),
        ((3, 4), "likely saved from a model of another size"),
        ((15,), "likely another layer, or one that was flattened"),
        ((3, 5, 1), "likely another layer, or one that was flattened"),
        ((), "likely another layer, or one that was flattened"),
    ],
)
def test_a_matrix_of_another_shape_has_a_likely_cause(got: tuple[int, ...], cause: str) -> None:
    layer = nn.Linear(5, 3, bias=False)
    found = message(layer, {"weight": np.zeros(got)})
    assert found.startswith(f"load_state_dict: weight has shape {got}, expected (3, 5)\n  {cause}")


@pytest.mark.parametrize(
    ("got", "cause"),
    [((4, 3, 2), "axes in another order"), ((3, 2, 4), "axes in another order"), ((2, 3, 5), "of another size")],
)
def test_axes_are_reordered_or_not(got: tuple[int, ...], cause: str) -> None:
    assert cause in message(nn.LayerNorm((2, 3, 4), bias=False), {"weight": np.zeros(got)})


KINDS: dict[str, Any] = {"a plain RNN": (nn.RNN, 1), "a GRU": (nn.GRU, 3), "an LSTM": (nn.LSTM, 4)}


@pytest.mark.parametrize("own", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_the_weights_of_another_kind_of_layer_are_known_by_their_number_of_gates(own: str, other: str) -> None:
    (module, gates), (_, others) = KINDS[own], KINDS[other]
    outer = nn.Sequential(module(2, 5))
    state = {name: np.zeros((others * 5, *a.shape[1:])) for name, a in outer.state_dict().items()}
    if own == other:
        outer.load_state_dict(state)
        return
    cause = f"likely the weights of {other} (gates: {others}); expected those of {own} (gates: {gates})"
    assert message(outer, state).endswith(cause)
    state = {name: a[:-1] for name, a in state.items()}  # of no kind
    assert message(outer, state).endswith("likely saved from a model of another size")


def test_weights_of_other_inputs_or_of_a_layer_without_gates_are_not_taken_for_another_kind() -> None:
    layer = nn.GRU(2, 5)
    state = layer.state_dict() | {"weight_ih_l0": np.zeros((20, 3))}
    assert message(layer, state).endswith("likely saved from a model of another size")
    assert message(nn.Linear(2, 3), {"weight": np.zeros((4, 2)), "bias": np.zeros(3)}).endswith("of another size")


@pytest.mark.parametrize(("rows", "more"), [(5, ""), (6, ""), (7, ", and 1 more"), (9, ", and 3 more")])
def test_six_names_are_listed_and_the_rest_is_counted(rows: int, more: str) -> None:
    net = nn.Module()
    for k in range(rows):
        net.register_parameter(str(k), nn.Parameter(np.ones(1)))
    found = message(net, {})
    names = ", ".join(str(k) for k in range(min(rows, 6)))
    assert f"missing {names}{more}\n" in found


def test_a_prefix_is_named_if_the_rest_of_all_names_fits() -> None:
    inner, outer = nn.Linear(2, 3), nn.Sequential(nn.Linear(2, 3))
    assert "saved from a larger module: cut the prefix '0.' off" in message(inner, outer.state_dict())
    assert "saved from the inner module: load them there, or put '0.' before" in message(outer, inner.state_dict())
    other = {f"0.{name}s": a for name, a in inner.state_dict().items()}
    assert "prefix" not in message(inner, other)
    close = {"wieght": np.zeros((3, 2)), "bias": np.zeros(3)}
    assert message(inner, close).endswith("likely wieght is another spelling of weight")
    far = {"kernel": np.zeros((3, 2)), "bias": np.zeros(3)}
    assert message(inner, far).endswith("likely saved from another model; strict=False loads the names that fit")
    assert "missing weight; unexpected kernel" in message(inner, far)
    assert "unexpected" not in message(inner, {"bias": np.zeros(3)})
    assert "missing" not in message(inner, inner.state_dict() | {"more": np.zeros(1)})
