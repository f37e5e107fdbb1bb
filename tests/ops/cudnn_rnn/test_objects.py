"""CudnnLSTM, CudnnGRU, CudnnRNNTanh, CudnnRNNRelu and RNNParamsSaveable."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.cudnn_rnn import CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, RNNParamsSaveable

T, B, I, H, L = 4, 2, 3, 5, 2
CLASSES = [CudnnLSTM, CudnnGRU, CudnnRNNTanh, CudnnRNNRelu]


def run(model: Any, x: Any, h: Any, c: Any, params: Any, **more: Any) -> Any:
    return model(x, h, c, params, **more) if isinstance(model, CudnnLSTM) else model(x, h, params, **more)


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_an_object_computes_what_the_op_does(make: Any, direction: str, rng: np.random.Generator) -> None:
    model = make(L, H, I, "linear_input", direction, 0.4, 7, dtype="f8")
    D = 2 if direction == "bidirectional" else 1
    x, h, c = (rng.standard_normal(s) for s in ((T, B, I), (L * D, B, H), (L * D, B, H)))
    params = rng.standard_normal(model.params_size())
    found = run(model, x, h, c, params)
    y = mr.ops.cudnn_rnn(x, h, c, params, rnn_mode=model.rnn_mode, direction=direction, dropout=0.4, seed=7)
    for a, b in zip(found, y[: len(found)], strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert np.abs(run(model, x, h, c, params, is_training=False)[0].numpy() - found[0].numpy()).max() > 1e-3
    np.testing.assert_array_equal(model.canonical_to_params(*model.params_to_canonical(params)).numpy(), params)


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("direction", ["unidirectional", "bidirectional"])
def test_an_object_tells_its_settings_as_in_tensorflow(make: Any, direction: str) -> None:
    model = make(L, H, I, direction=direction, name="rnn")
    assert (model.num_layers, model.num_units, model.input_size) == (L, H, I)
    assert (model.input_mode, model.direction) == ("auto_select", direction)
    assert model.num_dirs == (2 if direction == "bidirectional" else 1)
    assert model.rnn_mode in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    weights, biases = model.params_to_canonical(np.zeros(model.params_size(), np.float32))
    assert model.canonical_weight_shapes == [w.shape for w in weights]
    assert model.canonical_bias_shapes == [b.shape for b in biases]
    with pytest.raises(AttributeError):
        model.num_layers = 3


def test_auto_select_is_the_default_and_skips_the_input_matrices_when_sizes_agree() -> None:
    assert CudnnGRU(1, H, H).params_size() == 3 * H * H + 6 * H
    assert CudnnGRU(1, H, H, "linear_input").params_size() == 6 * H * H + 6 * H


@pytest.mark.parametrize("make", CLASSES)
@pytest.mark.parametrize("form", [1, 2])
@pytest.mark.parametrize("options", [(I, "linear_input", "unidirectional"), (I, "linear_input", "bidirectional"), (H,)])
def test_saving_and_restoring_is_exact(make: Any, form: int, options: Any, rng: np.random.Generator) -> None:
    model = make(L, H, *options)
    values = rng.standard_normal(model.params_size()).astype("f4")
    params = mr.tensor(values, True)
    lead = (model,) if form == 2 else ()
    saveable = RNNParamsSaveable(*lead, model.params_to_canonical, model.canonical_to_params, [params])
    stored = saveable.tensors()
    params.assign(np.zeros_like(values))
    saveable.restore(stored)
    np.testing.assert_array_equal(params.numpy(), values)
    params.assign(np.zeros_like(values))
    saveable.restore(list(stored.values()), [a.shape for a in stored.values()])
    np.testing.assert_array_equal(params.numpy(), values)


def test_the_second_form_is_what_a_block_cell_computes_with(rng: np.random.Generator) -> None:
    model = CudnnLSTM(1, H, I, dtype="f8")
    params = mr.tensor(rng.standard_normal(model.params_size()))
    saveable = RNNParamsSaveable(model, model.params_to_canonical, model.canonical_to_params, [params], "scope")
    cell = "scope/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell"
    assert list(saveable.tensors()) == [f"{cell}/{k}" for k in ("kernel", "bias", "bias_cudnn_0", "bias_cudnn_1")]
    kernel, bias, *_ = saveable.tensors().values()
    x, h, c = (rng.standard_normal(s) for s in ((1, B, I), (1, B, H), (1, B, H)))
    none = np.zeros(H)
    one = mr.ops.lstm_block_cell(
        x[0], c[0], h[0], kernel, none, none, none, bias, forget_bias=0.0, cell_clip=0.0
    )  # gates i, ci, f, o
    output, _, output_c = model(x, h, c, params)
    np.testing.assert_allclose(one.h, output[0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(one.cs, output_c[0], rtol=0, atol=1e-14)


def test_names_of_a_bidirectional_lstm_tell_the_direction() -> None:
    model = CudnnLSTM(1, H, I, direction="bidirectional")
    params = mr.tensor(np.zeros(model.params_size(), "f4"))
    names = RNNParamsSaveable(model, model.params_to_canonical, model.canonical_to_params, [params]).names()
    cell = "cudnn_compatible_lstm_cell"
    assert names[:2] == [f"stack_bidirectional_rnn/cell_0/bidirectional_rnn/{w}/{cell}/kernel" for w in ("fw", "bw")]


def test_a_failed_restore_changes_nothing(rng: np.random.Generator) -> None:
    model = CudnnLSTM(1, H, I)
    values = rng.standard_normal(model.params_size()).astype("f4")
    params = mr.tensor(values)
    saveable = RNNParamsSaveable(model, model.params_to_canonical, model.canonical_to_params, [params])
    stored = saveable.tensors()
    kernel = next(iter(stored))
    for wrong in (
        {k: v for k, v in stored.items() if k != kernel},
        stored | {kernel: stored[kernel].T},
        [*stored.values()][1:],
    ):
        with pytest.raises(ValueError, match="expected"):
            saveable.restore(wrong)
    np.testing.assert_array_equal(params.numpy(), values)
