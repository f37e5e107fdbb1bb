"""The devices `mine` and `mine-cuda-sim`: right answers are plugged in and called, a wrong one is never used.

It tests `minirnn/learn/mine/`: answers, device, in_place, kernels, parts, probes, tasks, through_time,
training, walk, walked.
"""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn import devices, nn
from minirnn.devices.base import DeviceUnavailable
from minirnn.learn.course import load
from minirnn.learn.mine.device import Mine, largest_difference, mine, summary
from minirnn.learn.mine.kernels import KERNEL_PARTS, MineOnSim
from minirnn.learn.mine.parts import PARTS
from minirnn.train.model import CharModel
from minirnn.train.options import Options
from minirnn.train.training import Training
from tests.learn.mine.folders import tree_with

COURSE = load()
ROOT = Path(__file__).parents[3]
HEAD = "def rnn_backward(x, h0, W, R, h, dh):\n"


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> Mine:
    return Mine(tree_with(tmp_path_factory.mktemp("all") / "course", *COURSE.entries))


@pytest.fixture(scope="module")
def everything_in_cuda(tmp_path_factory) -> MineOnSim:
    if reason := devices.available()["cuda-sim"]:
        pytest.skip(reason)
    return MineOnSim(tree_with(tmp_path_factory.mktemp("cuda") / "course", *[part.id for part in KERNEL_PARTS]))


def test_with_the_right_answers_all_parts_are_the_learners(everything):
    assert everything.standing == dict.fromkeys([part.id for part in PARTS], "yours")
    assert summary(everything).startswith(f"{len(PARTS)} of {len(PARTS)} parts are yours: ex02 ")


def test_the_page_of_exercises_has_all_parts_and_counts_those_of_mine():
    page = (ROOT / "docs" / "exercises.md").read_text(encoding="utf-8")
    assert re.findall(r"^mine: 5 of (\d+) parts are yours", page, flags=re.M) == [str(len(PARTS))]
    table = (
        page.partition("| exercises | replace |")[2]
        .partition("\n\n")[0]
        .replace("ex17 to ex20", "ex17, ex18, ex19, ex20")
    )
    listed = re.findall(r"ex\d\d", table.replace("ex37 to ex40", "ex37, ex38, ex39, ex40"))
    assert sorted(listed) == sorted(part.id for part in (*PARTS, *KERNEL_PARTS))


def test_with_the_right_kernels_all_parts_of_the_simulator_are_the_learners(everything_in_cuda):
    assert everything_in_cuda.standing == dict.fromkeys([part.id for part in KERNEL_PARTS], "yours")


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.id)
def test_each_line_of_the_table_is_really_called_and_decides_what_comes_out(everything, part, monkeypatch):
    """An answer whose numbers are twice too large changes the result of the probe and is rejected."""
    answers: dict[str, int] = {}

    def spoiled(answer, *args, **kwargs):
        answers[part.id] = answers.get(part.id, 0) + 1
        return twice(part.plug(answer, *args, **kwargs))

    monkeypatch.setattr(Mine, "parts", [type(part)(part.id, part.name, part.place, spoiled, part.probe)])
    device = Mine(everything.tree)
    assert answers[part.id] >= 1
    assert device.standing[part.id].startswith("not used: it differs from minirnn's by"), device.standing
    assert not device.active


def twice(value):
    if isinstance(value, np.ndarray | float):
        return 2 * value
    if isinstance(value, tuple | list):
        parts = [twice(v) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_a_short_training_gives_the_losses_of_cpu(everything, cell, monkeypatch):
    monkeypatch.delitem(everything.tasks, "lstm_start")  # other initial weights give other losses
    monkeypatch.setitem(devices.registry._made, "mine", everything)
    everything.calls.clear()
    losses = {}
    for device in ("cpu", "mine"):
        options = Options(cell=cell, device=device, hidden=12, batch=4, length=8, dropout=0.1, input_dropout=0.2)
        training = Training(options, "one two three, and once more: two three one. " * 20)
        for _ in range(12):
            training.advance()
        losses[device] = [*training.losses, *[line["loss"] for line in training.lines], training.validation_loss()]
    np.testing.assert_allclose(losses["mine"], losses["cpu"], rtol=2e-5)  # float32, twelve steps; clipping adds 1e-6
    assert len(losses["cpu"]) == 4
    used = {"ex02", "ex15", "ex16", "ex22", "ex23", "ex24", "ex25", "ex26"}
    used |= {"lstm": {"ex09", "ex14"}, "gru": {"ex11"}, "rnn": {"ex06"}}[cell]
    assert set(everything.calls) == used


def test_the_first_weights_are_drawn_by_the_learners_initialization(everything):
    everything.calls.clear()
    model = CharModel(Options(hidden=6), 7, everything)
    assert everything.calls["ex35"] == 1
    layer = model.recurrent
    assert np.array_equal(layer.bias_ih_l0.numpy(), np.repeat([0, 1, 0, 0], 6))
    for gate in np.split(layer.weight_hh_l0.numpy(), 4):
        np.testing.assert_allclose(gate @ gate.T, np.eye(6), atol=1e-6)


def test_a_wrong_answer_is_never_used_and_is_named(tmp_path):
    wrong = COURSE.solution(COURSE.entry("ex06")).replace("1 - h[t] * h[t]", "1 - h[t]")
    assert wrong != COURSE.solution(COURSE.entry("ex06"))
    device = Mine(tree_with(tmp_path / "course", "ex05", "ex24", ex06=wrong))
    assert device.active == {"ex05", "ex24"}
    text = summary(device)
    assert text.startswith(f"2 of {len(PARTS)} parts are yours: ex05 ex24")
    assert "ex06 (a tanh RNN through time) is minirnn's. Yours is not used: it differs from minirnn's by" in text
    gradients = {}
    for where in (device, devices.get("cpu")):
        mr.manual_seed(0)
        net = nn.RNN(3, 4, device=where)
        net(mr.tensor(np.ones((3, 2, 3), np.float32), device=where))[0].sum().backward()
        gradients[str(where)] = net.weight_hh_l0.grad.numpy()
    np.testing.assert_allclose(gradients["mine"], gradients["cpu"], rtol=1e-5)
    assert device.calls["ex05"] and not device.calls["ex06"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HEAD}    return 1 / 0\n", "your ex06 failed: ZeroDivisionError"),
        (f"{HEAD}    x[0] = 1\n", "your ex06 failed: ValueError: assignment destination"),
        (f"{HEAD}    return x\n", "expected 5 results"),
        ("def other():\n    pass\n", "your ex06 has no function rnn_backward"),
        ("def rnn_backward(:\n", "your ex06 can't be run: SyntaxError"),
    ],
)  # fmt: skip
def test_an_answer_that_fails_is_named_with_the_reason(tmp_path, text, said):
    device = Mine(tree_with(tmp_path / "course", ex06=text))
    assert device.standing["ex06"].startswith("not used: ") and said in device.standing["ex06"]
    assert not device.active


def test_what_was_changed_since_it_passed_is_not_used(tmp_path):
    tree = tree_with(tmp_path / "course", "ex16")
    file = tree.file(COURSE.entry("ex16"))
    file.write_text(file.read_text() + "\n# changed\n")
    device = Mine(tree)
    assert device.standing["ex16"] == "changed since it passed" and device.standing["ex15"] == "not passed yet"
    assert summary(device).splitlines() == [
        f"0 of {len(PARTS)} parts are yours",
        "  ex16 (Adam) is minirnn's. Yours is changed since it passed",
    ]


def test_a_walk_that_can_hold_floats_alone_is_told_so(tmp_path):
    text = COURSE.solution(COURSE.entry("ex02"))
    device = Mine(tree_with(tmp_path / "course", ex02=text.replace("[0.0] * len(values)", "np.zeros(len(values))")))
    assert device.standing["ex02"].startswith("not used: your ex02 failed: TypeError")


def test_without_a_course_folder_the_error_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DeviceUnavailable, match="device mine is made of your answers, but this is not a course folder"):
        mine()


def test_a_list_of_devices_runs_nothing_that_a_student_wrote(tmp_path, monkeypatch):
    evil = f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    tree = tree_with(tmp_path / "course", ex06=evil, ex40=evil)
    monkeypatch.chdir(tree.root)
    for name in ("mine", "mine-cuda-sim"):
        assert "made when it is asked for by its name" in (devices.available()[name] or "")
    assert not (tmp_path / "ran").exists()
    mine()
    assert (tmp_path / "ran").exists()


def test_gradients_of_gradients_and_gradients_of_chosen_tensors_go_their_usual_way(everything):
    x = mr.tensor(np.array([0.3, 0.7]), requires_grad=True, device=everything)
    y = (x * x * x).sum()
    (first,) = mr.grad(y, [x], create_graph=True)
    (second,) = mr.grad(first.sum(), [x])
    np.testing.assert_allclose(second.numpy(), 6 * x.numpy())
    middle = x * 2
    everything.calls.clear()
    found = mr.grad((middle * middle).sum(), [middle])
    np.testing.assert_allclose(found[0].numpy(), 2 * middle.numpy())
    assert everything.calls["ex02"] == 1


def test_hooks_of_tensors_run_in_the_learners_walk(everything):
    x = mr.tensor(np.ones(3), requires_grad=True, device=everything)
    middle = x * 2
    seen = []
    x.register_hook(lambda g: seen.append("leaf") or g * 10)
    middle.register_hook(lambda g: seen.append("node") or g + 1)
    middle.sum().backward()
    assert seen == ["node", "leaf"] and np.array_equal(x.grad.numpy(), np.full(3, 40.0))


PUT_BACK = """
import gc, sys
from pathlib import Path
from minirnn import devices, nn, optim
from minirnn.learn.mine import in_place
from minirnn.learn.mine.device import Mine
from tests.learn.mine.folders import tree_with

functions = lambda: [getattr(*in_place.place(name)) for name in in_place.REPLACED]
before = functions()
first, second = (Mine(tree_with(Path(sys.argv[1]) / name)) for name in "ab")
for keep in (first, second), (second,):
    assert all(f.__wrapped__ is g for f, g in zip(functions(), before, strict=True)), keep
    first = None
    gc.collect()
del second, keep
gc.collect()
assert functions() == before
"""


def test_minirnns_functions_are_back_when_no_device_of_answers_is_left(tmp_path):
    done = subprocess.run([sys.executable, "-c", PUT_BACK, tmp_path], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_without_answers_everything_is_computed_as_on_cpu(tmp_path):
    """Tasks above the contract of devices also go their usual way if there is no answer."""
    nobody = Mine(tree_with(tmp_path / "course"))
    for part in PARTS:
        for ours, theirs in zip(part.probe(nobody), part.probe(devices.get("cpu")), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, err_msg=part.id)  # recomputation adds in another order
    assert not nobody.calls


def test_a_difference_that_is_no_number_is_infinite():
    assert largest_difference([np.array([np.nan])], [np.ones(1)]) == float("inf")
    assert largest_difference([np.array([1.0, 2.2])], [np.array([1.0, 2.0])]) == pytest.approx(0.1)
