"""The members of a module: registering, assigning, finding."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


class Net(nn.Module):
    """Leaves ``super().__init__()`` out, which is allowed."""

    def __init__(self) -> None:
        self.register_buffer("mean", mr.tensor([1.0, 2.0]))
        self.register_buffer("count", mr.tensor([3]), persistent=False)
        self.layers = [nn.Linear(2, 3), {"last": nn.Linear(3, 4, bias=False)}]
        self.scale = nn.Parameter([1.0])
        self.constant = mr.tensor([5.0])


def test_a_parameter_can_be_replaced_taken_out_and_put_back() -> None:
    layer, other = nn.Linear(2, 3), nn.Parameter(np.ones((3, 2)))
    layer.weight = other
    assert layer.get_parameter("weight") is other
    layer.weight = None
    assert list(layer.state_dict()) == ["bias"]
    with pytest.raises(TypeError, match="expected a Parameter or None"):
        layer.weight = mr.tensor(np.ones((3, 2)))
    layer.weight = other
    assert list(layer.state_dict()) == ["weight", "bias"]
    del layer.weight
    assert list(layer.state_dict()) == ["bias"]
    layer.weight = "anything"  # the name is free again
    assert not hasattr(nn.Linear(2, 3), "no_such_thing")


def test_a_module_is_replaced_by_modules_only() -> None:
    net = nn.Sequential(nn.Linear(2, 3))
    holder = Net()
    holder.inner = net
    with pytest.raises(TypeError, match="Net.inner: got a function\n  expected a Module or None"):
        holder.inner = lambda x: x
    holder.inner = [nn.Linear(2, 3)]  # found there as well
    assert holder.get_parameter("inner.0.weight").shape == (3, 2)
    holder.other = net
    holder.other = None
    assert "other.0.weight" not in holder.state_dict()


def test_a_buffer_is_replaced_by_tensors_only_and_by_what_is_found_itself() -> None:
    net = Net()
    net.mean = mr.tensor([7.0, 8.0])
    assert net.state_dict()["mean"].tolist() == [7, 8]
    with pytest.raises(TypeError, match="Net.mean: got a list\n  expected a Tensor or None: it is a buffer"):
        net.mean = [1.0, 2.0]
    net.mean = None
    assert "mean" not in net.state_dict()
    net.mean = nn.Parameter([1.0])
    assert [name for name, _ in net.named_buffers()] == ["count"]
    assert "mean" in dict(net.named_parameters())
    del net.count
    assert not list(net.buffers())


def test_a_shallow_copy_has_records_of_its_own() -> None:
    net = Net()
    twin = copy.copy(net)
    assert twin.scale is net.scale
    twin.register_buffer("more", mr.tensor([1.0]))
    twin.scale = None
    assert [name for name, _ in net.named_buffers()] == ["mean", "count"]
    assert "scale" in net.state_dict()
    net.extra = 1
    assert not hasattr(twin, "extra")


def test_members_are_found_by_their_names() -> None:
    net = Net()
    assert net.get_submodule("") is net
    assert net.get_submodule("layers.1.last") is net.layers[1]["last"]
    assert net.get_parameter("layers.0.bias") is net.layers[0].bias
    assert net.get_buffer("count") is net.count
    assert nn.Sequential(net).get_buffer("0.mean") is net.mean
    assert nn.Sequential(net, net).get_buffer("1.mean") is net.mean
    for name, parameter in net.named_parameters():
        assert net.get_parameter(name) is parameter


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda net: net.get_parameter("layers.0.wieght"), ["'layers.0.wieght'", "likely 'layers.0.weight' is meant"]),
        (lambda net: net.get_parameter("layers.7.weight"), ["likely 'layers.0.weight'"]),
        (lambda net: net.get_parameter("mean"), ["a parameter of Net"]),
        (lambda net: net.get_parameter("layers"), ["a parameter of Net"]),
        (lambda net: net.get_parameter("scale.deeper"), ["'scale.deeper'"]),
        (lambda net: net.get_submodule("layers.0.weight"), ["a module of Net", "likely 'layers.0' is meant"]),
        (lambda net: net.get_submodule(3), ["3 is not the name"]),
        (lambda net: net.get_buffer("cuont"), ["likely 'count' is meant"]),
        (lambda net: net.get_buffer("constant"), ["a buffer of Net"]),
        (lambda net: net.lyaers, ["'Net' object has no attribute 'lyaers'", "likely 'layers' is meant"]),
        (lambda net: net.named_paramters(), ["likely 'named_parameters' is meant"]),
        (lambda net: net.qqqqq, ["no attribute 'qqqqq'"]),
    ],
)
def test_a_name_that_is_not_there_names_the_closest(ask: Any, words: list[str]) -> None:
    with pytest.raises(AttributeError) as caught:
        ask(Net())
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_an_attribute_error_inside_a_property_is_not_hidden() -> None:
    class Broken(nn.Module):
        @property
        def size(self) -> int:
            return self.missing_inside

    with pytest.raises(AttributeError, match="missing_inside"):
        _ = Broken().size


def test_named_modules_leaves_out_what_is_in_the_memo_and_a_parent_that_a_child_knows() -> None:
    net = Net()
    first = net.layers[0]
    assert [name for name, _ in net.named_modules({first}, "n")] == ["n", "n.layers.1.last"]
    first.parent = net
    for remove_duplicate in (False, True):
        found = [name for name, _ in net.named_modules(remove_duplicate=remove_duplicate)]
        assert found == ["", "layers.0", "layers.1.last"]
    applied: list[Any] = []
    assert net.apply(applied.append) is net
    assert applied == [first, net.layers[1]["last"], net]
    assert "(...)" in repr(net)


def test_what_is_registered_can_be_registered_again() -> None:
    net = Net()
    net.register_parameter("scale", nn.Parameter([9.0]))
    net.register_buffer("mean", mr.tensor([4.0]))
    net.register_buffer("count", mr.tensor([5]))  # now saved
    net.register_module("inner", nn.Linear(2, 3))
    net.add_module("inner", nn.Identity())
    assert net.scale.tolist() == [9]
    assert list(net.state_dict())[:3] == ["scale", "mean", "count"]
    assert isinstance(net.inner, nn.Identity)
    with pytest.raises(TypeError, match="is a Parameter"):
        net.register_buffer("mean", nn.Parameter([1.0]))


def test_the_closest_name_may_be_the_second_one_of_a_shared_parameter() -> None:
    shared = nn.Linear(2, 3)
    net = nn.Sequential()
    net.encoder, net.decoder = shared, shared
    with pytest.raises(AttributeError, match="likely 'decoder.weight' is meant"):
        net.get_parameter("decoder.wieght")
    shared.register_buffer("mean", mr.tensor([1.0]))
    with pytest.raises(AttributeError, match="likely 'decoder.mean' is meant"):
        net.get_buffer("decoder.maen")


def test_a_name_that_was_taken_out_is_free() -> None:
    net = Net()
    del net.count
    net.count = 3
    assert list(dict(net.named_buffers())) == ["mean"]
    net.mean = nn.Parameter([1.0])
    net.mean = None
    with pytest.raises(TypeError, match="expected a Parameter or None: it is a parameter"):
        net.mean = mr.tensor([1.0])
