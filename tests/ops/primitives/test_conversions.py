"""`to` in all its forms, and the methods that abbreviate it."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from tests.compare import assert_same
from tests.each import each

FORMS: dict[str, Any] = {
    "dtype": lambda t, d: t.to(np.float64),
    "a dtype's name": lambda t, d: t.to("float64"),
    "dtype=": lambda t, d: t.to(dtype=mr.float64),
    "Python's float": lambda t, d: t.to(float),
    "device, dtype": lambda t, d: t.to(d, mr.float64),
    "device, dtype=": lambda t, d: t.to(d, dtype=mr.float64, non_blocking=True),
    "device=, dtype=": lambda t, d: ops.to(t, device=d, dtype=mr.float64),
    "other": lambda t, d: t.to(mr.zeros(1, dtype=mr.float64, device=d)),
    "type_as": lambda t, d: t.type_as(mr.zeros(1, dtype=mr.float64, device=d)),
    "double": lambda t, d: t.double().to(d),
}


@each("name", FORMS)
def test_values_arrive_and_gradients_come_back(device: str, name: str) -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True)
    y = FORMS[name](x, device)
    if name not in ("dtype", "a dtype's name", "dtype=", "Python's float"):
        assert y.device == device
    assert y.dtype == np.float64
    g = mr.grad((y * y * y).sum(), x, create_graph=True)
    assert g.device == "cpu"
    assert_same(g, np.float32([3, 12]))
    assert_same(mr.grad(g.sum(), x), np.float32([6, 12]))


def test_what_fits_already_stays_itself(device: str) -> None:
    t = mr.zeros(2, device=device)
    assert t.to(device) is t.to(np.float32) is t.to(t) is t.to(device, "float32") is t.float() is t.type_as(t) is t
    assert t.to(device, copy=True) is not t
    assert mr.zeros(2).cpu() is not t and t.cpu().device == "cpu"


@each(
    ("name", "dtype"),
    {
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "byte": "uint8",
        "short": "int16",
        "int": "int32",
        "long": "int64",
        "bool": "bool",
    }.items(),
)
def test_methods_have_torchs_names_of_dtypes(name: str, dtype: str) -> None:
    a = np.array([0.0, 1.5, 100.0], np.float32)
    assert_same(getattr(mr.tensor(a), name)().numpy(), a.astype(dtype))
