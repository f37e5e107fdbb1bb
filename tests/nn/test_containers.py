"""Sequential, ModuleList and ModuleDict: used like lists and dicts. Names are in test_twin_programs."""

import copy
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


class Plus(nn.Module):
    def __init__(self, n: int) -> None:
        self.n = n

    def forward(self, x: Any) -> Any:
        return 10 * x + self.n


def row(*numbers: int) -> list[nn.Module]:
    return [Plus(n) for n in numbers]


def numbers(modules: Any) -> list[int]:
    return [m.n for m in modules]


ROWS = (lambda *ns: nn.Sequential(*row(*ns)), lambda *ns: nn.ModuleList(row(*ns)))


def test_a_sequential_hands_on_what_each_returns() -> None:
    assert nn.Sequential(*row(1, 2, 3))(0) == 123
    assert nn.Sequential()("same") == "same"
    assert nn.Sequential(OrderedDict(b=Plus(1), a=Plus(2)))(0) == 12


def test_a_sequential_is_found_by_name_and_by_number() -> None:
    net = nn.Sequential(OrderedDict(up=Plus(1), down=Plus(2)))
    assert net.up is net[0] is net["up"] is net[-2]
    net.up = Plus(7)
    net["down"] = Plus(8)
    assert net(0) == 78
    assert list(dict(net[1:].named_children())) == ["down"]
    net.append(Plus(9))
    assert [name for name, _ in net.named_children()] == ["up", "down", "2"]
    taken = nn.Sequential({"1": Plus(1)}).append(Plus(2))  # a name that is a number is not overwritten
    assert taken(0) == 12
    assert [name for name, _ in taken.named_children()] == ["1", "2"]


@pytest.mark.parametrize("make", ROWS)
def test_a_row_is_used_like_a_list(make: Any) -> None:
    net = make(1, 2, 3)
    assert len(net) == 3
    assert net[2] is net[-1] is net[np.int64(2)]
    assert type(net[:2]) is type(net)
    assert numbers(net[::-1]) == [3, 2, 1]
    net[-1] = Plus(4)
    assert numbers(net) == [1, 2, 4]
    assert net.append(Plus(5)) is net
    assert net.extend(row(6, 7)) is net
    net += row(8)
    net.insert(1, Plus(0))
    assert numbers(net) == [1, 0, 2, 4, 5, 6, 7, 8]
    net.insert(-1, Plus(9))
    del net[0]
    del net[3:6]
    assert numbers(net) == [0, 2, 4, 9, 8]
    assert net.pop(-2).n == 9
    assert net.pop(0).n == 0
    assert [name for name, _ in net.named_children()] == ["0", "1", "2"]
    assert net[1] in net
    assert Plus(4) not in net
    assert not make()
    assert numbers(copy.deepcopy(net)) == numbers(pickle.loads(pickle.dumps(net))) == [2, 4, 8]


def test_rows_are_added_and_repeated() -> None:
    one, two = nn.Sequential(*row(1)), nn.Sequential(*row(2, 3))
    assert numbers(one + two) == [1, 2, 3]
    assert numbers(two * 2) == numbers(2 * two) == [2, 3, 2, 3]
    two *= 2
    assert numbers(two) == [2, 3, 2, 3]
    assert two[0] is two[2]
    listed = nn.ModuleList(row(1)) + row(2)
    assert type(listed) is nn.ModuleList
    assert numbers(listed) == [1, 2]
    assert numbers(nn.ModuleList(Plus(k) for k in range(3))) == [0, 1, 2]


def test_none_holds_a_place_in_a_list() -> None:
    net = nn.ModuleList([None, nn.Linear(2, 3)])
    assert len(net) == 2
    assert net[0] is None
    assert list(net.state_dict()) == ["1.weight", "1.bias"]


def test_other_attributes_hold_no_place() -> None:
    net = nn.Sequential(*row(1, 2))
    net.note, net.width = None, 3
    assert len(net) == 2
    assert net(0) == 12
    named = nn.ModuleDict({"a": Plus(1)})
    named.note = None
    assert list(named) == ["a"]


def test_a_subclass_may_add_to_the_row_as_in_torch() -> None:
    class Net(nn.Sequential):
        def __init__(self) -> None:
            super().__init__(*row(1, 2))
            self.last = Plus(3)

    assert Net()(0) == 123


def test_a_module_dict_is_used_like_a_dict() -> None:
    net = nn.ModuleDict({"b": Plus(1), "a": Plus(2)})
    assert list(net) == list(net.keys()) == ["b", "a"]
    assert numbers(net.values()) == [1, 2]
    assert [(name, m.n) for name, m in net.items()] == [("b", 1), ("a", 2)]
    assert "a" in net and "c" not in net and len(net) == 2
    net["c"] = Plus(3)
    net["b"] = Plus(4)  # keeps its place
    net.update([("d", Plus(5))])
    net.update(nn.ModuleDict({"e": Plus(6)}))
    assert numbers(net.values()) == [4, 2, 3, 5, 6]
    assert net.pop("c").n == 3
    del net["d"]
    assert net.a is net["a"]
    assert list(pickle.loads(pickle.dumps(net))) == ["b", "a", "e"]
    net.clear()
    assert not net and not list(nn.ModuleDict())
    with pytest.raises(KeyError, match="ModuleDict has no 'a'"):
        net["a"]


def test_gradients_reach_what_is_in_containers(device: str) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Flatten(), nn.Sequential(nn.Linear(4, 2))).to(device)
    net(mr.tensor(np.ones((5, 3), np.float32), device=device)).sum().backward()
    assert [p.grad.shape for p in net.parameters()] == [(4, 3), (4,), (2, 4), (2,)]


def test_containers_show_what_is_inside() -> None:
    text = repr(nn.Sequential(nn.Linear(2, 3), nn.ModuleList([nn.Identity()])))
    assert text == "Sequential(\n  (0): Linear(2, 3)\n  (1): ModuleList(\n    (0): Identity()\n  )\n)"


def test_places_run_from_the_first_to_the_last() -> None:
    for make in ROWS:
        net = make(1, 2, 3)
        assert (net[-3].n, net[2].n) == (1, 3)
        for place in (3, -4):
            with pytest.raises(IndexError, match=rf"index is {place}\n  expected -3 .. 2"):
                net[place]
            with pytest.raises(IndexError, match=f"index is {place}"):
                net.pop(place)
        with pytest.raises(TypeError, match="expected an integer or a slice"):
            net[1.5]
    net = nn.Sequential(*row(1, 2, 3))
    for place, expected in ((3, [1, 2, 3, 0]), (-3, [0, 1, 2, 3])):
        twin = nn.Sequential(*net)
        assert numbers(twin.insert(place, Plus(0))) == expected
    for place in (4, -4):
        with pytest.raises(IndexError, match=f"insert: index is {place}"):
            net.insert(place, Plus(0))
    for times, error in ((0, ValueError), (-1, ValueError), (True, TypeError), (1.5, TypeError)):
        with pytest.raises(error, match=r"Sequential \*"):
            net * times  # type: ignore[operator]
    assert numbers(net * 1) == [1, 2, 3]
    same = net
    same *= 1
    assert numbers(same) == [1, 2, 3]
    with pytest.raises(TypeError, match="expected two Sequential"):
        net + row(1)  # type: ignore[operator]


def test_arguments_have_torchs_names() -> None:
    row, table = nn.ModuleList(), nn.ModuleDict()
    row.append(module=nn.ReLU()).extend(modules=[nn.Tanh()])
    nn.Sequential().append(module=nn.ReLU()).extend(modules=[nn.Tanh()])
    table.update(modules={"a": nn.ReLU()})
    assert len(row) == 2 and list(table) == ["a"]
