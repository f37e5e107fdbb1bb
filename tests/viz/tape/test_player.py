import numpy as np
import pytest

import minirnn as mr
from minirnn.viz import TapePlayer, tape_graph


def unrolled(rng, dtype=np.float64):
    """A small net with broadcasting, an op with many outputs, and values used twice."""
    B, I, H = 2, 3, 4
    shapes = {"x": (B, I), "w": (I + H, 4 * H), "b": (4 * H,), "h": (B, H), "scale": (1, H)}
    t = {k: mr.tensor(rng.normal(size=s).astype(dtype), requires_grad=True) for k, s in shapes.items()}
    h, c, none = t["h"], np.zeros((B, H), dtype), np.zeros(H, dtype)
    for _ in range(3):
        y = mr.ops.lstm_block_cell(t["x"], c, h, t["w"], none, none, none, t["b"])
        h, c = mr.ops.tanh(y.h * t["scale"]) + y.h, y.cs
    return t, ((h * h).sum() + c.mean() + y.i.max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradients_at_the_end_are_those_of_backward_to_the_last_bit(rng, dtype):
    t, loss = unrolled(rng, dtype)
    player = TapePlayer(loss, t)
    assert set(player.grads) == set(t)
    loss.backward()
    for name, leaf in t.items():
        assert player.grads[name].dtype == leaf.grad.dtype
        np.testing.assert_array_equal(player.grads[name], leaf.grad.numpy())


def test_gradients_of_mixed_dtypes_are_those_of_backward_too(rng):
    a = mr.tensor(rng.normal(size=(2, 3)).astype(np.float16), requires_grad=True)
    b = mr.tensor(rng.normal(size=3).astype(np.float32), requires_grad=True)
    loss = (a * b * b).sum()
    player = TapePlayer(loss, {"a": a, "b": b})
    loss.backward()
    for name, leaf in (("a", a), ("b", b)):
        assert player.grads[name].dtype == leaf.dtype
        np.testing.assert_array_equal(player.grads[name], leaf.grad.numpy())


def test_on_every_device(rng, device):
    with mr.use_device(device):
        t, loss = unrolled(rng, np.float32)
        player = TapePlayer(loss, t)
        loss.backward()
    for name, leaf in t.items():
        np.testing.assert_array_equal(player.grads[name], leaf.grad.numpy())


def test_playing_leaves_everything_as_it_is():
    w = mr.tensor([2.0, 3.0], requires_grad=True)
    y = (w * w).retain_grad()
    loss = y.sum()
    TapePlayer(loss)
    TapePlayer(loss)
    assert w.grad is None and y.grad is None
    loss.backward()
    np.testing.assert_array_equal(y.grad.numpy(), [1, 1])
    np.testing.assert_array_equal(w.grad.numpy(), [4, 6])


def test_hooks_change_what_is_played_as_they_change_the_backward_pass():
    w = mr.tensor([2.0, 3.0], requires_grad=True)
    y = w * w
    y.register_hook(lambda g: g * 0.5)
    w.register_hook(lambda g: g + 1)
    loss = y.sum()
    player = TapePlayer(loss, {"w": w, "y": y})
    np.testing.assert_array_equal(player.frames[1].arrives, [0.5, 0.5])
    loss.backward()
    np.testing.assert_array_equal(player.grads["w"], w.grad.numpy())


def test_a_changed_value_is_refused():
    w = mr.tensor([2.0], requires_grad=True)
    loss = (w * w).sum()
    w.assign([5.0])
    with pytest.raises(RuntimeError, match=r"Multiply was changed by assign\(\)"):
        TapePlayer(loss)


def test_a_tape_of_which_a_part_is_freed_is_refused_too():
    w = mr.tensor([2.0], requires_grad=True)
    h = w * w
    loss = (h * 3.0).sum()
    h.sum().backward()
    for look in (tape_graph, TapePlayer):
        with pytest.raises(RuntimeError, match="freed by a backward pass"):
            look(loss)


def test_one_changed_input_of_two_is_enough_to_refuse():
    w, v = (mr.tensor([a], requires_grad=True) for a in (2.0, 3.0))
    loss = (w * v).sum()
    v.assign([5.0])
    with pytest.raises(RuntimeError, match=r"Multiply was changed by assign\(\)"):
        TapePlayer(loss)


def test_what_is_collected_is_the_sum_of_what_was_sent(rng):
    t, loss = unrolled(rng)
    sums = {}
    for frame in TapePlayer(loss, t).frames:
        for (name, sent), (again, total) in zip(frame.sends, frame.collected, strict=True):
            assert name == again
            if isinstance(sent, dict):
                continue
            sums[name] = sums[name] + sent if name in sums else sent
            np.testing.assert_array_equal(total, sums[name])


def test_a_name_that_looks_like_one_made_up_belongs_to_its_owner_alone():
    a, b = (mr.tensor([v], requires_grad=True) for v in (3.0, 4.0))
    player = TapePlayer((a * b).sum(), {"leaf 1": b})
    assert {k: v.item() for k, v in player.grads.items()} == {"leaf 1": 3, "leaf 2": 4}


def test_a_frame_is_drawn_with_its_arrows_and_with_what_is_done():
    x, w = (mr.tensor([v], requires_grad=True) for v in (2.0, -3.0))
    h = mr.ops.tanh(x * w)
    player = TapePlayer((h * h).sum(), {"x": x, "w": w, "h": h})
    picture = player.draw(1)
    boxes = {picture.artists[str(n)].get_text().split("\n")[0]: n for n in range(len(picture.data["state"]))}
    state = {name: int(picture.data["state"][n]) for name, n in boxes.items()}
    assert state == {"x": 0, "w": 0, "Multiply 1": 0, "h": 1, "Multiply 2": 2, "Sum 1": 3}
    assert "sent 1" in picture.artists and "sent 2" not in picture.artists
    assert "step 2 of 4: Multiply 2" in picture.ax.get_title()
    assert picture.artists["words"].get_text().count("to h") == 2
    assert {int(s) for s in player.draw(3).data["state"]} == {1, 2, 3}
    with pytest.raises(IndexError, match=r"no frame 4\n  expected 0 .. 3"):
        player.draw(4)


def test_a_tape_too_long_to_draw_is_still_played():
    y = mr.tensor([1.0], requires_grad=True)
    for _ in range(70):
        y = y * 1.0
    player = TapePlayer(y.sum())
    assert len(player.frames) == 71
    with pytest.raises(ValueError, match="print the frames"):
        player.draw(0)


def test_between_kinds_of_op_no_arrow_is_left_out():
    z = mr.tensor([1.0], requires_grad=True)
    for _ in range(30):
        z = z * 2.0 + 1.0
    picture = tape_graph(z)
    kinds = [label.split("\n")[0] for label in picture.data["labels"]]
    uses = {(kinds[a], kinds[b]) for a, b in picture.data["edges"]}
    assert {("Multiply", "Add"), ("Add", "Multiply")} <= uses


def a_cell():
    """A loss of two outputs of an op with seven outputs, one of which has a name, and the drawing of one of them."""
    w, zero, none = mr.tensor(np.ones((3, 4)), requires_grad=True), np.zeros((1, 1)), np.zeros(1)
    return w, mr.ops.lstm_block_cell(np.ones((1, 2)), zero, zero, w, none, none, none, np.zeros(4))


def test_an_output_has_its_own_name_or_that_of_its_op_with_its_number():
    _, y = a_cell()
    (product,) = [f for f in TapePlayer((y.h * y.cs).sum(), {"h": y.h}).frames if f.name == "Multiply 1"]
    assert [name for name, _ in product.sends] == ["h", "LSTMBlockCell 1[1]"]


def test_a_box_says_at_which_outputs_something_arrives_or_what_arrives_at_the_only_one():
    _, y = a_cell()

    def box(loss):
        player = TapePlayer(loss)
        texts = [artist.get_text() for artist in player.draw(len(player.frames) - 1).artists.values()]
        return next(text for text in texts if text.startswith("LSTMBlockCell 1\n"))

    assert box((y.h * y.cs).sum()) == "LSTMBlockCell 1\nat output 1,\noutput 6"
    assert box((y.h * 0.12345).sum()) == "LSTMBlockCell 1\n[[0.12]]"


def test_up_to_four_numbers_are_written_and_more_have_a_shape_and_a_norm():
    x = mr.tensor([1.0, 1.0, 1.0, 1.0], requires_grad=True)
    loss = (x * np.float32([1.0, 1e-7, 0.0, 2.0])).sum()
    assert "sends [1. 0. 0. 2.] to x" in str(TapePlayer(loss, {"x": x}).frames[-1])
    x = mr.tensor([1.0, 1.0, 1.0, 1.0, 1.0], requires_grad=True)
    assert "sends (5,), norm 4.472 to x" in str(TapePlayer((x * 2.0).sum(), {"x": x}).frames[-1])  # 2 sqrt(5)


def test_what_was_written_into_later_is_walked_in_the_version_that_was_read() -> None:
    x = mr.tensor([1.0, 2.0], requires_grad=True)
    t = x * 3
    before = t.sum()
    t.mul_(2.0)
    loss = t.sum() + before
    player = TapePlayer(loss, {"x": x})
    loss.backward()
    np.testing.assert_array_equal(player.grads["x"], x.grad.numpy())
    t = x * 3
    squares = (t * t).sum()
    t.mul_(2.0)
    with pytest.raises(RuntimeError, match=r"an input of Multiply was changed by mul_\(\) after use"):
        TapePlayer(squares)
