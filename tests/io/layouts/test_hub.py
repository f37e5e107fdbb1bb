import numpy as np
import pytest

from minirnn.io import convert
from minirnn.io.layouts.hub import LayerWeights, NetworkWeights, halves, peephole

I, H, P = 3, 5, 2


def plain(directions: int = 1, inputs: int = I) -> LayerWeights:
    """A plain RNN's layer: one gate."""
    return LayerWeights(np.zeros((H, inputs)), np.zeros((H, H)), np.zeros(H), np.zeros(H))


def changed(layer: LayerWeights, **parts: tuple[int, ...] | None) -> LayerWeights:
    return layer._replace(**{name: None if shape is None else np.zeros(shape) for name, shape in parts.items()})


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"W": (I, H)}, r"input matrix .* shape \(3, 5\)\n  expected \(G\*H, I\) = \(5, 5\)\n  likely transposed$"),
        ({"W": (H + 1, I)}, r"input matrix of layer 0: shape \(6, 3\)\n  expected \(G\*H, I\) = \(5, 3\)$"),
        ({"R": (H + 1, H)}, r"recurrent matrix of layer 0: shape \(6, 5\)\n  expected \(G\*H, P\) = \(5, 5\)"),
        ({"bW": (H + 1,)}, r"input bias of layer 0: shape \(6,\)\n  expected \(G\*H,\) = \(5,\)$"),
        ({"bR": (H, 1)}, r"recurrent bias of layer 0: shape \(5, 1\)\n  expected \(G\*H,\) = \(5,\)$"),
        ({"bR": None}, r"recurrent bias of layer 0: none\n  expected \(G\*H,\) = \(5,\)$"),
        ({"bW": None}, r"recurrent bias of layer 0: shape \(5,\)\n  expected none, as in layer 0$"),
        ({"peephole": (H, 3)}, r"peephole .* shape \(5, 3\)\n  expected \(3, H\) = \(3, 5\)\n  likely transposed$"),
        ({"peephole": (3, H + 1)}, r"peephole weights of layer 0: shape \(3, 6\)\n  expected \(3, H\) = \(3, 5\)$"),
    ],
)
def test_an_array_of_another_shape_is_named_with_its_place_and_what_is_likely(
    parts: dict[str, tuple[int, ...] | None], match: str
) -> None:
    with pytest.raises(ValueError, match=f"^weights: {match}"):
        NetworkWeights("rnn_tanh", (changed(plain(), **parts),))


def test_layers_and_directions_are_counted_from_the_input() -> None:
    first, second = [plain(), plain()], [plain(inputs=2 * H), plain(inputs=2 * H)]
    assert str(NetworkWeights("rnn_tanh", (*first, *second), 2)) == "rnn_tanh, 2 layers, bidirectional, I 3, H 5"
    for p, where in enumerate(("layer 0, forward", "layer 0, reverse", "layer 1, forward", "layer 1, reverse")):
        layers = [*first, *second]
        layers[p] = changed(layers[p], W=(H, 7))
        letters = "G*H, I" if p < 2 else "G*H, D*P"
        if p == 0:  # the sizes follow from this one
            where, letters = "layer 0, reverse", "G*H, I"
        with pytest.raises(ValueError, match="^weights: input matrix of") as caught:
            NetworkWeights("rnn_tanh", tuple(layers), 2)
        assert f"of {where}: " in str(caught.value) and f"expected ({letters}) = " in str(caught.value)
    with pytest.raises(
        ValueError, match=r"input matrix of layer 1: shape \(5, 3\)\n  expected \(G\*H, D\*P\) = \(5, 5\)$"
    ):
        NetworkWeights("rnn_tanh", (plain(), plain()))


def test_a_projection_has_a_place_in_every_layer() -> None:
    one = LayerWeights(np.zeros((4 * H, I)), np.zeros((4 * H, P)), Wp=np.zeros((P, H)))
    two = LayerWeights(np.zeros((4 * H, P)), np.zeros((4 * H, P)), Wp=np.zeros((P, H)))
    assert str(NetworkWeights("lstm", (one, two))) == "lstm, 2 layers, unidirectional, I 3, H 5, P 2"
    assert not NetworkWeights("lstm", (one, two)).has_bias
    with pytest.raises(ValueError, match=r"projection of layer 1: none\n  expected \(P, H\) = \(2, 5\)$"):
        NetworkWeights("lstm", (one, two._replace(Wp=None)))
    with pytest.raises(ValueError, match=r"projection of layer 1: shape .*\n  expected none, as in layer 0$"):
        NetworkWeights("rnn_tanh", (plain(), plain(inputs=H)._replace(Wp=np.zeros((P, H)))))


def test_peepholes_of_any_layer_are_peepholes() -> None:
    layer = LayerWeights(np.zeros((4 * H, H)), np.zeros((4 * H, H)))
    with_some = layer._replace(peephole=np.ones((3, H)))
    assert (
        NetworkWeights("lstm", (layer, with_some)).has_peephole
        and NetworkWeights("lstm", (with_some, layer)).has_peephole
    )
    assert not NetworkWeights("lstm", (layer, layer)).has_peephole
    assert peephole(np.zeros((3, H))) is None
    np.testing.assert_array_equal(peephole([np.zeros(H), np.ones(H), np.zeros(H)]).sum(axis=1), [0, H, 0])


def test_there_are_two_biases_or_none() -> None:
    W, R, b = np.zeros((H, I), np.float32), np.zeros((H, H), np.float32), np.arange(H, dtype=np.float32)
    np.testing.assert_array_equal(LayerWeights(W, R, b, 2 * b).bias(), 3 * b)
    for layer in (LayerWeights(W, R), LayerWeights(W, R, b), LayerWeights(W, R, None, b)):
        assert layer.bias().tolist() == [0] * H and layer.bias().dtype == np.float32


def test_one_bias_becomes_two_halves() -> None:
    for half in halves(np.array([3.0, -1.0, 0.0])):
        np.testing.assert_array_equal(half, [1.5, -0.5, 0])
    keras = {"kernel": np.zeros((I, 4 * H)), "recurrent_kernel": np.zeros((H, 4 * H)), "bias": np.ones(4 * H)}
    torch = convert(keras, "torch.nn").arrays
    assert set(torch["bias_ih_l0"]) == set(torch["bias_hh_l0"]) == {0.5}


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("i4", "i4"), ("f8", "i8")])
def test_all_arrays_have_one_floating_dtype(dtypes: tuple[str, str]) -> None:
    with pytest.raises(TypeError, match="weights: dtypes are .*\n  expected one of float16, float32, float64 for all"):
        NetworkWeights("rnn_tanh", (LayerWeights(np.zeros((H, I), dtypes[0]), np.zeros((H, H), dtypes[1])),))
