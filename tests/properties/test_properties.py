"""Properties of every fused op for any sizes, attributes and values."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import minirnn as mr
from tests.examples import examples
from tests.properties.random_calls import Call, calls


def assert_all_close(found: Any, expected: Any, what: str, tolerance: float = 1e-11) -> None:
    """Relative to the largest expected value: float64, sums of up to a hundred products in another order."""
    for k, (a, b) in enumerate(zip(found, expected, strict=True)):
        assert a.shape == b.shape, f"{what} {k}: {a.shape} instead of {b.shape}"
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, float(finite.max()) if finite.size else 1.0)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale, err_msg=f"{what} {k}")


# ---- sizes


@examples(20)
@hypothesis.given(call=calls(least=0, least_batch=0))
def test_any_size_gives_the_values_and_gradients_of_the_composition(
    call: Call, device: str, composed_device: str
) -> None:
    found, expected = call.run(device), call.run(composed_device)
    assert_all_close(found[0], expected[0], "output")
    assert_all_close(found[1], expected[1], "gradient")


# ---- memory


@examples(15)
@hypothesis.given(call=calls())
def test_tensors_that_are_views_on_the_device_give_the_same_values(call: Call, device: str) -> None:
    def turned(*inputs: Any) -> list[mr.Tensor]:
        floats = [t for t in inputs if isinstance(t, mr.Tensor)]
        # Twice transposed with a copy between: the strides on the device are not those of C order.
        return call.function(*[(t.T + 0.0).T for t in floats], *inputs[len(floats) :])

    other = Call(call.text, call.names, call.values, turned, call.out_axis)
    for mine, plain, what in zip(other.run(device), call.run(device), ("output", "gradient"), strict=True):
        assert_all_close(mine, plain, what)


# ---- extreme values

quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's warnings: inf - inf and 0 * inf are intended


@examples(25)
@hypothesis.given(call=calls(), scale=st.sampled_from([1e3, 1e8, 1e100]))
def test_saturated_gates_give_finite_values_and_the_gradients_of_the_composition(
    call: Call, scale: float, device: str, composed_device: str
) -> None:
    hypothesis.assume("rnn_relu" not in call.text)  # it does not saturate: it overflows
    weights = {"w", "w_ru", "w_c", "params"}
    huge = call.with_values(
        [v * scale if name in weights else v for name, v in zip(call.names, call.values, strict=True)]
    )
    found, expected = huge.run(device), huge.run(composed_device)
    for y in found[0]:
        assert np.isfinite(y).all()
    assert_all_close(found[0], expected[0], "output")
    # A gate close to 1 leaves 1 - gate with an error of 1e-16, which each of three weights multiplies by 1e3.
    assert_all_close(found[1], expected[1], "gradient", 1e-7 if scale == 1e3 else 1e-11)


@examples(25)
@hypothesis.given(call=calls(clip=False))
def test_denormal_inputs_are_not_flushed_to_zero(call: Call, device: str, composed_device: str) -> None:
    tiny = call.map(lambda v: v * 1e-310)
    found, expected = tiny.run(device), tiny.run(composed_device)
    for k, (a, b) in enumerate(zip(found[0], expected[0], strict=True)):
        # A few dozen roundings to multiples of 4.9e-324, and some values of order 1.
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-321, err_msg=f"output {k}")
    assert_all_close(found[1], expected[1], "gradient")


@quiet
@examples(25)
@hypothesis.given(call=calls(least_batch=2), data=st.data(), bad=st.sampled_from([np.nan, np.inf, -np.inf]))
def test_what_is_not_finite_in_one_sample_stays_in_it(call: Call, data: Any, bad: float, device: str) -> None:
    sick = data.draw(st.integers(0, call.B - 1), "sample")
    which = data.draw(st.sampled_from([n for n in call.names if call.batch_axis(n) is not None][:2]), "input")
    values = [v.copy() for v in call.values]
    target = values[call.names.index(which)]
    target[(slice(None),) * (call.batch_axis(which) or 0) + (sick,)] = bad
    (outputs, gradients), (healthy, fine) = call.with_values(values).run(device), call.run(device)
    for a, b in zip(outputs, healthy, strict=True):
        np.testing.assert_array_equal(np.delete(a, sick, call.out_axis), np.delete(b, sick, call.out_axis))
    axes = [call.batch_axis(n) for n in call.names]
    for a, b, axis in zip(gradients, fine, axes, strict=False):
        if axis is not None:
            np.testing.assert_array_equal(np.delete(a, sick, axis), np.delete(b, sick, axis))


@quiet
@examples(25)
@hypothesis.given(call=calls(), data=st.data())
def test_a_nan_that_is_read_is_seen_in_the_output_and_in_the_gradient(call: Call, data: Any, device: str) -> None:
    hypothesis.assume(not ("block_lstm" in call.text and "L=0" in call.text))
    readable = [n for n in call.names if n not in ("wci", "wcf", "wco", "sequence_lengths")]
    which = data.draw(st.sampled_from(readable), "input")
    values = [v.copy() for v in call.values]
    target = values[call.names.index(which)]
    # The first element is read by every op: step 0, sample 0, the first gate of the first unit.
    target[(0,) * target.ndim] = np.nan
    outputs, gradients = call.with_values(values).run(device)
    assert any(np.isnan(y).any() for y in outputs)
    if "rnn_relu" not in call.text:  # where relu meets NaN its derivative is 0: NaN is not above 0
        assert any(np.isnan(g).any() for g in gradients)


@quiet
@examples(25)
@hypothesis.given(call=calls(), data=st.data())
def test_infinite_inputs_give_the_values_of_the_composition(
    call: Call, data: Any, device: str, composed_device: str
) -> None:
    values = [v.copy() for v in call.values]
    target = values[data.draw(st.integers(0, 2), "input")]
    target[np.unravel_index(data.draw(st.integers(0, target.size - 1), "place"), target.shape)] = np.inf
    hostile = call.with_values(values)
    found, expected = hostile.run(device, gradients=False)[0], hostile.run(composed_device, gradients=False)[0]
    assert_all_close(found, expected, "output")


# ---- the batch


@examples(25)
@hypothesis.given(call=calls(least_batch=2), data=st.data())
def test_two_batches_are_one_batch(call: Call, data: Any, device: str) -> None:
    cut = data.draw(st.integers(1, call.B - 1), "cut")
    ys, gs = call.run(device)
    parts = [call.take(range(cut)).run(device), call.take(range(cut, call.B)).run(device)]
    joined = [np.concatenate(pair, call.out_axis) for pair in zip(parts[0][0], parts[1][0], strict=True)]
    assert_all_close(joined, ys, "output")
    axes = [call.batch_axis(n) for n, v in zip(call.names, call.values, strict=True) if v.dtype.kind == "f"]
    # Gradients of states are concatenated, those of weights are added.
    sums = [
        a + b if axis is None else np.concatenate([a, b], axis)
        for a, b, axis in zip(parts[0][1], parts[1][1], axes, strict=True)
    ]
    assert_all_close(sums, gs, "gradient")
