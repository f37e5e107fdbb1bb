import numpy as np
import pytest
from matplotlib.colors import to_hex

import minirnn as mr
from minirnn.viz import TapePlayer, tape_graph


def a_neuron():
    x, w, b = (mr.tensor([v], requires_grad=True) for v in (2.0, -3.0, 6.9))
    h = mr.ops.tanh(x * w + b)
    loss = (h * h + h).sum()
    return {"x": x, "w": w, "b": b, "h": h, "loss": loss}


def test_every_value_has_a_box_and_every_use_an_arrow():
    names = a_neuron()
    names["loss"].backward(retain_graph=True)
    picture = tape_graph(names["loss"], names=names)
    labels = list(picture.data["labels"])
    assert len(labels) == 9 and len(picture.artists) == 9
    kinds = [label.split("\n")[0] for label in labels]
    assert sorted(kinds) == sorted(["x", "w", "b", "Multiply", "Add", "h = Tanh", "Multiply", "Add", "loss = Sum"])
    uses = [(kinds[a], kinds[b]) for a, b in picture.data["edges"]]
    assert uses.count(("h = Tanh", "Multiply")) == 2  # h * h uses it twice
    assert ("h = Tanh", "Add") in uses and ("Add", "h = Tanh") in uses and len(uses) == 10
    assert "grad" in labels[kinds.index("w")] and "-3" in labels[kinds.index("w")]


def test_values_stand_right_of_what_they_were_computed_from():
    names = a_neuron()
    picture = tape_graph(names["loss"])
    x = {int(k): text.get_position()[0] for k, text in picture.artists.items()}
    assert all(x[a] < x[b] for a, b in picture.data["edges"])
    places = [text.get_position() for text in picture.artists.values()]
    assert len(set(places)) == len(places)


def places(picture):
    return [text.get_position() for text in picture.artists.values()]


def test_leaves_stand_one_above_the_other_and_next_to_their_first_use():
    x, y, z, w = (mr.tensor([1.0], requires_grad=True) for _ in "xyzw")
    joined = mr.concat([x, y, z])
    late = mr.ops.tanh(joined) * w  # w is used at the columns 3 and 4
    found = places(tape_graph(late + w))
    assert [place[0] for place in found] == [0, 0, 0, 2, 1, 2, 3, 4]
    heights = [place[1] for place in found]
    assert heights[0] - heights[1] == pytest.approx(1) and heights[1] - heights[2] == pytest.approx(1)
    assert heights[1] == pytest.approx(heights[4], abs=0.4)  # the box that reads all three is nearest to the middle one


def test_two_uses_of_one_value_are_two_arrows():
    names = a_neuron()
    picture = tape_graph(names["loss"], names=names)
    labels = [label.split("\n")[0] for label in picture.data["labels"]]
    h = picture.artists[str(labels.index("h = Tanh"))].get_bbox_patch()
    leaving = [a for a in picture.ax.texts if getattr(a, "arrow_patch", None) and a.arrow_patch.patchA is h]
    assert len(leaving) == 3  # h * h, and the sum


def test_a_long_tape_goes_down_and_no_picture_is_wider_than_a_page():
    y = mr.tensor(np.ones(3), requires_grad=True)
    short, long = (tape_graph(chain(y, n)) for n in (8, 20))
    assert len({x for x, _ in places(short)}) == 9 and len({x for x, _ in places(long)}) == 1
    assert "flow down" in long.ax.get_title() and "flow right" in short.ax.get_title()
    assert len({x for x, _ in places(tape_graph(chain(y, 8), down=True))}) == 1
    assert len({x for x, _ in places(tape_graph(chain(y, 20), down=False))}) == 21
    assert max(p.figure.get_figwidth() for p in (short, long, tape_graph(chain(y, 39), down=False))) <= 8.4


def chain(y, n):
    for _ in range(n):
        y = mr.ops.tanh(y)
    return y


def test_what_a_single_step_reads_is_a_part_of_it():
    w = mr.tensor(np.ones((3, 3)), requires_grad=True)
    shared, h, states = mr.tensor(np.ones((2, 3))), mr.tensor(np.zeros((2, 3))), []
    for _ in range(4):
        h = mr.ops.tanh(h @ w + shared + mr.tensor(np.ones((2, 3))))
        states.append(h)
    labels = list(tape_graph(h, steps=states, names={"w": w}).data["labels"])
    assert labels.count("constant\n(2,3)") == 1 and len(labels) == 6  # w, what all steps read, and four steps
    assert "step 1\n4 nodes" in labels  # constants are not counted: a product, two sums, tanh


def test_a_box_alone_stands_in_the_middle():
    assert places(tape_graph(mr.tensor(1.0))) == [(0, 0)]


def test_small_values_are_written_and_large_ones_have_their_shape():
    x = mr.tensor([1.23456, 1e-7, 0.0, 2.0], requires_grad=True)
    (x * 1.0).sum().backward()
    assert list(tape_graph(x).data["labels"]) == ["leaf\n[1.235 0.    0.    2.   ]\ngrad [1. 1. 1. 1.]"]
    large = mr.tensor(np.ones((1, 5)), requires_grad=True)
    large.sum().backward()
    assert list(tape_graph(large, names={"b": large}).data["labels"]) == ["b\n(1,5)"]


def test_computed_values_leaves_and_constants_have_their_colors():
    y = mr.tensor([1.0], requires_grad=True) * mr.tensor([2.0])
    edges = [to_hex(text.get_bbox_patch().get_edgecolor()) for text in tape_graph(y).artists.values()]
    assert edges == ["#e69f00", "#6b6b6b", "#0072b2"]


def test_a_long_tape_is_drawn_by_kinds_and_says_so():
    h = mr.tensor(np.ones((2, 3)), requires_grad=True)
    y = h
    for _ in range(50):
        y = mr.ops.tanh(y * 0.5)
    picture = tape_graph(y.sum())
    assert dict(zip(picture.data["labels"], picture.data["counts"], strict=True))["Tanh\n50 times"] == 50
    assert "drawn by kind of op" in picture.ax.get_title()


def test_an_unrolled_network_is_drawn_by_time_step():
    w = mr.tensor(np.ones((3, 3)), requires_grad=True)
    h = mr.tensor(np.zeros((2, 3)))
    states = []
    for _ in range(20):
        h = mr.ops.tanh(h @ w + 1.0)
        states.append(h)
    picture = tape_graph((h * h).sum(), steps=states, names={"w": w})
    labels = list(picture.data["labels"])
    assert [label for label in labels if label.startswith("step")] == [f"step {t}\n3 nodes" for t in range(1, 21)]
    index = {label.split("\n")[0]: k for k, label in enumerate(labels)}
    edges = {tuple(e) for e in picture.data["edges"]}
    for t in range(1, 21):
        assert (index["w"], index[f"step {t}"]) in edges
    assert (index["step 3"], index["step 4"]) in edges and (index["step 3"], index["step 5"]) not in edges
    assert "Sum" in index and "drawn by time step" in picture.ax.get_title()
    with pytest.raises(ValueError, match="in the order"):
        tape_graph(h, steps=states[::-1])


def test_a_fused_op_is_one_box():
    T, B, I, H = 9, 2, 3, 4
    w = mr.tensor(np.ones((I + H, 4 * H)), requires_grad=True)
    zero, none = np.zeros((B, H)), np.zeros(H)
    h = mr.ops.block_lstm(T, np.ones((T, B, I)), zero, zero, w, none, none, none, np.zeros(4 * H)).h
    kinds = [label.split("\n")[0] for label in tape_graph(h).data["labels"]]
    assert "BlockLSTM" in kinds and len(kinds) < 12


def test_what_is_sent_to_a_leaf_adds_up_to_its_gradient():
    names = a_neuron()
    frames = TapePlayer(names["loss"], names).frames
    assert frames[0].name == "loss" and frames[0].arrives == 1.0
    names["loss"].backward()
    for leaf in ("x", "w", "b"):
        sent = sum(a for f in frames for name, a in f.sends if name == leaf)
        np.testing.assert_array_equal(sent, names[leaf].grad.numpy())


def test_what_arrives_at_a_value_is_the_sum_of_what_was_sent_to_it(rng):
    W = mr.tensor(rng.normal(size=(3, 3)), requires_grad=True)
    b = mr.tensor(rng.normal(size=3), requires_grad=True)
    h = mr.tensor(rng.normal(size=(2, 3)))
    for _ in range(3):
        h = mr.ops.tanh(h @ W + b)
    loss = (h * h).sum()
    frames = TapePlayer(loss, {"W": W, "b": b}).frames
    for frame in frames[1:]:
        sent = [a for f in frames for name, a in f.sends if name == frame.name]
        np.testing.assert_allclose(sum(sent), frame.arrives, atol=1e-15)
    loss.backward()
    for name, leaf in (("W", W), ("b", b)):
        sent = [a for f in frames for target, a in f.sends if target == name]
        assert len(sent) == 3
        np.testing.assert_allclose(sum(sent), leaf.grad.numpy(), atol=1e-14)


def test_a_fused_op_is_one_frame_with_what_arrives_at_each_output(rng):
    T, B, I, H = 4, 2, 3, 5
    w = mr.tensor(rng.normal(size=(I + H, 4 * H)), requires_grad=True)
    b = mr.tensor(rng.normal(size=4 * H), requires_grad=True)
    zero, none = np.zeros((B, H)), np.zeros(H)
    y = mr.ops.block_lstm(T, rng.normal(size=(T, B, I)), zero, zero, w, none, none, none, b)
    loss = (y.h**2).sum() + (y.cs * 3).sum()
    frames = TapePlayer(loss, {"w": w, "b": b}).frames
    (fused,) = [f for f in frames if f.name.startswith("BlockLSTM")]
    assert set(fused.arrives) == {"output 1", "output 6"}
    np.testing.assert_array_equal(fused.arrives["output 1"], np.full((T, B, H), 3.0))
    np.testing.assert_allclose(fused.arrives["output 6"], 2 * y.h.numpy())
    assert "arrives at output 6" in str(fused)
    loss.backward()
    sent = dict(fused.sends)
    for name, t in (("w", w), ("b", b)):
        np.testing.assert_array_equal(sent[name], t.grad.numpy())


def test_a_frame_tells_itself_in_words():
    names = a_neuron()
    text = "\n".join(str(f) for f in TapePlayer(names["loss"], names).frames)
    assert "h: [2.4326] arrives" in text and "to w" in text
