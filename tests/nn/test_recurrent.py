"""nn.RNN, nn.GRU and nn.LSTM are torch's: outputs, all gradients, state dicts, packed sequences."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.ops.sequence.stack import RecurrentLayer
from tests.compare import assert_close
from tests.each import each
from tests.ops.cudnn_rnn.cudnn_cases import packed

GOLDEN = Path(__file__).parents[1] / "golden" / "recurrent"
T, B, I, H = 6, 3, 4, 5
LENGTHS = [2, 6, 4]  # unsorted, one of them T

STORED: dict[str, tuple[Any, dict[str, Any]]] = {
    "rnn": (nn.RNN, {}),
    "rnn_relu_2": (nn.RNN, {"nonlinearity": "relu", "num_layers": 2}),
    "gru": (nn.GRU, {}),
    "gru_bi_2": (nn.GRU, {"num_layers": 2, "bidirectional": True}),
    "gru_no_bias_2": (nn.GRU, {"bias": False, "num_layers": 2}),
    "lstm": (nn.LSTM, {}),
    "lstm_bi_2": (nn.LSTM, {"num_layers": 2, "bidirectional": True}),
    "lstm_proj_2": (nn.LSTM, {"proj_size": 2, "num_layers": 2}),
    "lstm_proj_bi_no_bias": (nn.LSTM, {"proj_size": 2, "bidirectional": True, "bias": False}),
}


@each("name", STORED)
@each("way", ["full", "ragged", "zeros"])
@each("batch_first", [False, True])
def test_values_and_gradients_are_those_that_torch_gave(name: str, way: str, batch_first: bool, device: str) -> None:
    kind, options = STORED[name]
    with np.load(GOLDEN / f"{name}.npz", allow_pickle=False) as file:
        stored = dict(file)

    def part(what: str) -> dict[str, np.ndarray]:
        return {key.removeprefix(f"{what} "): a for key, a in stored.items() if key.startswith(f"{what} ")}

    module = kind(I, H, batch_first=batch_first, dtype="f8", device=device, **options)
    parameters = part("parameter")
    assert [n for n, _ in module.named_parameters()] == list(parameters)
    assert list(module.state_dict()) == list(parameters)
    module.load_state_dict(parameters)
    turned = (lambda a: a.swapaxes(0, 1)) if batch_first else (lambda a: a)
    given = {key: mr.tensor(turned(a) if key == "x" else a, True, device) for key, a in part("input").items()}
    x, *hx = given.values()
    if way == "zeros":
        given = {"x": x}
    state = None if way == "zeros" else tuple(hx) if kind is nn.LSTM else hx[0]
    y, last = module(x, state, lengths=LENGTHS if way == "ragged" else None)

    found = dict(zip("yhc", (y, *(last if kind is nn.LSTM else [last])), strict=False))
    cotangents = part(f"{way} cotangent")
    dys = [mr.tensor(turned(g) if key == "y" else g, device=device) for key, g in cotangents.items()]
    expected = part(f"{way} output") | {f"gradient of {key}": g for key, g in part(f"{way} gradient").items()}
    wanted = {**given, **dict(module.named_parameters())}
    gradients = mr.grad([found[key] for key in cotangents], list(wanted.values()), dys)
    found |= {f"gradient of {key}": g for key, g in zip(wanted, gradients, strict=True)}
    assert found.keys() == expected.keys()
    for key, a in expected.items():
        assert_close(found[key], turned(a) if key in ("y", "gradient of x") else a, what=key)


@pytest.mark.parametrize("name", STORED)
def test_initial_values_are_drawn_in_torchs_order_from_the_documented_range(name: str) -> None:
    (kind, options), wide = STORED[name], 40
    mr.manual_seed(2)
    module = kind(I, wide, dtype="f8", **options)
    mr.manual_seed(2)
    bound = 1 / np.sqrt(wide)
    parts = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * options.get("bias", True)
    parts += ["weight_hr"] * ("proj_size" in options)
    ends = ["", "_reverse"] if options.get("bidirectional") else [""]
    names = [f"{part}_l{k}{end}" for k in range(options.get("num_layers", 1)) for end in ends for part in parts]
    assert [name for name, _ in module.named_parameters()] == names
    for name, parameter in module.named_parameters():
        drawn = mr.random.generator().uniform(-bound, bound, parameter.shape)
        np.testing.assert_array_equal(parameter.numpy(), drawn, err_msg=name)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_without_a_batch_axis_it_is_a_batch_of_one(kind: str, rng: np.random.Generator, device: str) -> None:
    module = getattr(nn, kind)(I, H, 2, bidirectional=True, dtype="f8", device=device)
    x = mr.tensor(rng.standard_normal((T, I)), device=device)
    alone, last = module(x)
    batch, last_batch = module(x.reshape(T, 1, I))
    np.testing.assert_array_equal(alone.numpy(), batch.numpy()[:, 0])
    pairs = zip(last, last_batch, strict=True) if kind == "LSTM" else [(last, last_batch)]
    for a, b in pairs:
        np.testing.assert_array_equal(a.numpy(), b.numpy()[:, 0])
    given = tuple(s * 0 for s in last) if kind == "LSTM" else last * 0
    np.testing.assert_array_equal(module(x, given)[0].numpy(), alone.numpy())


def test_dropout_draws_new_masks_while_training_and_none_in_evaluation(rng: np.random.Generator) -> None:
    module = nn.LSTM(I, H, 3, dropout=0.5)
    x = rng.standard_normal((T, B, I)).astype("f4")
    mr.manual_seed(1)
    first, second = module(x)[0].numpy(), module(x)[0].numpy()
    assert np.abs(first - second).max() > 1e-3
    mr.manual_seed(1)
    np.testing.assert_array_equal(module(x)[0].numpy(), first)
    module.eval()
    np.testing.assert_array_equal(module(x)[0].numpy(), module(x)[0].numpy())


def test_masks_come_from_two_seeds_of_the_public_stream(rng: np.random.Generator) -> None:
    module, x = nn.GRU(I, H, 2, dropout=0.5, dtype="f8"), rng.standard_normal((T, B, I))
    mr.manual_seed(9)
    found = module(x)[0].numpy()
    mr.manual_seed(9)
    seed, seed2 = mr.random.generator().integers(0, 2**32, 2).tolist()
    settings: dict[str, Any] = {"rnn_mode": "gru", "dropout": 0.5, "seed": seed, "seed2": seed2}
    pieces = [w for p in range(2) for w in module.weights(p)[:5] if w is not None]
    expected = mr.ops.cudnn_rnn(x, np.zeros((2, B, H)), None, packed(module.net, pieces), **settings)
    np.testing.assert_array_equal(found, expected.output.numpy())


@pytest.mark.filterwarnings("ignore:GRU. dropout=0.5 does nothing")
@pytest.mark.parametrize(("layers", "dropout"), [(1, 0.5), (2, 0.0)])
def test_without_dropout_between_layers_nothing_is_drawn(layers: int, dropout: float) -> None:
    module = nn.GRU(I, H, layers, dropout=dropout)
    before = str(mr.random.generator().bit_generator.state)
    module(np.ones((T, B, I), "f4"))
    assert str(mr.random.generator().bit_generator.state) == before


def test_what_the_backward_pass_needs_is_kept_while_recording(rng: np.random.Generator) -> None:
    x, h, c = (mr.tensor(rng.standard_normal(shape), True) for shape in ((T, B, I), (1, B, H), (1, B, H)))
    for y, _ in (nn.LSTM(I, H, dtype="f8")(x, (h, c)), nn.LSTM(I, H, dtype="f8")(x.numpy())):
        assert y.parents[0].op.saved is not None  # type: ignore[union-attr]


def test_nothing_is_kept_without_gradients(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []
    run = RecurrentLayer.run
    monkeypatch.setattr(RecurrentLayer, "run", lambda self, *a: kept.append(self.keep) or run(self, *a))
    module, x = nn.LSTM(I, H), rng.standard_normal((T, B, I)).astype("f4")
    with mr.no_grad():
        assert module(x)[0].op is None
    module(x)
    module.requires_grad_(False)
    assert not module(x)[0].requires_grad
    module(mr.tensor(x, requires_grad=True))
    assert kept == [False, True, False, True]


def test_dropout_with_one_layer_warns() -> None:
    with pytest.warns(UserWarning, match="dropout=0.5 does nothing with num_layers=1"):
        nn.GRU(I, H, dropout=0.5)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("lengths", [None, [], np.zeros(0, np.int64)])
def test_a_batch_may_be_empty_but_not_a_sequence(kind: str, lengths: Any) -> None:
    module = getattr(nn, kind)(I, H, 2, bidirectional=True, batch_first=True, dropout=0.5)
    x = mr.tensor(np.zeros((0, T, I), "f4"), True)
    output, state = module(x, lengths=lengths)
    parts = [output, *(state if kind == "LSTM" else [state])]
    assert [t.shape for t in parts] == [(0, T, 2 * H)] + [(4, 0, H)] * (len(parts) - 1)
    for g in mr.grad([t.sum() for t in parts], [x, *module.parameters()]):
        assert not g.numpy().any()
    assert module(x, state)[0].shape == output.shape
    with pytest.raises(ValueError, match=f"{kind}: T is 0"):
        module(np.zeros((2, 0, I), "f4"))


def test_the_hooks_of_a_layer_run_before_the_layers_below_are_computed(rng: np.random.Generator) -> None:
    layer = nn.LSTM(I, H, 2)
    order: list[str] = []
    for name, p in layer.named_parameters():
        p.register_hook(lambda g, name=name: order.append(name))
    kernel = layer.weight_ih_l0.device.cell_sequence_grad

    def seen(*args: Any, **kwargs: Any) -> Any:
        order.append("a layer")
        return kernel(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(layer.weight_ih_l0.device), "cell_sequence_grad", staticmethod(seen))
        layer(mr.tensor(rng.standard_normal((T, B, I)).astype(np.float32)))[0].sum().backward()
    layers = [name if name == "a layer" else name[-2:] for name in order]
    assert layers == [what for k in ("l1", "l0") for what in ("a layer", k, k, k, k)]
