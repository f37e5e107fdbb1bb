"""`to` in all its forms, and the methods that abbreviate it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


PLACES: dict[str, Any] = {
    "t.to()": lambda d: mr.ones(2).to(d),
    "t.to(dtype=)": lambda d: mr.ones(2).to(dtype=d),
    "module.to()": lambda d: mr.nn.Linear(2, 2).to(d),
    "module.to(dtype=)": lambda d: mr.nn.Linear(2, 2).to("cpu", dtype=d),
    "packed.to()": lambda d: mr.nn.utils.rnn.pack_sequence([mr.ones(2, 1)]).to(d),
    "a layer": lambda d: mr.nn.LSTM(2, 2, dtype=d),
    "zeros": lambda d: mr.zeros(2, dtype=d),
    "tensor": lambda d: mr.tensor([1.0], dtype=d),
    "sum": lambda d: mr.ones(2).sum(dtype=d),
    "softmax": lambda d: mr.softmax(mr.ones(2), 0, dtype=d),
    "set_default_dtype": mr.set_default_dtype,
}
MISSING = {"bfloat16": "use mr.float16 or mr.float32", "float8_e4m3fn": "use mr.float16 or mr.float32"}
MISSING |= {"complex64": "there are no complex Tensors", "cfloat": "there are no complex Tensors"}
MISSING |= {"qint8": "there are no quantized Tensors", "uint4": "mr.uint8, mr.int32 or mr.int64"}
MISSING |= {"torch.bfloat16": "use mr.float16 or mr.float32", "torch.float32": "likely mr.float32 is meant"}


@each(("place", "dtype"), [(place, dtype) for place in PLACES for dtype in MISSING])
def test_a_dtype_that_torch_alone_has_is_refused_with_what_to_use(place: str, dtype: str) -> None:
    with pytest.raises(TypeError, match=rf"^[\w.]+: got dtype '?{dtype}'?\n  expected float16/32/64, .*\n") as error:
        PLACES[place](dtype)
    assert MISSING[dtype] in str(error.value)
