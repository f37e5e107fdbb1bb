"""ParameterList and ParameterDict: used like a list and a dict. Names are in test_twin_programs."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


def numbers(parameters: object) -> list[float]:
    return [p.item() for p in parameters]  # type: ignore[attr-defined]


def test_a_list_of_parameters() -> None:
    rows = nn.ParameterList([nn.Parameter([1.0]), mr.tensor([2.0]), np.array([3.0])])
    assert all(isinstance(p, nn.Parameter) for p in rows)
    assert len(rows) == 3 and rows[-1] is rows[2]
    assert numbers(rows[1:]) == [2, 3] and type(rows[1:]) is nn.ParameterList
    rows[0] = mr.tensor([4.0])
    assert rows.append(nn.Parameter([5.0])) is rows
    rows += [nn.Parameter([6.0])]
    assert rows.extend([np.array([7.0])]) is rows
    assert numbers(rows) == [4, 2, 3, 5, 6, 7]
    assert rows.pop().item() == 7
    assert rows.pop(1).item() == 2
    assert numbers(copy.deepcopy(rows)) == numbers(pickle.loads(pickle.dumps(rows))) == [4, 3, 5, 6]
    assert list(rows.state_dict()) == ["0", "1", "2", "3"]
    assert "(0): Parameter of shape (1,), float32" in repr(rows)
    for index, error in ((4, IndexError), (-5, IndexError), ("0", TypeError)):
        with pytest.raises(error, match="ParameterList: index is"):
            rows[index]


def test_a_dict_of_parameters() -> None:
    table = nn.ParameterDict(OrderedDict(b=nn.Parameter([1.0]), a=mr.tensor([2.0])))
    assert list(table) == list(table.keys()) == ["b", "a"] and list(reversed(table)) == ["a", "b"]
    assert numbers(table.values()) == [1, 2] and dict(table.items())["a"] is table["a"] is table.a
    table["c"] = np.array([3.0])
    table["b"] = nn.Parameter([4.0])
    assert numbers(table.values()) == [4, 2, 3] and len(table) == 3 and "c" in table and "d" not in table
    assert table.get("d") is None and table.get("a") is table.a
    assert table.setdefault("d", mr.tensor([5.0])) is table["d"] is table.setdefault("d")
    assert table.popitem()[0] == "d" and table.pop("c").item() == 3
    twin = table.copy()
    assert twin["a"] is table["a"] and list(twin) == ["b", "a"]
    merged = table | {"z": np.array([6.0])}
    assert list(merged) == ["b", "a", "z"] and list(table) == ["b", "a"]
    assert list({"z": np.array([6.0])} | table) == ["z", "b", "a"]
    table |= {"y": np.array([7.0])}
    assert list(table) == ["b", "a", "y"]
    assert numbers(table.fromkeys(["q", "p"], np.array([8.0])).values()) == [8, 8]
    del table["a"]
    assert list(pickle.loads(pickle.dumps(table))) == ["b", "y"]
    table.clear()
    assert not len(table)
    with pytest.raises(KeyError, match="ParameterDict has no 'a'"):
        table["a"]
    with pytest.raises(KeyError, match="empty"):
        table.popitem()


ONE = mr.tensor([1.0])


def test_those_of_a_plain_dict_are_sorted_and_those_of_pairs_are_not() -> None:
    assert list(nn.ParameterDict({"b": ONE, "a": ONE})) == ["a", "b"]
    assert list(nn.ParameterDict([("b", ONE), ["a", ONE]])) == ["b", "a"]
    assert list(nn.ParameterDict(nn.ParameterDict([("b", ONE), ("a", ONE)]))) == ["b", "a"]
    shared = nn.Parameter([1.0])
    assert nn.ParameterDict({"a": shared})["a"] is shared
