"""Devices: registering, choosing a default, plug-ins, and the requirements of a Device subclass."""

import importlib.metadata
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices
from minirnn.devices import registry
from minirnn.devices.base import KERNELS, PRIMITIVES, Device

CPU: Any = type(devices.get("cpu"))


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Removes the devices that a test registers."""
    monkeypatch.setattr(registry, "_factories", dict(registry._factories))
    monkeypatch.setattr(registry, "_made", dict(registry._made))
    monkeypatch.setattr(registry, "_entry_points_read", True)
    before = registry._default.device
    yield
    registry._default.device = before


def make(name: str) -> Device:
    """A device like cpu, under another name."""
    return type("Other", (CPU,), {"name": name})()  # type: ignore[no-any-return]


def registered(name: str) -> Device:
    device = make(name)
    devices.register(name, lambda: device)
    return device


# ---- register and get


def test_a_registered_device_is_made_once_on_first_use() -> None:
    calls = []

    def factory() -> Device:
        calls.append(1)
        return make("third")

    devices.register("third", factory)
    assert calls == []
    first = devices.get("third")
    assert devices.get("third") is first and calls == [1]
    assert mr.tensor([1.0], device="third").device is first


def test_a_device_is_handed_on_and_equals_its_name() -> None:
    cpu = devices.get("cpu")
    assert devices.get(cpu) is cpu
    assert cpu == "cpu" and cpu != "cuda" and cpu != make("cpu")
    assert {cpu: 1}["cpu"] == 1  # type: ignore[index]
    assert (str(cpu), repr(cpu)) == ("cpu", "<device cpu>")


def test_a_device_that_cannot_work_says_why_each_time_and_may_work_later() -> None:
    broken = [True]

    def factory() -> Device:
        if broken:
            raise devices.DeviceUnavailable("no abacus found; install one")
        return make("abacus")

    devices.register("abacus", factory)
    for _ in range(2):
        with pytest.raises(devices.DeviceUnavailable, match="no abacus found"):
            devices.get("abacus")
    assert devices.available()["abacus"] == "no abacus found; install one"
    broken.clear()
    assert devices.get("abacus") == "abacus"
    assert devices.available()["abacus"] is None


def test_available_names_every_device_and_survives_a_broken_one() -> None:
    def factory() -> Device:
        raise KeyError

    devices.register("broken", factory)
    found = devices.available()
    assert found["cpu"] is None
    assert found["broken"] == "KeyError"


# ---- the default device


def test_use_device_sets_the_default_for_a_block_and_blocks_nest() -> None:
    a, b = registered("a"), registered("b")
    with mr.use_device("a") as inside:
        assert inside is a and devices.get() is a
        with mr.use_device(b):
            assert mr.tensor([1.0]).device is b
        assert devices.get() is a
        assert mr.tensor([1.0], device="cpu").device == "cpu"
    assert devices.get() == "cpu"
    with pytest.raises(KeyError), mr.use_device("a"):
        raise KeyError
    assert devices.get() == "cpu"


def test_use_device_without_a_block_lasts_and_an_unknown_device_changes_nothing() -> None:
    a = registered("a")
    mr.use_device("a")
    with pytest.raises(ValueError, match="no device is called 'b'"):
        mr.use_device("b")
    assert devices.get() is a
    mr.use_device("cpu")
    assert devices.get() == "cpu"


def test_the_default_of_one_thread_is_not_that_of_another() -> None:
    registered("a")
    seen: list[Device] = []
    with mr.use_device("a"):
        thread = threading.Thread(target=lambda: seen.append(devices.get()))
        thread.start()
        thread.join()
    assert seen == ["cpu"]


def test_the_environment_chooses_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    a = registered("a")
    monkeypatch.setenv("MINIRNN_DEVICE", "a")
    assert devices.get() is a
    assert mr.tensor([1.0]).device is a
    with mr.use_device("cpu"):
        assert devices.get() == "cpu"
    monkeypatch.setenv("MINIRNN_DEVICE", "")
    assert devices.get() == "cpu"
    monkeypatch.setenv("MINIRNN_DEVICE", "nowhere")
    with pytest.raises(ValueError, match="no device is called 'nowhere'"):
        devices.get()


def test_a_tensor_made_from_a_tensor_stays_on_its_device() -> None:
    a = registered("a")
    t = mr.tensor([1.0], device="a")
    assert mr.tensor(t).device is a
    assert mr.tensor(t, device="cpu").device == "cpu"
    assert (t * 2).device is a and (t > 0).device is a and (np.ones(1) * t).device is a


def test_many_threads_get_one_device() -> None:
    calls, found, start = [], [], threading.Barrier(8)

    def factory() -> Device:
        calls.append(1)
        return make("slow")

    devices.register("slow", factory)

    def work() -> None:
        start.wait()
        found.append(devices.get("slow"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(calls) == 1
    assert len({id(d) for d in found}) == 1


# ---- plug-ins; `tests/devices/test_own_device.py` installs one


class Entry:
    """What importlib.metadata hands out."""

    def __init__(self, name: str, load: Any) -> None:
        self.name, self.load = name, load


def plug_in(monkeypatch: pytest.MonkeyPatch, *entries: Entry) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: list(entries))
    monkeypatch.setattr(registry, "_entry_points_read", False)


def test_a_plug_in_does_not_replace_a_device_that_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    a = registered("a")
    plug_in(monkeypatch, Entry("a", lambda: lambda: make("a")), Entry("cpu", lambda: lambda: make("cpu")))
    assert devices.available()["a"] is None
    assert devices.get("a") is a
    assert type(devices.get("cpu")) is CPU


def test_a_plug_in_that_cannot_be_imported_is_listed_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> Any:
        raise ImportError("no module named abacus")

    plug_in(monkeypatch, Entry("abacus", load))
    assert devices.available() == {**devices.available(), "abacus": "no module named abacus", "cpu": None}


# ---- Device subclasses


def test_a_device_that_lacks_primitives_is_refused_by_their_names() -> None:
    have = {name: staticmethod(lambda *a: None) for name in PRIMITIVES if name not in ("tanh", "scatter_add")}
    with pytest.raises(TypeError, match="Half does not implement tanh, scatter_add\n  expected: every name in"):
        type("Half", (Device,), {"name": "half", **have})


def test_a_kernel_that_is_declared_must_be_there_and_be_known() -> None:
    have = {name: staticmethod(lambda *a: None) for name in PRIMITIVES}
    with pytest.raises(TypeError, match="does not implement cell_step\n"):
        type("D", (Device,), {"name": "d", "kernels": frozenset({"cell_step"}), **have})
    with pytest.raises(TypeError, match=r"D.kernels names unknown kernels: \['blok_lstm'\]\n  known: "):
        type("D", (Device,), {"name": "d", "kernels": frozenset({"blok_lstm"}), **have})


def test_a_missing_kernel_is_none_and_counted() -> None:
    name = sorted(KERNELS)[0]
    have = {n: staticmethod(lambda *a: None) for n in PRIMITIVES}
    device = type("D", (Device,), {"name": "d", "kernels": frozenset(), **have})()
    assert device.kernel(name) is None and device.kernel(name) is None
    assert device.fallbacks == {name: 2}
    cpu = devices.get("cpu")
    assert all(callable(cpu.kernel(k)) for k in cpu.kernels)
    device.synchronize()


class Noted(CPU):
    """Counts how many threads have it as their default device."""

    name = "noted"
    users = 0

    def put_to_use(self) -> None:
        self.users += 1

    def put_away(self) -> None:
        self.users -= 1


def test_a_device_is_told_when_threads_begin_and_cease_to_use_it() -> None:
    noted: Any = Noted()
    with mr.use_device(noted):
        with mr.use_device(noted):
            assert noted.users == 1
        with mr.use_device("cpu"):
            assert noted.users == 0
        assert noted.users == 1
    assert noted.users == 0


def test_a_thread_that_ends_no_longer_uses_its_device() -> None:
    noted: Any = Noted()
    seen = []

    def work() -> None:
        mr.use_device(noted)
        seen.append(noted.users)

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [1, 1, 1] and noted.users == 0


def test_a_device_that_cannot_be_put_to_use_is_not_the_default_one() -> None:
    class Broken(Noted):
        def put_to_use(self) -> None:
            raise RuntimeError("not today")

    before, broken = mr.devices.get(), Broken()
    with pytest.raises(RuntimeError, match="not today"):
        mr.use_device(broken)
    assert mr.devices.get() is before and broken.users == 0
