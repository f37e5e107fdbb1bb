"""What holds for every module: a new one is tested by adding its row.

Tests `minirnn/nn/activations.py`, `minirnn/nn/losses.py`, `minirnn/nn/layer_norm.py` and `minirnn/nn/options.py`.
"""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.compare import assert_close
from tests.each import each
from tests.nn.functional.stored import assert_is_stored, case, cases, inputs_of

T, B, I, H = 4, 2, 3, 5


@dataclass
class Row:
    """A module as it is made, the shape of its input, its parameters, and other forms with what they show.

    `function`: the one of `nn.functional` whose stored cases it gives with the same options.
    """

    args: tuple[Any, ...] = ()
    x: tuple[int, ...] = (3, 4)
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    shown: dict[str, Callable[[], nn.Module]] = field(default_factory=dict)
    function: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def block(kind: Any, **options: Any) -> Any:
    return lambda: kind(H, I, **options)


def layer(gates: int, **options: Any) -> Row:
    parameters = {"weight_ih_l0": (gates * H, I), "weight_hh_l0": (gates * H, H)}
    biases = dict.fromkeys(("bias_ih_l0", "bias_hh_l0"), (gates * H,))
    return Row((I, H), (T, B, I), parameters | biases, **options)


def cell(gates: int, **options: Any) -> Row:
    parameters = {"weight_ih": (gates * H, I), "weight_hh": (gates * H, H)}
    return Row((I, H), (B, I), parameters | dict.fromkeys(("bias_ih", "bias_hh"), (gates * H,)), **options)


LSTM_BLOCK = {"w": (I + H, 4 * H), "b": (4 * H,)}
ROWS: dict[str, Row] = {
    "ReLU": Row(function="relu", shown={"ReLU()": nn.ReLU}),
    "ReLU6": Row(function="relu6"),
    "LeakyReLU": Row(function="leaky_relu", shown={"LeakyReLU(negative_slope=0.2)": lambda: nn.LeakyReLU(0.2)}),
    "ELU": Row(function="elu", shown={"ELU(alpha=1.0)": nn.ELU}),
    "Hardtanh": Row(function="hardtanh", shown={"Hardtanh(min_val=0.0, max_val=2.0)": lambda: nn.Hardtanh(0, 2)}),
    "Sigmoid": Row(function="sigmoid"),
    "LogSigmoid": Row(function="logsigmoid"),
    "Tanh": Row(function="tanh"),
    "SiLU": Row(function="silu"),
    "GELU": Row(function="gelu", shown={"GELU(approximate='tanh')": lambda: nn.GELU("tanh")}),
    "Softplus": Row(function="softplus", shown={"Softplus(beta=2.0, threshold=20.0)": lambda: nn.Softplus(2)}),
    "GLU": Row(function="glu", shown={"GLU(dim=-1)": nn.GLU}),
    "Softmax": Row((1,), function="softmax", shown={"Softmax(dim=1)": lambda: nn.Softmax(1)}),
    "LogSoftmax": Row((1,), function="log_softmax", shown={"LogSoftmax(dim=1)": lambda: nn.LogSoftmax(axis=1)}),
    "Softmin": Row((1,), function="softmin", shown={"Softmin(dim=1)": lambda: nn.Softmin(1)}),
    "Identity": Row((3,), shown={"Identity()": lambda: nn.Identity(3, a=4)}),
    "Flatten": Row(shown={"Flatten(start_dim=1, end_dim=2)": lambda: nn.Flatten(1, 2)}),
    "Unflatten": Row(
        (1, (2, -1)), shown={"Unflatten(dim=1, unflattened_size=(2, -1))": lambda: nn.Unflatten(1, (2, -1))}
    ),
    "Dropout": Row((0.0,)),
    "Linear": Row((4, 5), (2, 3, 4), {"weight": (5, 4), "bias": (5,)}),
    "LayerNorm": Row(
        (4,),
        (3, 4),
        {"weight": (4,), "bias": (4,)},
        {
            "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True)": lambda: nn.LayerNorm((2, 3)),
            "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=False)": lambda: nn.LayerNorm(3, bias=False),
        },
        "layer_norm",
    ),
    "RMSNorm": Row(
        (4,),
        (3, 4),
        {"weight": (4,)},
        {"RMSNorm((3,), eps=0.5, elementwise_affine=False)": lambda: nn.RMSNorm(3, 0.5, False)},
        "rms_norm",
    ),
    "RNN": layer(1),
    "GRU": layer(3),
    "LSTM": layer(4),
    "RNNCell": cell(1, shown={"RNNCell(3, 5, nonlinearity=relu)": lambda: nn.RNNCell(I, H, nonlinearity="relu")}),
    "GRUCell": cell(3, shown={"GRUCell(3, 5)": lambda: nn.GRUCell(I, H)}),
    "LSTMCell": cell(
        4,
        shown={
            "LSTMCell(3, 5, bias=False)": lambda: nn.LSTMCell(I, H, False),
            "LSTMCell(3, 5, forget_bias=1.0)": lambda: nn.LSTMCell(I, H, forget_bias=1.0),
        },
    ),
    "GRUBlockCell": Row((H, I), (B, I), {"w_ru": (I + H, 2 * H), "w_c": (I + H, H), "b_ru": (2 * H,), "b_c": (H,)}),
    "LSTMBlockCell": Row((H, I), (B, I), LSTM_BLOCK),
    "LSTMBlockFusedCell": Row((H, I), (T, B, I), LSTM_BLOCK),
}
LOSSES: dict[str, str] = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
    "CTCLoss": "ctc_loss",
}
"""They have a target, and options that the stored cases give."""
OTHERS = {"Module", "ModuleDict", "ModuleList", "Sequential", "Embedding"}
"""Containers, and a module of integers: they have tests by hand."""
WITHOUT_WEIGHT = ("mse_loss", "l1_loss", "huber_loss")  # which the functions have, but not the modules


def made(name: str, dtype: Any = np.float64, device: str | None = None) -> Any:
    """The module of a row. Parameters have no zeros, so that each gradient shows."""
    row = ROWS[name]
    place = {"dtype": dtype, "device": device} if row.parameters else {}
    module = getattr(nn, name)(*row.args, **row.options, **place)
    for k, p in enumerate(module.parameters()):
        p.assign(0.4 * np.random.default_rng(k).normal(size=p.shape) + name.endswith("Norm"))
    return module


def values_of(name: str, dtype: Any = np.float64, rows: int | None = None) -> mr.Tensor:
    shape = list(ROWS[name].x)
    if rows is not None:
        shape[1 if len(shape) == 3 and shape[0] == T else 0] = rows
    return mr.tensor(np.random.default_rng(1).normal(size=shape).astype(dtype))


def outputs_of(result: Any) -> list[mr.Tensor]:
    """All Tensors of a result, from left to right."""
    return [t for part in result for t in outputs_of(part)] if isinstance(result, tuple) else [result]


def test_every_module_has_a_row() -> None:
    classes = [getattr(nn, name) for name in nn.__all__ if inspect.isclass(getattr(nn, name))]
    assert {kind.__name__ for kind in classes if issubclass(kind, nn.Module)} == {*ROWS, *LOSSES, *OTHERS}


@each("name", ROWS)
def test_parameters_have_their_names_shapes_and_first_values(name: str) -> None:
    row, kind = ROWS[name], getattr(nn, name)
    mr.manual_seed(3)
    module = kind(*row.args)
    assert {key: p.shape for key, p in module.named_parameters()} == row.parameters
    assert all(p.dtype == np.float32 and p.is_leaf and p.requires_grad for p in module.parameters())
    if row.parameters:
        first = module.state_dict()
        for p in module.parameters():
            p.assign(np.full(p.shape, 7.0))
        mr.manual_seed(3)
        module.reset_parameters()
        for key, value in module.state_dict().items():
            np.testing.assert_array_equal(value, first[key], err_msg=key)
    for key, value in module.state_dict().items() if "Norm" in name else ():
        expected = {"weight": 1, "running_var": 1}.get(key, 0)
        np.testing.assert_array_equal(value, np.full(value.shape, expected), err_msg=key)
    for text, make in row.shown.items():
        assert repr(make()) == text


@each("name", ROWS)
def test_copies_and_states_give_the_same_bits(name: str) -> None:
    module, x = made(name), values_of(name)
    expected = [t.numpy() for t in outputs_of(module(x))]
    again = getattr(nn, name)(*ROWS[name].args, **({"dtype": np.float64} if ROWS[name].parameters else {}))
    again.load_state_dict(module.state_dict())
    for twin in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), again):
        for found, right in zip(outputs_of(twin(x)), expected, strict=True):
            np.testing.assert_array_equal(found.numpy(), right)
    assert module.eval().training is False and module.train().training is True


@each("name", ROWS)
def test_derivatives_to_second_order_agree_with_differences(name: str) -> None:
    module = made(name)
    names = [key for key, _ in module.named_parameters()]

    def call(x: mr.Tensor, *values: mr.Tensor) -> Any:
        twin = copy.deepcopy(module)
        for key, value in zip(names, values, strict=True):
            vars(twin)[key] = value  # a Tensor of the tape instead of the parameter
        return tuple(outputs_of(twin(x)))

    inputs = [
        mr.tensor(values_of(name).numpy(), True),
        *[mr.tensor(p.numpy().copy(), True) for p in module.parameters()],
    ]
    assert mr.gradcheck(call, inputs, order=2, max_entries=0, directions=3)


@each("name", ROWS)
def test_every_device_gives_the_values_and_gradients_of_cpu_and_takes_no_rows(name: str, device: str) -> None:
    found = []
    for place in ("cpu", device):
        module, x = made(name, device=place), mr.tensor(values_of(name).numpy(), True, place)
        outputs = outputs_of(module(x))
        assert all(t.device == place for t in outputs)
        cotangents = [
            mr.tensor(np.random.default_rng(k).normal(size=t.shape), device=place) for k, t in enumerate(outputs)
        ]
        found.append([*outputs, *mr.grad(outputs, [x, *module.parameters()], cotangents)])
    for one, other in zip(*found, strict=True):
        assert_close(other, one.numpy(), 1e-12, "sums in another order")
    x = mr.tensor(values_of(name, rows=0).numpy(), True, device)
    outputs = outputs_of(made(name, device=device).eval()(x))
    assert all(0 in t.shape for t in outputs)
    assert mr.grad(outputs, x, [mr.zeros_like(t) for t in outputs]).shape == x.shape


@each("name", ROWS)
def test_float16_is_near_float64(name: str) -> None:
    exact = outputs_of(made(name)(values_of(name)))
    for found, right in zip(outputs_of(made(name, np.float16)(values_of(name, np.float16))), exact, strict=True):
        assert found.dtype == np.float16
        assert_close(found.numpy().astype(np.float64), right, 1e-2, "roundings of inputs, weights and results")


STORED = {name: row.function for name, row in ROWS.items() if row.function} | LOSSES
EACH = [
    (name, function, said)
    for name, function in STORED.items()
    for _, said in cases(function)
    if not (function in WITHOUT_WEIGHT and "weight" in case(function, said)["in"])
]


@each(("name", "function", "said"), EACH, ids="-".join)
def test_a_module_hands_its_options_on_to_its_function(name: str, function: str, said: str) -> None:
    stored = case(function, said)
    inputs, options, kind = inputs_of(stored, "cpu"), dict(stored["said"]), getattr(nn, name)
    if name.endswith("Norm"):
        if "bias" in inspect.signature(kind).parameters:
            options["bias"] = "bias" in inputs
        module = kind(**options, elementwise_affine="weight" in inputs, dtype=np.float64)
        for key, p in module.named_parameters():
            p.assign(inputs[key])
            inputs[key] = p
        assert_is_stored(module(inputs["input"]), inputs, stored)
        return
    weights = {key: inputs[key] for key in ("weight", "pos_weight") if key in inputs}
    rest = {key: value for key, value in inputs.items() if key not in weights}
    assert_is_stored(kind(**weights, **options)(**rest), inputs, stored)
    if options.get("reduction") == "mean":  # which is taken without a word
        assert options.pop("reduction")
        assert_is_stored(kind(**weights, **options)(**rest), inputs, stored)
        assert_is_stored(getattr(nn.functional, function)(**inputs, **options), inputs, stored)


def test_weights_follow_the_device_of_the_scores(device: str, rng: np.random.Generator) -> None:
    weight = np.array([0.5, 1.0, 2.0])
    x = mr.tensor(rng.normal(size=(4, 3)), device=device)
    loss = nn.CrossEntropyLoss(mr.tensor(weight, device=device))(x, [0, 1, 2, 1])
    logp = mr.ops.log_softmax(x).numpy()[np.arange(4), [0, 1, 2, 1]]
    w = weight[[0, 1, 2, 1]]
    assert loss.item() == pytest.approx(-(logp * w).sum() / w.sum(), rel=1e-13)


@pytest.mark.parametrize("name", ["MSELoss", "CrossEntropyLoss", "ReLU", "ELU"])
def test_a_missing_argument_is_told_under_the_name_of_the_class(name: str) -> None:
    with pytest.raises(TypeError, match=rf"^{name}\.forward\(\) missing"):
        getattr(nn, name)()()


@pytest.mark.parametrize("module", [nn.Softmax, nn.LogSoftmax, nn.Softmin])
def test_the_axis_must_be_named_once(module: Any) -> None:
    assert module(axis=-1).dim == -1
    with pytest.raises(TypeError, match=f"{module.__name__}: dim is None\n  expected the axis"):
        module()
    with pytest.raises(TypeError, match=f"{module.__name__}: got dim=0 and axis=1"):
        module(0, axis=1)
