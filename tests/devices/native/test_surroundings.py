"""The device in difficult environments: a bad compiler, forks amid threads, Ctrl-C.

Tests `minirnn/devices/native/library.py`, `minirnn/devices/native/device.py`, `minirnn/devices/native/arguments.py` and
`minirnn/devices/native/kernels/team.cpp`.
"""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.host_cpp import compiler
from minirnn.devices.native import arguments, library
from tests.devices import process
from tests.devices.process import UNAVAILABLE, script

DIGEST = """
def digest(seed=0, H=64, T=10, B=16):
    rng = np.random.default_rng(seed)
    mr.manual_seed(seed)
    with mr.use_device("native"):
        layer = mr.nn.LSTM(32, H)
        x = mr.tensor(rng.standard_normal((T, B, 32)).astype("f4"), requires_grad=True)
        y, _ = layer(x)
        (y * y).sum().backward()
        arrays = [y.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in layer.parameters())]
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()
"""


def say(code: str, **env: str | None) -> str:
    """The output of a new Python that runs `code` after the code above."""
    return process.say(DIGEST + code, **{"MINIRNN_NUM_THREADS": "3", "PYTHONWARNINGS": "ignore"} | env)


BAD = """case "$*" in *--version*) echo "bad 1.0";; *) echo "x.h:1: error: no room" >&2; exit 1; esac
"""
RUBBISH = """case "$*" in *--version*) echo "bad 1.0";; esac
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo rubbish > "$2"; shift; done
"""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BAD, ["c++ 1.0 does not compile the kernels; the cpu device needs no compiler\n", "x.h:1: error: no room"]),
        (RUBBISH, ["native: cannot load the compiled kernels; the cpu device needs none"]),
    ],
    ids=["it fails and is quoted", "it makes no library"],
)
def test_a_bad_compiler_makes_the_device_unavailable(tmp_path: Path, text: str, says: list[str]) -> None:
    bad = script(tmp_path / "c++", text)
    said = say(UNAVAILABLE.format(name="native"), CXX=bad, MINIRNN_CACHE=str(tmp_path / "cache"))
    assert all(words in said for words in says), said
    assert text == RUBBISH or list((tmp_path / "cache" / "native").iterdir()) == []


def test_a_processor_with_fewer_features_gets_its_own_library(monkeypatch: pytest.MonkeyPatch) -> None:
    used, asked = compiler.find("native"), []
    monkeypatch.setattr(library.cache, "built", lambda folder, key, make: asked.append(key))
    library.library(used)
    monkeypatch.setattr(library.computer, "instructions", lambda: "an old one")
    library.library(used)
    monkeypatch.setenv("MINIRNN_NATIVE_FLAGS", "-O1")
    library.library(used)
    assert len(set(asked)) == 3


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="vectors of several widths are x86's")
@pytest.mark.parametrize("flags", ["-march=x86-64-v3", "-march=x86-64"])
def test_narrower_vectors_compute_the_same_within_rounding(flags: str) -> None:
    if flags.endswith("v3") and " avx2 " not in library.computer.instructions():
        pytest.skip("this processor has no AVX2")
    # the tests of layers and steps that cpu and native share
    folder = Path(__file__).parents[1] / "cpu" / "sequence"
    files = [str(folder / f"test_{name}.py") for name in ("layer", "step")]
    chosen = ["-k", "native and (lstm or gru)", "-n", "0", "-q", "-p", "no:cacheprovider"]
    command, env = [sys.executable, "-m", "pytest", *chosen, *files], os.environ | {"MINIRNN_NATIVE_FLAGS": flags}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout[-3000:]


def test_the_structs_are_those_of_the_headers() -> None:
    """Every field of a C++ struct, in order. A missing field would move all that follow."""
    # a made-up cell with 3 values, 2 inner states, 4 products with 3 matrices, and a mask
    layer, gradients = arguments.structs_of_layer(3 + 2, 4, 3, 1)
    step = arguments.structs_of_step(2 + 1, 3, 3, 1)
    counts = {
        "[MULTIPLIED<Cell> + Cell::PRODUCTS + 1]": 3 + 2 + 4 + 1, "[Cell::SAVED + 1]": 3 + 1,
        "[Cell::MATRICES + 1]": 3 + 1, "[Cell::MASKS + 1]": 1 + 1, "[Cell::STATES]": 2 + 1,
    }  # fmt: skip
    structs = [(layer, "layer.h"), (gradients, "layer.h"), (step, "step.h"), (arguments.Product, "gemm.h")]
    for struct, file in structs:
        text = re.sub(r"//[^\n]*", "", (library.KERNELS / file).read_text())
        for length, count in counts.items():
            text = text.replace(length, f"[{count}]")
        body = re.search(rf"struct {struct.name} {{(.*?)}};", text, re.DOTALL)
        assert body is not None
        names: list[str] = []
        for line in body.group(1).split(";"):
            kind, _, declared = line.strip().partition(" ")
            declared = declared.removeprefix("real> ").removeprefix("real ").removeprefix("Index ")
            for name in (word.strip().lstrip("*") for word in declared.split(",") if word.strip()):
                many = re.fullmatch(r"(\w+)\[(\d+)\]", name)
                each = [f"{many[1]}{k}" for k in range(int(many[2]))] if many else [name]
                for one in each:
                    more = ("", "_ld") if kind.startswith("Rows") else ("",)
                    more = ("", "_row", "_column") if kind.startswith("Matrix") else more
                    names += [one + suffix for suffix in more]
        assert [n.replace("C_row", "C_ld") for n in names] == struct.fields, file
        assert struct.layout.size == 8 * len(struct.fields)


@pytest.mark.slow
def test_children_forked_while_other_threads_compute_work() -> None:
    said = say("""
right, done = digest(), False
def compute():
    while not done:
        digest(1)
others = [threading.Thread(target=compute) for _ in range(2)]
for other in others:
    other.start()
found = []
for _ in range(10):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        try:
            device = mr.devices.get("native")
            a = np.ones((256, 256), "f4")
            os.write(theirs, str(device.matmul(a, a)[0, 0]).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    found.append(os.read(ours, 100).decode())
    os.wait()
done = True
for other in others:
    other.join()
print(set(found), digest() == right)
""")
    assert said == "{'256.0'} True\n"


@pytest.mark.slow
def test_ctrl_c_ends_a_long_call_and_the_device_works_after_it() -> None:
    said = say("""
right = digest()
device = mr.devices.get("native")
x = np.ones((30_000, 8, 64), "f4")
h = np.zeros((1, 8, 128), "f4")
from minirnn.devices.base import Weights
from minirnn.ops.cudnn_rnn.cells import plan_of
weights = [Weights(np.ones((512, 64), "f4"), np.ones((512, 128), "f4"))]
entered = threading.Event()
def press():
    entered.wait()
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    entered.set()
    while True:
        device.cell_sequence(x, h, h, weights, plan=plan_of("lstm"), lengths=None, training=False)
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(digest() == right)
""")
    assert said == "interrupted True\nTrue\n"


@pytest.mark.slow
def test_ctrl_c_at_any_time_leaves_a_device_that_works() -> None:
    said = say("""
right = digest()
a = np.ones((1500, 1500), "f4")
device = mr.devices.get("native")
ready = False
def press():
    global ready
    for moment in np.random.default_rng(0).uniform(0, 0.05, 30):
        while not ready:
            time.sleep(0.0005)
        time.sleep(moment)
        ready = False
        os.kill(os.getpid(), signal.SIGINT)
presser = threading.Thread(target=press, daemon=True)
presser.start()
seen = 0
while seen < 30:
    try:
        ready = True
        while True:
            device.matmul(a, a)
    except KeyboardInterrupt:
        seen += 1
presser.join()
print(seen, digest() == right)
""")
    assert said == "30 True\n"


def test_a_handler_of_the_users_own_is_called_after_the_call() -> None:
    said = say("""
calls = []
signal.signal(signal.SIGINT, lambda *_: calls.append(1))
device = mr.devices.get("native")
a = np.ones((1500, 1500), "f4")
b = device.matmul(a, a)
threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT)).start()
while not calls:
    b = device.matmul(a, a)
print(b[0, 0], calls)
""")
    assert said == "1500.0 [1]\n"


def test_a_call_without_memory_is_a_memory_error() -> None:
    def no_memory(*_: Any) -> int:
        return arguments.NO_MEMORY

    with pytest.raises(MemoryError, match="native: not enough memory"):
        arguments.call(no_memory, work=1)


def test_a_wrong_number_of_threads_is_refused_when_the_device_is_made() -> None:
    said = say(
        "try:\n    mr.devices.get('native')\nexcept ValueError as error:\n    print(error)", MINIRNN_NUM_THREADS="many"
    )
    assert said.startswith("MINIRNN_NUM_THREADS is 'many'\n  expected a number of threads, 1 .. ")


def test_the_device_named_by_the_environment_holds_blas() -> None:
    pytest.importorskip("threadpoolctl")
    said = say(
        """
from threadpoolctl import threadpool_info
x = mr.tensor(np.ones(3))
print(x.device, {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"})
""",
        MINIRNN_DEVICE="native",
        OPENBLAS_NUM_THREADS="2",
    )
    assert said == "native {1}\n"


def test_the_library_says_what_it_was_compiled_for() -> None:
    device: Any = mr.devices.get("native")
    about = library.about(device.library)
    assert about["vector_bytes"] in (16, 32, 64)
    assert about["rows"] == 6 and about["columns"] in (2, 4)
    assert np.isfinite(list(about.values())).all()
